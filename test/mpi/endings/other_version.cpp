/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Envelopes that cannot be read, of another version or damaged: both ends hear of it, and what
 * comes after is received. This program stands between libmpi and libheddle: its function of that
 * name is found first.
 */
#include "../device/device_test.hpp"

#include <heddle_message.h>

#include <dlfcn.h>

using namespace device_test;

namespace {

int changed = -1; /* which byte of the next envelope */

void change(const void *envelope)
{
    if (changed >= 0)
        static_cast<unsigned char *>(const_cast<void *>(envelope))[changed] ^= 0x40;
    changed = -1;
}

void is_refused(int byte, bool probes, bool on_device)
{
    const Layout layout = strided(200000);
    Buffer buffer(gpu::Kind::device, layout),
        first(on_device ? gpu::Kind::device : gpu::Kind::pageable, layout);
    const std::string what = "byte " + std::to_string(byte) + (probes ? ", probed" : "");
    if (rank == 0) {
        buffer.fill(1);
        check(MPI_Send(buffer.at(), 1, buffer.type(), 1, 3, MPI_COMM_WORLD) != MPI_SUCCESS,
              what + ": the sender hears nothing");
        MPI_Send(buffer.at(), 1, buffer.type(), 1, 3, MPI_COMM_WORLD);
        return;
    }
    changed = byte;
    if (probes) {
        MPI_Message message;
        MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        check(MPI_Mrecv(first.at(), 1, first.type(), &message, MPI_STATUS_IGNORE) != MPI_SUCCESS,
              what + ": the receiver hears nothing");
    } else {
        check(MPI_Recv(first.at(), 1, first.type(), 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
                  MPI_SUCCESS,
              what + ": the receiver hears nothing");
    }
    MPI_Recv(buffer.at(), 1, buffer.type(), 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    buffer.expect(1, 0, buffer.elements());
    buffer.verify("what came after");
}

} // namespace

extern "C" int heddle_envelope_read(const void *envelope, heddle_envelope_info *info)
{
    using Function = int (*)(const void *, heddle_envelope_info *);
    static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "heddle_envelope_read"));
    change(envelope);
    return next(envelope, info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    constexpr int magic = 0, version = 4, length = 16;
    for (const bool on_device : {true, false})
        for (const bool probes : {false, true})
            for (const int byte : {magic, version, length})
                is_refused(byte, probes, on_device);
    MPI_Finalize();
    if (failures == 0)
        std::printf("survived\n");
    return failures != 0;
}
