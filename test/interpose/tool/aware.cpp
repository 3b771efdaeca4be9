/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages over an MPI that takes device memory (gpu_aware.cpp): dense buffers go to it as they
 * are, others packed, long ones in device memory. HEDDLE_INTERPOSE_METHOD says which is expected.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <dlfcn.h>

using namespace device_test;

static int count_of(const char *name)
{
    const int *const count = static_cast<int *>(dlsym(RTLD_DEFAULT, name));
    check(count != nullptr, std::string("gpu_aware is not loaded: no ") + name);
    return count ? *count : 0;
}

struct Expected {
    int sends, receives;
};

static Expected counted_now()
{
    return {count_of("gpu_aware_sends"), count_of("gpu_aware_receives")};
}

/* Whether a buffer is to be given to MPI in device memory. */
static bool goes_on_device(const Layout &layout)
{
    const char *const method = std::getenv("HEDDLE_INTERPOSE_METHOD");
    const bool is_dense = layout.bytes == layout.elements() * layout.unit;
    if (is_dense || !method || !*method)
        return is_dense || layout.elements() * layout.unit >= (48 << 10);
    return std::string(method) == "device";
}

static void message(const Layout &layout, bool is_blocking)
{
    const std::string what = std::to_string(layout.elements()) + " " + layout.name;
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    const Expected before = counted_now();
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    from.fill(rank);
    if (is_blocking && rank == 0) {
        MPI_Send(from.at(), 1, from.type(), 1, 1, MPI_COMM_WORLD);
        MPI_Recv(to.at(), 1, to.type(), 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (is_blocking) {
        MPI_Recv(to.at(), 1, to.type(), 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(from.at(), 1, from.type(), 0, 1, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(to.at(), 1, to.type(), other(), 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(from.at(), 1, from.type(), other(), 1, MPI_COMM_WORLD, &requests[1]);
        for (MPI_Request &each : requests)
            MPI_Wait(&each, MPI_STATUS_IGNORE);
    }
    to.expect(other(), 0, to.elements());
    to.verify(what);
    const Expected now = counted_now();
    const int wanted = goes_on_device(layout) ? 1 : 0;
    check(now.sends - before.sends == wanted, what + ": sends out of device memory");
    check(now.receives - before.receives == wanted, what + ": receives into device memory");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const int n : {5, 700, 8192, 60000})
            for (const MakeLayout make : every_layout)
                for (const bool is_blocking : {true, false}) {
                    const Layout layout = make(n);
                    message(layout, is_blocking);
                }
    });
}
