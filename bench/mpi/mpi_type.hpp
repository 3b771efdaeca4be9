// SPDX-License-Identifier: BSD-3-Clause
// An MPI datatype, made as one of bench/gpu's layouts was: by the same constructors.
#pragma once

#include "../gpu/type.hpp"

#include <mpi.h>

namespace bench {

// Committed; goes with its object. Throws where a count does not fit into an int.
class MpiType {
public:
    explicit MpiType(const Type &type);
    MpiType(const MpiType &) = delete;
    ~MpiType() { MPI_Type_free(&raw_); }
    MPI_Datatype get() const { return raw_; }

private:
    MPI_Datatype raw_;
};

} // namespace bench
