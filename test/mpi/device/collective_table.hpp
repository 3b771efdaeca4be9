/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective operation that moves or reduces data, in each of its forms, between groups too,
 * and what it should leave.
 */
#pragma once

#include "../forms.hpp"
#include "device_test.hpp"

#include <functional>
#include <numeric>
#include <type_traits>

namespace device_test {

/* What a call leaves in its target. `count` items from item `to` on are sums over ranks `first` to
 * `end` of the world. Each rank adds its items from item `from` on. Where data is only moved, that
 * is one rank. Nothing else changes. */
struct Block {
    int to, count, first, end, from;
};

struct Case {
    std::string name;
    std::function<int(Form, MPI_Request *)> begin;
    std::vector<Block> expected;
    bool is_defined = true; /* otherwise the target may hold anything */
};

/* A communicator, and who exchanges data with this rank: ranks `first` to `end` of the world. */
struct Group {
    std::string name;
    MPI_Comm comm;
    int first, end, me; /* `me`: its rank in the communicator */
    bool is_root, hears_root;
    int root; /* as the calls take it */
    bool between, in_place;
};

/* The root of all. Its number in its group is 0: between groups, MPICH's Ibcast takes no other for
 * what it is. */
inline constexpr int world_root = 1;

inline Group everyone(bool in_place)
{
    return {in_place ? "in place" : "everyone",
            MPI_COMM_WORLD,
            0,
            size,
            rank,
            rank == world_root,
            true,
            world_root,
            false,
            in_place};
}

/* The first rank and the others. */
inline Group two_groups()
{
    const bool is_first = rank == 0, is_root = rank == world_root;
    const int root = is_first ? 0 : is_root ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Comm group, both;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 0, &both);
    MPI_Comm_free(&group);
    return {"between groups",
            both,
            is_first ? 1 : 0,
            is_first ? size : 1,
            is_first ? 0 : rank - 1,
            is_root,
            is_first,
            root,
            true,
            false};
}

/* Each rank is a neighbour of each, itself too. The sources stand in reverse. */
struct Graph {
    MPI_Comm comm;
    std::vector<int> sources, targets;

    Graph()
    {
        for (int r = 0; r < size; ++r) {
            targets.push_back(r);
            sources.push_back(size - 1 - r);
        }
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, sources.data(), MPI_UNWEIGHTED, size,
                                       targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    }
    ~Graph() { MPI_Comm_free(&comm); }
};

/* The type of the buffers' items: where it lies in gaps,
 * only an operator of the program's own adds it. */
struct Items {
    const Layout layout;
    const MPI_Datatype type;
    MPI_Aint extent = 0;

    Items(MakeLayout make, int elements)
        : layout(make(elements)), type(elements == 1 ? MPI_DOUBLE : layout.type)
    {
        MPI_Aint lb;
        MPI_Type_get_extent(type, &lb, &extent);
    }
};

inline const Items *added; /* what `add_items` gets */

inline MPI_Op add_items_op;

inline void add_items(void *in, void *inout, int *count, MPI_Datatype *)
{
    for (int i = 0; i < *count; ++i)
        for (const MPI_Aint at : added->layout.at) {
            const auto element = [&](void *items) {
                return reinterpret_cast<double *>(static_cast<char *>(items) + i * added->extent +
                                                  at);
            };
            *element(inout) += *element(in);
        }
}

/* Where even ranks and odd ones have what they send, and what they receive. */
struct Kinds {
    gpu::Kind from[2], to[2];
};
inline constexpr gpu::Kind device = gpu::Kind::device, host = gpu::Kind::pageable,
                           managed = gpu::Kind::managed;
inline constexpr Kinds every_kinds[] = {{{device, device}, {device, device}},
                                        {{device, device}, {host, host}},
                                        {{host, host}, {device, device}},
                                        {{device, host}, {device, host}},
                                        {{managed, device}, {device, managed}}};

/* What one rank sends to another where counts differ:
 * the same both ways, as calls in place need it. */
inline int count_of(int n, int from, int to) { return n + from + to; }
/* Where that begins in the buffer of either: an item is left out before each part but the first. */
inline int place_of(int n, int mine, int to) { return to * (n + mine + 1) + to * (to - 1) / 2; }
/* Room for all that, and some more that nothing touches. */
inline int room_for(int n) { return size * (n + 2 * size + 1); }

/* How the parts for `peers` lie in a buffer of rank `mine`, in the ways that the calls want it. */
struct Parts {
    std::vector<int> counts, places, bytes;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;

    Parts(int n, const Items &items, int mine, const std::vector<int> &peers)
        : types(peers.size(), items.type)
    {
        for (const int peer : peers) {
            counts.push_back(count_of(n, mine, peer));
            places.push_back(place_of(n, mine, peer));
            addresses.push_back(items.extent * places.back());
            bytes.push_back(static_cast<int>(addresses.back()));
        }
    }
};

/* A call's name, and the call in each of its forms. */
#define FORMS(Name, name) #Name, MPI_##Name, MPI_I##name, MPI_##Name##_init

/* All calls of one group's, with parts of `n` items, and what each should do. */
class Table {
public:
    Table(const Group &group, const Graph &graph, int n, const Items &from, const Items &to,
          const Buffer &source, const Buffer &target)
        : group_(group),
          n_(n),
          from_(from),
          to_(to),
          send_(source.at()),
          receive_(target.at()),
          gathered_(n, to, 0, peers()),
          scattered_(n, from, 0, peers()),
          sends_(n, from, group.me, peers()),
          receives_(n, to, group.me, peers()),
          targets_(n, from, group.me, graph.targets),
          sources_(n, to, group.me, graph.sources),
          gathered_sources_(n, to, 0, graph.sources)
    {
        rooted();
        among_all();
        if (&from == &to)
            reductions();
        if (!group.between && !group.in_place)
            neighbours(graph);
    }
    Table(const Table &) = delete; /* its cases point into it */
    Table &operator=(const Table &) = delete;

    const std::vector<Case> &cases() const { return cases_; }

private:
    template <class... A>
    void add(const char *name, int (*blocking)(A...),
             std::type_identity_t<int (*)(A..., MPI_Request *)> nonblocking,
             std::type_identity_t<int (*)(A..., MPI_Info, MPI_Request *)> persistent,
             std::vector<Block> expected, std::type_identity_t<A>... with)
    {
        cases_.push_back({name,
                          [=](Form form, MPI_Request *request) {
                              return call_in(form, request, blocking, nonblocking, persistent,
                                             with...);
                          },
                          std::move(expected)});
    }

    std::vector<int> peers() const
    {
        std::vector<int> all(static_cast<size_t>(group_.end - group_.first));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    /* block(i, r) for each peer i, which is rank r of the world. */
    template <class MakeBlock> std::vector<Block> from_peers(MakeBlock block) const
    {
        std::vector<Block> blocks;
        for (const int i : peers())
            blocks.push_back(block(i, group_.first + i));
        return blocks;
    }
    static Block from_root(int count, int from)
    {
        return {0, count, world_root, world_root + 1, from};
    }
    static std::vector<Block> only(bool holds, std::vector<Block> blocks)
    {
        return holds ? blocks : std::vector<Block>{};
    }

    void rooted()
    {
        const auto [name, comm, first, end, me, is_root, hears_root, root, between, in_place] =
            group_;
        const int n = n_, uneven = count_of(n, 0, me);
        const bool stays = in_place && is_root;
        void *const send = stays ? MPI_IN_PLACE : send_, *const receive =
                                                             stays ? MPI_IN_PLACE : receive_;
        const MPI_Datatype from = from_.type, to = to_.type;

        add(FORMS(Bcast, bcast), only(hears_root && !is_root, {from_root(n, 0)}),
            is_root ? send_ : receive_, n, is_root ? from : to, root, comm);
        const auto gathered = from_peers([&](int i, int r) {
            return Block{i * n, n, r, r + 1, stays && r == rank ? i * n : 0};
        });
        add(FORMS(Gather, gather), only(is_root, gathered), send, n, from, receive_, n, to, root,
            comm);
        const auto gathered_parts = from_peers([&](int i, int r) {
            const int place = place_of(n, 0, i);
            return Block{place, count_of(n, 0, i), r, r + 1, stays && r == rank ? place : 0};
        });
        add(FORMS(Gatherv, gatherv), only(is_root, gathered_parts), send, uneven, from, receive_,
            gathered_.counts.data(), gathered_.places.data(), to, root, comm);
        add(FORMS(Scatter, scatter), only(hears_root && !stays, {from_root(n, me * n)}), send_, n,
            from, receive, n, to, root, comm);
        add(FORMS(Scatterv, scatterv),
            only(hears_root && !stays, {from_root(uneven, place_of(n, 0, me))}), send_,
            scattered_.counts.data(), scattered_.places.data(), from, receive, uneven, to, root,
            comm);
    }

    void among_all()
    {
        const int n = n_, me = group_.me;
        const bool in_place = group_.in_place;
        const void *const send = in_place ? MPI_IN_PLACE : send_;
        const MPI_Datatype from = from_.type, to = to_.type;
        const MPI_Comm comm = group_.comm;

        const auto gathered = from_peers([&](int i, int r) {
            return Block{i * n, n, r, r + 1, in_place ? i * n : 0};
        });
        add(FORMS(Allgather, allgather), gathered, send, n, from, receive_, n, to, comm);
        const auto gathered_parts = from_peers([&](int i, int r) {
            const int place = place_of(n, 0, i);
            return Block{place, count_of(n, 0, i), r, r + 1, in_place ? place : 0};
        });
        add(FORMS(Allgatherv, allgatherv), gathered_parts, send, count_of(n, 0, me), from, receive_,
            gathered_.counts.data(), gathered_.places.data(), to, comm);
        const auto exchanged = from_peers([&](int i, int r) {
            return Block{i * n, n, r, r + 1, me * n};
        });
        add(FORMS(Alltoall, alltoall), exchanged, send, n, from, receive_, n, to, comm);
        const auto exchanged_parts = from_peers([&](int i, int r) {
            return Block{place_of(n, me, i), count_of(n, me, i), r, r + 1, place_of(n, i, me)};
        });
        add(FORMS(Alltoallv, alltoallv), exchanged_parts, send, sends_.counts.data(),
            sends_.places.data(), from, receive_, receives_.counts.data(), receives_.places.data(),
            to, comm);
        add(FORMS(Alltoallw, alltoallw), exchanged_parts, send, sends_.counts.data(),
            sends_.bytes.data(), sends_.types.data(), receive_, receives_.counts.data(),
            receives_.bytes.data(), receives_.types.data(), comm);
    }

    void reductions()
    {
        const auto [name, comm, first, end, me, is_root, hears_root, root, between, in_place] =
            group_;
        const int n = n_;
        const MPI_Datatype type = to_.type;
        const MPI_Op op = type == MPI_DOUBLE ? MPI_SUM : add_items_op;
        const void *const send = in_place ? MPI_IN_PLACE : send_, *const send_to_root =
                                                                      is_root ? send : send_;

        add(FORMS(Reduce, reduce), only(is_root, {{0, n, first, end, 0}}), send_to_root, receive_,
            n, type, op, root, comm);
        add(FORMS(Allreduce, allreduce), {{0, n, first, end, 0}}, send, receive_, n, type, op,
            comm);
        if (between) /* where both groups must have as much, or which is not defined */
            return;
        add(FORMS(Reduce_scatter_block, reduce_scatter_block), {{0, n, first, end, me * n}}, send,
            receive_, n, type, op, comm);
        add(FORMS(Reduce_scatter, reduce_scatter),
            {{0, count_of(n, 0, me), first, end, place_of(n, 0, me) - me}}, send, receive_,
            gathered_.counts.data(), type, op, comm);
        add(FORMS(Scan, scan), {{0, n, 0, me + 1, 0}}, send, receive_, n, type, op, comm);
        add(FORMS(Exscan, exscan), {{0, n, 0, me, 0}}, send, receive_, n, type, op, comm);
        cases_.back().is_defined = me > 0;
    }

    void neighbours(const Graph &graph)
    {
        const int n = n_, me = group_.me;
        const MPI_Datatype from = from_.type, to = to_.type;
        std::vector<Block> gathered, gathered_parts, exchanged, exchanged_parts;
        for (const int s : graph.sources) {
            const int at = static_cast<int>(gathered.size()) * n;
            gathered.push_back({at, n, s, s + 1, 0});
            gathered_parts.push_back({place_of(n, 0, s), count_of(n, 0, s), s, s + 1, 0});
            exchanged.push_back({at, n, s, s + 1, me * n});
            exchanged_parts.push_back(
                {place_of(n, me, s), count_of(n, me, s), s, s + 1, place_of(n, s, me)});
        }
        add(FORMS(Neighbor_allgather, neighbor_allgather), gathered, send_, n, from, receive_, n,
            to, graph.comm);
        add(FORMS(Neighbor_allgatherv, neighbor_allgatherv), gathered_parts, send_,
            count_of(n, 0, me), from, receive_, gathered_sources_.counts.data(),
            gathered_sources_.places.data(), to, graph.comm);
        add(FORMS(Neighbor_alltoall, neighbor_alltoall), exchanged, send_, n, from, receive_, n, to,
            graph.comm);
        add(FORMS(Neighbor_alltoallv, neighbor_alltoallv), exchanged_parts, send_,
            targets_.counts.data(), targets_.places.data(), from, receive_, sources_.counts.data(),
            sources_.places.data(), to, graph.comm);
        add(FORMS(Neighbor_alltoallw, neighbor_alltoallw), exchanged_parts, send_,
            targets_.counts.data(), targets_.addresses.data(), targets_.types.data(), receive_,
            sources_.counts.data(), sources_.addresses.data(), sources_.types.data(), graph.comm);
    }

    const Group &group_;
    const int n_;
    const Items &from_, &to_;
    void *const send_, *const receive_;
    const Parts gathered_, scattered_, sends_, receives_, targets_, sources_, gathered_sources_;
    std::vector<Case> cases_;
};

/* What `c` leaves in its target, where rank r had the values of seed(r). */
template <class Seed> void expect(const Case &c, int elements, Buffer &target, Seed seed)
{
    for (const Block &b : c.expected)
        for (int64_t i = 0; i < int64_t{b.count} * elements; ++i) {
            double sum = 0;
            for (int r = b.first; r < b.end; ++r)
                sum += Buffer::value(seed(r), int64_t{b.from} * elements + i);
            target.put(int64_t{b.to} * elements + i, sum);
        }
}

} // namespace device_test
