/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every pairing of memory and layout at the two ends of a message, at the thresholds and one byte
 * around them.
 */
#include "device_test.hpp"

using namespace device_test;

static void pair(const Buffer &from, Buffer &to, MPI_Datatype unit, int n, int seed)
{
    const std::string what =
        std::to_string(n) + (unit == MPI_BYTE ? " bytes from " : " doubles from ") + from.name();
    if (rank == 0)
        MPI_Send(from.at(), 1, from.type(), 1, seed & 0x7fff, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Status status;
        MPI_Recv(to.at(), 1, to.type(), 0, seed & 0x7fff, MPI_COMM_WORLD, &status);
        int count;
        MPI_Get_count(&status, unit, &count);
        check(count == n, what + ": the status tells of " + std::to_string(count));
        to.expect(seed, 0, n);
        to.verify(what);
    }
}

static void all_pairs(Unit unit, std::initializer_list<int> sizes)
{
    static int seed = 0;
    for (const int n : sizes)
        for (const MakeLayout from_layout : every_layout)
            for (const MakeLayout to_layout : every_layout) {
                const Layout l1 = from_layout(n, unit), l2 = to_layout(n, unit);
                for (const gpu::Kind k1 : every_kind)
                    for (const gpu::Kind k2 : every_kind) {
                        Buffer from(k1, l1), to(k2, l2);
                        from.fill(++seed);
                        pair(from, to, unit.type, n, seed);
                    }
            }
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        all_pairs(in_doubles, {1, 7, 127, 128, 129, 1024, 40000, 300000});
        /* An envelope; what goes in one piece; the shortest message that is cut. */
        all_pairs(in_bytes,
                  {63, 64, 65, 8191, 8192, 8193, 16383, 16384, 16385, 65535, 65536, 65537});
    });
}
