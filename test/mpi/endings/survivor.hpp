/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For programs in which a rank is killed, and the others go on.
 */
#pragma once

#include "../device/device_test.hpp"

#include <chrono>

namespace survivor {

using namespace device_test;

/* What a call answers, which must come within five seconds, on a busy machine, too. */
template <class Call> int answer_of(const char *what, Call call)
{
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    const int error = call();
    check(Clock::now() - began < std::chrono::seconds(5), std::string(what) + ": takes long");
    return error;
}

/* `lost`: it tells that a process has ended. Otherwise it succeeds. */
template <class Call> void expect(bool lost, const char *what, Call call)
{
    int of = MPI_SUCCESS;
    MPI_Error_class(answer_of(what, call), &of);
    check(of == (lost ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS),
          std::string(what) + ": an error of class " + std::to_string(of));
}

/* Of those of a window. */
inline MPI_Group group_of(MPI_Win win, const std::vector<int> &ranks)
{
    MPI_Group all, some;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    MPI_Group_free(&all);
    return some;
}

/* Runs a test, and says that this rank survived it; the exit status. */
inline int run(int argc, char **argv, void (*test)())
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    test();
    MPI_Finalize();
    if (failures == 0)
        std::printf("survived\n");
    return failures != 0;
}

} // namespace survivor
