/* SPDX-License-Identifier: BSD-3-Clause
 *
 * passing: what calls cost that need nothing of the interposer, since their buffers are the host's.
 * One process talks to itself, so that little else is measured. Prints a line for each
 * call: its name, and nanoseconds, the least of many turns.
 */
#include <mpi.h>
#include <stdio.h>

enum { TURNS = 40, CALLS = 10000 };

static double x[4] = {1, 2, 3, 4}, y[4];
static char packed[64];

static void message_to_oneself(void)
{
    MPI_Request request;
    MPI_Irecv(y, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange(void)
{
    MPI_Sendrecv(x, 1, MPI_DOUBLE, 0, 0, y, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void broadcast(void) { MPI_Bcast(x, 1, MPI_DOUBLE, 0, MPI_COMM_SELF); }

static void reduce(void) { MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); }

static void gather(void) { MPI_Allgather(x, 1, MPI_DOUBLE, y, 1, MPI_DOUBLE, MPI_COMM_SELF); }

static void test_nothing(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void pack(void)
{
    int position = 0;
    MPI_Pack(x, 1, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_SELF);
}

static double least_of(void (*call)(void))
{
    double least = 1;
    for (int turn = 0; turn < TURNS; ++turn) {
        const double begin = MPI_Wtime();
        for (int i = 0; i < CALLS; ++i)
            call();
        const double each = (MPI_Wtime() - begin) / CALLS;
        least = each < least ? each : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"MPI_Irecv, MPI_Send, MPI_Wait", message_to_oneself},
                 {"MPI_Sendrecv", exchange},
                 {"MPI_Bcast", broadcast},
                 {"MPI_Allreduce", reduce},
                 {"MPI_Allgather", gather},
                 {"MPI_Test", test_nothing},
                 {"MPI_Pack", pack}};
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i)
        printf("%s\t%.2f\n", calls[i].name, 1e9 * least_of(calls[i].call));
    MPI_Finalize();
    return y[0] != x[0]; /* MPI_Sendrecv, MPI_Allreduce and MPI_Allgather each moved it */
}
