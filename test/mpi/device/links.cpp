/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of one node, each on a device of its own. Where the devices form a chain, ranks that
 * say much to each other come to devices that are linked; where all links are alike, nobody moves.
 */
#include "device_test.hpp"

#include <dlfcn.h>

using namespace device_test;

namespace {

/* This process works on the device of its number from now on. */
void choose_device()
{
    const char *const path = std::getenv("HEDDLE_DEVICE");
    void *const library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    void *const found = library ? dlsym(library, "heddle_sim_set_device") : nullptr;
    if (!found || reinterpret_cast<int (*)(int)>(found)(rank) != 0)
        throw std::runtime_error("this test needs a simulated device for each process");
}

struct Pair {
    int a, b, weight;
};

/* Both directions of each pair. */
MPI_Comm make_graph(const std::vector<Pair> &pairs)
{
    std::vector<int> others, weights;
    for (const Pair &pair : pairs)
        if (pair.a == rank || pair.b == rank) {
            others.push_back(pair.a == rank ? pair.b : pair.a);
            weights.push_back(pair.weight);
        }
    const auto degree = static_cast<int>(others.size());
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others.data(), weights.data(), degree,
                                   others.data(), weights.data(), MPI_INFO_NULL, 1, &comm);
    return comm;
}

/* The device of each rank of the communicator. */
std::vector<int> devices_of(MPI_Comm comm)
{
    std::vector<int> devices(static_cast<size_t>(size));
    MPI_Allgather(&rank, 1, MPI_INT, devices.data(), 1, MPI_INT, comm);
    return devices;
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        choose_device();
        const char *const peers = std::getenv("HEDDLE_SIM_PEER");
        const bool is_chain = peers && std::string(peers) == "2";
        const int64_t moved = counted("placements_moved");
        MPI_Comm comm = make_graph({{0, 2, 100}, {1, 3, 100}, {0, 1, 1}});
        const std::vector<int> devices = devices_of(comm);
        if (is_chain) {
            check(std::abs(devices[0] - devices[2]) == 1, "ranks 0 and 2 are linked");
            check(std::abs(devices[1] - devices[3]) == 1, "ranks 1 and 3 are linked");
            check(std::abs(devices[0] - devices[1]) == 1, "so are 0 and 1");
        } else {
            check(devices == std::vector<int>{0, 1, 2, 3}, "nobody moves");
        }
        check(counted("placements_moved") == moved + (is_chain && rank == 0), "placements_moved");
        MPI_Comm_free(&comm);
    });
}
