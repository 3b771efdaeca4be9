/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes any MPI one that takes device memory, where a simulated device stands for one: loaded
 * behind the interposer, it moves dense device buffers of messages through host memory. It counts
 * them.
 */
#include <heddle.h>
#include <mpi.h>

#include <map>
#include <memory>
#include <vector>

int gpu_aware_sends, gpu_aware_receives;

namespace {

struct Copy {
    void *program;
    std::vector<char> host;
};
std::map<MPI_Request, std::shared_ptr<Copy>> receives, sends;

bool is_device(const void *buffer)
{
    return heddle_memory_kind(buffer, nullptr) == HEDDLE_MEMORY_DEVICE;
}

void move(const void *from, void *to, int64_t bytes)
{
    const heddle_type *const byte = heddle_type_predefined(HEDDLE_BYTE);
    const heddle_move all = {
        {const_cast<void *>(from), bytes, byte, 0}, {to, bytes, byte, 0}, bytes, HEDDLE_OP_REPLACE};
    if (bytes > 0 && heddle_transfer(&all, 1) != HEDDLE_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

std::shared_ptr<Copy> copy_of(const void *buffer, int n, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    auto copy = std::make_shared<Copy>();
    copy->program = const_cast<void *>(buffer);
    copy->host.resize(static_cast<size_t>(n) * static_cast<size_t>(size) + 1);
    return copy;
}

std::shared_ptr<Copy> sent_copy(const void *buffer, int n, MPI_Datatype type)
{
    ++gpu_aware_sends;
    auto copy = copy_of(buffer, n, type);
    move(buffer, copy->host.data(), static_cast<int64_t>(copy->host.size()) - 1);
    return copy;
}

void arrived(Copy &copy, const MPI_Status &status)
{
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    move(copy.host.data(), copy.program, bytes);
}

void ended(MPI_Request was, const MPI_Status &status)
{
    if (const auto found = receives.find(was); found != receives.end()) {
        arrived(*found->second, status);
        receives.erase(found);
    }
    sends.erase(was);
}

} // namespace

extern "C" {

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (!is_device(buffer))
        return PMPI_Send(buffer, n, type, to, tag, comm);
    return PMPI_Send(sent_copy(buffer, n, type)->host.data(), n, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (!is_device(buffer))
        return PMPI_Isend(buffer, n, type, to, tag, comm, request);
    const auto copy = sent_copy(buffer, n, type);
    const int error = PMPI_Isend(copy->host.data(), n, type, to, tag, comm, request);
    sends[*request] = copy;
    return error;
}

int MPI_Recv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    if (!is_device(buffer))
        return PMPI_Recv(buffer, n, type, from, tag, comm, status);
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const auto copy = copy_of(buffer, n, type);
    ++gpu_aware_receives;
    const int error = PMPI_Recv(copy->host.data(), n, type, from, tag, comm, &found);
    if (error == MPI_SUCCESS)
        arrived(*copy, found);
    return error;
}

int MPI_Irecv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (!is_device(buffer))
        return PMPI_Irecv(buffer, n, type, from, tag, comm, request);
    const auto copy = copy_of(buffer, n, type);
    ++gpu_aware_receives;
    const int error = PMPI_Irecv(copy->host.data(), n, type, from, tag, comm, request);
    receives[*request] = copy;
    return error;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const MPI_Request was = *request;
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int error = PMPI_Test(request, flag, &found);
    if (*flag && error == MPI_SUCCESS)
        ended(was, found);
    return error;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const MPI_Request was = *request;
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    const int error = PMPI_Wait(request, &found);
    if (error == MPI_SUCCESS)
        ended(was, found);
    return error;
}
}
