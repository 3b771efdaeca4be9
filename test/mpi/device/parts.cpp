/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that hand out parts, in every form: blocking, nonblocking, persistent; of one length or of many; from one
 * layout and kind of memory to another. (collectives.cpp: those that reduce, and those in place.)
 */
#include "device_test.hpp"

#include <type_traits>

using namespace device_test;

namespace {

enum class Form { blocking, nonblocking, persistent };
constexpr const char *form_names[] = {"blocking", "nonblocking", "persistent"};

template <class... A>
void call(Form form, int (*blocking)(A...), std::type_identity_t<int (*)(A..., MPI_Request *)> nonblocking,
          std::type_identity_t<int (*)(A..., MPI_Info, MPI_Request *)> persistent, std::type_identity_t<A>... with)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == Form::blocking)
        blocking(with...);
    else if (form == Form::nonblocking)
        nonblocking(with..., &request);
    else
        persistent(with..., MPI_INFO_NULL, &request);
    if (form == Form::persistent)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == Form::persistent)
        MPI_Request_free(&request);
}
#define FORMS(Name, name) MPI_##Name, MPI_I##name, MPI_##Name##_init

/* Where even ranks and odd ones have what they send, and what they receive. */
struct Kinds {
    gpu::Kind from[2], to[2];
};
constexpr gpu::Kind device = gpu::Kind::device, host = gpu::Kind::pageable, managed = gpu::Kind::managed;
constexpr Kinds every_kinds[] = {{{device, device}, {device, device}},
                                 {{device, host}, {host, device}},
                                 {{managed, device}, {device, managed}}};

struct Layouts {
    MakeLayout from, to;
};
constexpr Layouts every_layouts[] = {{contiguous, contiguous}, {strided, structs}, {structs, contiguous}};

/* Parts of `n` items each, or of up to two more, to or from each of some peers. */
class Parts {
public:
    Parts(Form form, const Kinds &kinds, MakeLayout from, MakeLayout to, int n, int peers)
        : form(form), n(n), sent_(from(3)), come_(to(3)), source(kinds.from[rank % 2], sent_, peers * (n + 2)),
          target(kinds.to[rank % 2], come_, peers * (n + 2)), send(source.at()), receive(target.at()), sends(source.type()),
          receives(target.type())
    {
        source.fill(10 + rank);
        what_ = std::string(form_names[static_cast<int>(form)]) + ", " + std::to_string(n) + " items, " + source.name() + " to " +
                target.name();
    }
    /* How many items rank `a` and rank `b` exchange, and where they begin. */
    int count(int a, int b) const { return n + (a + b) % 3; }
    int place(int peer) const { return peer * (n + 2); }
    /* `items` from `place` on are to be rank `of`'s from `first` on. */
    void expect(int place, int items, int of, int first)
    {
        const int64_t e = come_.elements();
        target.expect(10 + of, place * e, (place + items) * e, first * e);
    }
    void verify(const char *name)
    {
        target.verify(name + (", " + what_));
        source.verify(name + (", its source, " + what_));
    }

    const Form form;
    const int n;

private:
    const Layout sent_, come_;

public:
    Buffer source, target;
    void *const send, *const receive;
    const MPI_Datatype sends, receives;

private:
    std::string what_;
};

/* Counts and places, as the calls want them, of this rank's parts to each of some peers. */
struct Lists {
    Lists(const Parts &parts, const std::vector<int> &peers, MPI_Datatype type) : types(peers.size(), type)
    {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        for (size_t i = 0; i < peers.size(); ++i) {
            counts.push_back(parts.count(rank, peers[i]));
            places.push_back(parts.place(static_cast<int>(i)));
            addresses.push_back(extent * places.back());
            bytes.push_back(static_cast<int>(addresses.back()));
        }
    }
    std::vector<int> counts, places, bytes;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;
};

template <class MakeParts> void equal(MakeParts make)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const int root = size - 1;
    {
        Parts p = make();
        const bool is_root = rank == root;
        call(p.form, FORMS(Bcast, bcast), is_root ? p.send : p.receive, p.n, is_root ? p.sends : p.receives, root, world);
        if (!is_root)
            p.expect(0, p.n, root, 0);
        p.verify("Bcast");
    }
    {
        Parts p = make();
        call(p.form, FORMS(Gather, gather), p.send, p.n, p.sends, p.receive, p.n, p.receives, root, world);
        for (int r = 0; r < size && rank == root; ++r)
            p.expect(r * p.n, p.n, r, 0);
        p.verify("Gather");
    }
    {
        Parts p = make();
        call(p.form, FORMS(Scatter, scatter), p.send, p.n, p.sends, p.receive, p.n, p.receives, root, world);
        p.expect(0, p.n, root, rank * p.n);
        p.verify("Scatter");
    }
    {
        Parts p = make();
        call(p.form, FORMS(Allgather, allgather), p.send, p.n, p.sends, p.receive, p.n, p.receives, world);
        for (int r = 0; r < size; ++r)
            p.expect(r * p.n, p.n, r, 0);
        p.verify("Allgather");
    }
    {
        Parts p = make();
        call(p.form, FORMS(Alltoall, alltoall), p.send, p.n, p.sends, p.receive, p.n, p.receives, world);
        for (int r = 0; r < size; ++r)
            p.expect(r * p.n, p.n, r, rank * p.n);
        p.verify("Alltoall");
    }
}

template <class MakeParts> void uneven(MakeParts make)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    std::vector<int> all;
    for (int r = 0; r < size; ++r)
        all.push_back(r);
    const auto from_all = [&](Parts &p) {
        for (const int r : all)
            p.expect(p.place(r), p.count(rank, r), r, p.place(rank));
    };
    /* What goes to or comes from rank 0 is as long as what rank 0 says of it. */
    std::vector<int> of_root;
    {
        Parts p = make();
        const Lists lists(p, all, p.receives);
        call(p.form, FORMS(Gatherv, gatherv), p.send, p.count(rank, 0), p.sends, p.receive, lists.counts.data(), lists.places.data(),
             p.receives, 0, world);
        for (int r = 0; r < size && rank == 0; ++r)
            p.expect(p.place(r), p.count(0, r), r, 0);
        p.verify("Gatherv");
        for (const int r : all)
            of_root.push_back(p.count(0, r));
    }
    {
        Parts p = make();
        const Lists lists(p, all, p.sends);
        call(p.form, FORMS(Scatterv, scatterv), p.send, lists.counts.data(), lists.places.data(), p.sends, p.receive, p.count(rank, 0),
             p.receives, 0, world);
        p.expect(0, p.count(rank, 0), 0, p.place(rank));
        p.verify("Scatterv");
    }
    {
        Parts p = make();
        const Lists lists(p, all, p.receives);
        call(p.form, FORMS(Allgatherv, allgatherv), p.send, of_root[static_cast<size_t>(rank)], p.sends, p.receive, of_root.data(),
             lists.places.data(), p.receives, world);
        for (const int r : all)
            p.expect(p.place(r), of_root[static_cast<size_t>(r)], r, 0);
        p.verify("Allgatherv");
    }
    {
        Parts p = make();
        const Lists to(p, all, p.sends), from(p, all, p.receives);
        call(p.form, FORMS(Alltoallv, alltoallv), p.send, to.counts.data(), to.places.data(), p.sends, p.receive, from.counts.data(),
             from.places.data(), p.receives, world);
        from_all(p);
        p.verify("Alltoallv");
    }
    {
        Parts p = make();
        const Lists to(p, all, p.sends), from(p, all, p.receives);
        call(p.form, FORMS(Alltoallw, alltoallw), p.send, to.counts.data(), to.bytes.data(), to.types.data(), p.receive,
             from.counts.data(), from.bytes.data(), from.types.data(), world);
        from_all(p);
        p.verify("Alltoallw");
    }
}

/* Each sends to the next one and to itself. */
template <class MakeParts> void neighbours(MakeParts make, MPI_Comm ring)
{
    const std::vector<int> targets{(rank + 1) % size, rank}, sources{(rank + size - 1) % size, rank};
    const auto equal_parts = [&](Parts &p, bool of_one) {
        for (int i = 0; i < 2; ++i)
            p.expect(i * p.n, p.n, sources[static_cast<size_t>(i)], of_one ? 0 : i * p.n);
    };
    const auto uneven_parts = [&](Parts &p) {
        for (int i = 0; i < 2; ++i)
            p.expect(p.place(i), p.count(rank, sources[static_cast<size_t>(i)]), sources[static_cast<size_t>(i)], p.place(i));
    };
    {
        Parts p = make();
        call(p.form, FORMS(Neighbor_allgather, neighbor_allgather), p.send, p.n, p.sends, p.receive, p.n, p.receives, ring);
        equal_parts(p, true);
        p.verify("Neighbor_allgather");
    }
    {
        Parts p = make();
        const int counts[] = {p.n, p.n}, places[] = {0, p.n};
        call(p.form, FORMS(Neighbor_allgatherv, neighbor_allgatherv), p.send, p.n, p.sends, p.receive, counts, places, p.receives, ring);
        equal_parts(p, true);
        p.verify("Neighbor_allgatherv");
    }
    {
        Parts p = make();
        call(p.form, FORMS(Neighbor_alltoall, neighbor_alltoall), p.send, p.n, p.sends, p.receive, p.n, p.receives, ring);
        equal_parts(p, false);
        p.verify("Neighbor_alltoall");
    }
    {
        Parts p = make();
        const Lists to(p, targets, p.sends), from(p, sources, p.receives);
        call(p.form, FORMS(Neighbor_alltoallv, neighbor_alltoallv), p.send, to.counts.data(), to.places.data(), p.sends, p.receive,
             from.counts.data(), from.places.data(), p.receives, ring);
        uneven_parts(p);
        p.verify("Neighbor_alltoallv");
    }
    {
        Parts p = make();
        const Lists to(p, targets, p.sends), from(p, sources, p.receives);
        call(p.form, FORMS(Neighbor_alltoallw, neighbor_alltoallw), p.send, to.counts.data(), to.addresses.data(), to.types.data(),
             p.receive, from.counts.data(), from.addresses.data(), from.types.data(), ring);
        uneven_parts(p);
        p.verify("Neighbor_alltoallw");
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const int sources[] = {(rank + size - 1) % size, rank}, targets[] = {(rank + 1) % size, rank};
        MPI_Comm ring;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
        for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent})
            for (const Kinds &kinds : every_kinds)
                for (const int n : {3, 400, 5000})
                    for (const Layouts &layouts : every_layouts) {
                        const auto make = [&] { return Parts(form, kinds, layouts.from, layouts.to, n, std::max(size, 2)); };
                        equal(make);
                        uneven(make);
                        neighbours(make, ring);
                    }
        MPI_Comm_free(&ring);
    });
}
