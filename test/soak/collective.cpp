/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations on buffers that lie elsewhere, and otherwise, on each rank.
 */
#include "soak.hpp"

#include <functional>

namespace soak {
namespace {

enum class Form { blocking, nonblocking, persistent };

MPI_Comm comm = MPI_COMM_NULL;

/* What a call takes: a source and a target, and how many elements the parts have. */
struct Call {
    Form form;
    int root;
    int64_t elements;
    PiecePtr from, to;
    MPI_Request request = MPI_REQUEST_NULL;

    const void *source() const { return from->buffer.at(); }
    void *target() const { return to->buffer.at(); }
    MPI_Datatype source_type() const { return from->buffer.type(); }
    MPI_Datatype target_type() const { return to->buffer.type(); }
    int count() const { return elements > 0 ? 1 : 0; }
};

/* One of three forms of a call whose last arguments differ. */
#define SOAK_CALL(name, ...)                                                                       \
    (c.form == Form::blocking ? MPI_##name(__VA_ARGS__, comm)                                      \
     : c.form == Form::nonblocking                                                                 \
         ? MPI_I##name##_lower(__VA_ARGS__, comm, &c.request)                                      \
         : MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &c.request))
#define MPI_IBcast_lower MPI_Ibcast
#define MPI_IGather_lower MPI_Igather
#define MPI_IScatter_lower MPI_Iscatter
#define MPI_IAllgather_lower MPI_Iallgather
#define MPI_IAlltoall_lower MPI_Ialltoall
#define MPI_IAllreduce_lower MPI_Iallreduce
#define MPI_IReduce_lower MPI_Ireduce
#define MPI_IScan_lower MPI_Iscan
#define MPI_IReduce_scatter_block_lower MPI_Ireduce_scatter_block

/* What element `i` of rank `r` is worth at the time of `seed`; sums of it are exact. */
double value(int seed, int r, int64_t i)
{
    return seed * 1e5 + r * 1e4 + static_cast<double>(i % 9973);
}

void fill(Buffer &buffer, int seed, int r, int64_t elements)
{
    for (int64_t i = 0; i < elements; ++i)
        buffer.put(i, value(seed, r, i));
    buffer.store();
}

/* Runs a call, or starts a persistent one twice with other data the second time. `expect` says what
 * the target holds. */
void run(Call &c, int seed, const std::string &name, int64_t filled,
         const std::function<int()> &begin, const std::function<void(int)> &expect)
{
    const int rounds = c.form == Form::persistent ? 2 : 1;
    fill(c.from->buffer, seed, rank, filled);
    if (!succeeded(begin(), name.c_str()))
        return;
    for (int round = 0; round < rounds; ++round) {
        if (round > 0)
            fill(c.from->buffer, seed + round, rank, filled);
        int error = MPI_SUCCESS;
        if (c.form == Form::persistent)
            error = MPI_Start(&c.request);
        if (error == MPI_SUCCESS && c.form != Form::blocking)
            error = MPI_Wait(&c.request, MPI_STATUS_IGNORE);
        if (!succeeded(error, name.c_str()))
            continue; /* the others start once more, too */
        expect(seed + round);
        verify(c.to->buffer, name + ", start " + std::to_string(round));
    }
    if (c.request != MPI_REQUEST_NULL)
        MPI_Request_free(&c.request);
}

/* Part `part` of the target is what rank `r` has from its element `first` on. */
void expect_part(Call &c, int seed, int64_t part, int r, int64_t first)
{
    for (int64_t i = 0; i < c.elements; ++i)
        c.to->buffer.put(part * c.elements + i, value(seed, r, first + i));
}

/* The target's elements are sums over ranks 0 to `end`, of those from `first` on. */
void expect_sum(Call &c, int seed, int end, int64_t first, int64_t elements)
{
    for (int64_t i = 0; i < elements; ++i) {
        double sum = 0;
        for (int r = 0; r < end; ++r)
            sum += value(seed, r, first + i);
        c.to->buffer.put(i, sum);
    }
}

void broadcast(Call &c, Rng &own, int seed)
{
    c.from = random_piece(own, c.elements);
    for (const int round : {0, 1}) {
        if (round == 1 && c.form != Form::persistent)
            break;
        if (rank == c.root)
            fill(c.from->buffer, seed + round, rank, c.elements);
        int error = MPI_SUCCESS;
        if (round == 0)
            error = SOAK_CALL(Bcast, c.from->buffer.at(), c.count(), c.source_type(), c.root);
        if (error == MPI_SUCCESS && c.form == Form::persistent)
            error = MPI_Start(&c.request);
        if (error == MPI_SUCCESS && c.form != Form::blocking)
            error = MPI_Wait(&c.request, MPI_STATUS_IGNORE);
        if (!succeeded(error, "MPI_Bcast"))
            continue;
        for (int64_t i = 0; i < c.elements; ++i)
            c.from->buffer.put(i, value(seed + round, c.root, i));
        verify(c.from->buffer, "MPI_Bcast");
    }
    if (c.request != MPI_REQUEST_NULL)
        MPI_Request_free(&c.request);
}

void gather(Call &c, Rng &own, int seed)
{
    c.from = random_piece(own, c.elements);
    c.to = random_piece(own, c.elements, size);
    if (rank != c.root)
        c.to = random_piece(own, c.elements);
    run(
        c, seed, "MPI_Gather", c.elements,
        [&] {
            return SOAK_CALL(Gather, c.source(), c.count(), c.source_type(), c.target(), c.count(),
                             c.target_type(), c.root);
        },
        [&](int s) {
            for (int r = 0; rank == c.root && r < size; ++r)
                expect_part(c, s, r, r, 0);
        });
}

void scatter(Call &c, Rng &own, int seed)
{
    c.from = random_piece(own, c.elements, size);
    c.to = random_piece(own, c.elements);
    run(
        c, seed, "MPI_Scatter", c.elements * size,
        [&] {
            return SOAK_CALL(Scatter, c.source(), c.count(), c.source_type(), c.target(), c.count(),
                             c.target_type(), c.root);
        },
        [&](int s) { expect_part(c, s, 0, c.root, c.elements * rank); });
}

void allgather(Call &c, Rng &own, int seed)
{
    c.from = random_piece(own, c.elements);
    c.to = random_piece(own, c.elements, size);
    run(
        c, seed, "MPI_Allgather", c.elements,
        [&] {
            return SOAK_CALL(Allgather, c.source(), c.count(), c.source_type(), c.target(),
                             c.count(), c.target_type());
        },
        [&](int s) {
            for (int r = 0; r < size; ++r)
                expect_part(c, s, r, r, 0);
        });
}

void alltoall(Call &c, Rng &own, int seed)
{
    c.from = random_piece(own, c.elements, size);
    c.to = random_piece(own, c.elements, size);
    run(
        c, seed, "MPI_Alltoall", c.elements * size,
        [&] {
            return SOAK_CALL(Alltoall, c.source(), c.count(), c.source_type(), c.target(),
                             c.count(), c.target_type());
        },
        [&](int s) {
            for (int r = 0; r < size; ++r)
                expect_part(c, s, r, r, c.elements * rank);
        });
}

/* Reductions take predefined types, so all that varies is the memory. */
void allreduce(Call &c, Rng &own, int seed)
{
    c.from = dense_piece(own, c.elements);
    c.to = dense_piece(own, c.elements);
    const int count = static_cast<int>(c.elements);
    run(
        c, seed, "MPI_Allreduce", c.elements,
        [&] { return SOAK_CALL(Allreduce, c.source(), c.target(), count, MPI_DOUBLE, MPI_SUM); },
        [&](int s) { expect_sum(c, s, size, 0, c.elements); });
}

void reduce(Call &c, Rng &own, int seed)
{
    c.from = dense_piece(own, c.elements);
    c.to = dense_piece(own, c.elements);
    const int count = static_cast<int>(c.elements);
    run(
        c, seed, "MPI_Reduce", c.elements,
        [&] {
            return SOAK_CALL(Reduce, c.source(), c.target(), count, MPI_DOUBLE, MPI_SUM, c.root);
        },
        [&](int s) {
            if (rank == c.root)
                expect_sum(c, s, size, 0, c.elements);
        });
}

void scan(Call &c, Rng &own, int seed)
{
    c.from = dense_piece(own, c.elements);
    c.to = dense_piece(own, c.elements);
    const int count = static_cast<int>(c.elements);
    run(
        c, seed, "MPI_Scan", c.elements,
        [&] { return SOAK_CALL(Scan, c.source(), c.target(), count, MPI_DOUBLE, MPI_SUM); },
        [&](int s) { expect_sum(c, s, rank + 1, 0, c.elements); });
}

void reduce_scatter(Call &c, Rng &own, int seed)
{
    c.from = dense_piece(own, c.elements, size);
    c.to = dense_piece(own, c.elements);
    const int count = static_cast<int>(c.elements);
    run(
        c, seed, "MPI_Reduce_scatter_block", c.elements * size,
        [&] {
            return SOAK_CALL(Reduce_scatter_block, c.source(), c.target(), count, MPI_DOUBLE,
                             MPI_SUM);
        },
        [&](int s) { expect_sum(c, s, size, c.elements * rank, c.elements); });
}

} // namespace

void collective(Rng &rng)
{
    if (comm == MPI_COMM_NULL) {
        MPI_Comm_dup(world, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    constexpr void (*operations[])(Call &, Rng &, int) = {
        broadcast, gather, scatter, allgather, alltoall, allreduce, reduce, scan, reduce_scatter};
    const auto operation = operations[rng.in(0, std::size(operations) - 1)];
    Call call{static_cast<Form>(rng.in(0, 2)),
              static_cast<int>(rng.in(0, size - 1)),
              std::min<int64_t>(random_elements(rng), options.most / 8 / size),
              {},
              {}};
    const int seed = static_cast<int>(rng.in(1, 1000));
    Rng own(Rng::mix(rng.next(), static_cast<uint64_t>(rank)));
    operation(call, own, seed);
}

} // namespace soak
