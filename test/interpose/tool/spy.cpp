/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loaded behind the interposer, it counts the envelopes that the MPI gets, and makes the MPI one
 * that cancels sends: those of one tag it keeps until then. Where it is asked to, the MPI has
 * errors.
 */
#include <mpi.h>

int envelopes; /* sent */

int failing_issend;  /* the how manieth from now on fails; 0: none */
int failing_in_row;  /* so many more behind it */
int failing_testall; /* each does, while requests are active */

namespace {

constexpr int envelope_bytes = 51, kept_tag = 66;

void look(int n, MPI_Datatype type) { envelopes += n == envelope_bytes && type == MPI_PACKED; }

MPI_Request kept = MPI_REQUEST_NULL;

int query(void *, MPI_Status *status)
{
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 1);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int release(void *) { return MPI_SUCCESS; }
int cancel(void *, int) { return MPI_SUCCESS; }

} // namespace

extern "C" {

#define SEND(Name)                                                                                 \
    int MPI_##Name(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)   \
    {                                                                                              \
        look(n, type);                                                                             \
        return PMPI_##Name(buffer, n, type, to, tag, comm);                                        \
    }
#define BEGIN_SEND(Name)                                                                           \
    int MPI_##Name(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,   \
                   MPI_Request *request)                                                           \
    {                                                                                              \
        look(n, type);                                                                             \
        if (tag != kept_tag)                                                                       \
            return PMPI_##Name(buffer, n, type, to, tag, comm, request);                           \
        PMPI_Grequest_start(query, release, cancel, nullptr, &kept);                               \
        *request = kept;                                                                           \
        return MPI_SUCCESS;                                                                        \
    }

SEND(Send)
SEND(Ssend)
SEND(Rsend)
BEGIN_SEND(Isend)
BEGIN_SEND(Irsend)

int MPI_Issend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    look(n, type);
    if (failing_issend == 0 && failing_in_row > 0 && failing_in_row--)
        return MPI_ERR_INTERN;
    if (failing_issend > 0 && --failing_issend == 0)
        return MPI_ERR_INTERN;
    return PMPI_Issend(buffer, n, type, to, tag, comm, request);
}

int MPI_Testall(int n, MPI_Request *requests, int *done, MPI_Status *statuses)
{
    const int error = PMPI_Testall(n, requests, done, statuses);
    return failing_testall && !*done ? MPI_ERR_IN_STATUS : error;
}

int MPI_Cancel(MPI_Request *request)
{
    return *request == kept ? PMPI_Grequest_complete(kept) : PMPI_Cancel(request);
}
}
