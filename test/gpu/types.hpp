/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Committed types that several tests take.
 */
#pragma once

#include "../unit/oracle/handle.hpp"
#include "../unit/oracle/rng.hpp"

#include <heddle.h>

#include <vector>

namespace gpu {

inline oracle::Type irregular(int64_t seed, int blocks = 50, int64_t longest = 9)
{
    oracle::Rng rng(static_cast<uint64_t>(seed));
    std::vector<int64_t> lengths, displacements;
    int64_t at = 0;
    for (int i = 0; i < blocks; ++i) {
        lengths.push_back(rng.in(1, longest));
        displacements.push_back(at);
        at += lengths.back() + rng.in(1, 5);
    }
    oracle::Type type = oracle::Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(blocks, lengths.data(), displacements.data(),
                                        heddle_type_predefined(HEDDLE_BYTE), t);
        },
        "hindexed");
    return type.commit();
}

/* `count` blocks of a type, `stride` bytes apart. */
inline oracle::Type hvector(int64_t count, int64_t stride, const oracle::Type &of)
{
    return oracle::Type::from(
               [&](auto **t) { return heddle_type_hvector(count, 1, stride, of.get(), t); },
               "hvector")
        .commit();
}

inline oracle::Type bytes_of(int64_t n)
{
    return oracle::Type::from(
               [&](auto **t) {
                   return heddle_type_contiguous(n, heddle_type_predefined(HEDDLE_BYTE), t);
               },
               "contiguous")
        .commit();
}

} // namespace gpu
