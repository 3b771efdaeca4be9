/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of device memory while a profiling tool (tool.c) counts calls, before or behind the
 * interposer: the tool sees each call once, and the data come.
 */
#include "device_test.hpp"

#include <dlfcn.h>

using namespace device_test;

static int count_of(const char *name)
{
    const int *const count = static_cast<int *>(dlsym(RTLD_DEFAULT, name));
    check(count != nullptr, std::string("the tool is not loaded: no ") + name);
    return count ? *count : 0;
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        constexpr int turns = 5;
        const Layout layout = strided(1000);
        for (int turn = 0; turn < turns; ++turn) {
            Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
            MPI_Request request;
            from.fill(turn + rank);
            MPI_Irecv(to.at(), 1, to.type(), other(), 1, MPI_COMM_WORLD, &request);
            MPI_Send(from.at(), 1, from.type(), other(), 1, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            to.expect(turn + other(), 0, to.elements());
            to.verify("turn " + std::to_string(turn));
        }
        check(count_of("tool_sends") == turns, "sends were not counted once each");
        check(count_of("tool_receives") == turns, "receives were not counted once each");
        check(count_of("tool_waits") == turns, "waits were not counted once each");
    });
}
