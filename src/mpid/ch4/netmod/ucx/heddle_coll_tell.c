/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct collectives (heddle_coll_direct.h): a member tells the others where what it sends lies,
 * and finds what they send.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_coll_direct.h"

#if MPIR_TYPEREP_SENDS_DEVICE

/* ---- buffers --------------------------------------------------------------------------------- */

int64_t MPIDI_UCX_data_bytes(const struct MPIDI_UCX_data *data)
{
    return data->count > 0 ? data->count * MPIR_Coll_size(data->type) : 0;
}

bool MPIDI_UCX_data_is_dense(const struct MPIDI_UCX_data *data, char **first)
{
    int is_dense;
    MPI_Aint true_lb, true_extent;
    MPIR_Datatype_is_contig(data->type, &is_dense);
    MPIR_Type_get_true_extent_impl(data->type, &true_lb, &true_extent);
    *first = MPIR_get_contig_ptr(data->buf, true_lb);
    return is_dense;
}

/* Addresses. */
struct range {
    uintptr_t first, end;
};

static struct range range_of(const struct MPIDI_UCX_data *data)
{
    MPI_Aint true_lb, true_extent, extent;
    MPIR_Type_get_true_extent_impl(data->type, &true_lb, &true_extent);
    MPIR_Datatype_get_extent_macro(data->type, extent);
    const MPI_Aint span = (data->count - 1) * extent; /* may be negative */
    const uintptr_t first = (uintptr_t)data->buf + (uintptr_t)(true_lb + MPL_MIN(span, 0));
    return (struct range){first, first + (uintptr_t)(true_extent + MPL_MAX(span, -span))};
}

/* ---- telling --------------------------------------------------------------------------------- */

static void cannot(struct MPIDI_UCX_coll_call *call, enum MPIDI_UCX_why_not why_not)
{
    if (call->own->why_not == MPIDI_UCX_COLL_CAN)
        call->own->why_not = why_not;
}

/* False: its type is too long. */
static bool write_block(const struct MPIDI_UCX_data *data, uintptr_t base,
                        struct MPIDI_UCX_block *block)
{
    char *first;
    size_t bytes = 0;
    block->bytes = MPIDI_UCX_data_bytes(data);
    block->flat = 0;
    if (block->bytes == 0)
        return true;
    if (MPIDI_UCX_data_is_dense(data, &first)) {
        block->shift = (int64_t)((uintptr_t)first - base);
        block->count = block->bytes;
        return true;
    }
    const struct heddle_type *type = MPIR_Typerep_committed(data->type);
    if (heddle_flatten_size(type, &bytes) != HEDDLE_SUCCESS || bytes > sizeof(block->type) ||
        heddle_flatten(type, block->type, sizeof(block->type)) != HEDDLE_SUCCESS)
        return false;
    block->shift = (int64_t)((uintptr_t)data->buf - base);
    block->count = data->count;
    block->flat = (int64_t)bytes;
    return true;
}

/* Exports what all blocks span. False: others cannot open it. */
static bool export(struct MPIDI_UCX_coll_call *call, const struct range *all,
                   const struct MPIDI_UCX_data *any)
{
    if (!ENABLE_GPU || MPIR_Typerep_message_memory(any->buf, any->type) == MPIR_TYPEREP_HOST) {
        cannot(call, MPIDI_UCX_COLL_HOST);
        return false;
    }
    call->own->on_device = true;
    if (heddle_export((const void *)all->first, (int64_t)(all->end - all->first),
                      &call->own->sent) == HEDDLE_SUCCESS)
        return true;
    call->own->on_device = MPIR_Typerep_is_on_device(any->buf, any->type);
    cannot(call, call->own->on_device ? MPIDI_UCX_COLL_CLOSED : MPIDI_UCX_COLL_HOST);
    return false;
}

void MPIDI_UCX_coll_tell(struct MPIDI_UCX_coll_call *call, const struct MPIDI_UCX_data *data, int n)
{
    struct range all = {UINTPTR_MAX, 0};
    const struct MPIDI_UCX_data *any = NULL;
    for (int i = 0; i < n; i++) {
        if (MPIDI_UCX_data_bytes(&data[i]) == 0)
            continue;
        const struct range its = range_of(&data[i]);
        all = (struct range){MPL_MIN(all.first, its.first), MPL_MAX(all.end, its.end)};
        any = &data[i];
    }
    if (any == NULL || call->own->why_not != MPIDI_UCX_COLL_CAN || !export(call, &all, any))
        return;
    call->own->blocks = (uint32_t)n;
    for (int i = 0; i < n; i++)
        if (!write_block(&data[i], all.first, &call->own->block[i]))
            cannot(call, MPIDI_UCX_COLL_LONG);
}

void MPIDI_UCX_coll_tell_result(struct MPIDI_UCX_coll_call *call, const void *first, int64_t bytes)
{
    call->own->is_result_open = heddle_export(first, bytes, &call->own->result) == HEDDLE_SUCCESS;
}

/* ---- finding --------------------------------------------------------------------------------- */

const struct MPIDI_UCX_block *MPIDI_UCX_coll_block(const struct MPIDI_UCX_coll_call *call, int rank)
{
    static const struct MPIDI_UCX_block nothing = {.bytes = 0};
    const struct MPIDI_UCX_record *record = MPIDI_UCX_coll_record(call, rank);
    if (record->blocks == 0)
        return &nothing;
    return &record->block[record->blocks == 1 ? 0 : call->comm->rank];
}

/* The type of a block, read once for as long as it stays the same. */
static int read_type(struct MPIDI_UCX_known_type *known, const struct MPIDI_UCX_block *block)
{
    const size_t bytes = (size_t)MPL_MIN(block->flat, MPIDI_UCX_COLL_TYPE);
    if (known->type != NULL && known->flat == block->flat &&
        memcmp(known->bytes, block->type, bytes) == 0)
        return HEDDLE_SUCCESS;
    heddle_type_release(known->type);
    known->type = NULL;
    known->flat = block->flat;
    memcpy(known->bytes, block->type, bytes);
    return heddle_unflatten(known->bytes, bytes, &known->type);
}

int MPIDI_UCX_coll_side(const struct MPIDI_UCX_coll_call *call, int rank,
                        const heddle_import *import, heddle_side *side)
{
    const struct MPIDI_UCX_block *block = MPIDI_UCX_coll_block(call, rank);
    const uintptr_t base = (uintptr_t)heddle_import_address(import);
    *side = (heddle_side){(void *)(base + (uintptr_t)block->shift), block->count,
                          heddle_type_predefined(HEDDLE_BYTE), 0};
    if (block->flat == 0)
        return HEDDLE_SUCCESS;
    const int error = read_type(&call->coll->known[rank], block);
    side->type = call->coll->known[rank].type;
    heddle_type_retain(call->coll->known[rank].type);
    return error;
}

#endif
