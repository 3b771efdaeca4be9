/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A datatype's blocks as ROMIO's file code goes through them, taken from the datatype engine. It
 * takes the place of adio/common/flatten.c, which followed the constructors of a type.
 *
 * The list holds the runs of memory of one instance, in the type's order; runs that touch are one.
 * Bounds are no part of it: who repeats a type goes on by its extent. A type without data has one
 * block, without bytes.
 */
#include "adio.h"
#include "adio_extern.h"

#include <limits.h>
#include <stdint.h>
#include <sys/uio.h>

/* MPICH also provides these (src/mpi/datatype/typerep). */
int MPIR_Typerep_iov_len(MPI_Aint count, MPI_Datatype type, MPI_Aint max_iov_bytes,
                         MPI_Aint *iov_len);
int MPIR_Typerep_to_iov_offset(const void *buf, MPI_Aint count, MPI_Datatype type,
                               MPI_Aint iov_offset, struct iovec *iov, MPI_Aint max_iov_len,
                               MPI_Aint *actual_iov_len);

enum { RUNS_AT_ONCE = 256 };

int ADIOI_Flattened_type_keyval = MPI_KEYVAL_INVALID;

/* Room for `blocks` blocks, or null. ROMIO counts blocks by int. */
static ADIOI_Flatlist_node *new_list(MPI_Datatype datatype, MPI_Aint blocks)
{
    if (blocks > INT_MAX)
        return NULL;
    ADIOI_Flatlist_node *list = MPL_calloc(1, sizeof *list, MPL_MEM_IO);
    if (list == NULL)
        return NULL;
    const size_t room = blocks > 0 ? (size_t)blocks : 1;
    list->blocklens = MPL_malloc(2 * room * sizeof *list->blocklens, MPL_MEM_IO);
    if (list->blocklens == NULL) {
        MPL_free(list);
        return NULL;
    }
    list->indices = list->blocklens + room;
    list->type = datatype;
    list->lb_idx = list->ub_idx = -1;
    list->refct = 1;
    return list;
}

static void release(ADIOI_Flatlist_node *list)
{
    if (--list->refct > 0)
        return;
    MPL_free(list->blocklens);
    MPL_free(list);
}

/* One more block, or a longer last one. `*end` is where all blocks so far end. */
static void append(ADIOI_Flatlist_node *list, ADIO_Offset offset, ADIO_Offset bytes,
                   ADIO_Offset *end)
{
    const MPI_Count last = list->count - 1;
    if (offset < 0)
        list->flag |= ADIOI_TYPE_NEGATIVE;
    if (last >= 0 && offset < list->indices[last])
        list->flag |= ADIOI_TYPE_DECREASE;
    if (last >= 0 && offset < *end)
        list->flag |= ADIOI_TYPE_OVERLAP;
    if (last < 0 || offset + bytes > *end)
        *end = offset + bytes;

    if (last >= 0 && list->indices[last] + list->blocklens[last] == offset) {
        list->blocklens[last] += bytes;
        return;
    }
    list->indices[list->count] = offset;
    list->blocklens[list->count] = bytes;
    list->count++;
}

static int append_runs(ADIOI_Flatlist_node *list, MPI_Aint runs)
{
    struct iovec iov[RUNS_AT_ONCE];
    ADIO_Offset end = 0;
    for (MPI_Aint first = 0; first < runs;) {
        MPI_Aint n = 0;
        int err = MPIR_Typerep_to_iov_offset(NULL, 1, list->type, first, iov, RUNS_AT_ONCE, &n);
        if (err != MPI_SUCCESS || n <= 0)
            return err != MPI_SUCCESS ? err : MPI_ERR_INTERN;
        for (MPI_Aint i = 0; i < n; i++)
            append(list, (ADIO_Offset)(intptr_t)iov[i].iov_base, (ADIO_Offset)iov[i].iov_len, &end);
        first += n;
    }
    return MPI_SUCCESS;
}

static void make_keyval(void)
{
    /* ADIOI_End_call frees it. */
    if (ADIOI_Flattened_type_keyval == MPI_KEYVAL_INVALID)
        MPI_Type_create_keyval(ADIOI_Flattened_type_copy, ADIOI_Flattened_type_delete,
                               &ADIOI_Flattened_type_keyval, NULL);
}

/* Makes the list of a type and keeps it with the type. Null: there is no memory for it. */
ADIOI_Flatlist_node *ADIOI_Flatten_datatype(MPI_Datatype datatype)
{
    MPI_Count bytes = 0;
    MPI_Aint runs = 0;
    MPI_Type_size_x(datatype, &bytes);
    if (MPIR_Typerep_iov_len(1, datatype, bytes, &runs) != MPI_SUCCESS)
        return NULL;
    ADIOI_Flatlist_node *list = new_list(datatype, runs);
    if (list == NULL)
        return NULL;

    int err = append_runs(list, runs);
    if (list->count == 0) {
        list->indices[0] = list->blocklens[0] = 0;
        list->count = 1;
    }
    make_keyval();
    if (err == MPI_SUCCESS)
        err = MPI_Type_set_attr(datatype, ADIOI_Flattened_type_keyval, list);
    if (err != MPI_SUCCESS) {
        release(list);
        return NULL;
    }
    return list;
}

ADIOI_Flatlist_node *ADIOI_Flatten_and_find(MPI_Datatype datatype)
{
    ADIOI_Flatlist_node *list = NULL;
    int found = 0;
    make_keyval();
    MPI_Type_get_attr(datatype, ADIOI_Flattened_type_keyval, &list, &found);
    return found ? list : ADIOI_Flatten_datatype(datatype);
}

/* A duplicate of a type shares its list. */
int ADIOI_Flattened_type_copy(MPI_Datatype type, int keyval, void *extra_state, void *attribute_in,
                              void *attribute_out, int *flag)
{
    ADIOI_Flatlist_node *list = attribute_in;
    MPL_UNREFERENCED_ARG(type);
    MPL_UNREFERENCED_ARG(keyval);
    MPL_UNREFERENCED_ARG(extra_state);
    list->refct++;
    *(ADIOI_Flatlist_node **)attribute_out = list;
    *flag = 1;
    return MPI_SUCCESS;
}

int ADIOI_Flattened_type_delete(MPI_Datatype type, int keyval, void *attribute, void *extra_state)
{
    MPL_UNREFERENCED_ARG(type);
    MPL_UNREFERENCED_ARG(keyval);
    MPL_UNREFERENCED_ARG(extra_state);
    release(attribute);
    return MPI_SUCCESS;
}
