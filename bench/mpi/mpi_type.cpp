// SPDX-License-Identifier: BSD-3-Clause
#include "mpi_type.hpp"

#include <climits>
#include <stdexcept>

namespace bench {
namespace {

int to_int(int64_t value)
{
    if (value < INT_MIN || value > INT_MAX)
        throw std::runtime_error("a count of the layout does not fit into an int");
    return static_cast<int>(value);
}

std::vector<int> to_ints(const int64_t *values, int64_t count)
{
    std::vector<int> made;
    for (int64_t i = 0; i < count; ++i)
        made.push_back(to_int(values[i]));
    return made;
}

std::vector<MPI_Aint> to_aints(const int64_t *values, int64_t count)
{
    return {values, values + count};
}

MPI_Datatype predefined(heddle_predefined which)
{
    switch (which) {
    case HEDDLE_BYTE:
        return MPI_BYTE;
    case HEDDLE_CHAR:
        return MPI_CHAR;
    case HEDDLE_INT32:
        return MPI_INT;
    case HEDDLE_FLOAT:
        return MPI_FLOAT;
    case HEDDLE_DOUBLE:
        return MPI_DOUBLE;
    default:
        throw std::runtime_error("the layout has an element that this benchmark does not know");
    }
}

MPI_Datatype make(const rival_type &r)
{
    if (r.maker == RIVAL_PREDEFINED) {
        MPI_Datatype copy;
        MPI_Type_dup(predefined(r.predefined), &copy);
        return copy;
    }
    const int count = to_int(r.count);
    std::vector<MPI_Datatype> old;
    for (int64_t i = 0; i < (r.maker == RIVAL_STRUCT ? r.count : 1); ++i)
        old.push_back(make(*r.old[i]));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    switch (r.maker) {
    case RIVAL_CONTIGUOUS:
        MPI_Type_contiguous(count, old[0], &type);
        break;
    case RIVAL_HVECTOR:
        MPI_Type_create_hvector(count, to_int(r.blocklength), r.hstride, old[0], &type);
        break;
    case RIVAL_INDEXED:
        MPI_Type_indexed(count, to_ints(r.lengths, count).data(), to_ints(r.displs, count).data(),
                         old[0], &type);
        break;
    case RIVAL_HINDEXED:
        MPI_Type_create_hindexed(count, to_ints(r.lengths, count).data(),
                                 to_aints(r.displs, count).data(), old[0], &type);
        break;
    case RIVAL_HINDEXED_BLOCK:
        MPI_Type_create_hindexed_block(count, to_int(r.blocklength),
                                       to_aints(r.displs, count).data(), old[0], &type);
        break;
    case RIVAL_STRUCT:
        MPI_Type_create_struct(count, to_ints(r.lengths, count).data(),
                               to_aints(r.displs, count).data(), old.data(), &type);
        break;
    case RIVAL_RESIZED:
        MPI_Type_create_resized(old[0], r.lb, r.extent, &type);
        break;
    default:
        MPI_Type_create_subarray(count, to_ints(r.sizes, count).data(),
                                 to_ints(r.subsizes, count).data(), to_ints(r.starts, count).data(),
                                 MPI_ORDER_C, old[0], &type);
    }
    for (MPI_Datatype &each : old)
        MPI_Type_free(&each);
    return type;
}

} // namespace

MpiType::MpiType(const Type &type) : raw_(make(type.recipe())) { MPI_Type_commit(&raw_); }

} // namespace bench
