// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.cuh"

namespace bench {
namespace {

constexpr int edge = 32, rows_of_threads = 8;

// by_columns[c * rows + r] = by_rows[r * n + c]
__global__ void transpose(const double *by_rows, double *by_columns, int rows, int n)
{
    __shared__ double tile[edge][edge + 1];
    const int c = static_cast<int>(blockIdx.x) * edge + static_cast<int>(threadIdx.x);
    const int r = static_cast<int>(blockIdx.y) * edge + static_cast<int>(threadIdx.x);
    for (int i = static_cast<int>(threadIdx.y); i < edge; i += rows_of_threads)
        if (const int row = static_cast<int>(blockIdx.y) * edge + i; row < rows && c < n)
            tile[i][threadIdx.x] = by_rows[int64_t{row} * n + c];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.y); i < edge; i += rows_of_threads)
        if (const int column = static_cast<int>(blockIdx.x) * edge + i; column < n && r < rows)
            by_columns[int64_t{column} * rows + r] = tile[threadIdx.x][i];
}

class Columns : public Pattern {
public:
    Columns(int rows, int n)
        : Pattern("Alltoall of columns, " + std::to_string(rows) + " x " + std::to_string(n),
                  int64_t{8} * rows * n),
          rows_(rows),
          n_(n),
          mine_(n / ranks),
          from_(bytes),
          packed_(bytes),
          to_(bytes)
    {
        if (n % ranks)
            throw std::runtime_error("so many processes cannot share " + std::to_string(n) +
                                     " columns");
        MPI_Datatype column, resized;
        MPI_Type_vector(rows, 1, n, MPI_DOUBLE, &column);
        MPI_Type_create_resized(column, 0, sizeof(double), &resized);
        MPI_Type_contiguous(mine_, resized, &columns_);
        MPI_Type_commit(&columns_);
        MPI_Type_free(&column);
        MPI_Type_free(&resized);
    }
    ~Columns() override { MPI_Type_free(&columns_); }

    void fill() override
    {
        for_all(
            int64_t{rows_} * n_,
            [from = doubles(from_), me = rank] __device__(int64_t i) { from[i] = value(me, i); },
            stream);
        BENCH_CUDA(cudaMemsetAsync(to_.get(), 0xff, static_cast<size_t>(bytes), stream));
        stream.wait();
    }
    void by_mpi() override
    {
        MPI_Alltoall(from_.get(), 1, columns_, to_.get(), rows_ * mine_, MPI_DOUBLE,
                     MPI_COMM_WORLD);
    }
    void by_hand() override
    {
        const dim3 tiles(static_cast<unsigned>((n_ + edge - 1) / edge),
                         static_cast<unsigned>((rows_ + edge - 1) / edge));
        transpose<<<tiles, dim3(edge, rows_of_threads), 0, stream>>>(doubles(from_),
                                                                     doubles(packed_), rows_, n_);
        stream.wait();
        MPI_Alltoall(packed_.get(), rows_ * mine_, MPI_DOUBLE, to_.get(), rows_ * mine_, MPI_DOUBLE,
                     MPI_COMM_WORLD);
    }
    // Column c of process s, row by row, then its next one.
    int64_t wrong() override
    {
        return counted(int64_t{rows_} * n_, [to = doubles(to_), rows = rows_, n = n_, mine = mine_,
                                             me = rank] __device__(int64_t i) {
            const int64_t column = i / rows, r = i % rows, s = column / mine, c = column % mine;
            return to[i] != value(static_cast<int>(s), r * n + int64_t{me} * mine + c);
        });
    }

private:
    const int rows_, n_, mine_;
    const Device from_, packed_, to_;
    MPI_Datatype columns_;
};

} // namespace

std::unique_ptr<Pattern> make_columns(int rows, int n)
{
    return std::make_unique<Columns>(rows, n);
}

} // namespace bench
