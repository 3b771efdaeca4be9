/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages of device buffers: packed into host memory, which UCX sends, and unpacked out of
 * what it received.
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"
#include "ucx_send.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle_leaving.h"
#include "heddle_moves.h"
#include "utlist.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_UCX_GPU_ONESHOT
      category    : CH4_UCX
      type        : int
      default     : 16384
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Most bytes of a message out of device memory that is packed as a whole
        and sent as one; to a process of the same node half as many, for there
        chunks stay on the device. What is longer goes in chunks.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static MPI_Aint packed_size(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    return count * size;
}

/* A receive longer than one-shots are is met by a message out of host memory, or by an envelope:
 * then its memory was not needed, and nobody touched more of it than a page. Malloc takes long over
 * what is this long (0.5 us for 64 KiB, 10 us for 50 MB, which it maps and unmaps each time): so
 * some are kept for receives to come, the latest first. */
#define MOST_LANDINGS 64
#define MOST_LANDING_BYTES                                                                         \
    ((MPI_Aint)4 << 30) /* of a VNI: addresses are not memory, but some systems count them */
struct landing {
    void *memory;
    MPI_Aint bytes;
};
static struct landing landings[MPIDI_CH4_MAX_VCIS][MOST_LANDINGS];

/* Of at least `bytes` bytes, and not of many more, which somebody else may want; none: its memory
 * is null. */
static struct landing take_landing(int vni, MPI_Aint bytes)
{
    struct landing found = {NULL, bytes};
    for (int i = 0; i < MOST_LANDINGS && found.memory == NULL; i++) {
        struct landing *l = &landings[vni][i];
        if (l->memory != NULL && l->bytes >= bytes && l->bytes / 2 <= bytes) {
            found = *l;
            l->memory = NULL;
        }
    }
    return found;
}

static void keep_landing(int vni, struct landing landing)
{
    struct landing *kept = landings[vni];
    MPI_Aint bytes = 0;
    int last = 0;
    if (landing.bytes > MOST_LANDING_BYTES) {
        heddle_staging_free(landing.memory);
        return;
    }
    while (last < MOST_LANDINGS - 1 && kept[last].memory != NULL)
        last++;
    heddle_staging_free(kept[last].memory);
    memmove(kept + 1, kept, last * sizeof(*kept));
    kept[0] = landing;
    for (int i = 0; i < MOST_LANDINGS; i++) {
        if (kept[i].memory == NULL)
            continue;
        if (kept[i].bytes <= MOST_LANDING_BYTES - bytes) {
            bytes += kept[i].bytes;
        } else {
            heddle_staging_free(kept[i].memory);
            kept[i].memory = NULL;
        }
    }
}

void MPIDI_UCX_landings_free(int vni)
{
    for (int i = 0; i < MOST_LANDINGS; i++) {
        heddle_staging_free(landings[vni][i].memory);
        landings[vni][i].memory = NULL;
    }
}

/* Longer messages go by an envelope. What has no room for one in it never does. (Two H200s, 8 KiB
 * of irregular blocks: 24.5 us as one, 23.7 in a chunk by reference; 16 KiB: 27.8 and 23.9; 31.9
 * and 33.9 in a chunk that travels.) */
static MPI_Aint oneshot_limit(const MPIDI_av_entry_t *addr)
{
    MPI_Aint limit = MPIR_CVAR_CH4_UCX_GPU_ONESHOT;
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    if (addr->is_local)
        limit /= 2;
#endif
    return MPL_MAX(limit, MPIDI_UCX_ENVELOPE_BYTES);
}

/* Memory to pack into or to receive in. */
static int stage(MPI_Aint bytes, const void *buf, MPI_Datatype datatype, void **staging)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint true_lb = 0;
    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPI_Aint true_extent;
        MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    }
    const void *near = bytes <= MPIR_CVAR_CH4_UCX_GPU_ONESHOT ? MPIR_get_contig_ptr(buf, true_lb)
                                                              : (void *)staging;
    if (heddle_staging_alloc(bytes, near, staging) != HEDDLE_SUCCESS)
        MPIR_ERR_SETANDSTMT(mpi_errno, MPI_ERR_NO_MEM, goto fn_fail, "**nomem");
fn_fail:
    return mpi_errno;
}

static void set_error(MPIR_Request *request, int mpi_errno)
{
    if (request->status.MPI_ERROR == MPI_SUCCESS)
        request->status.MPI_ERROR = mpi_errno;
}

/* Packed bytes. */
static heddle_side staged(void *staging, MPI_Aint bytes)
{
    return MPIDI_UCX_side(staging, bytes, MPI_BYTE);
}

/* ---- sends ------------------------------------------------------------------------------------
 */

struct oneshot {
    struct MPIDI_UCX_move pack;
    struct MPIDI_UCX_turn turn;
    MPIR_Request *sreq;
    MPI_Datatype datatype; /* holds a reference until it is packed */
    ucp_ep_h ep;
    uint64_t ucx_tag;
    void *staging;
    MPI_Aint bytes;
    int vni;
    bool is_sync;
    int error; /* MPI's: it could not be packed, or not begin */
};

static void sent(void *request, ucs_status_t status, void *staging)
{
    MPIDI_UCX_ucp_request_t *ucp_request = request;
    MPIR_Request *sreq = ucp_request->req;

    if (status == UCS_ERR_CANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(sreq->status, TRUE);
    } else if (status != UCS_OK) {
        sreq->status.MPI_ERROR = MPI_ERR_OTHER;
    }
    heddle_staging_free(staging);
    MPIDIU_request_complete(sreq);
    ucp_request->req = NULL;
    ucp_request_release(ucp_request);
}

static void packed(struct MPIDI_UCX_move *pack)
{
    struct oneshot *o = MPL_container_of(pack, struct oneshot, pack);
    MPIR_Datatype_release_if_not_builtin(o->datatype);
    MPIDI_UCX_turn_ready(o->vni, &o->turn);
}

/* The message is its size alone. Its receiver is told so, and a probe finds what was to come. */
static void fail(struct oneshot *o)
{
    const int64_t bytes = o->bytes;
    set_error(o->sreq, o->error);
    heddle_staging_free(o->staging);
    o->bytes = heddle_staging_alloc(sizeof(bytes), &bytes, &o->staging) == HEDDLE_SUCCESS
                   ? sizeof(bytes)
                   : 0;
    if (o->bytes > 0)
        memcpy(o->staging, &bytes, sizeof(bytes));
    else
        o->staging = NULL;
    o->ucx_tag |= MPIDI_UCX_ENVELOPE_BIT;
}

static void post(struct MPIDI_UCX_turn *turn)
{
    struct oneshot *o = MPL_container_of(turn, struct oneshot, turn);
    if (o->error == MPI_SUCCESS && o->pack.error != HEDDLE_SUCCESS)
        o->error = MPIR_Typerep_error(o->pack.error);
    if (o->error != MPI_SUCCESS)
        fail(o);
    else
        heddle_message_count_whole(0, o->bytes);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = sent,
        .user_data = o->staging,
    };
    MPIDI_UCX_ucp_request_t *ucp_request =
        o->is_sync ? ucp_tag_send_sync_nbx(o->ep, o->staging, o->bytes, o->ucx_tag, &param)
                   : ucp_tag_send_nbx(o->ep, o->staging, o->bytes, o->ucx_tag, &param);
    if (ucp_request != NULL && !UCS_PTR_IS_ERR(ucp_request)) {
        ucp_request->req = o->sreq;
        MPIDI_UCX_REQ(o->sreq).ucp_request = ucp_request;
    } else {
        if (ucp_request != NULL)
            set_error(o->sreq, MPI_ERR_OTHER);
        heddle_staging_free(o->staging);
        MPIDIU_request_complete(o->sreq);
    }
    MPL_free(o);
}

/* How a short message may go by an envelope, if that goes out at once. To another process of the
 * node that is sooner than two copies through the host's memory (two H200s, 1 KiB: 10 us for 17),
 * if it can be read where it lies; to itself it is one move. */
static enum MPIDI_UCX_how eagerly(MPI_Aint bytes, MPI_Datatype datatype, int rank,
                                  const MPIR_Comm *comm, int vni_src, int vni_dst,
                                  const MPIDI_av_entry_t *addr)
{
    if (bytes < MPIDI_UCX_ENVELOPE_BYTES || MPIDI_UCX_vni_gpu[vni_src].turns != NULL)
        return MPIDI_UCX_WHEN_MATCHED;
    if (rank == comm->rank && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)
        return vni_src == vni_dst ? MPIDI_UCX_TO_ITSELF : MPIDI_UCX_WHEN_MATCHED;
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    int is_contig;
    MPIR_Datatype_is_contig(datatype, &is_contig);
    if (addr->is_local && is_contig)
        return MPIDI_UCX_TO_OTHERS;
#endif
    return MPIDI_UCX_WHEN_MATCHED;
}

/* Its receiver may give a ticket. */
static bool can_be_delivered(MPI_Datatype datatype, const MPIDI_av_entry_t *addr)
{
    int is_contig = 0;
    MPIR_Datatype_is_contig(datatype, &is_contig);
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
    return MPIR_Typerep_sender_waits && is_contig && addr->is_local;
#else
    return false;
#endif
}

int MPIDI_UCX_gpu_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                       MPIR_Comm *comm, int context_offset, MPIDI_av_entry_t *addr,
                       MPIR_Request **request, int vni_src, int vni_dst, int have_request,
                       int is_sync)
{
    ucp_ep_h ep = MPIDI_UCX_AV_TO_EP(addr, vni_src, vni_dst);
    const uint64_t ucx_tag = MPIDI_UCX_init_tag(comm->context_id + context_offset, comm->rank, tag);
    struct MPIDI_UCX_last *last =
        &MPIDI_UCX_vni_gpu[vni_src]
             .last[MPIDI_UCX_key((ucx_tag & MPIDI_UCX_EXACT) ^ (uintptr_t)ep)];
    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint bytes = packed_size(count, datatype);
    bool sent = false;
    const bool follows = last->ep == ep && last->ucx_tag == (ucx_tag & MPIDI_UCX_EXACT);
    if (follows && last->message != 0 && bytes >= MPIDI_UCX_ENVELOPE_BYTES &&
        can_be_delivered(datatype, addr) && MPIDI_UCX_vni_gpu[vni_src].turns == NULL &&
        !MPIDI_UCX_is_direct(buf, count, datatype, addr)) {
        mpi_errno = MPIDI_UCX_envelope_send(buf, count, datatype, bytes, rank, ep, ucx_tag, vni_src,
                                            MPIDI_UCX_BY_TICKET, true, last, &sent, request);
        if (sent)
            return mpi_errno;
        mpi_errno = MPI_SUCCESS; /* there are other ways */
    }
    int error = MPIR_TYPEREP_IS_NO_DATA(buf) ? MPIR_Typerep_error(HEDDLE_ERR_DEVICE) : MPI_SUCCESS;
    if (error == MPI_SUCCESS && (!MPIDI_UCX_gpu_takes(buf, count, datatype) ||
                                 MPIDI_UCX_is_direct(buf, count, datatype, addr))) {
        MPIDI_UCX_wait_turn(vni_src);
        if (follows)
            last->message = 0;
        return MPIDI_UCX_send(buf, count, datatype, rank, tag, comm, context_offset, addr, request,
                              vni_src, vni_dst, have_request, is_sync);
    }

    MPIR_Request *sreq = *request;

    if (MPIDI_UCX_vni_gpu[vni_src].turns != NULL &&
        MPIDI_UCX_vni_gpu[vni_src].moves.waiting == NULL)
        MPIDI_UCX_moves_move_on(vni_src); /* what they wait for may be over */
    const bool is_long = bytes > oneshot_limit(addr);
    const enum MPIDI_UCX_how how =
        is_long || is_sync ? MPIDI_UCX_WHEN_MATCHED
                           : eagerly(bytes, datatype, rank, comm, vni_src, vni_dst, addr);
    if (error == MPI_SUCCESS && (is_long || how != MPIDI_UCX_WHEN_MATCHED)) {
        error =
            MPIDI_UCX_envelope_send(buf, count, datatype, bytes, rank, ep, ucx_tag, vni_src, how,
                                    can_be_delivered(datatype, addr), last, &sent, request);
        if (sent)
            return error;
    }
    if (follows)
        last->message = 0;

    /* With an error it goes all the same: somebody waits for it. */
    struct oneshot *o = MPL_malloc(sizeof(*o), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(o == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *o = (struct oneshot){
        .pack.moved = packed,
        .turn.post = post,
        .datatype = datatype,
        .ep = ep,
        .ucx_tag = ucx_tag,
        .bytes = bytes,
        .vni = vni_src,
        .is_sync = is_sync,
    };
    if (error == MPI_SUCCESS)
        error = stage(bytes, buf, datatype, &o->staging);
    o->error = error;
    if (sreq == NULL)
        sreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, vni_src, 2);
    else
        MPIR_Request_add_ref(sreq);
    MPIR_ERR_CHKANDSTMT(sreq == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    MPIDI_UCX_REQ(sreq).ucp_request = NULL; /* nothing that could be cancelled, yet */
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    o->sreq = *request = sreq;
    o->pack.move = (heddle_move){MPIDI_UCX_side(buf, count, datatype), staged(o->staging, bytes),
                                 bytes, HEDDLE_OP_REPLACE};
    MPIDI_UCX_take_turn(vni_src, &o->turn);
    if (error == MPI_SUCCESS)
        MPIDI_UCX_move_begin(vni_src, &o->pack);
    else
        MPIDI_UCX_move_none(vni_src, &o->pack);

fn_exit:
    return mpi_errno;
fn_fail:
    if (o != NULL)
        heddle_staging_free(o->staging);
    MPL_free(o);
    goto fn_exit;
}

/* ---- receives -----------------------------------------------------------------------------------
 */

struct receive {
    struct MPIDI_UCX_move unpack;
    MPIR_Request *rreq;
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype; /* holds a reference */
    MPIR_Comm *comm;
    struct landing staging;
    int vni;
    bool enveloped;
    heddle_ticket ticket;       /* that the request points to */
    uint64_t ucx_tag, tag_mask; /* that it was posted for */
    bool lost;                  /* nobody is left to send it */
    struct receive *prev, *next;
};
static struct receive *posted[MPIDI_CH4_MAX_VCIS]; /* that UCX has not matched */

static void free_receive(struct receive *r)
{
    if (r->enveloped && r->staging.bytes > MPIR_CVAR_CH4_UCX_GPU_ONESHOT)
        keep_landing(r->vni, r->staging);
    else
        heddle_staging_free(r->staging.memory);
    MPIR_Datatype_release_if_not_builtin(r->datatype);
    MPL_free(r);
}

static void unpacked(struct MPIDI_UCX_move *unpack)
{
    struct receive *r = MPL_container_of(unpack, struct receive, unpack);
    MPIR_Request *rreq = r->rreq;
    const bool enveloped = r->enveloped;

    if (unpack->error != HEDDLE_SUCCESS)
        set_error(rreq, MPIR_Typerep_error(unpack->error));
    else if (unpack->move.bytes > 0)
        heddle_message_count_whole(1, unpack->move.bytes);
    free_receive(r);
    if (!enveloped) /* else the request is the envelope's now */
        MPIDIU_request_complete(rreq);
}

/* The message is here: the host's part of the receive is over. True where there is something to
 * unpack. */
static bool has_data(struct receive *r, ucs_status_t status, const ucp_tag_recv_info_t *info)
{
    MPIR_Request *rreq = r->rreq;

    rreq->status.MPI_ERROR = MPI_SUCCESS;
    if (status == UCS_ERR_CANCELED && r->lost) {
        rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(r->ucx_tag);
        rreq->status.MPI_ERROR = MPIDI_UCX_message_error(HEDDLE_ERR_LOST, rreq->status.MPI_SOURCE);
        return false;
    }
    if (status == UCS_ERR_CANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
        return false;
    }
    rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(info->sender_tag);
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(info->sender_tag);
    if (status != UCS_OK) {
        rreq->status.MPI_ERROR =
            status == UCS_ERR_MESSAGE_TRUNCATED ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
        return false;
    }
    MPIR_STATUS_SET_COUNT(rreq->status, info->length);
    return info->length > 0;
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info,
                     void *user_data)
{
    MPIDI_UCX_ucp_request_t *ucp_request = request;
    struct receive *r = user_data;

    DL_DELETE(posted[r->vni], r);
    const heddle_ticket *ticket = MPIDI_UCX_REQ(r->rreq).posted.ticket;
    MPIDI_UCX_REQ(r->rreq).posted.ticket = NULL;
    MPIDI_UCX_note_unposted(r->rreq);
    MPIDI_UCX_RECV_SET_CAME(r->rreq);
    if (ticket != NULL &&
        (status == UCS_ERR_CANCELED || !(info->sender_tag & MPIDI_UCX_ENVELOPE_BIT)))
        (void)heddle_ticket_end(ticket);
    /* Nobody frees `r` meanwhile, though the call that posted the receive may still be running. */
    if (status != UCS_ERR_CANCELED && (info->sender_tag & MPIDI_UCX_ENVELOPE_BIT)) {
        r->enveloped = true;
        MPIDI_UCX_envelope_met(r->rreq, r->buf, r->count, r->datatype, r->comm, r->vni,
                               status == UCS_ERR_MESSAGE_TRUNCATED ? NULL : r->staging.memory,
                               ticket, info);
        MPIDI_UCX_move_none(r->vni, &r->unpack);
    } else if (has_data(r, status, info)) {
        r->unpack.move = (heddle_move){staged(r->staging.memory, info->length),
                                       MPIDI_UCX_side(r->buf, r->count, r->datatype), info->length,
                                       HEDDLE_OP_REPLACE};
        MPIDI_UCX_move_begin(r->vni, &r->unpack);
    } else {
        MPIDI_UCX_move_none(r->vni, &r->unpack);
    }
    ucp_request->req = NULL;
    ucp_request_release(ucp_request); /* and `info` with it */
}

void MPIDI_UCX_receives_lost(int vni, int world_rank)
{
    const MPIDI_av_entry_t *lost = &MPIDIU_get_av(0, world_rank);
    struct receive *r, *next;
    DL_FOREACH_SAFE(posted[vni], r, next)
    {
        const bool is_from_one = (r->tag_mask & MPIDI_UCX_RANK_MASK) == MPIDI_UCX_RANK_MASK;
        if (!is_from_one ||
            MPIDIU_comm_rank_to_av(r->comm, MPIDI_UCX_get_source(r->ucx_tag)) != lost)
            continue;
        r->lost = true;
        ucp_request_cancel(MPIDI_UCX_global.ctx[vni].worker, MPIDI_UCX_REQ(r->rreq).ucp_request);
    }
}

int MPIDI_UCX_oneshot_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, uint64_t ucx_tag,
                           uint64_t tag_mask, ucp_tag_message_h matched, MPIR_Comm *comm, int vni,
                           const heddle_ticket *ticket, MPIR_Request *rreq)
{
    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint bytes = packed_size(count, datatype);
    ucp_worker_h worker = MPIDI_UCX_global.ctx[vni].worker;

    struct receive *r = MPL_malloc(sizeof(*r), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(r == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *r = (struct receive){
        .unpack.moved = unpacked,
        .rreq = rreq,
        .buf = buf,
        .count = count,
        .datatype = datatype,
        .comm = comm,
        .staging = bytes > MPIR_CVAR_CH4_UCX_GPU_ONESHOT ? take_landing(vni, bytes)
                                                         : (struct landing){NULL, bytes},
        .vni = vni,
        .ucx_tag = ucx_tag,
        .tag_mask = matched != NULL ? 0 : tag_mask,
    };
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    if (r->staging.memory == NULL)
        mpi_errno = stage(bytes, buf, datatype, &r->staging.memory);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_UCX_note_posted(rreq, matched != NULL ? MPIDI_UCX_UNPOSTED
                                                : MPIDI_UCX_KEY_OF_RECEIVE(ucx_tag, tag_mask));
    if (ticket != NULL) {
        r->ticket = *ticket;
        MPIDI_UCX_REQ(rreq).posted.ticket = &r->ticket;
    }
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv = received,
        .user_data = r,
    };
    DL_APPEND(posted[vni], r);
    MPIDI_UCX_ucp_request_t *ucp_request =
        matched != NULL
            ? ucp_tag_msg_recv_nbx(worker, r->staging.memory, bytes, matched, &param)
            : ucp_tag_recv_nbx(worker, r->staging.memory, bytes, ucx_tag, tag_mask, &param);
    if (UCS_PTR_IS_ERR(ucp_request)) {
        DL_DELETE(posted[vni], r);
        MPIDI_UCX_REQ(rreq).posted.ticket = NULL;
        MPIDI_UCX_note_unposted(rreq);
    }
    MPIDI_UCX_CHK_REQUEST(ucp_request);
    MPIDI_UCX_REQ(rreq).ucp_request = ucp_request;
    if (matched != NULL)
        MPIDI_UCX_RECV_SET_CAME(rreq);

fn_exit:
    return mpi_errno;
fn_fail:
    if (r != NULL)
        free_receive(r);
    goto fn_exit;
}

#endif
