/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file that cannot grow: every call that writes ends, and its process is told. A read finds
 * nothing, which is no error.
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

static void cannot_grow(const Call &call, const Memory &memory)
{
    const std::string what = std::string("MPI_File_") + call.name;
    MPI_File file;
    MPI_Info info = pieces_of(512);
    check_success(
        MPI_File_open(MPI_COMM_WORLD, "full", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file),
        "MPI_File_open");
    MPI_Info_free(&info);
    check_success(MPI_File_set_view(file, is_shared(call) ? 0 : bytes * rank, MPI_BYTE, MPI_BYTE,
                                    "native", MPI_INFO_NULL),
                  "MPI_File_set_view");
    MPI_Status status;
    int error;
    {
        const Limit limit(64); /* MPI's own file of a shared pointer fits */
        error = call.run(file, 0, {memory.at(), bytes, MPI_BYTE}, &status);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (call.writes)
        check(error != MPI_SUCCESS, what + ": success, and nothing was written");
    else
        check_success(error, what);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::signal(SIGXFSZ, SIG_IGN);
        const Memory memory(bytes, 'x');
        for (const Call &call : every_call)
            cannot_grow(call, memory);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            std::remove("full");
    });
}
