/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): a member packs what it sends before the others read
 * it. Reading across a link moves whole sectors, so data with gaps take as long as their gaps do.
 * Packed at their source they take a kernel more, and the link carries nothing else. And a packed
 * block needs no type, so it is the way of types that take too many bytes to be told. So is it that
 * of memory that others cannot open: managed memory, and that of CUDA's pools.
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

/* Bytes of the sectors in which data lie; as many as they have where they are dense. */
static int64_t touched(const struct MPIDI_UCX_data *data, const heddle_type_info *info)
{
    const int64_t bytes = data->count * info->size,
                  apart = info->extent < 0 ? -info->extent : info->extent,
                  span = info->true_extent + (data->count - 1) * apart;
    return MPL_MIN(MPL_MAX(span, bytes), bytes + data->count * info->runs * (SECTOR - 8));
}

/* Of block `i` of `n`, as a record has them: bytes that others read. */
static int64_t bytes_sent(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                          int n, int i)
{
    return n > 1 && i == call->comm->rank ? 0 : MPIDI_UCX_data_bytes(&data[i]);
}

static bool is_worthwhile(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                          int n)
{
    int64_t bytes = 0, gaps = 0;
    bool is_long = false;
    for (int i = 0; i < n; i++) {
        char *first;
        size_t flat;
        heddle_type_info info = {.bytes = sizeof(info)};
        const int64_t its = bytes_sent(call, data, n, i);
        if (its == 0 || MPIDI_UCX_data_is_dense(&data[i], &first))
            continue;
        const struct heddle_type *type = MPIR_Typerep_committed(data[i].type);
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

bool MPIDI_UCX_coll_pack(const struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data,
                         int n, bool always, struct MPIDI_UCX_packed *packed,
                         struct heddle_request **work)
{
    heddle_move moves[MPIDI_UCX_COLL_MOST];
    char *beside = NULL;
    int64_t total = 0;
    int many = 0;
    if (!ENABLE_GPU || call->own->why_not != MPIDI_UCX_COLL_CAN ||
        !(always || is_worthwhile(call, data, n)))
        return false;
    for (int i = 0; i < n; i++) {
        total += bytes_sent(call, data, n, i);
        if (beside == NULL && bytes_sent(call, data, n, i) > 0)
            MPIDI_UCX_data_is_dense(&data[i], &beside);
    }
    if (total == 0 || heddle_piece_take(total, beside, &packed->piece) != HEDDLE_SUCCESS)
        return false;
    packed->is_packed = true;
    char *to = packed->piece.at;
    for (int i = 0; i < n; i++) {
        const int64_t bytes = bytes_sent(call, data, n, i);
        packed->data[i] = (struct MPIDI_UCX_data){to, bytes, MPI_BYTE};
        if (bytes > 0)
            moves[many++] = (heddle_move){
                {(void *)data[i].buf, data[i].count, MPIR_Typerep_committed(data[i].type), 0},
                {to, bytes, heddle_type_predefined(HEDDLE_BYTE), 0},
                bytes,
                HEDDLE_OP_REPLACE};
        to += bytes;
    }
    if (heddle_transfer_begin(moves, many, work) == HEDDLE_SUCCESS)
        return true;
    MPIDI_UCX_coll_forget_packed(packed);
    return false;
}

void MPIDI_UCX_coll_forget_packed(struct MPIDI_UCX_packed *packed)
{
    if (packed->is_packed)
        heddle_piece_give_back(&packed->piece);
    packed->is_packed = false;
}

#endif
