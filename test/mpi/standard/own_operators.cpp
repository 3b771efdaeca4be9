// SPDX-License-Identifier: BSD-3-Clause
// Reductions by a program's own operator, on a type whose data begin before or behind its address.
// memory: host device managed mixed
#include "standard_test.hpp"

#include <functional>

using namespace standard_test;

namespace {

constexpr int kCount = 3;
constexpr int kMargin = 1024; // around a buffer's address

/* One int `place` bytes from an instance's address, instances `extent` bytes apart. */
struct Shifted {
    int place, extent;
};
Shifted shape;

void add(void *in, void *inout, int *length, MPI_Datatype *)
{
    for (int i = 0; i < *length; ++i) {
        const int at = i * shape.extent + shape.place;
        int a, b;
        std::memcpy(&a, static_cast<char *>(in) + at, sizeof a);
        std::memcpy(&b, static_cast<char *>(inout) + at, sizeof b);
        b += a;
        std::memcpy(static_cast<char *>(inout) + at, &b, sizeof b);
    }
}

class Buffer {
public:
    explicit Buffer(int count) : count_(count), memory_(2 * kMargin) {}

    void *at() const { return memory_.at() + kMargin; }
    void put(int first) const
    {
        for (int i = 0; i < count_; ++i) {
            const int value = first + i;
            memory_.put(&value, sizeof value, place(i));
        }
    }
    int value(int i) const
    {
        int found = 0;
        memory_.get(&found, sizeof found, place(i));
        return found;
    }

private:
    static size_t place(int i)
    {
        return static_cast<size_t>(kMargin + i * shape.extent + shape.place);
    }

    int count_;
    Memory memory_;
};

/* A reduction by MPI, and what an element must become. Negative: it is not looked at. */
struct Reduction {
    const char *name;
    bool scatters, in_place;
    std::function<int(const void *, void *, MPI_Datatype, MPI_Op, MPI_Request *)> call;
    std::function<int(int)> expected;
};

int sum(int element, int processes)
{
    return processes * (processes - 1) / 2 * 100 + processes * element;
}

std::vector<Reduction> reductions()
{
    static std::vector<int> counts;
    counts.assign(static_cast<size_t>(size), kCount);
    const MPI_Comm world = MPI_COMM_WORLD;
    const auto all = [](int i) { return sum(i, size); };
    const auto at_root = [](int i) { return rank == 0 ? sum(i, size) : -1; };
    const auto prefix = [](int i) { return sum(i, rank + 1); };
    const auto before = [](int i) { return rank == 0 ? -1 : sum(i, rank); };
    const auto part = [](int i) { return sum(rank * kCount + i, size); };
#define CALL(expression)                                                                           \
    [=]([[maybe_unused]] const void *s, void *r, MPI_Datatype t, MPI_Op o,                         \
        [[maybe_unused]] MPI_Request *q) { return expression; }
    return {
        {"Allreduce", false, false, CALL(MPI_Allreduce(s, r, kCount, t, o, world)), all},
        {"Allreduce in place", false, true,
         CALL(MPI_Allreduce(MPI_IN_PLACE, r, kCount, t, o, world)), all},
        {"Reduce", false, false, CALL(MPI_Reduce(s, r, kCount, t, o, 0, world)), at_root},
        {"Scan", false, false, CALL(MPI_Scan(s, r, kCount, t, o, world)), prefix},
        {"Exscan", false, false, CALL(MPI_Exscan(s, r, kCount, t, o, world)), before},
        {"Reduce_scatter", true, false, CALL(MPI_Reduce_scatter(s, r, counts.data(), t, o, world)),
         part},
        {"Reduce_scatter_block", true, false,
         CALL(MPI_Reduce_scatter_block(s, r, kCount, t, o, world)), part},
        {"Iallreduce", false, false, CALL(MPI_Iallreduce(s, r, kCount, t, o, world, q)), all},
        {"Ireduce", false, false, CALL(MPI_Ireduce(s, r, kCount, t, o, 0, world, q)), at_root},
        {"Iscan", false, false, CALL(MPI_Iscan(s, r, kCount, t, o, world, q)), prefix},
    };
#undef CALL
}

void test(const Reduction &each, MPI_Datatype type, MPI_Op op)
{
    const int count = each.scatters ? kCount * size : kCount;
    const std::string what = std::string(each.name) + ", " + std::to_string(shape.place) +
                             " every " + std::to_string(shape.extent);
    for (int turn = 0; turn < 3; ++turn) {
        const Buffer from(count), to(count);
        from.put(100 * rank);
        to.put(each.in_place ? 100 * rank : -7);
        MPI_Request request = MPI_REQUEST_NULL;
        check_success(each.call(from.at(), to.at(), type, op, &request), what);
        check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), what + ": MPI_Wait");
        for (int i = 0; i < kCount; ++i)
            if (each.expected(i) >= 0)
                check_equal(to.value(i), each.expected(i), what + ": element " + std::to_string(i));
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Op op;
        MPI_Op_create(add, 1, &op);
        for (const Shifted each :
             {Shifted{0, 4}, Shifted{8, 32}, Shifted{-16, 32}, Shifted{100, 16}}) {
            shape = each;
            MPI_Datatype placed, type;
            const int one = 1;
            const MPI_Aint place = each.place;
            MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &placed);
            MPI_Type_create_resized(placed, 0, each.extent, &type);
            MPI_Type_commit(&type);
            for (const Reduction &reduction : reductions())
                test(reduction, type, op);
            MPI_Type_free(&type);
            MPI_Type_free(&placed);
        }
        MPI_Op_free(&op);
    });
}
