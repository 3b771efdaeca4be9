/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The oracle: a type's typemap, expanded element by element as MPI 4.0, chapter 5 defines it.
 * It shares no code and no idea with the engine.
 *
 * Conventions, where MPI leaves something open:
 * - Bounds are combined the way MPICH does it. Each instance of an old type covers [lb, ub) of that
 *   type at its displacement, resized or not. A new type spans from the least to the greatest.
 * - A constructor that places no instance at all (count 0, every block length 0) has lb 0 and
 *   extent 0. One that places instances of an old type without data still spans their bounds.
 * - The upper bound of a struct is padded so that its extent is a multiple of the strictest
 *   alignment in its typemap (MPI's epsilon), resized members or not. No data, no alignment: 1.
 *   A struct whose members are all of one type is an hindexed of it and not padded, as in MPICH.
 * - The true bounds are 0 where there is no data.
 * - A pair type's typemap has two entries, its value and its index.
 */
#pragma once

#include "expr.hpp"

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace oracle {

struct Entry {
    int64_t displacement;
    heddle_predefined kind;  /* never a pair */
    heddle_predefined owner; /* the predefined type that it belongs to: itself, or a pair */
};

struct Typemap {
    std::vector<Entry> entries; /* in pack order */
    int64_t lb = 0, ub = 0;
    int64_t alignment = 1;

    int64_t extent() const { return ub - lb; }
};

/* A bound or displacement beyond 63 bits. */
struct Overflow : std::overflow_error {
    Overflow() : std::overflow_error("beyond 63 bits") {}
};

/* The typemap of one constructor call over old types whose typemaps are known. */
Typemap expand(const Expr &expr, const std::vector<const Typemap *> &olds);
/* The typemap of a whole expression. */
Typemap expand(const Expr &expr);

int64_t size_of(const Typemap &map);
int64_t true_lb(const Typemap &map);
int64_t true_ub(const Typemap &map);
/* The one predefined type of all entries, or HEDDLE_MIXED. */
heddle_predefined basic_of(const Typemap &map);
/* One instance after the other leaves neither gap nor overlap and keeps ascending. */
bool is_contiguous(const Typemap &map);
/* Whether any byte occurs twice in `count` instances. */
bool overlaps(const Typemap &map, int64_t count);

/* The least address range that `count` instances touch: [low, high), both 0 where there is none. */
struct Range {
    int64_t low = 0, high = 0;
};
Range touched(const Typemap &map, int64_t count);

} // namespace oracle
