// SPDX-License-Identifier: BSD-3-Clause
// Makes a type of the engine's from what MPI tells of a datatype.
#pragma once

#include "interpose/handles.hpp"
#include "interpose/type_ref.hpp"

namespace heddle::interpose {

struct Rebuilt {
    TypeRef type;                             // null: it cannot be rebuilt. Not committed
    MPI_Datatype element = MPI_DATATYPE_NULL; // that it consists of alone
};

// The result has MPI's own bounds, and is checked against MPI's size and true bounds: what differs
// counts as not rebuilt.
Rebuilt rebuild(MPI_Datatype type);

} // namespace heddle::interpose
