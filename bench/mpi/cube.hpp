// SPDX-License-Identifier: BSD-3-Clause
// A cube of doubles with a layer around it, on two ranks' devices. The other rank is the neighbour
// in all 26 directions.
#pragma once

#include "device_vector.hpp"

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace bench {

class Cube {
public:
    struct Direction {
        MPI_Datatype inner, outer; // what leaves, and where it arrives
    };

    Cube(int cells, int rank)
        : n_(cells), all_(cells + 2), rank_(rank), cube_(int64_t{all_} * all_ * all_, rank)
    {
        for (int d = 0; d < 27; ++d)
            if (d != 13)
                add(d);
    }
    Cube(const Cube &) = delete;
    ~Cube()
    {
        for (Direction &each : directions_)
            MPI_Type_free(&each.inner), MPI_Type_free(&each.outer);
    }

    void *at() const { return cube_.at(); }
    MPI_Aint bytes() const { return MPI_Aint{all_} * all_ * all_ * 8; }
    const std::vector<Direction> &directions() const { return directions_; }

    void by_isend() const
    {
        const int all = static_cast<int>(directions_.size());
        std::vector<MPI_Request> requests(2 * directions_.size());
        for (int d = 0; d < all; ++d)
            MPI_Irecv(at(), 1, directions_[static_cast<size_t>(d)].outer, 1 - rank_, d,
                      MPI_COMM_WORLD, &requests[static_cast<size_t>(d)]);
        for (int d = 0; d < all; ++d)
            MPI_Isend(at(), 1, directions_[static_cast<size_t>(d)].inner, 1 - rank_, d,
                      MPI_COMM_WORLD, &requests[static_cast<size_t>(all + d)]);
        MPI_Waitall(2 * all, requests.data(), MPI_STATUSES_IGNORE);
    }
    // The same as persistent requests, for the caller to free.
    std::vector<MPI_Request> persistent(MPI_Comm comm) const
    {
        const int all = static_cast<int>(directions_.size());
        std::vector<MPI_Request> requests(2 * directions_.size());
        for (int d = 0; d < all; ++d) {
            const Direction &each = directions_[static_cast<size_t>(d)];
            MPI_Recv_init(at(), 1, each.outer, 1 - rank_, d, comm,
                          &requests[static_cast<size_t>(d)]);
            MPI_Send_init(at(), 1, each.inner, 1 - rank_, d, comm,
                          &requests[static_cast<size_t>(all + d)]);
        }
        return requests;
    }

    // The same by MPI_Neighbor_alltoallw, in a graph in which each direction is an edge.
    static MPI_Comm graph(int rank)
    {
        const std::vector<int> others(neighbours, 1 - rank);
        MPI_Comm comm;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbours, others.data(), MPI_UNWEIGHTED,
                                       neighbours, others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &comm);
        return comm;
    }
    void by_neighbours(MPI_Comm graph) const
    {
        MPI_Neighbor_alltoallw(at(), ones().data(), zeros().data(), inner_.data(), at(),
                               ones().data(), zeros().data(), outer_.data(), graph);
    }
    // The request for the caller to free.
    std::vector<MPI_Request> persistent_neighbours(MPI_Comm graph) const
    {
        std::vector<MPI_Request> request(1);
        MPI_Neighbor_alltoallw_init(at(), ones().data(), zeros().data(), inner_.data(), at(),
                                    ones().data(), zeros().data(), outer_.data(), graph,
                                    MPI_INFO_NULL, request.data());
        return request;
    }

    // Whether `once` brings all that the layer is to have.
    template <class Once> bool moves(Once &&once) const
    {
        cube_.fill(rising(1e9 * rank_));
        MPI_Barrier(MPI_COMM_WORLD);
        once();
        MPI_Barrier(MPI_COMM_WORLD);
        const std::vector<double> found = cube_.read();
        for (int z = 0; z < all_; ++z)
            for (int y = 0; y < all_; ++y)
                for (int x = 0; x < all_; ++x)
                    if (found[index(z, y, x)] != expected(z, y, x))
                        return false;
        return true;
    }

private:
    static constexpr int neighbours = 26;
    static const std::vector<int> &ones()
    {
        static const std::vector<int> all(neighbours, 1);
        return all;
    }
    static const std::vector<MPI_Aint> &zeros()
    {
        static const std::vector<MPI_Aint> all(neighbours, 0);
        return all;
    }
    size_t index(int z, int y, int x) const
    {
        return (static_cast<size_t>(z) * static_cast<size_t>(all_) + static_cast<size_t>(y)) *
                   static_cast<size_t>(all_) +
               static_cast<size_t>(x);
    }
    // A cell of the layer has what lies at the cube's other end.
    double expected(int z, int y, int x) const
    {
        const auto inside = [&](int i) { return i == 0 ? n_ : i == n_ + 1 ? 1 : i; };
        const bool is_layer = z != inside(z) || y != inside(y) || x != inside(x);
        return 1e9 * (is_layer ? 1 - rank_ : rank_) +
               static_cast<double>(index(inside(z), inside(y), inside(x)));
    }
    void add(int direction)
    {
        const int step[] = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
        const int sizes[] = {all_, all_, all_};
        int lengths[3], from[3], to[3];
        for (int i = 0; i < 3; ++i) {
            lengths[i] = step[i] ? 1 : n_;
            from[i] = step[i] > 0 ? n_ : 1;
            to[i] = step[i] > 0 ? 0 : step[i] < 0 ? n_ + 1 : 1;
        }
        Direction made;
        MPI_Type_create_subarray(3, sizes, lengths, from, MPI_ORDER_C, MPI_DOUBLE, &made.inner);
        MPI_Type_create_subarray(3, sizes, lengths, to, MPI_ORDER_C, MPI_DOUBLE, &made.outer);
        MPI_Type_commit(&made.inner), MPI_Type_commit(&made.outer);
        directions_.push_back(made);
        inner_.push_back(made.inner), outer_.push_back(made.outer);
    }

    const int n_, all_, rank_;
    DeviceVector cube_;
    std::vector<Direction> directions_;
    std::vector<MPI_Datatype> inner_, outer_; // theirs
};

} // namespace bench
