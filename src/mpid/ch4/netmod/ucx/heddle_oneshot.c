/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short messages of device buffers: packed into host memory, which UCX sends, and unpacked out of what it received.
 */
#define MPIDI_UCX_PLAIN
#include "mpidimpl.h"
#include "ucx_impl.h"
#include "ucx_send.h"

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#include "heddle.h"

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
        and sent as one. What is longer goes in chunks.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

static MPI_Aint packed_size(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint size;
    MPIR_Datatype_get_size_macro(datatype, size);
    return count * size;
}

/* Memory to pack into or to receive in. A receive longer than one-shots are is met by a message out of host memory,
 * or by an envelope: then it was not needed, and ordinary memory that nobody touched cost nothing. */
static int stage(MPI_Aint bytes, const void *buf, MPI_Datatype datatype, void **staging)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint true_lb = 0;
    if (!HANDLE_IS_BUILTIN(datatype)) {
        MPI_Aint true_extent;
        MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    }
    const void *near = bytes <= MPIR_CVAR_CH4_UCX_GPU_ONESHOT ? MPIR_get_contig_ptr(buf, true_lb) : (void *) staging;
    if (heddle_staging_alloc(bytes, near, staging) != HEDDLE_SUCCESS)
        MPIR_ERR_SETANDSTMT(mpi_errno, MPI_ERR_NO_MEM, goto fn_fail, "**nomem");
  fn_fail:
    return mpi_errno;
}

/* ---- sends ------------------------------------------------------------------------------------ */

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

int MPIDI_UCX_gpu_send(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag, MPIR_Comm *comm,
                       int context_offset, MPIDI_av_entry_t *addr, MPIR_Request **request, int vni_src, int vni_dst,
                       int have_request, int is_sync)
{
    if (!MPIDI_UCX_gpu_takes(buf, count, datatype))
        return MPIDI_UCX_send(buf, count, datatype, rank, tag, comm, context_offset, addr, request, vni_src, vni_dst,
                              have_request, is_sync);

    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint bytes = packed_size(count, datatype);
    void *staging = NULL;
    MPIR_Request *sreq = *request;
    ucp_ep_h ep = MPIDI_UCX_AV_TO_EP(addr, vni_src, vni_dst);
    const uint64_t ucx_tag = MPIDI_UCX_init_tag(comm->context_id + context_offset, comm->rank, tag);

    /* What has no room for an envelope in it is never sent by one. */
    if (bytes > MPL_MAX(MPIR_CVAR_CH4_UCX_GPU_ONESHOT, MPIDI_UCX_ENVELOPE_BYTES))
        return MPIDI_UCX_envelope_send(buf, count, datatype, bytes, rank, ep, ucx_tag, vni_src, request);

    mpi_errno = stage(bytes, buf, datatype, &staging);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_read(buf, count, datatype, staging, bytes);
    MPIR_ERR_CHECK(mpi_errno);

    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = sent,
        .user_data = staging,
    };
    MPIDI_UCX_ucp_request_t *ucp_request = is_sync ? ucp_tag_send_sync_nbx(ep, staging, bytes, ucx_tag, &param)
                                                   : ucp_tag_send_nbx(ep, staging, bytes, ucx_tag, &param);
    MPIDI_UCX_CHK_REQUEST(ucp_request);

    if (ucp_request != NULL) {
        if (sreq == NULL)
            sreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, vni_src, 2);
        else
            MPIR_Request_add_ref(sreq);
        ucp_request->req = sreq;
        MPIDI_UCX_REQ(sreq).ucp_request = ucp_request;
    } else {
        heddle_staging_free(staging);
        if (sreq != NULL)
            MPIR_cc_set(&sreq->cc, 0);
        else
            sreq = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    }
    *request = sreq;

  fn_exit:
    return mpi_errno;
  fn_fail:
    heddle_staging_free(staging);
    goto fn_exit;
}

/* ---- receives ----------------------------------------------------------------------------------- */

struct MPIDI_UCX_unpack {
    MPIR_Request *rreq;
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype; /* holds a reference */
    MPIR_Comm *comm;
    void *staging;
    heddle_request *unpacking; /* null: done */
    int vni;
    bool enveloped;
    struct MPIDI_UCX_unpack *next;
};

static int new_receive(void *buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint bytes, MPIR_Comm *comm, int vni,
                       MPIR_Request *rreq, struct MPIDI_UCX_unpack **receive)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIDI_UCX_unpack *r = MPL_malloc(sizeof(*r), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(r == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *r = (struct MPIDI_UCX_unpack) {
        .rreq = rreq, .buf = buf, .count = count, .datatype = datatype, .comm = comm, .vni = vni,
    };
    mpi_errno = stage(bytes, buf, datatype, &r->staging);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    *receive = r;
  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(r);
    goto fn_exit;
}

static void free_receive(struct MPIDI_UCX_unpack *r)
{
    heddle_staging_free(r->staging);
    MPIR_Datatype_release_if_not_builtin(r->datatype);
    MPL_free(r);
}

static void set_error(MPIR_Request *rreq, int mpi_errno)
{
    if (rreq->status.MPI_ERROR == MPI_SUCCESS)
        rreq->status.MPI_ERROR = mpi_errno;
}

static void complete(struct MPIDI_UCX_unpack *r)
{
    MPIR_Request *rreq = r->rreq;
    free_receive(r);
    MPIDIU_request_complete(rreq);
}

/* The message is here: the host's part of the receive is over. */
static void unpack(struct MPIDI_UCX_unpack *r, ucs_status_t status, const ucp_tag_recv_info_t *info)
{
    MPIR_Request *rreq = r->rreq;

    rreq->status.MPI_ERROR = MPI_SUCCESS;
    if (status == UCS_ERR_CANCELED) {
        MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
        return;
    }
    rreq->status.MPI_SOURCE = MPIDI_UCX_get_source(info->sender_tag);
    rreq->status.MPI_TAG = MPIDI_UCX_get_tag(info->sender_tag);
    if (status == UCS_ERR_MESSAGE_TRUNCATED) {
        rreq->status.MPI_ERROR = MPI_ERR_TRUNCATE;
    } else if (status != UCS_OK) {
        rreq->status.MPI_ERROR = MPI_ERR_OTHER;
    } else {
        MPIR_STATUS_SET_COUNT(rreq->status, info->length);
        set_error(rreq, MPIR_Typerep_begin_unpack(r->staging, info->length, r->buf, r->count, r->datatype,
                                                  &r->unpacking));
    }
}

static void received(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *user_data)
{
    MPIDI_UCX_ucp_request_t *ucp_request = request;
    struct MPIDI_UCX_unpack *r = user_data;

    MPIDI_UCX_RECV_SET_CAME(r->rreq);
    if (status != UCS_ERR_CANCELED && (info->sender_tag & MPIDI_UCX_ENVELOPE_BIT)) {
        /* Nobody frees `r` meanwhile, though the call that posted the receive may still be running. */
        r->enveloped = true;
        MPIDI_UCX_envelope_met(r->rreq, r->buf, r->count, r->datatype, r->comm, r->vni,
                               status == UCS_ERR_MESSAGE_TRUNCATED ? NULL : r->staging, info->sender_tag);
    } else {
        unpack(r, status, info);
    }
    ucp_request->req = NULL;
    ucp_request_release(ucp_request); /* and `info` with it */

    r->next = MPIDI_UCX_vni_gpu[r->vni].unpacks;
    MPIDI_UCX_vni_gpu[r->vni].unpacks = r;
}

void MPIDI_UCX_oneshot_move_on(int vni)
{
    struct MPIDI_UCX_unpack **link = &MPIDI_UCX_vni_gpu[vni].unpacks;
    while (*link != NULL) {
        struct MPIDI_UCX_unpack *r = *link;
        int done = 0;
        const int mpi_errno = MPIR_Typerep_test_begun(&r->unpacking, &done);
        if (mpi_errno != MPI_SUCCESS)
            set_error(r->rreq, mpi_errno);
        if (!done) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        if (r->enveloped)
            free_receive(r); /* the request is the envelope's now */
        else
            complete(r);
    }
}

int MPIDI_UCX_oneshot_recv(void *buf, MPI_Aint count, MPI_Datatype datatype, uint64_t ucx_tag, uint64_t tag_mask,
                           ucp_tag_message_h matched, MPIR_Comm *comm, int vni, MPIR_Request *rreq)
{
    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint bytes = packed_size(count, datatype);
    ucp_worker_h worker = MPIDI_UCX_global.ctx[vni].worker;
    struct MPIDI_UCX_unpack *r = NULL;

    mpi_errno = new_receive(buf, count, datatype, bytes, comm, vni, rreq, &r);
    MPIR_ERR_CHECK(mpi_errno);
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .cb.recv = received,
        .user_data = r,
    };
    MPIDI_UCX_ucp_request_t *ucp_request =
        matched != NULL ? ucp_tag_msg_recv_nbx(worker, r->staging, bytes, matched, &param)
                        : ucp_tag_recv_nbx(worker, r->staging, bytes, ucx_tag, tag_mask, &param);
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
