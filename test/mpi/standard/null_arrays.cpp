/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of counts, displacements and types that a collective would read are not null: it says so.
 * Where all counts are zero no type is read; who has no neighbor has no arrays. processes: 1 2
 */
#include "collective_test.hpp"

using namespace collective_test;

namespace {

constexpr int most = 16;

/* What a group of up to `most` passes. */
struct Arrays {
    std::vector<int> ones = std::vector<int>(most, 1), zeros = std::vector<int>(most, 0);
    std::vector<MPI_Aint> far = std::vector<MPI_Aint>(most, 0);
    std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(most, MPI_INT);
    std::vector<int> from = std::vector<int>(most, 0), to = from;
};

template <class Call> void refused(const char *what, Call call)
{
    for (const Form form : kForms) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_class(call(form, &request), MPI_ERR_ARG, std::string(name(form)) + " " + what);
    }
}

void test_among_all(Arrays &a)
{
    const MPI_Comm w = MPI_COMM_SELF; /* each is the root */
    const MPI_Datatype type = MPI_INT;
    int *const n = a.ones.data(), *const at = a.zeros.data(), *const none = nullptr;
    int *const from = a.from.data(), *const to = a.to.data();
    MPI_Datatype *const types = a.types.data();
    refused("Gatherv, counts", COLLECTIVE(Gatherv, w, from, 1, type, to, none, at, type, 0));
    refused("Gatherv, displacements", COLLECTIVE(Gatherv, w, from, 1, type, to, n, none, type, 0));
    refused("Scatterv, counts", COLLECTIVE(Scatterv, w, from, none, at, type, to, 1, type, 0));
    refused("Allgatherv, counts", COLLECTIVE(Allgatherv, w, from, 1, type, to, none, at, type));
    refused("Allgatherv, displacements",
            COLLECTIVE(Allgatherv, w, from, 1, type, to, n, none, type));
    refused("Alltoallv, counts sent",
            COLLECTIVE(Alltoallv, w, from, none, at, type, to, n, at, type));
    refused("Alltoallv, displacements received",
            COLLECTIVE(Alltoallv, w, from, n, at, type, to, n, none, type));
    refused("Alltoallw, counts received",
            COLLECTIVE(Alltoallw, w, from, n, at, types, to, none, at, types));
    refused("Alltoallw, displacements sent",
            COLLECTIVE(Alltoallw, w, from, n, none, types, to, n, at, types));
    refused("Alltoallw, types sent",
            COLLECTIVE(Alltoallw, w, from, n, at, nullptr, to, n, at, types));
    refused("Alltoallw, types received",
            COLLECTIVE(Alltoallw, w, from, n, at, types, to, n, at, nullptr));
    refused("Reduce_scatter, counts", COLLECTIVE(Reduce_scatter, w, from, to, none, type, MPI_SUM));
    check_class(MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, to, n, at, types, w),
                MPI_SUCCESS, "Alltoallw in place");
}

/* Each rank is its own neighbor, or has none. */
void test_neighbors(Arrays &a, int neighbors)
{
    MPI_Comm graph;
    const int self = rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbors, &self, MPI_UNWEIGHTED, neighbors,
                                   &self, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    const MPI_Datatype type = MPI_INT;
    int *const n = a.ones.data(), *const at = a.zeros.data(), *const none = nullptr;
    int *const from = a.from.data(), *const to = a.to.data();
    MPI_Aint *const far = a.far.data();
    MPI_Datatype *const types = a.types.data();
    if (neighbors > 0) {
        refused("Neighbor_allgatherv, counts",
                COLLECTIVE(Neighbor_allgatherv, graph, from, 1, type, to, none, at, type));
        refused("Neighbor_alltoallv, counts",
                COLLECTIVE(Neighbor_alltoallv, graph, from, none, at, type, to, n, at, type));
        refused("Neighbor_alltoallw, displacements",
                COLLECTIVE(Neighbor_alltoallw, graph, from, n, far, types, to, n, nullptr, types));
        refused("Neighbor_alltoallw, types",
                COLLECTIVE(Neighbor_alltoallw, graph, from, n, far, nullptr, to, n, far, types));
    } else {
        check_class(MPI_Neighbor_alltoallw(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                           nullptr, nullptr, graph),
                    MPI_SUCCESS, "Neighbor_alltoallw without neighbors");
    }
    MPI_Comm_free(&graph);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        Arrays arrays;
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        test_among_all(arrays);
        test_neighbors(arrays, 1);
        test_neighbors(arrays, 0);
    });
}
