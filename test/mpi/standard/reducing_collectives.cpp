/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that reduce, in all forms, by all algorithms, in place and not, by MPI_SUM and by an
 * operator whose order matters, on types with gaps. A persistent one reads its buffers at each
 * start (MPI 4.0, 6.13).
 *
 * memory: host device managed mixed
 */
#include "collective_test.hpp"

using namespace collective_test;

namespace {

/* A pair of ints is the function x -> a x + b, modulo 2^32; two of them in a row are such a
 * function again.
 */
struct Line {
    unsigned a, b;
};
Line then(Line first, Line second) { return {first.a * second.a, first.a * second.b + first.b}; }

const Layout *operands; /* the layout that the operator meets */

void compose(void *in, void *inout, int *length, MPI_Datatype *)
{
    for (int i = 0; i < *length; i++) {
        Line first, second;
        const auto at = [&](void *row, int k) {
            return static_cast<char *>(row) + i * operands->extent + operands->ints[k];
        };
        std::memcpy(&first.a, at(in, 0), 4), std::memcpy(&first.b, at(in, 1), 4);
        std::memcpy(&second.a, at(inout, 0), 4), std::memcpy(&second.b, at(inout, 1), 4);
        const Line both = then(first, second);
        std::memcpy(at(inout, 0), &both.a, 4), std::memcpy(at(inout, 1), &both.b, 4);
    }
}

struct Case {
    const Layout &layout;
    int pairs, root;
    bool in_place, sums;
    MPI_Op op;
    std::string text() const
    {
        return layout.name + ", " + std::to_string(pairs) + (sums ? ", sum" : ", composition") +
               (in_place ? ", in place" : "") + ", root " + std::to_string(root) + " of " +
               std::to_string(size);
    }
    int count(int n) const { return layout.instances(n); }
};

/* Pair `i` of what ranks first to last - 1 contribute, reduced. */
Line reduced(const Case &c, int first, int last, int i, int n)
{
    const auto of = [&](int r) {
        return Line{static_cast<unsigned>(value(r, 0, 2 * i, n)),
                    static_cast<unsigned>(value(r, 0, 2 * i + 1, n))};
    };
    Line result = of(first);
    for (int r = first + 1; r < last; r++)
        result = c.sums ? Line{result.a + of(r).a, result.b + of(r).b} : then(result, of(r));
    return result;
}

void put(Row &row, int at, Line line)
{
    row[2 * at] = static_cast<int>(line.a);
    row[2 * at + 1] = static_cast<int>(line.b);
}

/*
 * A call that reduces `total` pairs of each rank. Where the rank gets a result, it is pairs `at` to
 * `at` + `pairs` of what ranks 0 to `last` - 1 have. In place the operand is in the receive buffer.
 */
template <class Call> void check(const char *name, const Case &c, Row &send, Row &recv, int total,
                                 int at, int pairs, int last, bool in_place, Call call)
{
    make_calls(
        name, false, c.text(), call, {&send, &recv},
        [&](int n) {
            send.clear(-1), recv.clear(-2);
            for (int i = 0; i < total; i++)
                put(in_place ? recv : send, i, reduced(c, rank, rank + 1, i, n));
        },
        [&](int n) {
            for (int i = 0; last > 0 && i < pairs; i++)
                put(recv, i, reduced(c, 0, last, at + i, n));
            recv.forget(2 * pairs);
        });
}

void same_for_all(const Case &c)
{
    Row send(c.layout, c.pairs), recv(c.layout, c.pairs);
    const MPI_Datatype type = c.layout.type;
    const int count = c.count(c.pairs);
    const bool at_root = rank == c.root, in_place_at_root = c.in_place && at_root;
    const void *const from = c.in_place ? MPI_IN_PLACE : send.at();
    const void *const from_at_root = in_place_at_root ? MPI_IN_PLACE : send.at();
    check("Reduce", c, send, recv, c.pairs, 0, c.pairs, at_root ? size : 0, in_place_at_root,
          COLLECTIVE(Reduce, MPI_COMM_WORLD, from_at_root, at_root ? recv.at() : nullptr, count,
                     type, c.op, c.root));
    if (c.root != 0)
        return;
    check("Allreduce", c, send, recv, c.pairs, 0, c.pairs, size, c.in_place,
          COLLECTIVE(Allreduce, MPI_COMM_WORLD, from, recv.at(), count, type, c.op));
    check("Scan", c, send, recv, c.pairs, 0, c.pairs, rank + 1, c.in_place,
          COLLECTIVE(Scan, MPI_COMM_WORLD, from, recv.at(), count, type, c.op));
    void *const to = rank == 0 && !c.in_place ? nullptr : recv.at(); /* unused at the first rank */
    check("Exscan", c, send, recv, c.pairs, 0, c.pairs, rank, c.in_place,
          COLLECTIVE(Exscan, MPI_COMM_WORLD, from, to, count, type, c.op));
}

/* In place the receive buffer is as long as the operand. Behind the result it is undefined then. */
void scatter(const Case &c, bool block)
{
    std::vector<int> pairs(static_cast<size_t>(size)), counts;
    int total = 0, at = 0;
    for (int i = 0; i < size; i++) {
        at = i == rank ? total : at;
        total += pairs[i] = block ? c.pairs : c.pairs * ((i + 2) % 3);
        counts.push_back(c.count(pairs[i]));
    }
    const int mine = pairs[rank];
    Row send(c.layout, total), recv(c.layout, c.in_place ? total : mine);
    const void *const from = c.in_place ? MPI_IN_PLACE : send.at();
    const auto make = [&](const char *name, auto call) {
        check(name, c, send, recv, total, at, mine, size, c.in_place, call);
    };
    if (block)
        make("Reduce_scatter_block", COLLECTIVE(Reduce_scatter_block, MPI_COMM_WORLD, from,
                                                recv.at(), c.count(c.pairs), c.layout.type, c.op));
    else
        make("Reduce_scatter", COLLECTIVE(Reduce_scatter, MPI_COMM_WORLD, from, recv.at(),
                                          counts.data(), c.layout.type, c.op));
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Op composition;
        MPI_Op_create(compose, 0, &composition);
        const int most = 400 * size;
        const Layouts layouts(most);
        for (const Layout &layout : layouts.all())
            for (const int pairs : {1, 200})
                for (const bool in_place : {false, true})
                    for (const int root : {0, size - 1}) {
                        const bool sums = layout.type == MPI_INT;
                        if (root == 0 && size == 1 && pairs == 200)
                            continue;
                        operands = &layout;
                        const Case c{layout,   pairs, root,
                                     in_place, sums,  sums ? MPI_SUM : composition};
                        same_for_all(c);
                        if (root == 0)
                            scatter(c, false), scatter(c, true);
                    }
        MPI_Op_free(&composition);
    });
}
