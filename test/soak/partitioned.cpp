/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitioned messages around a ring, the partitions ready in a random order.
 */
#include "soak.hpp"

#include <numeric>

namespace soak {

void partitioned(Rng &rng)
{
    const int partitions = static_cast<int>(rng.in(1, 8));
    const int64_t elements = std::max<int64_t>(random_elements(rng) / partitions, 1);
    const int seed = static_cast<int>(rng.in(1, 1000));
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    Rng own(Rng::mix(rng.next(), static_cast<uint64_t>(rank)));
    const PiecePtr source = dense_piece(own, elements, partitions),
                   target = dense_piece(own, elements, partitions);
    std::vector<int> order(static_cast<size_t>(partitions));
    std::iota(order.begin(), order.end(), 0);

    MPI_Request requests[2];
    MPI_Psend_init(source->buffer.at(), partitions, elements, MPI_DOUBLE, to, 7, world,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(target->buffer.at(), partitions, elements, MPI_DOUBLE, from, 7, world,
                   MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 2; ++round) {
        source->buffer.fill(seed + round + rank);
        succeeded(MPI_Startall(2, requests), "MPI_Startall of partitioned requests");
        own.shuffle(order);
        for (const int partition : order)
            succeeded(MPI_Pready(partition, requests[0]), "MPI_Pready");
        const bool sent =
            succeeded(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), "MPI_Wait of a partitioned send");
        const bool received = succeeded(MPI_Wait(&requests[1], MPI_STATUS_IGNORE),
                                        "MPI_Wait of a partitioned receive");
        if (!sent || !received)
            continue;
        target->buffer.expect(seed + round + from, 0, elements * partitions);
        verify(target->buffer, "a partitioned message");
    }
    for (MPI_Request &request : requests)
        MPI_Request_free(&request);
}

} // namespace soak
