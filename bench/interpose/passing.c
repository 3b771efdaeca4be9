/* SPDX-License-Identifier: BSD-3-Clause
 *
 * passing: what calls cost that need nothing of the interposer, since their buffers are the host's.
 * One process talks to itself, so that little else is measured. Two processes take part in
 * collectives, which they may fail in. Prints a line for each call: its name, and nanoseconds, the
 * least of many turns.
 */
#include <mpi.h>
#include <stdio.h>

enum { TURNS = 40, CALLS = 10000 };

static double x[128] = {1, 2, 3, 4}, y[128];
static char packed[64];

static void to_oneself(int n)
{
    MPI_Request request;
    MPI_Irecv(y, n, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(x, n, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void message_to_oneself(void) { to_oneself(1); }

/* Long enough for an envelope in its place (heddle-run --peer). */
static void kilobyte_to_oneself(void) { to_oneself(128); }

static void both_to_oneself(int n)
{
    MPI_Request all[2];
    MPI_Status statuses[2];
    MPI_Irecv(y, n, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &all[0]);
    MPI_Isend(x, n, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &all[1]);
    MPI_Waitall(2, all, statuses);
}

static void two_requests(void) { both_to_oneself(1); }

static void two_requests_of_a_kilobyte(void) { both_to_oneself(128); }

static void exchange_all(void)
{
    static const int counts[] = {1}, places[] = {0};
    MPI_Alltoallv(x, counts, places, MPI_DOUBLE, y, counts, places, MPI_DOUBLE, MPI_COMM_SELF);
}

static void barrier(void) { MPI_Barrier(MPI_COMM_SELF); }

static void reduce_both(void) { MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); }

static void begin_to_reduce_both(void)
{
    MPI_Request request;
    MPI_Iallreduce(x, y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
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
    int rank, size;
    static const struct {
        int size;
        const char *name;
        void (*call)(void);
    } calls[] = {{1, "MPI_Irecv, MPI_Send, MPI_Wait", message_to_oneself},
                 {1, "MPI_Irecv, MPI_Send, MPI_Wait of 1 KiB", kilobyte_to_oneself},
                 {1, "MPI_Irecv, MPI_Isend, MPI_Waitall", two_requests},
                 {1, "MPI_Irecv, MPI_Isend, MPI_Waitall of 1 KiB", two_requests_of_a_kilobyte},
                 {1, "MPI_Sendrecv", exchange},
                 {1, "MPI_Bcast", broadcast},
                 {1, "MPI_Allreduce", reduce},
                 {1, "MPI_Allgather", gather},
                 {1, "MPI_Alltoallv", exchange_all},
                 {1, "MPI_Barrier", barrier},
                 {1, "MPI_Test", test_nothing},
                 {1, "MPI_Pack", pack},
                 {2, "MPI_Allreduce of two", reduce_both},
                 {2, "MPI_Iallreduce, MPI_Wait of two", begin_to_reduce_both}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
        const double least = size == calls[i].size ? least_of(calls[i].call) : 0;
        if (least > 0 && rank == 0)
            printf("%s\t%.2f\n", calls[i].name, 1e9 * least);
    }
    MPI_Finalize();
    return y[0] != x[0]; /* MPI_Sendrecv, MPI_Allreduce and MPI_Allgather each moved it */
}
