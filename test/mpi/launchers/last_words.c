/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank writes before it aborts is printed. mpiexec gives its proxies until the end of the
 * second to end then; and a proxy, a rank's parent, may look at the rank's output late. So this
 * stops the proxy until a second is nearly over.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void stop_until_the_second_ends(pid_t proxy)
{
    struct timeval now;
    kill(proxy, SIGSTOP);
    if (fork() != 0)
        return;
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    gettimeofday(&now, NULL);
    usleep(1999300 - now.tv_usec);
    kill(proxy, SIGCONT);
    _exit(0);
}

int main(int argc, char **argv)
{
    static char much[60000]; /* nearly what a pipe holds */
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        stop_until_the_second_ends(getppid());
    MPI_Barrier(MPI_COMM_WORLD);
    memset(much, '.', sizeof much - 1);
    puts(much);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fprintf(stderr, "my last words\n");
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
