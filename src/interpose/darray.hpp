// SPDX-License-Identifier: BSD-3-Clause
// Distributed arrays (MPI_Type_create_darray), by their definition in MPI 4.0, section 5.1.4.
#pragma once

#include "interpose/contents.hpp"
#include "interpose/type_ref.hpp"

namespace heddle::interpose {

// Null where the contents make no sense or the engine refuses them.
TypeRef make_darray(const Contents &contents, heddle_type *oldtype);

} // namespace heddle::interpose
