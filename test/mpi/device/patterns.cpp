/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What users of other MPIs reported as slow or wrong on GPU buffers: open-mpi/ompi#8720 (Alltoall of vectors, resized),
 * open-mpi/ompi#12202 (ghost cells by MPI_Type_indexed), pmodels/mpich#5643 (Allreduce).
 */
#include "device_test.hpp"

#include <random>

using namespace device_test;

namespace {

/* Device memory of doubles, with what it holds. */
class Doubles {
public:
    explicit Doubles(size_t n, double value = -1)
        : values(n, value), memory_({gpu::Kind::device, rank % gpu::Machine::get().devices()}, std::max<size_t>(8 * n, 8))
    {
    }
    void *at() const { return memory_.at(); }
    void store() const { memory_.write(0, values.data(), 8 * values.size()); }
    /* Whether the memory holds what `values` says. */
    void verify(const std::string &what) const
    {
        std::vector<double> found(values.size());
        memory_.read(0, found.data(), 8 * found.size());
        for (size_t i = 0; i < found.size(); ++i)
            if (found[i] != values[i])
                return fail(what + ": element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", not " +
                            std::to_string(values[i]));
    }

    std::vector<double> values;

private:
    gpu::Memory memory_;
};

/* An array of `rows` x `n` on each rank, cut into columns: everyone gets its columns of all, one after the other, as
 * the transposes of a parallel FFT do. The type of a column is a vector whose extent is one element. */
void columns(int rows, int n)
{
    const int mine = n / size;
    Doubles from(static_cast<size_t>(rows * n)), to(static_cast<size_t>(rows * mine * size));
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < n; ++c)
            from.values[static_cast<size_t>(r * n + c)] = rank * 1e6 + r * n + c;
    from.store();
    to.store();
    MPI_Datatype column, resized, all;
    MPI_Type_vector(rows, 1, n, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    MPI_Type_contiguous(mine, resized, &all);
    MPI_Type_commit(&all);
    MPI_Alltoall(from.at(), 1, all, to.at(), rows * mine, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int s = 0; s < size; ++s)
        for (int c = 0; c < mine; ++c)
            for (int r = 0; r < rows; ++r)
                to.values[static_cast<size_t>((s * mine + c) * rows + r)] = s * 1e6 + r * n + rank * mine + c;
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
    const std::vector<int> own = some(0), ghost = some(field / 2), ones(static_cast<size_t>(cells), 1);
    Doubles values(static_cast<size_t>(field));
    for (int i = 0; i < field; ++i)
        values.values[static_cast<size_t>(i)] = rank * 1e6 + i;
    values.store();
    MPI_Datatype out, in;
    MPI_Type_indexed(cells, ones.data(), own.data(), MPI_DOUBLE, &out);
    MPI_Type_indexed(cells, ones.data(), ghost.data(), MPI_DOUBLE, &in);
    MPI_Type_commit(&out);
    MPI_Type_commit(&in);
    const int other = 1 - rank;
    MPI_Sendrecv(values.at(), 1, out, other, 1, values.at(), 1, in, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < cells; ++i)
        values.values[static_cast<size_t>(ghost[static_cast<size_t>(i)])] = other * 1e6 + own[static_cast<size_t>(i)];
    values.verify(std::to_string(cells) + " ghost cells");
    MPI_Type_free(&out);
    MPI_Type_free(&in);
}

void allreduce(int n)
{
    Doubles from(static_cast<size_t>(n)), to(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i)
        from.values[static_cast<size_t>(i)] = rank + i % 1000;
    from.store();
    to.store();
    MPI_Allreduce(from.at(), to.at(), n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, from.at(), n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) {
        to.values[static_cast<size_t>(i)] = size * (size - 1) / 2 + size * (i % 1000);
        from.values[static_cast<size_t>(i)] = size - 1 + i % 1000;
    }
    to.verify("Allreduce of " + std::to_string(n));
    from.verify("Allreduce in place of " + std::to_string(n));
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        columns(16, 8);
        columns(300, 128);
        columns(1000, 500);
        if (rank < 2 && size == 2) {
            ghosts(100, 1000);
            ghosts(20000, 100000);
        }
        for (const int n : {1, 255, 4096, 100001})
            allreduce(n);
    });
}
