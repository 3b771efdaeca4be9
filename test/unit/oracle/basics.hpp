/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI and the C compiler say of the predefined types: their primitives, sizes and alignment.
 */
#pragma once

#include <heddle.h>

#include <cstdint>
#include <vector>

namespace oracle {

/* One element of a predefined type: itself, or for a pair its value and its index. */
struct Primitive {
    heddle_predefined kind;
    int64_t displacement;
};

struct Basic {
    const char *name;
    std::vector<Primitive> primitives;
    int64_t extent;
    int64_t alignment;
};

/* What is known about a predefined type, whichever. */
const Basic &basic(heddle_predefined which);
bool is_pair(heddle_predefined which);

/* Sizes in bytes of a type that is no pair. */
int64_t primitive_size(heddle_predefined kind);
int64_t external_size(heddle_predefined kind);

/* All predefined types, pairs included. */
const std::vector<heddle_predefined> &all_basics();

} // namespace oracle
