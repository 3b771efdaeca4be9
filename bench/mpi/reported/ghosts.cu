// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.cuh"

#include <algorithm>
#include <numeric>
#include <random>

namespace bench {
namespace {

// `n` of the numbers from `first` on, below `first` + `of`, in any order; the same in each process.
std::vector<int> some(int n, int first, int of, unsigned seed)
{
    std::vector<int> all(static_cast<size_t>(of));
    std::iota(all.begin(), all.end(), first);
    std::shuffle(all.begin(), all.end(), std::mt19937(seed));
    all.resize(static_cast<size_t>(n));
    return all;
}

MPI_Datatype cells_at(const std::vector<int> &places)
{
    const std::vector<int> ones(places.size(), 1);
    MPI_Datatype type;
    MPI_Type_indexed(static_cast<int>(places.size()), ones.data(), places.data(), MPI_DOUBLE,
                     &type);
    MPI_Type_commit(&type);
    return type;
}

const int *ints(const Device &memory) { return reinterpret_cast<const int *>(memory.get()); }

// Own cells lie in the field's first half, ghost cells in the other.
class Ghosts : public Pattern {
public:
    Ghosts(int cells, int field)
        : Pattern(std::to_string(cells) + " ghost cells of " + std::to_string(field),
                  int64_t{8} * cells),
          cells_(cells),
          field_(field),
          values_(int64_t{8} * field),
          packed_(bytes),
          landing_(bytes)
    {
        const std::vector<int> own = some(cells, 0, field / 2, 1),
                               ghosts = some(cells, field / 2, field - field / 2, 2);
        std::vector<int> origin(static_cast<size_t>(field), -1); // of ghost cells: what they are in
                                                                 // the other's field
        for (size_t i = 0; i < own.size(); ++i)
            origin[static_cast<size_t>(ghosts[i])] = own[i];
        own_ = on_device(own);
        ghosts_ = on_device(ghosts);
        origin_ = on_device(origin);
        out_ = cells_at(own);
        in_ = cells_at(ghosts);
    }
    ~Ghosts() override
    {
        MPI_Type_free(&out_);
        MPI_Type_free(&in_);
    }

    void fill() override
    {
        for_all(
            field_,
            [values = doubles(values_), me = rank] __device__(int64_t i) {
                values[i] = value(me, i);
            },
            stream);
        stream.wait();
    }
    void by_mpi() override
    {
        MPI_Sendrecv(values_.get(), 1, out_, other(), 1, values_.get(), 1, in_, other(), 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    void by_hand() override
    {
        for_all(
            cells_,
            [values = doubles(values_), own = ints(own_),
             packed = doubles(packed_)] __device__(int64_t i) { packed[i] = values[own[i]]; },
            stream);
        stream.wait();
        MPI_Sendrecv(packed_.get(), cells_, MPI_DOUBLE, other(), 1, landing_.get(), cells_,
                     MPI_DOUBLE, other(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for_all(
            cells_,
            [values = doubles(values_), ghosts = ints(ghosts_),
             landing = doubles(landing_)] __device__(int64_t i) { values[ghosts[i]] = landing[i]; },
            stream);
        stream.wait();
    }
    int64_t wrong() override
    {
        return counted(field_, [values = doubles(values_), origin = ints(origin_), me = rank,
                                they = other()] __device__(int64_t i) {
            return values[i] != (origin[i] < 0 ? value(me, i) : value(they, origin[i]));
        });
    }

private:
    const int cells_, field_;
    const Device values_, packed_, landing_;
    Device own_, ghosts_, origin_;
    MPI_Datatype out_, in_;
};

} // namespace

std::unique_ptr<Pattern> make_ghosts(int cells, int field)
{
    return std::make_unique<Ghosts>(cells, field);
}

} // namespace bench
