/* SPDX-License-Identifier: BSD-3-Clause
 *
 * layouts: ten layouts as programs have them, each by a loop that packs and by an MPI datatype.
 * Every rank packs with both and compares, then sends the type to the next rank, which checks what
 * arrived.
 *
 * docs/site shows each part below with what it costs on a GPU. `bench:` names its figures in
 * bench/results/gpu.json.
 *
 * Exit status: 0 all alike, 1 something differs.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Real parts of complex numbers; bench: blocks-4-stride-8
 * Every second float of an array. */
static size_t real_parts_by_hand(const void *from, void *to, int n)
{
    const float *numbers = from;
    float *packed = to;
    for (int i = 0; i < n; i++)
        packed[i] = numbers[2 * i];
    return (size_t)n * sizeof *packed;
}

static MPI_Datatype real_parts_type(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 2, MPI_FLOAT, &type);
    return type;
}

/* ---- A column of a matrix; bench: blocks-8-stride-512
 * The matrix has n rows of 64 doubles. */
static size_t column_by_hand(const void *from, void *to, int n)
{
    const double(*matrix)[64] = from;
    double *packed = to;
    for (int i = 0; i < n; i++)
        packed[i] = matrix[i][0];
    return (size_t)n * sizeof *packed;
}

static MPI_Datatype column_type(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 64, MPI_DOUBLE, &type);
    return type;
}

/* ---- Sixteen columns of a matrix; bench: blocks-128-stride-512
 * A quarter of each row of 64 doubles. */
static size_t columns_by_hand(const void *from, void *to, int n)
{
    const double(*matrix)[64] = from;
    double(*packed)[16] = to;
    for (int i = 0; i < n; i++)
        memcpy(packed[i], matrix[i], sizeof packed[i]);
    return (size_t)n * sizeof *packed;
}

static MPI_Datatype columns_type(int n)
{
    MPI_Datatype type;
    MPI_Type_vector(n, 16, 64, MPI_DOUBLE, &type);
    return type;
}

/* ---- The face of a 3-D halo; bench: halo-face-24
 * Three cells deep in x, of a cube of n cells along each axis with a halo of three. The face in x
 * has the shortest rows of all. */
static size_t face_by_hand(const void *from, void *to, int n)
{
    const double *cells = from;
    double *packed = to;
    const int row = n + 6;
    for (int z = 3; z < n + 3; z++)
        for (int y = 3; y < n + 3; y++)
            for (int x = 3; x < 6; x++)
                *packed++ = cells[(z * row + y) * row + x];
    return (size_t)n * n * 3 * sizeof *packed;
}

static MPI_Datatype face_type(int n)
{
    const int row = n + 6, sizes[] = {row, row, row}, counts[] = {n, n, 3}, starts[] = {3, 3, 3};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

/* ---- The middle of a 4-D array; bench: subarray-4d-half
 * n of 2n doubles along each of four axes. */
static size_t middle_by_hand(const void *from, void *to, int n)
{
    const double *cells = from;
    double *packed = to;
    const int row = 2 * n, start = n / 2, end = start + n;
    for (int w = start; w < end; w++)
        for (int z = start; z < end; z++)
            for (int y = start; y < end; y++)
                for (int x = start; x < end; x++)
                    *packed++ = cells[((w * row + z) * row + y) * row + x];
    return (size_t)n * n * n * n * sizeof *packed;
}

static MPI_Datatype middle_type(int n)
{
    const int row = 2 * n, start = n / 2, sizes[] = {row, row, row, row}, counts[] = {n, n, n, n},
              starts[] = {start, start, start, start};
    MPI_Datatype type;
    MPI_Type_create_subarray(4, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    return type;
}

/* ---- Four nested loops; bench: nested-hvectors-4
 * Strides that no two loops share, so that no two of them are one. */
static size_t nested_by_hand(const void *from, void *to, int n)
{
    const double *numbers = from;
    double *packed = to;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < 4; l++)
                    *packed++ = numbers[226 * i + 50 * j + 10 * k + 2 * l];
    return (size_t)n * 64 * sizeof *packed;
}

static MPI_Datatype nested_type(int n)
{
    const int counts[] = {n, 4, 4, 4}, strides[] = {226, 50, 10, 2};
    MPI_Datatype type = MPI_DOUBLE;
    for (int level = 3; level >= 0; level--) {
        MPI_Datatype inner = type;
        MPI_Type_create_hvector(counts[level], 1, strides[level] * (MPI_Aint)sizeof(double), inner,
                                &type);
        if (inner != MPI_DOUBLE)
            MPI_Type_free(&inner);
    }
    return type;
}

/* Irregular places: where block i begins, and how long it is. */
static int place(int i) { return 24 * i + i * 7 % 8; }
static int length(int i) { return 1 + i * 11 % 15; }

/* ---- Blocks of many lengths; bench: hindexed-1-to-15
 * One to fifteen doubles each, at irregular places: what an unstructured mesh or a sparse matrix
 * sends. */
static size_t blocks_by_hand(const void *from, void *to, int n)
{
    const double *numbers = from;
    double *packed = to, *next = packed;
    for (int i = 0; i < n; i++) {
        memcpy(next, numbers + place(i), (size_t)length(i) * sizeof *next);
        next += length(i);
    }
    return (size_t)(next - packed) * sizeof *packed;
}

static MPI_Datatype blocks_type(int n)
{
    int *lengths = malloc((size_t)n * sizeof *lengths),
        *places = malloc((size_t)n * sizeof *places);
    for (int i = 0; i < n; i++)
        lengths[i] = length(i), places[i] = place(i);
    MPI_Datatype type;
    MPI_Type_indexed(n, lengths, places, MPI_DOUBLE, &type);
    free(lengths), free(places);
    return type;
}

/* ---- Blocks of one length; bench: hindexed-block-32
 * Four doubles each, at irregular places: particles that leave a domain. */
static size_t particles_by_hand(const void *from, void *to, int n)
{
    const double *numbers = from;
    double(*packed)[4] = to;
    for (int i = 0; i < n; i++)
        memcpy(packed[i], numbers + place(i), sizeof packed[i]);
    return (size_t)n * sizeof *packed;
}

static MPI_Datatype particles_type(int n)
{
    int *places = malloc((size_t)n * sizeof *places);
    for (int i = 0; i < n; i++)
        places[i] = place(i);
    MPI_Datatype type;
    MPI_Type_create_indexed_block(n, 4, places, MPI_DOUBLE, &type);
    free(places);
    return type;
}

/* ---- An array of structs; bench: struct-diic
 * 17 bytes of data in 24. The type says where the members lie, and leaves the padding out. */
struct record {
    double energy;
    int cell, id;
    char kind;
};

static size_t records_by_hand(const void *from, void *to, int n)
{
    const struct record *records = from;
    char *packed = to, *next = packed;
    for (int i = 0; i < n; i++) {
        memcpy(next, &records[i].energy, 8);
        memcpy(next + 8, &records[i].cell, 4);
        memcpy(next + 12, &records[i].id, 4);
        next[16] = records[i].kind;
        next += 17;
    }
    return (size_t)(next - packed);
}

static MPI_Datatype records_type(int n)
{
    const int lengths[] = {1, 1, 1, 1};
    const MPI_Aint places[] = {offsetof(struct record, energy), offsetof(struct record, cell),
                               offsetof(struct record, id), offsetof(struct record, kind)};
    const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR};
    MPI_Datatype one, spaced, type;
    MPI_Type_create_struct(4, lengths, places, members, &one);
    MPI_Type_create_resized(one, 0, sizeof(struct record), &spaced);
    MPI_Type_contiguous(n, spaced, &type);
    MPI_Type_free(&one), MPI_Type_free(&spaced);
    return type;
}

/* ---- A matrix transposed; bench: transpose
 * n columns, one after the other. */
static size_t transpose_by_hand(const void *from, void *to, int n)
{
    const double *matrix = from;
    double *packed = to;
    for (int column = 0; column < n; column++)
        for (int row = 0; row < n; row++)
            *packed++ = matrix[row * n + column];
    return (size_t)n * n * sizeof *packed;
}

static MPI_Datatype transpose_type(int n)
{
    MPI_Datatype column, next, type;
    MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &next);
    MPI_Type_contiguous(n, next, &type);
    MPI_Type_free(&column), MPI_Type_free(&next);
    return type;
}

/* ---- the test of them ---- */

static const struct layout {
    const char *name;
    size_t (*by_hand)(const void *from, void *to, int n);
    MPI_Datatype (*type)(int n);
    int n; /* at most */
} layouts[] = {
    {"real parts", real_parts_by_hand, real_parts_type, 100000},
    {"a column", column_by_hand, column_type, 3000},
    {"sixteen columns", columns_by_hand, columns_type, 3000},
    {"a face of a halo", face_by_hand, face_type, 64},
    {"the middle of 4-D", middle_by_hand, middle_type, 12},
    {"four nested loops", nested_by_hand, nested_type, 1000},
    {"blocks of many lengths", blocks_by_hand, blocks_type, 10000},
    {"blocks of one length", particles_by_hand, particles_type, 10000},
    {"an array of structs", records_by_hand, records_type, 10000},
    {"a transposed matrix", transpose_by_hand, transpose_type, 200},
};

/* No byte repeats with a short period. */
static void fill(unsigned char *memory, size_t bytes, int rank)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((i * 2654435761u >> 13) + (unsigned)rank * 41);
}

/* How many of three checks went wrong: packed by the type as by hand, unpacked as it was, sent on.
 */
static int wrong_in(const struct layout *layout, int n, int rank, int ranks)
{
    MPI_Datatype type = layout->type(n);
    MPI_Type_commit(&type);
    MPI_Aint lb, extent;
    int packed_size;
    MPI_Type_get_true_extent(type, &lb, &extent);
    MPI_Type_size(type, &packed_size);
    const size_t span = (size_t)(lb + extent) + sizeof(struct record), bytes = (size_t)packed_size;
    unsigned char *memory = malloc(span), *other = calloc(span, 1);
    void *by_hand = malloc(bytes), *by_type = malloc(bytes), *again = malloc(bytes);
    fill(memory, span, rank);
    int wrong = layout->by_hand(memory, by_hand, n) != bytes;

    int at = 0;
    MPI_Pack(memory, 1, type, by_type, packed_size, &at, MPI_COMM_WORLD);
    wrong += memcmp(by_hand, by_type, bytes) != 0;
    at = 0;
    MPI_Unpack(by_type, packed_size, &at, other, 1, type, MPI_COMM_WORLD);
    layout->by_hand(other, again, n);
    wrong += memcmp(by_hand, again, bytes) != 0;

    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(memory, 1, type, next, 0, other, 1, type, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    layout->by_hand(other, again, n);
    fill(memory, span, previous);
    layout->by_hand(memory, by_hand, n);
    wrong += memcmp(by_hand, again, bytes) != 0;

    free(memory), free(other), free(by_hand), free(by_type), free(again);
    MPI_Type_free(&type);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, wrong_in_all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        int wrong = wrong_in(&layouts[i], 2, rank, ranks);
        wrong += wrong_in(&layouts[i], layouts[i].n, rank, ranks);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%-24s %s\n", layouts[i].name,
                   wrong ? "DIFFERS" : "the same by hand and by type");
        wrong_in_all += wrong;
    }
    MPI_Finalize();
    return wrong_in_all != 0;
}
