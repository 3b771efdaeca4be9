/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fails amid a collective. Stock leaves an algorithm at a failed copy, and the others wait; or
 * it takes no notice.
 *
 * The law here: each rank goes through all its communication. What failed is noted in the
 * collective's errflag. The flag goes with every message from then on (in its tag), and is an error
 * of the call at each rank that has it at the end.
 */
#ifndef COLL_FAILURES_H_INCLUDED
#define COLL_FAILURES_H_INCLUDED

MPL_STATIC_INLINE_PREFIX void MPIR_Coll_note(MPIR_Errflag_t *errflag, int error)
{
    if (unlikely(error != MPI_SUCCESS) && *errflag == MPIR_ERR_NONE)
        *errflag = MPIR_ERR_GET_CLASS(error) == MPIX_ERR_PROC_FAILED ? MPIR_ERR_PROC_FAILED
                                                                     : MPIR_ERR_OTHER;
}

/* ---- steps of an algorithm: they succeed always, and note what failed ------------------------ */

MPL_STATIC_INLINE_PREFIX int MPIR_Coll_localcopy(MPIR_Errflag_t *errflag, const void *from,
                                                 MPI_Aint count, MPI_Datatype type, void *to,
                                                 MPI_Aint to_count, MPI_Datatype to_type)
{
    MPIR_Coll_note(errflag, MPIR_Localcopy(from, count, type, to, to_count, to_type));
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIR_Coll_reduce_local(MPIR_Errflag_t *errflag, const void *in,
                                                    void *inout, MPI_Aint count,
                                                    MPI_Datatype datatype, MPI_Op op)
{
    MPIR_Coll_note(errflag, MPIR_Reduce_local(in, inout, count, datatype, op));
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIR_Coll_pack(MPIR_Errflag_t *errflag, const void *from,
                                            MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset,
                                            void *to, MPI_Aint bytes, MPI_Aint *packed)
{
    const int error = MPIR_Typerep_pack(from, count, datatype, offset, to, bytes, packed);
    if (unlikely(error != MPI_SUCCESS))
        *packed = bytes;
    MPIR_Coll_note(errflag, error);
    return MPI_SUCCESS;
}

/* What a blocking collective returns. */
MPL_STATIC_INLINE_PREFIX int MPIR_Coll_result(int mpi_errno, const MPIR_Errflag_t *errflag)
{
    if (mpi_errno == MPI_SUCCESS && unlikely(*errflag != MPIR_ERR_NONE))
        MPIR_ERR_SET(mpi_errno, *errflag, "**coll_fail");
    return mpi_errno;
}

/* What a schedule sends whose messages have no tag that tells of its errflag. */
MPL_STATIC_INLINE_PREFIX const void *MPIR_Coll_data(MPIR_Errflag_t errflag, const void *buf)
{
    return errflag != MPIR_ERR_NONE && MPIR_TYPEREP_IS_NO_DATA(MPIR_Typerep_no_data)
               ? MPIR_Typerep_no_data
               : buf;
}

/* ---- requests of collectives ----------------------------------------------------------------- */

/* The first error is the one that is told. */
MPL_STATIC_INLINE_PREFIX void MPIR_Coll_fail(MPIR_Request *request, int error)
{
    if (unlikely(error != MPI_SUCCESS) && request->status.MPI_ERROR == MPI_SUCCESS)
        request->status.MPI_ERROR = error;
}

/* A message of a schedule's is over: the schedule's request learns how it ended. */
MPL_STATIC_INLINE_PREFIX void MPIR_Coll_message_over(MPIR_Request *request, MPIR_Request *message)
{
    if (message->kind == MPIR_REQUEST_KIND__RECV)
        MPIR_Process_status(&message->status, &request->u.nbc.errflag);
    MPIR_Coll_note(&request->u.nbc.errflag, message->status.MPI_ERROR);
    MPIR_Coll_fail(request, message->status.MPI_ERROR);
    MPIR_Request_free(message);
}

/* MPIR_Waitall, which ends at the first request that failed: here all are over, and have their
 * error in their status. */
MPL_STATIC_INLINE_PREFIX int MPIR_Coll_waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    if (likely(MPIR_Waitall(n, requests, statuses) == MPI_SUCCESS))
        return MPI_SUCCESS;
    for (int i = 0; i < n; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            statuses[i].MPI_ERROR = MPIR_Wait(&requests[i], &statuses[i]);
    return MPI_ERR_IN_STATUS;
}

/* Waits for a nonblocking collective's request that a blocking one has begun. It is freed by its
 * caller where this succeeds. */
MPL_STATIC_INLINE_PREFIX int MPIR_Coll_wait(MPIR_Request *request, MPIR_Errflag_t *errflag)
{
    MPIR_Errflag_t noted = MPIR_ERR_NONE;
    int mpi_errno = MPIC_Wait(request, &noted);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = request->status.MPI_ERROR;
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        *errflag = MPIR_ERR_NONE;
        MPIR_Coll_note(errflag, mpi_errno);
        MPIR_Request_free(request);
    }
    return mpi_errno;
}

/* ---- reductions on copies in host memory ----------------------------------------------------- */

/* A copy of what this thread reduces next could not be made. Who begins the reduction takes this
 * over into its errflag. */
extern MPL_TLS MPIR_Errflag_t MPIR_Coll_failed_before ATTRIBUTE((visibility("hidden"),
                                                                 tls_model("initial-exec")));

MPL_STATIC_INLINE_PREFIX void MPIR_Coll_take_failure(MPIR_Errflag_t *errflag)
{
    if (unlikely(MPIR_Coll_failed_before != MPIR_ERR_NONE) && *errflag == MPIR_ERR_NONE)
        *errflag = MPIR_Coll_failed_before;
    MPIR_Coll_failed_before = MPIR_ERR_NONE;
}

/* MPIR_gpu_host_swap. */
MPL_STATIC_INLINE_PREFIX void *MPIR_Coll_host_swap(const void *buf, MPI_Aint count,
                                                   MPI_Datatype datatype)
{
    void *const host = MPIR_gpu_host_alloc(buf, count, datatype);
    if (host != NULL)
        (void)MPIR_Coll_localcopy(&MPIR_Coll_failed_before, buf, count, datatype, host, count,
                                  datatype);
    return host;
}

/* The result goes back to where it belongs, as the last step of its request. */
MPL_STATIC_INLINE_PREFIX void MPIR_Coll_copy_back(MPIR_Request *request, const void *host,
                                                  MPI_Aint count, MPI_Datatype datatype, void *to,
                                                  MPI_Aint to_count, MPI_Datatype to_type)
{
    MPIR_Coll_fail(request, MPIR_Localcopy(host, count, datatype, to, to_count, to_type));
}

/* MPIR_gpu_swap_back. */
MPL_STATIC_INLINE_PREFIX void MPIR_Coll_swap_back(MPIR_Request *request, void *host, void *to,
                                                  MPI_Aint count, MPI_Datatype datatype)
{
    MPIR_Coll_copy_back(request, host, count, datatype, to, count, datatype);
    MPIR_gpu_host_free(host, count, datatype);
}

#endif /* COLL_FAILURES_H_INCLUDED */
