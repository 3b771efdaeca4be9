/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI_Isendrecv and MPI_Isendrecv_replace lack: their request tells of the message that was
 * received, or of MPI_PROC_NULL, and of the first error of the two messages.
 */
#ifndef MPIR_ISENDRECV_H_INCLUDED
#define MPIR_ISENDRECV_H_INCLUDED

/* The two that receive from MPI_PROC_NULL: a message that is sent, if any,
 * and the status of no message. */
static inline int MPIR_Isend_alone(const void *buf, MPI_Aint count, MPI_Datatype datatype, int dest,
                                   int tag, MPIR_Comm *comm, int context_offset,
                                   MPIR_Request **request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Assert(context_offset == MPIR_CONTEXT_INTRA_PT2PT); /* which schedules use */
    if (dest == MPI_PROC_NULL) {
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RECV);
        MPIR_ERR_CHKANDJUMP(*request == NULL, mpi_errno, MPIX_ERR_NOREQ, "**nomemreq");
    } else {
        MPIR_Sched_t s = MPIR_SCHED_NULL;
        mpi_errno = MPIR_Sched_create(&s, MPIR_SCHED_KIND_REGULAR);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Sched_pt2pt_send(buf, count, datatype, tag, dest, comm, s);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Sched_start(s, comm, request);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_Status_set_procnull(&(*request)->status);
fn_fail:
    return mpi_errno;
}

/* In a schedule: a message could not be begun. */
static inline int MPIR_Isendrecv_begun(MPIR_Request *whole, int mpi_errno)
{
    if (whole->status.MPI_ERROR == MPI_SUCCESS)
        whole->status.MPI_ERROR = mpi_errno;
    return mpi_errno;
}

/* In a schedule: a message is over. */
static inline void MPIR_Isendrecv_over(MPIR_Request *whole, const MPIR_Request *part, bool received)
{
    const int before = whole->status.MPI_ERROR;
    if (received)
        whole->status = part->status;
    whole->status.MPI_ERROR = before != MPI_SUCCESS ? before : part->status.MPI_ERROR;
}

#endif
