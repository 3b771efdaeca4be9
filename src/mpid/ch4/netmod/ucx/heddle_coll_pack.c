/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): a member packs what it sends before the others read
 * it. Reading across a link moves whole sectors, so data with gaps take as long as their gaps do.
 * Packed at their source they take a kernel more, and the link carries nothing else. And a packed
 * block needs no type, so it is the way of types that take too many bytes to be told.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

#define SECTOR 32
/* What packing must save the links. On two H100s it costs as long as 3 MiB take over the link, and
 * a device's own memory is some six times as fast as that. */
#define LEAST_SAVED (INT64_C(3) << 20)
#define MEMORY_BY_LINK 6

/* Bytes of the sectors in which blocks lie; the same as they have where they are dense. */
static int64_t touched(const struct MPIDI_UCX_data *data, const heddle_type_info *info)
{
    const int64_t most = data->count * MPL_MAX(info->true_extent, info->size);
    return MPL_MIN(most, data->count * (info->size + info->runs * (SECTOR - 8)));
}

/* Whether it is worth packing `n` blocks, as a record has them. */
static bool is_worthwhile(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                          int n)
{
    int64_t bytes = 0, gaps = 0;
    bool is_long = false;
    for (int i = 0; i < n; i++) {
        char *first;
        heddle_type_info info = {.bytes = sizeof(info)};
        const int64_t its = MPIDI_UCX_data_bytes(&data[i]);
        if (its == 0 || (n > 1 && i == call->comm->rank) ||
            MPIDI_UCX_data_is_dense(&data[i], &first))
            continue;
        const struct heddle_type *type = MPIR_Typerep_committed(data[i].type);
        size_t flat;
        if (heddle_flatten_size(type, &flat) != HEDDLE_SUCCESS ||
            heddle_type_get_info(type, &info) != HEDDLE_SUCCESS)
            return false;
        is_long |= flat > MPIDI_UCX_COLL_TYPE;
        bytes += its;
        gaps += touched(&data[i], &info) - its;
    }
    const int64_t readers = n == 1 ? call->comm->local_size - 1 : 1;
    return is_long || gaps * readers > LEAST_SAVED + (2 * bytes + gaps) / MEMORY_BY_LINK;
}

/* Device memory that others can open, beside the first of `n` blocks. Null: there is none. */
static char *scratch_for(const struct MPIDI_UCX_data *data, int n)
{
    int64_t bytes = 0;
    char *beside = NULL;
    for (int i = 0; i < n; i++)
        if (MPIDI_UCX_data_bytes(&data[i]) > 0) {
            bytes += MPIDI_UCX_data_bytes(&data[i]);
            if (beside == NULL)
                MPIDI_UCX_data_is_dense(&data[i], &beside);
        }
    void *scratch = NULL;
    heddle_exported exported;
    if (heddle_memory_kind(beside, NULL) != HEDDLE_MEMORY_DEVICE ||
        heddle_scratch_alloc(bytes, beside, &scratch) != HEDDLE_SUCCESS)
        return NULL;
    if (heddle_export(scratch, bytes, &exported) == HEDDLE_SUCCESS)
        return scratch;
    heddle_scratch_free(scratch);
    return NULL;
}

bool MPIDI_UCX_coll_pack(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                         int n, bool always, struct MPIDI_UCX_packed *packed,
                         struct heddle_request **work)
{
    heddle_move moves[MPIDI_UCX_COLL_MOST];
    int64_t at = 0;
    int many = 0;
    if (!ENABLE_GPU || call->own->why_not != MPIDI_UCX_COLL_CAN ||
        !(always || is_worthwhile(call, data, n)))
        return false;
    packed->scratch = scratch_for(data, n);
    if (packed->scratch == NULL)
        return false;
    for (int i = 0; i < n; i++) {
        const bool is_own = n > 1 && i == call->comm->rank;
        const int64_t bytes = is_own ? 0 : MPIDI_UCX_data_bytes(&data[i]);
        packed->data[i] = (struct MPIDI_UCX_data){packed->scratch + at, bytes, MPI_BYTE};
        if (bytes > 0)
            moves[many++] = (heddle_move){
                {(void *)data[i].buf, data[i].count, MPIR_Typerep_committed(data[i].type), 0},
                {packed->scratch + at, bytes, heddle_type_predefined(HEDDLE_BYTE), 0},
                bytes,
                HEDDLE_OP_REPLACE};
        at += bytes;
    }
    return heddle_transfer_begin(moves, many, work) == HEDDLE_SUCCESS;
}

void MPIDI_UCX_coll_forget_packed(struct MPIDI_UCX_packed *packed)
{
    heddle_scratch_free(packed->scratch);
    packed->scratch = NULL;
}

#endif
