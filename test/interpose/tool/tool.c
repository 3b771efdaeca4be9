/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A profiling tool, as PMPI is for: it counts calls. counted.cpp asks it.
 */
#include <mpi.h>

int tool_sends, tool_receives, tool_waits;

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    ++tool_sends;
    return PMPI_Send(buffer, n, type, to, tag, comm);
}

int MPI_Irecv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    ++tool_receives;
    return PMPI_Irecv(buffer, n, type, from, tag, comm, request);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    ++tool_waits;
    return PMPI_Wait(request, status);
}
