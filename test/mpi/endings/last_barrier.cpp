/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank is killed at the end of MPI_Finalize, when its connections are closed and the others wait
 * in the last barrier. They end all the same. This program stands between libmpi and UCX: its
 * function of UCX's name is found first.
 */
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

namespace {

constexpr int victim = 1;
int rank = 0;

} // namespace

/* The victim comes to no barrier, for it closes none of its connections. */
extern "C" ucs_status_ptr_t ucp_disconnect_nb(ucp_ep_h ep)
{
    static const auto real =
        reinterpret_cast<decltype(&ucp_disconnect_nb)>(dlsym(RTLD_NEXT, "ucp_disconnect_nb"));
    if (rank == victim) {
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
    return real(ep);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    std::printf("survived\n");
}
