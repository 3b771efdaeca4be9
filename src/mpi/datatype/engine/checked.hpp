// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on sizes and displacements that says when 63 bits do not suffice.
#pragma once

#include "heddle.h"

namespace heddle {

// How the engine reports failure inside itself; api.cpp turns it into the C API's error value.
struct Error {
    int code;
};

inline int64_t add(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        throw Error{HEDDLE_ERR_OVERFLOW};
    return r;
}

inline int64_t sub(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_sub_overflow(a, b, &r))
        throw Error{HEDDLE_ERR_OVERFLOW};
    return r;
}

inline int64_t mul(int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        throw Error{HEDDLE_ERR_OVERFLOW};
    return r;
}

} // namespace heddle
