// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/message.hpp"

#include "interpose/report.hpp"

#include <cstring>

namespace heddle::interpose {

namespace {

// How a notice ends. Its length is odd, so it is no whole number of most elements.
constexpr char end_of_notice[] = "\x1b heddle: the sender's device failed to pack this message. \x07";
constexpr int64_t end_bytes = sizeof end_of_notice;
static_assert(end_bytes % 2 == 1);

} // namespace

int Message::unpacking(const MPI_Status &status, std::vector<heddle_move> &moves) const
{
    const int64_t received = bytes_of(status);
    if (Notice::is_at_end_of(at(), received))
        return MPI_ERR_OTHER;
    if (received > 0)
        moves.push_back(unpack_move(data_, at(), received));
    return MPI_SUCCESS;
}

int Message::unpack(int result, const MPI_Status &status, MPI_Comm comm) const
{
    if (result != MPI_SUCCESS)
        return result;
    std::vector<heddle_move> moves;
    const int error = unpacking(status, moves);
    return raise(comm, error != MPI_SUCCESS ? error : transfer(moves));
}

void Notice::write(int64_t bytes_of_message)
{
    text_.assign(static_cast<size_t>(bytes_of_message + end_bytes), std::byte{});
    std::memcpy(text_.data() + bytes_of_message, end_of_notice, end_bytes);
}

int Notice::send(int64_t bytes_of_message, Peer to, MPI_Comm comm)
{
    write(bytes_of_message);
    const Packed packed(bytes_of_message + end_bytes);
    return PMPI_Send(text_.data(), packed.count(), packed.type(), to.rank, to.tag, comm);
}

int Notice::begin(int64_t bytes_of_message, Peer to, MPI_Comm comm, MPI_Request *request)
{
    write(bytes_of_message);
    const Packed packed(bytes_of_message + end_bytes);
    return PMPI_Isend(text_.data(), packed.count(), packed.type(), to.rank, to.tag, comm, request);
}

bool Notice::is_at_end_of(const std::byte *received, int64_t bytes)
{
    return bytes >= end_bytes &&
           std::memcmp(received + bytes - end_bytes, end_of_notice, end_bytes) == 0;
}

} // namespace heddle::interpose
