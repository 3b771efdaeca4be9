/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of direct collectives share: communicators that are direct, how many calls went
 * directly, sums, devices that fail.
 */
#pragma once

#include "device_test.hpp"

namespace device_test {

/* A communicator of a test, and this process's place in it. */
struct Group {
    /* The first `members` ranks; after so many calls it is direct. */
    explicit Group(int members, bool is_warmed_by_blocking = true)
    {
        MPI_Comm_split(MPI_COMM_WORLD, device_test::rank < members ? 0 : MPI_UNDEFINED,
                       device_test::rank, &comm);
        if (!is_in())
            return;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int i = 0, sum; i < 4; ++i)
            if (is_warmed_by_blocking) {
                MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
            } else {
                MPI_Request request;
                MPI_Iallreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
    }
    Group(const Group &) = delete;
    ~Group()
    {
        if (is_in())
            MPI_Comm_free(&comm);
    }
    bool is_in() const { return comm != MPI_COMM_NULL; }

    MPI_Comm comm;
    int rank = 0, size = 1;
};

/* Calls `body`, and says whether so many collectives in it went directly, or none. */
template <class Body> void expects_way(bool directly, int calls, const std::string &what, Body body)
{
    const int64_t before = counted("collectives_direct");
    body();
    const int64_t now = counted("collectives_direct");
    check(now - before == (directly && expects_direct() ? calls : 0),
          what + ": " + std::to_string(now - before) + " calls went directly");
}

/* The sum of what ranks have filled with `seed` and their number, at element `i`. */
inline double sum_at(const Group &g, int64_t i, int seed = 0)
{
    double v = 0;
    for (int r = 0; r < g.size; ++r)
        v += Buffer::value(seed + r, i);
    return v;
}

inline void expect_sum(Buffer &b, const Group &g, const std::string &what, int64_t first = 0)
{
    for (int64_t i = 0; i < b.elements(); ++i)
        b.put(i, sum_at(g, first + i));
    b.verify(what);
}

/* The device of rank `who` fails as `how` says while `body` runs. */
template <class Body> void while_failing(int who, const char *how, Body body)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who)
        gpu::Machine::get().configure((std::string("reset ") + how).c_str());
    MPI_Barrier(MPI_COMM_WORLD);
    body();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who)
        gpu::Machine::get().configure("reset");
    MPI_Barrier(MPI_COMM_WORLD);
}

constexpr const char *broken[] = {"fail=launch:1+ fail=copy:1+ fail=copy_2d:1+ fail=copy_3d:1+",
                                  "fail=execute:1+"};

struct Test {
    const char *name;
    void (*body)();
};

/* Runs the tests whose name contains the program's argument; all of them without one. */
template <size_t N> int run_tests(int argc, char **argv, const Test (&tests)[N])
{
    return run(argc, argv, [&] {
        for (const Test &test : tests)
            if (argc < 2 || std::string(test.name).find(argv[1]) != std::string::npos)
                test.body();
    });
}

} // namespace device_test
