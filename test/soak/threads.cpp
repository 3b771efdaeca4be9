/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads that send and receive around a ring at the same time, each in a communicator of its own.
 */
#include "soak.hpp"

#include <thread>

namespace soak {
namespace {

constexpr int most_threads = 3;
MPI_Comm comms[most_threads];

/* A thread counts for itself: what `soak` counts belongs to the first one. */
struct Tally {
    int64_t verified = 0, errors = 0;
    bool is_right = true;
};

void ring(MPI_Comm comm, uint64_t choices, Tally &tally)
{
    Rng rng(choices);
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int turn = 0; turn < 4; ++turn) {
        const int64_t elements = std::min<int64_t>(random_elements(rng), 32768);
        const int seed = static_cast<int>(rng.in(1, 1000)), count = elements > 0;
        Rng own(Rng::mix(rng.next(), static_cast<uint64_t>(rank)));
        const PiecePtr source = random_piece(own, elements), target = random_piece(own, elements);
        source->buffer.fill(seed + rank);
        MPI_Request requests[2];
        int error = MPI_Irecv(target->buffer.at(), count, target->buffer.type(), from, 0, comm,
                              &requests[0]);
        if (MPI_Isend(source->buffer.at(), count, source->buffer.type(), to, 0, comm,
                      &requests[1]) == MPI_SUCCESS)
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS)
            error = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (error != MPI_SUCCESS) {
            ++tally.errors;
            continue;
        }
        target->buffer.expect(seed + from, 0, elements);
        ++tally.verified;
        tally.is_right = target->buffer.holds() && tally.is_right;
    }
}

} // namespace

void threads(Rng &rng)
{
    if (comms[0] == MPI_Comm{})
        for (MPI_Comm &comm : comms) {
            MPI_Comm_dup(world, &comm);
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        }
    std::vector<Tally> tallies(static_cast<size_t>(rng.in(2, most_threads)));
    std::vector<uint64_t> choices;
    for (size_t t = 0; t < tallies.size(); ++t)
        choices.push_back(rng.next());
    {
        std::vector<std::jthread> running;
        for (size_t t = 0; t < tallies.size(); ++t)
            running.emplace_back([&, t] { ring(comms[t], choices[t], tallies[t]); });
    }
    for (const Tally &tally : tallies) {
        verified += tally.verified;
        errors_told += tally.errors;
        device_test::check(tally.is_right, "a message between threads is wrong");
        device_test::check(tally.errors == 0 || options.may_fail,
                           "a message between threads failed");
    }
}

} // namespace soak
