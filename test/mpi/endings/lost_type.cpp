/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed that has told the target of an accumulate its long type, and has not sent the
 * data. In host memory accumulates are MPICH's own, and are combined in the order in which they
 * came. Those of another rank that come behind it are over within five seconds, and right.
 */
#include "survivor.hpp"

#include <csignal>
#include <unistd.h>

using namespace survivor;

namespace {

constexpr int target = 0, origin_rank = 1, victim = 2, blocks = 3000, elements = 3 * blocks;

int irregular(int i) { return static_cast<int>(static_cast<unsigned>(i) * 2654435761U >> 13 & 1); }

/* Whose description is longer than the header of a message. */
MPI_Datatype long_type()
{
    std::vector<int> at(blocks);
    for (int i = 0; i < blocks; ++i)
        at[static_cast<size_t>(i)] = 3 * i + (i > 0 ? irregular(i) : 0);
    MPI_Datatype type;
    MPI_Type_create_indexed_block(blocks, 1, at.data(), MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* For so many seconds. */
void make_progress(double seconds)
{
    for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

void run_test()
{
    std::vector<double> memory(elements, 1), origin(elements, 2);
    MPI_Datatype type = long_type();
    MPI_Win win;
    MPI_Win_create(memory.data(), elements * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto accumulate = [&](int n, MPI_Datatype of) {
        return MPI_Accumulate(origin.data(), n, MPI_DOUBLE, target, 0, of == type ? 1 : n, of,
                              MPI_SUM, win);
    };
    if (rank == victim) {
        accumulate(blocks, type);
        usleep(200000); /* and does not see the answer */
        kill(getpid(), SIGKILL);
    }
    if (rank == origin_rank) {
        usleep(100000);
        expect(false, "accumulate", [&] { return accumulate(elements, MPI_DOUBLE); });
        expect(false, "flush", [&] { return MPI_Win_flush(target, win); });
        expect(false, "accumulate by a long type", [&] { return accumulate(blocks, type); });
        expect(false, "flush of that", [&] { return MPI_Win_flush(target, win); });
        MPI_Send(nullptr, 0, MPI_INT, target, 2, MPI_COMM_WORLD);
    } else {
        make_progress(0.5);
        MPI_Recv(nullptr, 0, MPI_INT, origin_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(memory[0] == 5 && memory[2] == 3, "what was added");
    }
    expect(false, "unlock", [&] { return MPI_Win_unlock_all(win); });
    MPI_Type_free(&type);
}

} // namespace

int main(int argc, char **argv) { return survivor::run(argc, argv, run_test); }
