// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/contents.hpp"

#include <cstddef>

namespace heddle::interpose {

namespace {

// An older MPI of the same ABI may lack the calls of large counts, and has no such types then.
#if MPI_VERSION >= 4
#pragma weak PMPI_Type_get_envelope_c
bool has_large_counts() { return &PMPI_Type_get_envelope_c != nullptr; }
#else
constexpr bool has_large_counts() { return false; }
#endif

int combiner_of(MPI_Datatype type)
{
    int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
    if (has_large_counts()) {
        MPI_Count ints, addresses, counts, types; // the other form refuses types of large counts
        PMPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &combiner);
        return combiner;
    }
#endif
    int ints, addresses, types;
    PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
    return combiner;
}

bool is_given_by(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

// MPI_Type_get_contents takes no null pointers for empty arrays in every MPI.
template <class T> std::vector<T> room(MPI_Count n)
{
    return std::vector<T>(static_cast<size_t>(n) + 1);
}

} // namespace

bool is_given(MPI_Datatype type) { return is_given_by(combiner_of(type)); }

Contents::Contents(MPI_Datatype type)
{
    if (has_large_counts())
        read_large(type);
    else
        read(type);
}

#if MPI_VERSION >= 4
void Contents::read_large(MPI_Datatype type)
{
    MPI_Count ints = 0, addresses = 0, counts = 0, types = 0;
    error_ = PMPI_Type_get_envelope_c(type, &ints, &addresses, &counts, &types, &combiner_);
    if (error_ != MPI_SUCCESS || combiner_ == MPI_COMBINER_NAMED)
        return;
    auto all_ints = room<int>(ints);
    auto all_addresses = room<MPI_Aint>(addresses);
    auto all_counts = room<MPI_Count>(counts);
    auto all_types = room<MPI_Datatype>(types);
    error_ = PMPI_Type_get_contents_c(type, ints, addresses, counts, types, all_ints.data(),
                                      all_addresses.data(), all_counts.data(), all_types.data());
    if (error_ != MPI_SUCCESS)
        return;
    ints_.assign(all_ints.begin(), all_ints.end() - 1);
    types_.assign(all_types.begin(), all_types.end() - 1);
    is_large_ = counts > 0;
    if (is_large_) {
        numbers_.assign(all_counts.begin(), all_counts.end() - 1);
        return;
    }
    numbers_.assign(ints_.begin(), ints_.end());
    numbers_.insert(numbers_.end(), all_addresses.begin(), all_addresses.end() - 1);
}
#else
void Contents::read_large(MPI_Datatype) {}
#endif

void Contents::read(MPI_Datatype type)
{
    int ints = 0, addresses = 0, types = 0;
    error_ = PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner_);
    if (error_ != MPI_SUCCESS || combiner_ == MPI_COMBINER_NAMED)
        return;
    auto all_ints = room<int>(ints);
    auto all_addresses = room<MPI_Aint>(addresses);
    auto all_types = room<MPI_Datatype>(types);
    error_ = PMPI_Type_get_contents(type, ints, addresses, types, all_ints.data(),
                                    all_addresses.data(), all_types.data());
    if (error_ != MPI_SUCCESS)
        return;
    ints_.assign(all_ints.begin(), all_ints.end() - 1);
    types_.assign(all_types.begin(), all_types.end() - 1);
    numbers_.assign(ints_.begin(), ints_.end());
    numbers_.insert(numbers_.end(), all_addresses.begin(), all_addresses.end() - 1);
}
Contents::~Contents()
{
    for (MPI_Datatype &type : types_)
        if (!is_given(type))
            PMPI_Type_free(&type);
}

} // namespace heddle::interpose
