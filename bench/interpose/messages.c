/* SPDX-License-Identifier: BSD-3-Clause
 *
 * messages: MPI_Pack, and half a ping-pong by MPI_Send and MPI_Recv, of blocks with as large gaps
 * in the memory of a GPU (with --host: in host memory), between two ranks. Prints a line for each
 * case: operation, bytes, bytes of a block, microseconds (the median), and how many turns it had.
 * Every case's data are checked first; a wrong one ends the program with status 1.
 */
#include "../../examples/device_memory.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TURNS = 200 };
static const double SECONDS = 0.08; /* of a case, once it had three turns */

static int rank, on_host;
static struct device_memory gpu;

static void *allocate(size_t bytes)
{
    unsigned long long at = 0;
    if (on_host)
        return calloc(1, bytes);
    if (gpu.allocate(&at, bytes)) {
        fprintf(stderr, "messages: no memory on the GPU\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (void *)(uintptr_t)at;
}

static void give_back(void *memory)
{
    if (on_host)
        free(memory);
    else
        gpu.release((uintptr_t)memory);
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (on_host)
        memcpy(to, from, bytes);
    else if (gpu.copy((uintptr_t)to, (uintptr_t)from, bytes)) {
        fprintf(stderr, "messages: a copy failed\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* One layout, in a buffer to send, one to receive, and room for what is packed. */
struct layout {
    int bytes, block;
    size_t span;
    MPI_Datatype type;
    char *from, *to, *packed;
};

static char value(size_t i, int seed) { return (char)(i * 31 + i / 251 + (size_t)seed); }

static void fill(char *device, size_t bytes, int seed)
{
    char *host = malloc(bytes);
    for (size_t i = 0; i < bytes; ++i)
        host[i] = value(i, seed);
    copy(device, host, bytes);
    free(host);
}

static void make_layout(struct layout *it, int bytes, int block)
{
    MPI_Datatype one;
    it->bytes = bytes;
    it->block = block;
    it->span = 2 * (size_t)bytes;
    MPI_Type_contiguous(block, MPI_BYTE, &one);
    MPI_Type_create_hvector(bytes / block, 1, 2 * block, one, &it->type);
    MPI_Type_commit(&it->type);
    MPI_Type_free(&one);
    it->from = allocate(it->span);
    it->to = allocate(it->span);
    it->packed = allocate((size_t)bytes);
    fill(it->from, it->span, rank);
    fill(it->to, it->span, 77);
}

static void drop_layout(struct layout *it)
{
    MPI_Type_free(&it->type);
    give_back(it->from);
    give_back(it->to);
    give_back(it->packed);
}

static void pack(struct layout *it)
{
    int position = 0;
    MPI_Pack(it->from, 1, it->type, it->packed, it->bytes, &position, MPI_COMM_WORLD);
}

static void ping_pong(struct layout *it)
{
    if (rank == 0) {
        MPI_Send(it->from, 1, it->type, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(it->to, 1, it->type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(it->to, 1, it->type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(it->from, 1, it->type, 0, 0, MPI_COMM_WORLD);
    }
}

static void check(int holds, const struct layout *it, const char *what)
{
    if (holds)
        return;
    printf("wrong\t%s\t%d\t%d\n", what, it->bytes, it->block);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_packed(const struct layout *it)
{
    char *host = malloc((size_t)it->bytes);
    int holds = 1;
    copy(host, it->packed, (size_t)it->bytes);
    for (int i = 0; i < it->bytes; ++i)
        holds &= host[i] == value((size_t)(i / it->block) * 2 * it->block + i % it->block, rank);
    check(holds, it, "pack");
    free(host);
}

static void check_received(const struct layout *it)
{
    char *host = malloc(it->span);
    int holds = 1;
    copy(host, it->to, it->span);
    for (size_t i = 0; i < it->span; ++i)
        holds &= host[i] == value(i, i / (size_t)it->block % 2 == 0 ? 1 - rank : 77);
    check(holds, it, "send");
    free(host);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first call was for the check. Rank 0 decides when it is enough. */
static void measure(const char *name, void (*call)(struct layout *), struct layout *it,
                    double parts)
{
    double times[MOST_TURNS], all = 0;
    int turns = 0, goes_on = 1;
    while (goes_on) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        call(it);
        times[turns] = MPI_Wtime() - begin;
        all += times[turns++];
        goes_on = turns < MOST_TURNS && (turns < 3 || all < SECONDS) && all < 2;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(times, (size_t)turns, sizeof *times, by_size);
    if (rank == 0)
        printf("%s\t%d\t%d\t%.2f\t%d\n", name, it->bytes, it->block, 1e6 * times[turns / 2] / parts,
               turns);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1 << 10, 16 << 10, 64 << 10, 256 << 10,
                                  1 << 20, 4 << 20,  32 << 20};
    static const int blocks[] = {4096, 512, 64, 8};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    on_host = argc > 1 && strcmp(argv[1], "--host") == 0;
    const char *missing = on_host ? NULL : device_memory_open(rank, &gpu);
    if (missing) {
        fprintf(stderr, "messages: %s\n", missing);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; ++b) {
            struct layout it;
            if (blocks[b] > lengths[l])
                continue;
            make_layout(&it, lengths[l], blocks[b]);
            pack(&it);
            check_packed(&it);
            ping_pong(&it);
            check_received(&it);
            measure("pack", pack, &it, 1);
            measure("send", ping_pong, &it, 2);
            drop_layout(&it);
        }
    MPI_Finalize();
    return 0;
}
