/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_File_set_view's work. It takes the place of adio/common/ad_set_view.c, which gave up the old
 * view before it had looked at the new one, and told one process alone of an error.
 */
#include "adio.h"
#include "adio_extern.h"
#include "heddle_files.h"

#include <stdio.h>

int MPIO_Combiner(MPI_Datatype type)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;
    PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    return combiner;
}

static int is_predefined(MPI_Datatype type) { return MPIO_Combiner(type) == MPI_COMBINER_NAMED; }

void MPIO_Drop_type(MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL && !is_predefined(*type))
        MPI_Type_free(type);
}

/* The type that the program gave, where the file has it in external32. */
static int native_keyval = MPI_KEYVAL_INVALID;

static int drop_native(MPI_Datatype type, int keyval, void *attribute, void *extra_state)
{
    MPL_UNREFERENCED_ARG(type);
    MPL_UNREFERENCED_ARG(keyval);
    MPL_UNREFERENCED_ARG(extra_state);
    MPIO_Drop_type(attribute);
    MPL_free(attribute);
    return MPI_SUCCESS;
}

static int remember_native(MPI_Datatype external, MPI_Datatype native)
{
    MPI_Datatype *attribute = MPL_malloc(sizeof *attribute, MPL_MEM_IO);
    if (attribute == NULL)
        return MPI_ERR_NO_MEM;
    *attribute = native;
    int err =
        native_keyval != MPI_KEYVAL_INVALID
            ? MPI_SUCCESS
            : MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, drop_native, &native_keyval, NULL);
    if (err == MPI_SUCCESS && !is_predefined(native))
        err = MPI_Type_contiguous(1, native, attribute);
    if (err == MPI_SUCCESS)
        err = MPI_Type_set_attr(external, native_keyval, attribute);
    if (err != MPI_SUCCESS)
        MPL_free(attribute);
    return err;
}

MPI_Datatype MPIO_Native_type(MPI_Datatype kept)
{
    MPI_Datatype *native;
    int found = 0;
    if (native_keyval != MPI_KEYVAL_INVALID)
        MPI_Type_get_attr(kept, native_keyval, &native, &found);
    return found ? *native : kept;
}

void MPIO_View_end(void)
{
    if (native_keyval != MPI_KEYVAL_INVALID)
        MPI_Type_free_keyval(&native_keyval);
}

int MPIO_Type_get_extent(MPI_File file, MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent)
{
    if (!file->is_external32)
        return MPI_Type_get_extent(type, lb, extent);
    MPI_Datatype external;
    int err = MPIO_External32_type(type, &external);
    if (err != MPI_SUCCESS)
        return MPIO_Err_return_file(file, err);
    err = MPI_Type_get_extent(external, lb, extent);
    MPIO_Drop_type(&external);
    return err;
}

/* A type for the file to keep. */
static int keep_type(MPI_Datatype type, int external32, MPI_Datatype *kept)
{
    int err = MPI_SUCCESS;
    *kept = type;
    if (external32)
        err = MPIO_External32_type(type, kept);
    else if (!is_predefined(type))
        err = MPI_Type_contiguous(1, type, kept);
    if (err != MPI_SUCCESS && *kept == type)
        *kept = MPI_DATATYPE_NULL; /* the program's own is not ours to free */
    if (err == MPI_SUCCESS && !is_predefined(*kept))
        err = MPI_Type_commit(kept);
    if (err == MPI_SUCCESS && external32 && *kept != type)
        err = remember_native(*kept, type);
    return err;
}

/* What MPI says of the displacements of etypes and file types. */
static int check_type(MPI_Datatype type, int access_mode, const char *kind)
{
    char text[128];
    const char *fault = NULL;
    const ADIOI_Flatlist_node *flat = ADIOI_Flatten_and_find(type);
    if (flat == NULL)
        return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_FILE_SET_VIEW",
                                    __LINE__, MPI_ERR_NO_MEM, "**nomem", 0);
    if (flat->flag & ADIOI_TYPE_NEGATIVE)
        fault = "displacements of %s must be non-negative";
    else if (flat->flag & ADIOI_TYPE_DECREASE)
        fault = "displacements of %s must be in a monotonically nondecreasing order";
    else if ((flat->flag & ADIOI_TYPE_OVERLAP) && (access_mode & (ADIO_WRONLY | ADIO_RDWR)))
        fault = "%s is not permitted to contain overlapping regions";
    if (fault == NULL)
        return MPI_SUCCESS;
    snprintf(text, sizeof text, fault, kind);
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_FILE_SET_VIEW", __LINE__,
                                MPI_ERR_IO, "**iobadoverlap", " **iobadoverlap %s", text);
}

/* This process's error, or another one's: the view is new for all of them or for none. */
static int agree(MPI_Comm comm, int error)
{
    int class = MPI_SUCCESS, worst;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &class);
    MPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, comm);
    return error != MPI_SUCCESS ? error : worst;
}

void MPIO_Set_view(ADIO_File fd, ADIO_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                   const char *datarep, MPI_Info info, int *error_code)
{
    const int external32 = !strcmp(datarep, "external32") || !strcmp(datarep, "EXTERNAL32");
    MPI_Datatype kept_etype = MPI_DATATYPE_NULL, kept_filetype = MPI_DATATYPE_NULL;
    int err = keep_type(etype, external32, &kept_etype);
    if (err == MPI_SUCCESS)
        err = keep_type(filetype, external32, &kept_filetype);
    if (err == MPI_SUCCESS)
        err = check_type(kept_etype, fd->orig_access_mode, "etype");
    if (err == MPI_SUCCESS)
        err = check_type(kept_filetype, fd->orig_access_mode, "filetype");
    *error_code = agree(fd->comm, err);
    if (*error_code != MPI_SUCCESS) {
        MPIO_Drop_type(&kept_etype);
        MPIO_Drop_type(&kept_filetype);
        return;
    }

    MPIO_Drop_type(&fd->etype);
    MPIO_Drop_type(&fd->filetype);
    fd->etype = kept_etype;
    fd->filetype = kept_filetype;
    ADIO_SetInfo(fd, info, &err);

    /* Positions are counted in etypes, in those without data too. */
    MPI_Type_size_x(fd->etype, &fd->etype_size);
    if (fd->etype_size == 0)
        fd->etype_size = 1;
    fd->disp = disp;
    fd->fp_ind = disp + ADIOI_Flatten_and_find(fd->filetype)->indices[0];
}
