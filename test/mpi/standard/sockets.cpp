/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that MPI may reorder, on one node of two sockets: those that say much to each other come to
 * one socket. hwloc is told of two sockets of a processor each; the processes are bound to them.
 *
 * processes: 4
 */
#include "standard_test.hpp"

#include <cstdlib>
#include <sched.h>

using namespace standard_test;

namespace {

/* Two processes to a processor, before MPI looks where they run. */
bool bind_to_sockets()
{
#ifdef HEDDLE_TEST_STOCK
    return false; /* it moves nobody, as it may */
#endif
    const char *const number = std::getenv("PMI_RANK");
    if (!number)
        return false;
    setenv("HEDDLE_DEVICE", "none", 1); /* links of devices would decide */
    setenv("HWLOC_SYNTHETIC", "pack:2 core:1 pu:1", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(static_cast<size_t>(std::atoi(number) / 2), &processors);
    return sched_setaffinity(0, sizeof processors, &processors) == 0;
}

/* What each rank of the new communicator is in the old one. */
std::vector<int> order_of(const std::vector<int> &partners)
{
    const int partner = partners[static_cast<size_t>(rank)], weight = 100;
    MPI_Comm comm = MPI_COMM_NULL;
    check_success(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &partner, &weight, 1, &partner,
                                                 &weight, MPI_INFO_NULL, 1, &comm),
                  "a graph");
    std::vector<int> order(static_cast<size_t>(size));
    MPI_Allgather(&rank, 1, MPI_INT, order.data(), 1, MPI_INT, comm);
    MPI_Comm_free(&comm);
    return order;
}

void test_sockets()
{
    check(order_of({1, 0, 3, 2}) == std::vector<int>{0, 1, 2, 3},
          "partners share a socket: nobody moves");
    const std::vector<int> order = order_of({2, 3, 0, 1});
    check_equal(order[0] / 2, order[2] / 2, "the socket of ranks 0 and 2");
    check_equal(order[1] / 2, order[3] / 2, "the socket of ranks 1 and 3");
}

} // namespace

int main(int argc, char **argv)
{
    const bool is_bound = bind_to_sockets();
    return run(argc, argv, [&] {
        int all = is_bound;
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        if (all)
            test_sockets();
        else if (rank == 0)
            std::printf("there are no two processors, or no PMI_RANK: nothing was tested\n");
    });
}
