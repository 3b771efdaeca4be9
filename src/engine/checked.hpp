// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on sizes and displacements that says when 63 bits do not suffice.
#pragma once

#include "engine/error.hpp"

namespace heddle {

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

// The same as policies: where a sum cannot overflow, and where it can.
struct Plain {
    static int64_t add(int64_t a, int64_t b) { return a + b; }
    static int64_t sub(int64_t a, int64_t b) { return a - b; }
    static int64_t mul(int64_t a, int64_t b) { return a * b; }
};
// Where a sum may overflow, which the caller finds out afterwards: modulo 2^64.
struct Modular {
    static int64_t add(int64_t a, int64_t b)
    {
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    }
    static int64_t mul(int64_t a, int64_t b)
    {
        return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
};
struct Checked {
    static int64_t add(int64_t a, int64_t b) { return heddle::add(a, b); }
    static int64_t sub(int64_t a, int64_t b) { return heddle::sub(a, b); }
    static int64_t mul(int64_t a, int64_t b) { return heddle::mul(a, b); }
};

} // namespace heddle
