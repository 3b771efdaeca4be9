// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/message.hpp"

#include "interpose/report.hpp"

#include <cstring>

namespace heddle::interpose {

namespace {

constexpr char end_of_notice[] =
    "\x1b heddle: the sender's device failed to pack this message. \x07";
static_assert(sizeof end_of_notice == Notice::end_bytes);

} // namespace

// Out of device memory only what may be one is fetched.
bool Message::is_notice(int64_t received) const
{
    if (received < Notice::end_bytes)
        return false;
    std::byte *const last = at() + received - Notice::end_bytes;
    if (!staging_.is_on_device())
        return Notice::is_end(last);
    if (received % 2 == 0)
        return false;
    std::byte fetched[Notice::end_bytes];
    const heddle_move move = {packed_side(last, Notice::end_bytes),
                              packed_side(fetched, Notice::end_bytes), Notice::end_bytes,
                              HEDDLE_OP_REPLACE};
    return transfer({move}) == MPI_SUCCESS && Notice::is_end(fetched);
}

int Message::unpacking(const MPI_Status &status, std::vector<heddle_move> &moves) const
{
    const int64_t received = bytes_of(status);
    if (is_notice(received))
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

bool Notice::is_end(const std::byte *last)
{
    return std::memcmp(last, end_of_notice, end_bytes) == 0;
}

} // namespace heddle::interpose
