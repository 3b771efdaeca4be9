/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that cannot grow, for all processes or for one of them: every call that writes ends, and
 * a process whose data is not in the file is told. A read finds nothing, which is no error.
 *
 * processes: 1 2 3
 * memory: host device
 */
#include "../file_calls.hpp"
#include "standard_test.hpp"

#include <csignal>
#include <sys/resource.h>

using namespace standard_test;
using namespace file_calls;

static constexpr int bytes = 4096; /* of each process */

/* Files of this process have at most so many bytes while this lives. */
class Limit {
public:
    explicit Limit(rlim_t most)
    {
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = most;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~Limit() { setrlimit(RLIMIT_FSIZE, &before_); }
    Limit(const Limit &) = delete;

private:
    rlimit before_{};
};

/* For all, or for the last one only. Two-phase I/O writes for others. */
static void cannot_grow(const Call &call, const Memory &memory, bool for_all, const char *buffering)
{
    const std::string what = std::string("MPI_File_") + call.name + ", buffering: " + buffering +
                             (for_all ? "" : ", one process");
    MPI_File file;
    MPI_Info info = pieces_of(512);
    MPI_Info_set(info, "romio_cb_write", buffering);
    MPI_Info_set(info, "romio_cb_read", buffering);
    MPI_Info_set(info, "cb_config_list", "*:*"); /* all processes write */
    check_success(
        MPI_File_open(MPI_COMM_WORLD, "full", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
        "MPI_File_open");
    MPI_Info_free(&info);
    check_success(MPI_File_set_view(file, is_shared(call) ? 0 : bytes * rank, MPI_BYTE, MPI_BYTE,
                                    "native", MPI_INFO_NULL),
                  "MPI_File_set_view");
    MPI_Status status;
    const bool is_limited = for_all || rank == size - 1;
    int error;
    {
        const Limit limit(is_limited ? 64 : RLIM_INFINITY); /* a shared pointer's own file fits */
        error = call.run(file, 0, {memory.at(), bytes, MPI_BYTE}, &status);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    const bool is_own = !call.is_collective || std::string(buffering) == "disable" || size == 1;
    if (!call.writes)
        check_success(error, what);
    else if (for_all || (is_own && is_limited) || !is_own)
        check(error != MPI_SUCCESS, what + ": success, and nothing was written");
    else
        check_success(error, what);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        std::remove("full");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::signal(SIGXFSZ, SIG_IGN);
        const Memory memory(bytes, 'x');
        for (const Call &call : every_call)
            for (const char *buffering : {"enable", "disable"}) {
                cannot_grow(call, memory, true, buffering);
                cannot_grow(call, memory, false, buffering);
            }
    });
}
