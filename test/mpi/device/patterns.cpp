/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What users of other MPIs reported as slow or wrong on GPU buffers: open-mpi/ompi#8720 (Alltoall
 * of vectors, resized or in an hvector), open-mpi/ompi#12202 (ghost cells by MPI_Type_indexed),
 * pmodels/mpich#5643 (Allreduce). pmodels/mpich#6226 (MPI_BOTTOM) is in rules.cpp.
 * bench/mpi/reported measures them.
 */
#include "device_test.hpp"

#include <random>

using namespace device_test;

namespace {

/* An array of `rows` x `n` on each rank, cut into columns: everyone gets its columns of all, one
 * after the other, as the transposes of a parallel FFT do. The type of a column is a vector;
 * several are so many of one whose extent is one element, or an hvector. */
void columns(int rows, int n, bool resizes)
{
    const int mine = n / size;
    const Layout sent = contiguous(rows * n), come = contiguous(rows * mine * size);
    Buffer from(gpu::Kind::device, sent), to(gpu::Kind::device, come);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < n; ++c)
            from.put(r * n + c, rank * 1e6 + r * n + c);
    from.store();
    MPI_Datatype column, resized, all;
    MPI_Type_vector(rows, 1, n, MPI_DOUBLE, &column);
    if (resizes) {
        MPI_Type_create_resized(column, 0, sizeof(double), &resized);
        MPI_Type_contiguous(mine, resized, &all);
    } else {
        MPI_Type_create_hvector(mine, 1, sizeof(double), column, &resized);
        MPI_Type_create_resized(resized, 0, static_cast<MPI_Aint>(sizeof(double)) * mine, &all);
    }
    MPI_Type_commit(&all);
    MPI_Alltoall(from.at(), 1, all, to.at(), rows * mine, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int s = 0; s < size; ++s)
        for (int c = 0; c < mine; ++c)
            for (int r = 0; r < rows; ++r)
                to.put((s * mine + c) * rows + r, s * 1e6 + r * n + rank * mine + c);
    to.verify("Alltoall of " + std::to_string(mine) + " columns of " + std::to_string(rows));
    for (MPI_Datatype *type : {&column, &resized, &all})
        MPI_Type_free(type);
}

/* Cells anywhere in a field are sent, and become ghost cells anywhere in the other's. */
void ghosts(int cells, int field)
{
    std::mt19937 random(7);
    const auto some = [&](int base) {
        std::vector<int> places(static_cast<size_t>(field / 2));
        for (int i = 0; i < field / 2; ++i)
            places[static_cast<size_t>(i)] = base + i;
        std::shuffle(places.begin(), places.end(), random);
        places.resize(static_cast<size_t>(cells));
        return places;
    };
    const std::vector<int> own = some(0), ghost = some(field / 2),
                           ones(static_cast<size_t>(cells), 1);
    const Layout cells_of_all = contiguous(field);
    Buffer values(gpu::Kind::device, cells_of_all);
    values.fill(rank);
    MPI_Datatype out, in;
    MPI_Type_indexed(cells, ones.data(), own.data(), MPI_DOUBLE, &out);
    MPI_Type_indexed(cells, ones.data(), ghost.data(), MPI_DOUBLE, &in);
    MPI_Type_commit(&out);
    MPI_Type_commit(&in);
    MPI_Sendrecv(values.at(), 1, out, other(), 1, values.at(), 1, in, other(), 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < cells; ++i)
        values.put(ghost[static_cast<size_t>(i)],
                   Buffer::value(other(), own[static_cast<size_t>(i)]));
    values.verify(std::to_string(cells) + " ghost cells");
    MPI_Type_free(&out);
    MPI_Type_free(&in);
}

void allreduce(int n)
{
    const Layout layout = contiguous(n);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    for (int i = 0; i < n; ++i)
        from.put(i, rank + i % 1000);
    from.store();
    MPI_Allreduce(from.at(), to.at(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, from.at(), n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) {
        to.put(i, size * (size - 1) / 2 + size * (i % 1000));
        from.put(i, size - 1 + i % 1000);
    }
    to.verify("Allreduce of " + std::to_string(n));
    from.verify("Allreduce in place of " + std::to_string(n));
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const bool resizes : {true, false}) {
            columns(16, 8, resizes);
            columns(300, 128, resizes);
            columns(1000, 500, resizes);
        }
        if (rank < 2 && size == 2) {
            ghosts(100, 1000);
            ghosts(20000, 100000);
        }
        for (const int n : {1, 255, 4096, 100001})
            allreduce(n);
    });
}
