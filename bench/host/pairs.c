/* SPDX-License-Identifier: BSD-3-Clause
 *
 * pairs PAIRS BYTES: rank 0 sends PAIRS contiguous messages to rank 1 with MPI_Send, and it takes
 * them with MPI_Recv. `instructions` beside this file counts what sending() and receiving()
 * execute. Nobody ever waits inside them, so the count does not depend on time. Messages go out in
 * batches that UCX takes without the receiver's help. Outside of the two functions the processes
 * take turns by semaphores, which make no MPI progress.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCH = 8 };

struct turns {
    sem_t sent, received;
};

/* One structure for both processes, in a file that only they know. */
static struct turns *share(int rank)
{
    char path[] = "/tmp/heddle-pairs-XXXXXX";
    int file = -1;
    if (rank == 0 && (file = mkstemp(path)) >= 0 && ftruncate(file, sizeof(struct turns)) != 0)
        file = -1;
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1)
        file = open(path, O_RDWR);
    struct turns *turns =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, sizeof *turns, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (turns == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0 && (sem_init(&turns->sent, 1, 0) || sem_init(&turns->received, 1, 0)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    close(file);
    return turns;
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR)
        ;
}

__attribute__((noipa)) void sending(char *buffer, int bytes, int messages)
{
    for (int i = 0; i < messages; i++)
        MPI_Send(buffer, bytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
}

__attribute__((noipa)) void receiving(char *buffer, int bytes, int messages)
{
    for (int i = 0; i < messages; i++)
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int pairs = argc == 3 ? atoi(argv[1]) : 0, bytes = argc == 3 ? atoi(argv[2]) : -1;
    if (ranks != 2 || pairs <= 0 || pairs % BATCH || bytes < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: mpiexec -n 2 pairs PAIRS BYTES (PAIRS a multiple of %d)\n",
                    BATCH);
        MPI_Finalize();
        return 2;
    }
    struct turns *turns = share(rank);
    char *buffer = malloc((size_t)bytes + 1);
    if (!buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int wrong = 0;
    for (int done = 0; done < pairs; done += BATCH) {
        memset(buffer, rank == 0 ? done / BATCH & 127 : 255, (size_t)bytes + 1);
        if (rank == 0) {
            sending(buffer, bytes, BATCH);
            sem_post(&turns->sent);
            await(&turns->received);
        } else {
            await(&turns->sent);
            receiving(buffer, bytes, BATCH);
            for (int i = 0; i < bytes; i++)
                wrong += buffer[i] != (done / BATCH & 127);
            sem_post(&turns->received);
        }
    }
    if (wrong)
        fprintf(stderr, "pairs: %d wrong bytes received\n", wrong);
    free(buffer);
    MPI_Finalize();
    return wrong != 0;
}
