// SPDX-License-Identifier: BSD-3-Clause
// What kernels want to know of a Work before they start, on the host.
#pragma once

#include "../work.hpp"

#include <algorithm>
#include <type_traits>

namespace heddle::gpu::cuda {

// Bytes that move at a time: what both sides and the length allow.
inline int word_width(const Work &w)
{
    const int64_t bits = w.bytes | w.from.word | w.to.word; // powers of two
    return static_cast<int>(bits & -bits);
}

// Calls `f` with the width as a constant.
template <class F> auto for_width(int width, F f)
{
    switch (width) {
    case 16:
        return f(std::integral_constant<int, 16>());
    case 8:
        return f(std::integral_constant<int, 8>());
    case 4:
        return f(std::integral_constant<int, 4>());
    case 2:
        return f(std::integral_constant<int, 2>());
    default:
        return f(std::integral_constant<int, 1>());
    }
}

// The side that is not dense, where one of the two is.
struct Halves {
    const Side *dense = nullptr; // null: neither is
    const Side *other = nullptr;
    bool pack = false; // `other` is the source
};

inline Halves halves(const Work &w)
{
    if (w.to.shape == Shape::dense)
        return {&w.to, &w.from, true};
    if (w.from.shape == Shape::dense)
        return {&w.from, &w.to, false};
    return {};
}

// Packed bytes between neighbours in the outermost dimension.
inline int64_t outer_bytes(const Side &s) { return s.dim[s.dims - 1].bytes; }

// The same packed bytes, counted from the instance or outermost repetition that holds the first:
// numbers stay small wherever in a large buffer a transfer begins.
struct Origin {
    char *base;
    int64_t first;
};

inline Origin origin(const Side &s)
{
    if (s.shape == Shape::dense)
        return {s.base + s.first, 0};
    const bool strided = s.shape == Shape::strided;
    const int64_t bytes = strided ? outer_bytes(s) : s.bytes;
    if (s.first < bytes)
        return {s.base, s.first};
    const int64_t i = s.first / bytes;
    return {s.base + i * (strided ? s.dim[s.dims - 1].stride : s.extent), s.first - i * bytes};
}

// Whether words of a strided side can be numbered by 31 bits.
inline bool is_narrow(const Side &s, int64_t first, int64_t bytes, int width)
{
    constexpr int64_t limit = int64_t{1} << 31;
    if (std::max(first + bytes, s.block) >= limit * width)
        return false;
    return std::all_of(s.dim, s.dim + s.dims - 1, [](const Dim &d) { return d.count < limit; });
}

inline int64_t divide_up(int64_t n, int64_t d) { return n / d + (n % d != 0); }

} // namespace heddle::gpu::cuda
