/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed while it combines its slice of a long sum on simulated devices. Another one is
 * slow, and writes its slice to all the others. A call that has ended, with an error, leaves its
 * buffer alone.
 */
#include "survivor.hpp"

#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int elements = 100000, slow = 1, victim = 3;

void run_test()
{
    using namespace std::chrono_literals;
    const Layout layout = contiguous(elements);
    Buffer mine(gpu::Kind::device, layout), sum(gpu::Kind::device, layout);
    MPI_Comm everyone;
    MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
    MPI_Comm_set_errhandler(everyone, MPI_ERRORS_RETURN);
    mine.fill(rank);
    const auto add = [&] {
        return MPI_Allreduce(mine.at(), sum.at(), elements, MPI_DOUBLE, MPI_SUM, everyone);
    };
    for (int i = 0; i < 4; ++i)
        add();
    const int64_t before = counted("collectives_direct");
    add();
    check(!expects_direct() || counted("collectives_direct") == before + 1, "not a direct one");
    MPI_Barrier(everyone);
    if (rank == slow || rank == victim)
        gpu::Machine::get().configure(rank == slow ? "delay_us=1500000" : "delay_us=9000000");
    std::thread ends;
    if (rank == victim)
        ends = std::thread([] {
            std::this_thread::sleep_for(500ms); /* it has begun by then */
            kill(getpid(), SIGKILL);
        });
    expect(true, "a sum without a slice", add);
    gpu::Machine::get().reset();
    sum.fill(50);
    std::this_thread::sleep_for(2s);
    sum.verify("what nobody may write any more");
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
