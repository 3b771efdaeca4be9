// SPDX-License-Identifier: BSD-3-Clause
// MPI's predefined datatypes as the engine's.
#pragma once

#include "interpose/handles.hpp"

#include <heddle.h>

namespace heddle::interpose {

// HEDDLE_MIXED where the engine has no such type.
heddle_predefined predefined_of(MPI_Datatype type);

// The predefined type of `bytes` bytes: what MPI_Type_create_f90_... make.
heddle_predefined integer_of(int64_t bytes);
heddle_predefined real_of(int64_t bytes);
heddle_predefined complex_of(int64_t bytes);

} // namespace heddle::interpose
