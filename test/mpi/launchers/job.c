/* SPDX-License-Identifier: BSD-3-Clause
 *
 * job RANKS [gpu-by-rank]: a job as a launcher starts it. It has so many ranks, which send a column
 * of a matrix around a ring. With gpu-by-rank, each sees the one GPU of its number on its node.
 * Rank 0 says "all right"; the exit status is 1 where something is wrong.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000, COLUMNS = 64 };

static int is_ring_right(int rank, int ranks)
{
    static double matrix[ROWS][COLUMNS], other[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        matrix[i][0] = rank * ROWS + i;
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(matrix, 1, column, next, 0, other, 1, column, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
    for (int i = 0; i < ROWS; i++)
        if (other[i][0] != previous * ROWS + i)
            return 0;
    return 1;
}

static int sees_its_gpu(void)
{
    MPI_Comm node;
    int rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible && *visible && atoi(visible) == rank;
}

int main(int argc, char **argv)
{
    int rank, ranks, right, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    right = argc > 1 && ranks == atoi(argv[1]) && is_ring_right(rank, ranks);
    if (argc > 2 && !strcmp(argv[2], "gpu-by-rank"))
        right = right && sees_its_gpu();
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %s\n", ranks, all ? "all right" : "WRONG");
    MPI_Finalize();
    return !all;
}
