/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication: windows, origins and results on a device.
 */
#include "device_test.hpp"

using namespace device_test;

static void transfers(gpu::Kind window_kind, gpu::Kind origin_kind, MakeLayout make, int n)
{
    const Layout layout = make(n);
    const std::string what = std::to_string(n) + " of " + layout.name + " between " + gpu::to_text({origin_kind, 0}) +
                             " and a window of " + gpu::to_text({window_kind, 0});
    Buffer window(window_kind, layout), origin(origin_kind, layout), result(origin_kind, layout);
    window.fill(rank);
    origin.fill(50 + rank);
    MPI_Win win;
    MPI_Win_create(window.at(), layout.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

    MPI_Win_fence(0, win);
    MPI_Get(result.at(), 1, layout.type, next, 0, 1, layout.type, win);
    MPI_Win_fence(0, win);
    result.expect(next, 0, n);
    result.verify("Get, " + what);
    MPI_Put(origin.at(), 1, layout.type, next, 0, 1, layout.type, win);
    MPI_Win_fence(0, win);
    window.expect(50 + previous, 0, n);
    window.verify("Put, " + what);
    MPI_Win_fence(0, win);
    MPI_Accumulate(origin.at(), 1, layout.type, next, 0, 1, layout.type, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; ++i)
        window.put(i, 2 * Buffer::value(50 + previous, i));
    window.verify("Accumulate, " + what);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(origin.at(), 1, layout.type, result.at(), 1, layout.type, next, 0, 1, layout.type, MPI_REPLACE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; ++i)
        result.put(i, 2 * Buffer::value(50 + rank, i));
    result.verify("Get_accumulate's result, " + what);
    window.expect(50 + previous, 0, n);
    window.verify("Get_accumulate, " + what);
    MPI_Win_free(&win);
}

static void atomics(gpu::Kind window_kind, gpu::Kind origin_kind)
{
    const Layout one = contiguous(1);
    Buffer window(window_kind, one), origin(origin_kind, one), compare(origin_kind, one), result(origin_kind, one);
    window.fill(rank);
    origin.fill(5);
    MPI_Win win;
    MPI_Win_create(window.at(), 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const int next = (rank + 1) % size;
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(origin.at(), result.at(), MPI_DOUBLE, next, 0, MPI_SUM, win);
    MPI_Win_fence(0, win);
    result.expect(next, 0, 1);
    result.verify("Fetch_and_op's result");
    window.put(0, Buffer::value(rank, 0) + Buffer::value(5, 0));
    window.verify("Fetch_and_op");
    for (const bool equal : {false, true}) {
        // As integers: MPI has no comparison of floating-point numbers here.
        compare.put(0, equal ? Buffer::value(next, 0) + Buffer::value(5, 0) : -1);
        compare.store();
        MPI_Win_fence(0, win);
        MPI_Compare_and_swap(origin.at(), compare.at(), result.at(), MPI_INT64_T, next, 0, win);
        MPI_Win_fence(0, win);
        result.put(0, Buffer::value(next, 0) + Buffer::value(5, 0));
        result.verify("Compare_and_swap's result");
        if (equal)
            window.expect(5, 0, 1);
        window.verify("Compare_and_swap");
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const gpu::Kind window : every_kind)
            for (const gpu::Kind origin : every_kind) {
                for (const int n : {1, 1000, 50000})
                    for (const MakeLayout make : every_layout)
                        transfers(window, origin, make, n);
                atomics(window, origin);
            }
    });
}
