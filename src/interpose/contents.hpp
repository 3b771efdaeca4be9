// SPDX-License-Identifier: BSD-3-Clause
// How a datatype was made, as MPI_Type_get_envelope and MPI_Type_get_contents tell.
#pragma once

#include "interpose/handles.hpp"

#include <cstdint>
#include <vector>

namespace heddle::interpose {

class Contents {
public:
    // Asks MPI about `type`, whose error codes are returned by error().
    explicit Contents(MPI_Datatype type);
    Contents(const Contents &) = delete;
    Contents &operator=(const Contents &) = delete;
    // Frees the handles that MPI has made for the answer.
    ~Contents();

    int error() const { return error_; }
    int combiner() const { return combiner_; }
    // Made by a constructor with MPI_Count arguments (MPI 4).
    bool is_large() const { return is_large_; }
    const std::vector<int> &ints() const { return ints_; }
    // Counts, lengths and displacements in the constructor's order, whatever their types were.
    const std::vector<int64_t> &numbers() const { return numbers_; }
    const std::vector<MPI_Datatype> &types() const { return types_; }

private:
    void read_large(MPI_Datatype type);
    void read(MPI_Datatype type);

    int error_ = MPI_SUCCESS;
    int combiner_ = MPI_COMBINER_NAMED;
    bool is_large_ = false;
    std::vector<int> ints_;
    std::vector<int64_t> numbers_;
    std::vector<MPI_Datatype> types_;
};

// Whether it is predefined, or made by MPI_Type_create_f90_...: nobody frees those.
bool is_given(MPI_Datatype type);

} // namespace heddle::interpose
