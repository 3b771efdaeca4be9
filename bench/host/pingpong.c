/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pingpong BYTES EXCHANGES [WINDOW]: two processes hand a contiguous host message back and forth.
 * Prints the median of half the time of an exchange, in seconds. With a WINDOW of more than one,
 * the first sends so many by MPI_Isend, and the second answers with one. Then it prints the median
 * time for each message, the inverse of the message rate.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* So many messages, and an answer. */
static void exchange(int rank, char *buffer, int bytes, int window, MPI_Request *requests)
{
    for (int i = 0; i < window; i++)
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(buffer, 0, MPI_CHAR, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(buffer, 0, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = argc >= 3 ? atoi(argv[1]) : -1, exchanges = argc >= 3 ? atoi(argv[2]) : 0,
        window = argc == 4 ? atoi(argv[3]) : 1;
    if (ranks != 2 || bytes < 0 || exchanges <= 0 || window <= 0 || argc > 4) {
        if (rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 pingpong BYTES EXCHANGES [WINDOW]\n");
        MPI_Finalize();
        return 2;
    }
    char *buffer = malloc((size_t)bytes + 1);
    double *seconds = malloc((size_t)exchanges * sizeof *seconds);
    MPI_Request *requests = malloc((size_t)window * sizeof *requests);
    if (!buffer || !seconds || !requests)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buffer, rank, (size_t)bytes + 1);
    for (int i = -exchanges / 10 - 10; i < exchanges; i++) { /* below zero: warming up */
        double begin = MPI_Wtime();
        if (window > 1) {
            exchange(rank, buffer, bytes, window, requests);
        } else if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
        }
        if (i >= 0)
            seconds[i] = (MPI_Wtime() - begin) / (window > 1 ? window : 2);
    }
    qsort(seconds, (size_t)exchanges, sizeof *seconds, by_value);
    if (rank == 0)
        printf("%.9g\n", seconds[exchanges / 2]);
    int wrong = bytes > 0 && buffer[bytes - 1] != 0; /* both now hold what rank 0 began with */
    if (wrong)
        fprintf(stderr, "pingpong: rank %d: wrong data\n", rank);
    free(buffer);
    free(seconds);
    free(requests);
    MPI_Finalize();
    return wrong;
}
