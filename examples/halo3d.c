/* SPDX-License-Identifier: BSD-3-Clause
 *
 * halo3d: a periodic 3-D halo exchange with 26 neighbours, as the stencil code Astaroth does it.
 * There are several quantities on one grid, and the halo is several cells deep.
 * MPI_Type_create_subarray describes each region.
 *
 * It exchanges in three ways that a program may choose from (see `methods` below), and as programs
 * did without datatypes: loops pack and unpack by hand. It prints the times side by side. After
 * every exchange it checks every cell of every quantity against a value that follows from the
 * cell's global coordinates. Any number of processes works, one included: an axis with one or two
 * processes then makes the same process a neighbour several times over, or a process its own
 * neighbour.
 *
 * Exit status: 0 all cells right, 1 some wrong, 2 wrong usage, 3 an MPI call failed.
 */
#include "device_memory.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_WRONG_CELLS = 1, EXIT_USAGE = 2, EXIT_MPI = 3 };
enum { DIRECTIONS = 26 };

static void check_mpi(int error, const char *call, int line)
{
    if (error == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(error, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", error);
    fprintf(stderr, "halo3d: line %d: %s: %s\n", line, call, text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_MPI);
}
#define CHECK(call) check_mpi((call), #call, __LINE__)

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "halo3d: out of memory: %zu x %zu bytes; choose a smaller --size\n", count,
                size);
        MPI_Abort(MPI_COMM_WORLD, EXIT_MPI);
    }
    return memory;
}

/* ---- options --------------------------------------------------------------------------------- */

struct options {
    int size[3]; /* interior cells of one process: z, y, x */
    int iterations, radius, quantities;
    int broken; /* cells to spoil before each verification */
    int device; /* the grid lies in a GPU's memory */
};

static const char usage[] =
    "usage: mpiexec -n N halo3d [options]\n"
    "A periodic 3-D halo exchange with 26 neighbours: by datatypes in three ways, and by loops "
    "that\n"
    "pack by hand (in host memory). All are verified and timed.\n"
    "\n"
    "  --size NX[,NY,NZ]  interior cells of each process (default 64: a cube)\n"
    "  --iterations N     exchanges with each method (default 20)\n"
    "  --radius N         cells in the halo (default 3)\n"
    "  --quantities N     double-precision values of each cell (default 8)\n"
    "  --device           the grid in the memory of a GPU (CUDA), of another one for each process "
    "of a node\n"
    "  --break N          spoil N halo cells of rank 0 before each verification, to see it fail\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0 all cells right, 1 some wrong, 2 wrong usage, 3 an MPI call failed.\n";

/* A whole number in [least, INT_MAX] up to the end of `text` or a comma; -1 otherwise. */
static int parse_number(const char *text, int least, const char **end)
{
    char *rest;
    long value = strtol(text, &rest, 10);
    if (rest == text || (*rest != '\0' && *rest != ',') || value < least || value > INT_MAX)
        return -1;
    *end = rest;
    return (int)value;
}

/* NX[,NY,NZ]: the cells along each axis; NX alone makes a cube. Returns whether it is valid. */
static int parse_size(const char *text, int size[3])
{
    const char *end = "";
    int x = parse_number(text, 1, &end), y = x, z = x;
    if (x > 0 && *end == ',') {
        y = parse_number(end + 1, 1, &end);
        z = y > 0 && *end == ',' ? parse_number(end + 1, 1, &end) : -1;
    }
    size[0] = z, size[1] = y, size[2] = x;
    return x > 0 && y > 0 && z > 0 && *end == '\0';
}

/* Whether the halo of one process lies within its neighbours. */
static int is_deep_enough(const struct options *options, int rank)
{
    for (int axis = 0; axis < 3; axis++)
        if (options->size[axis] < options->radius) {
            if (rank == 0)
                fprintf(stderr, "halo3d: --size must be at least --radius (%d) along every axis\n",
                        options->radius);
            return 0;
        }
    return 1;
}

/* Returns -1 to go on, else the status to exit with. Only rank 0 speaks. */
static int parse_options(int argc, char **argv, int rank, struct options *options)
{
    static const struct option known[] = {
        {"size", required_argument, NULL, 's'},   {"iterations", required_argument, NULL, 'i'},
        {"radius", required_argument, NULL, 'r'}, {"quantities", required_argument, NULL, 'q'},
        {"break", required_argument, NULL, 'b'},  {"device", no_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    *options = (struct options){{64, 64, 64}, 20, 3, 8, 0, 0};
    opterr = rank == 0;
    int which, good = 1;
    while (good && (which = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        const char *end = "";
        int *value = NULL, least = 1;
        switch (which) {
        case 'h':
            if (rank == 0)
                fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 's':
            good = parse_size(optarg, options->size);
            break;
        case 'i':
            value = &options->iterations;
            break;
        case 'r':
            value = &options->radius;
            break;
        case 'q':
            value = &options->quantities;
            break;
        case 'b':
            value = &options->broken, least = 0;
            break;
        case 'd':
            options->device = 1;
            break;
        default:
            good = 0;
        }
        if (value)
            good = (*value = parse_number(optarg, least, &end)) >= least && *end == '\0';
        if (!good && rank == 0 && which != '?')
            fprintf(stderr, "halo3d: not a valid value: %s\n", optarg);
    }
    good = good && optind == argc && is_deep_enough(options, rank);
    if (!good && rank == 0)
        fputs("halo3d: see --help\n", stderr);
    return good ? -1 : EXIT_USAGE;
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Axes are ordered z, y, x, as they lie in memory: cells[quantity][z][y][x], halo included. */
struct grid {
    MPI_Comm comm; /* periodic Cartesian */
    int rank, ranks;
    int dims[3], place[3];
    int interior[3], whole[3];
    int radius, quantities;
    double *cells; /* in the host's memory */
    size_t cell_count;
    char *buffer; /* what MPI is given: the cells, or as many of a GPU's memory */
    const struct device_memory *device;
};

/* `bytes` bytes of the memory that the grid lies in. */
static void *grid_memory(const struct grid *grid, size_t bytes)
{
    unsigned long long at = 0;
    if (!grid->device)
        return allocate(bytes, 1);
    if (grid->device->allocate(&at, bytes ? bytes : 1)) {
        fprintf(stderr, "halo3d: the GPU has no %zu bytes; choose a smaller --size\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, EXIT_MPI);
    }
    return (void *)(uintptr_t)at;
}

static void grid_release(const struct grid *grid, void *memory)
{
    if (grid->device)
        grid->device->release((uintptr_t)memory);
    else
        free(memory);
}

enum copy { TO_DEVICE, FROM_DEVICE };

static void grid_copy(const struct grid *grid, enum copy copy)
{
    if (!grid->device)
        return;
    uintptr_t host = (uintptr_t)grid->cells, device = (uintptr_t)grid->buffer;
    if (grid->device->copy(copy == TO_DEVICE ? device : host, copy == TO_DEVICE ? host : device,
                           grid->cell_count * sizeof(double))) {
        fprintf(stderr, "halo3d: the GPU does not copy\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_MPI);
    }
}

/* The GPU of this process: its number among those of its node. */
static void grid_open_device(struct grid *grid)
{
    static struct device_memory memory;
    MPI_Comm node;
    int rank;
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    CHECK(MPI_Comm_rank(node, &rank));
    CHECK(MPI_Comm_free(&node));
    const char *missing = device_memory_open(rank, &memory);
    if (missing) {
        fprintf(stderr, "halo3d: --device: %s\n", missing);
        MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
    }
    grid->device = &memory;
}

static void grid_create(struct grid *grid, const struct options *options)
{
    *grid = (struct grid){.radius = options->radius, .quantities = options->quantities};
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &grid->ranks));
    CHECK(MPI_Dims_create(grid->ranks, 3, grid->dims));
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 3, grid->dims, (int[3]){1, 1, 1}, 0, &grid->comm));
    CHECK(MPI_Comm_rank(grid->comm, &grid->rank));
    CHECK(MPI_Cart_coords(grid->comm, grid->rank, 3, grid->place));
    grid->cell_count = (size_t)grid->quantities;
    for (int axis = 0; axis < 3; axis++) {
        grid->interior[axis] = options->size[axis];
        grid->whole[axis] = options->size[axis] + 2 * options->radius;
        grid->cell_count *= (size_t)grid->whole[axis];
    }
    grid->cells = allocate(grid->cell_count, sizeof(double));
    if (options->device)
        grid_open_device(grid);
    grid->buffer =
        grid->device ? grid_memory(grid, grid->cell_count * sizeof(double)) : (char *)grid->cells;
}

static void grid_free(struct grid *grid)
{
    if (grid->device)
        grid_release(grid, grid->buffer);
    free(grid->cells);
    CHECK(MPI_Comm_free(&grid->comm));
}

static int in_halo(const struct grid *grid, int axis, int index)
{
    return index < grid->radius || index >= grid->radius + grid->interior[axis];
}

/* Where cell `index` of `axis` lies in the periodic global grid. */
static int64_t global_index(const struct grid *grid, int axis, int index)
{
    int64_t length = (int64_t)grid->dims[axis] * grid->interior[axis];
    int64_t at = (int64_t)grid->place[axis] * grid->interior[axis] + index - grid->radius;
    return (at % length + length) % length;
}

/* What the first cell of a global row holds at an exchange; the others count up from there. No two
 * cells of an exchange hold the same, and neighbouring exchanges differ, so that nothing old passes
 * for new. */
static double row_value(const struct grid *grid, int exchange, int quantity, int64_t z, int64_t y)
{
    int64_t length[3];
    for (int axis = 0; axis < 3; axis++)
        length[axis] = (int64_t)grid->dims[axis] * grid->interior[axis];
    int64_t number = exchange % 16 * (int64_t)grid->quantities + quantity;
    return (double)(((number * length[0] + z) * length[1] + y) * length[2]);
}

enum walk { FILL, VERIFY };

/* FILL gives the interior its values and the halo a mark that is none of them. VERIFY returns how
 * many cells do not hold what they should, and tells of the first unless `method` is null. */
static int64_t grid_walk(struct grid *grid, int exchange, enum walk walk, const char *method)
{
    int64_t wrong = 0;
    double *cell = grid->cells;
    for (int q = 0; q < grid->quantities; q++)
        for (int z = 0; z < grid->whole[0]; z++)
            for (int y = 0; y < grid->whole[1]; y++) {
                double row = row_value(grid, exchange, q, global_index(grid, 0, z),
                                       global_index(grid, 1, y));
                int halo_row = in_halo(grid, 0, z) || in_halo(grid, 1, y);
                int64_t first = global_index(grid, 2, 0),
                        length = (int64_t)grid->dims[2] * grid->interior[2];
                for (int x = 0; x < grid->whole[2]; x++, cell++) {
                    double right = row + (double)first;
                    first = first + 1 == length ? 0 : first + 1;
                    if (walk == FILL)
                        *cell = halo_row || in_halo(grid, 2, x) ? -1.0 : right;
                    else if (*cell != right && wrong++ == 0 && method)
                        fprintf(
                            stderr,
                            "halo3d: %s: rank %d: quantity %d, cell (%d, %d, %d), halo included: "
                            "holds %.15g, should hold %.15g\n",
                            method, grid->rank, q, x, y, z, *cell, right);
                }
            }
    return wrong;
}

/* Spoils the first `count` cells in memory: a corner of the halo. */
static void grid_break(struct grid *grid, int count)
{
    for (size_t i = 0; i < (size_t)count && i < grid->cell_count; i++)
        grid->cells[i] += 0.5;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

/* Message i travels in direction i: from the interior cells next to that side, to the process on
 * that side, into the halo of its opposite side. So its source is the process on our opposite side.
 * Where one process stands on several sides, its messages to us and our expectations come in the
 * same order: that of the directions. */
struct region {
    int start[3], count[3]; /* of whole[], so halo included */
};

struct exchange {
    const struct grid *grid;
    MPI_Comm comm; /* a graph of the 26 edges in and out */
    int sources[DIRECTIONS], destinations[DIRECTIONS];
    struct region sends[DIRECTIONS], receives[DIRECTIONS];
    MPI_Datatype send_types[DIRECTIONS], receive_types[DIRECTIONS];
    int packed_bytes[DIRECTIONS], packed_at[DIRECTIONS];
    char *send_buffer, *receive_buffer;
    int ones[DIRECTIONS];
    MPI_Aint zeros[DIRECTIONS];
    int64_t bytes; /* that one process sends */
};

static struct region region_at(const struct grid *grid, const int side[3], int receive)
{
    struct region region;
    for (int axis = 0; axis < 3; axis++) {
        int length = grid->interior[axis], radius = grid->radius;
        region.count[axis] = side[axis] ? radius : length;
        if (receive)
            region.start[axis] = side[axis] < 0 ? 0 : side[axis] > 0 ? radius + length : radius;
        else
            region.start[axis] = side[axis] > 0 ? length : radius;
    }
    return region;
}

static MPI_Datatype region_type(const struct grid *grid, const struct region *region)
{
    int sizes[4] = {grid->quantities}, counts[4] = {grid->quantities}, starts[4] = {0};
    for (int axis = 0; axis < 3; axis++) {
        sizes[axis + 1] = grid->whole[axis];
        counts[axis + 1] = region->count[axis];
        starts[axis + 1] = region->start[axis];
    }
    MPI_Datatype type;
    CHECK(MPI_Type_create_subarray(4, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type));
    CHECK(MPI_Type_commit(&type));
    return type;
}

static void exchange_create(struct exchange *exchange, const struct grid *grid)
{
    *exchange = (struct exchange){.grid = grid};
    int64_t packed = 0;
    for (int code = 0, i = 0; code < 27; code++) {
        int side[3] = {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1}, to[3], from[3], opposite[3];
        if (!side[0] && !side[1] && !side[2])
            continue;
        for (int axis = 0; axis < 3; axis++) {
            opposite[axis] = -side[axis];
            to[axis] = grid->place[axis] + side[axis];
            from[axis] = grid->place[axis] - side[axis];
        }
        CHECK(MPI_Cart_rank(grid->comm, to, &exchange->destinations[i]));
        CHECK(MPI_Cart_rank(grid->comm, from, &exchange->sources[i]));
        exchange->sends[i] = region_at(grid, side, 0);
        exchange->receives[i] = region_at(grid, opposite, 1);
        exchange->send_types[i] = region_type(grid, &exchange->sends[i]);
        exchange->receive_types[i] = region_type(grid, &exchange->receives[i]);

        MPI_Count size;
        CHECK(MPI_Type_size_x(exchange->send_types[i], &size));
        CHECK(MPI_Pack_size(1, exchange->send_types[i], grid->comm, &exchange->packed_bytes[i]));
        exchange->packed_at[i] = (int)packed;
        packed += exchange->packed_bytes[i];
        if (size > INT_MAX || packed > INT_MAX) {
            fprintf(stderr,
                    "halo3d: the packed halo exceeds 2 GiB, which MPI_Pack's int cannot count; "
                    "choose a smaller --size\n");
            MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
        }
        exchange->bytes += size;
        exchange->ones[i++] = 1;
    }
    exchange->send_buffer = grid_memory(grid, (size_t)packed);
    exchange->receive_buffer = grid_memory(grid, (size_t)packed);
    CHECK(MPI_Dist_graph_create_adjacent(grid->comm, DIRECTIONS, exchange->sources, MPI_UNWEIGHTED,
                                         DIRECTIONS, exchange->destinations, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &exchange->comm));
}

static void exchange_free(struct exchange *exchange, const struct grid *grid)
{
    for (int i = 0; i < DIRECTIONS; i++) {
        CHECK(MPI_Type_free(&exchange->send_types[i]));
        CHECK(MPI_Type_free(&exchange->receive_types[i]));
    }
    grid_release(grid, exchange->send_buffer);
    grid_release(grid, exchange->receive_buffer);
    CHECK(MPI_Comm_free(&exchange->comm));
}

static void wait_for_all(MPI_Request requests[2 * DIRECTIONS])
{
    MPI_Status statuses[2 * DIRECTIONS];
    int error = MPI_Waitall(2 * DIRECTIONS, requests, statuses);
    for (int i = 0; error == MPI_ERR_IN_STATUS && i < 2 * DIRECTIONS; i++)
        if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            check_mpi(statuses[i].MPI_ERROR, i < DIRECTIONS ? "MPI_Irecv" : "MPI_Isend", __LINE__);
    CHECK(error);
}

static void by_isend(const struct exchange *exchange, void *cells)
{
    MPI_Request requests[2 * DIRECTIONS];
    for (int i = 0; i < DIRECTIONS; i++)
        CHECK(MPI_Irecv(cells, 1, exchange->receive_types[i], exchange->sources[i], i,
                        exchange->comm, &requests[i]));
    for (int i = 0; i < DIRECTIONS; i++)
        CHECK(MPI_Isend(cells, 1, exchange->send_types[i], exchange->destinations[i], i,
                        exchange->comm, &requests[DIRECTIONS + i]));
    wait_for_all(requests);
}

static void by_alltoallw(const struct exchange *exchange, void *cells)
{
    CHECK(MPI_Neighbor_alltoallw(cells, exchange->ones, exchange->zeros, exchange->send_types,
                                 cells, exchange->ones, exchange->zeros, exchange->receive_types,
                                 exchange->comm));
}

static void by_packing(const struct exchange *exchange, void *cells)
{
    for (int i = 0; i < DIRECTIONS; i++) {
        int position = 0;
        CHECK(MPI_Pack(cells, 1, exchange->send_types[i],
                       exchange->send_buffer + exchange->packed_at[i], exchange->packed_bytes[i],
                       &position, exchange->comm));
    }
    /* All processes have the same shape, so all messages in direction i have the same length. */
    CHECK(MPI_Neighbor_alltoallv(exchange->send_buffer, exchange->packed_bytes, exchange->packed_at,
                                 MPI_PACKED, exchange->receive_buffer, exchange->packed_bytes,
                                 exchange->packed_at, MPI_PACKED, exchange->comm));
    for (int i = 0; i < DIRECTIONS; i++) {
        int position = 0;
        CHECK(MPI_Unpack(exchange->receive_buffer + exchange->packed_at[i],
                         exchange->packed_bytes[i], &position, cells, 1, exchange->receive_types[i],
                         exchange->comm));
    }
}

enum direction { PACK, UNPACK };

/* A region's rows, one after the other. */
static int copy_by_hand(const struct grid *grid, const struct region *region, double *cells,
                        double *packed, enum direction direction)
{
    const size_t row = (size_t)region->count[2], line = (size_t)grid->whole[2];
    double *next = packed;
    for (int q = 0; q < grid->quantities; q++)
        for (int z = region->start[0]; z < region->start[0] + region->count[0]; z++)
            for (int y = region->start[1]; y < region->start[1] + region->count[1]; y++) {
                size_t plane = (size_t)q * (size_t)grid->whole[0] + (size_t)z;
                double *at =
                    cells + (plane * (size_t)grid->whole[1] + (size_t)y) * line + region->start[2];
                memcpy(direction == PACK ? next : at, direction == PACK ? at : next,
                       row * sizeof *at);
                next += row;
            }
    return (int)(next - packed);
}

/* The places in the buffers have room for what MPI_Pack makes, which is no less. */
static void by_hand(const struct exchange *exchange, void *cells)
{
    MPI_Request requests[2 * DIRECTIONS];
    for (int i = 0; i < DIRECTIONS; i++)
        CHECK(MPI_Irecv(exchange->receive_buffer + exchange->packed_at[i],
                        exchange->packed_bytes[i] / (int)sizeof(double), MPI_DOUBLE,
                        exchange->sources[i], i, exchange->comm, &requests[i]));
    for (int i = 0; i < DIRECTIONS; i++) {
        double *packed = (double *)(exchange->send_buffer + exchange->packed_at[i]);
        int doubles = copy_by_hand(exchange->grid, &exchange->sends[i], cells, packed, PACK);
        CHECK(MPI_Isend(packed, doubles, MPI_DOUBLE, exchange->destinations[i], i, exchange->comm,
                        &requests[DIRECTIONS + i]));
    }
    wait_for_all(requests);
    for (int i = 0; i < DIRECTIONS; i++)
        copy_by_hand(exchange->grid, &exchange->receives[i], cells,
                     (double *)(exchange->receive_buffer + exchange->packed_at[i]), UNPACK);
}

static const struct method {
    const char *name;
    void (*run)(const struct exchange *, void *cells);
    int host_only;
} methods[] = {
    {"Isend/Irecv", by_isend, 0},
    {"Neighbor_alltoallw", by_alltoallw, 0},
    {"Pack+Neighbor_alltoallv+Unpack", by_packing, 0},
    {"packed by hand, Isend/Irecv", by_hand, 1},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* ---- the run --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Exchanges `iterations` times, each after a barrier, each verified; `seconds` receives what the
 * slowest process took for each. Returns how many cells were wrong on all processes together. */
static int64_t run_method(const struct method *method, const struct exchange *exchange,
                          struct grid *grid, const struct options *options, double *seconds)
{
    int64_t wrong = 0;
    for (int i = 0; i <= options->iterations; i++) { /* the first one warms up, and is not timed */
        grid_walk(grid, i, FILL, NULL);
        grid_copy(grid, TO_DEVICE);
        CHECK(MPI_Barrier(grid->comm));
        double begin = MPI_Wtime();
        method->run(exchange, grid->buffer);
        if (i > 0)
            seconds[i - 1] = MPI_Wtime() - begin;
        grid_copy(grid, FROM_DEVICE);
        if (grid->rank == 0)
            grid_break(grid, options->broken);
        wrong += grid_walk(grid, i, VERIFY, wrong ? NULL : method->name);
    }
    CHECK(
        MPI_Allreduce(MPI_IN_PLACE, seconds, options->iterations, MPI_DOUBLE, MPI_MAX, grid->comm));
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, grid->comm));
    qsort(seconds, (size_t)options->iterations, sizeof *seconds, by_value);
    return wrong;
}

static int64_t run_all(struct grid *grid, const struct options *options)
{
    struct exchange exchange;
    exchange_create(&exchange, grid);
    double *seconds = allocate((size_t)options->iterations, sizeof *seconds);
    int64_t wrong_in_all = 0;
    if (grid->rank == 0) {
        printf("%d process%s as %d x %d x %d, each %d x %d x %d cells of %d doubles, halo of %d; "
               "%.2f MB sent by each%s\n",
               grid->ranks, grid->ranks == 1 ? "" : "es", grid->dims[2], grid->dims[1],
               grid->dims[0], grid->interior[2], grid->interior[1], grid->interior[0],
               grid->quantities, grid->radius, 1e-6 * (double)exchange.bytes,
               grid->device ? "; on GPUs" : "");
        printf("%-32s %10s %12s %12s %10s %13s\n", "method", "exchanges", "median, us", "least, us",
               "GB/s each", "wrong cells");
    }
    for (int m = 0; m < METHODS; m++) {
        if (methods[m].host_only && grid->device)
            continue;
        int64_t wrong = run_method(&methods[m], &exchange, grid, options, seconds);
        double least = seconds[0], median = seconds[options->iterations / 2];
        wrong_in_all += wrong;
        if (grid->rank == 0) {
            printf("%-32s %10d %12.1f %12.1f %10.2f %13" PRId64 "\n", methods[m].name,
                   options->iterations, 1e6 * median, 1e6 * least,
                   1e-9 * (double)exchange.bytes / median, wrong);
            fflush(stdout);
        }
    }
    free(seconds);
    exchange_free(&exchange, grid);
    return wrong_in_all;
}

int main(int argc, char **argv)
{
    check_mpi(MPI_Init(&argc, &argv), "MPI_Init", __LINE__);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)); /* what comes from it
                                                                          inherits this */
    int rank;
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));

    struct options options;
    int status = parse_options(argc, argv, rank, &options);
    if (status < 0) {
        struct grid grid;
        grid_create(&grid, &options);
        int64_t wrong = run_all(&grid, &options);
        status = wrong ? EXIT_WRONG_CELLS : EXIT_SUCCESS;
        if (grid.rank == 0) {
            if (wrong)
                printf("FAILED: %" PRId64 " wrong cells\n", wrong);
            else
                printf("every cell of every exchange verified: all right\n");
        }
        grid_free(&grid);
    }
    CHECK(MPI_Finalize());
    return status;
}
