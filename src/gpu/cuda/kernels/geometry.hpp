// SPDX-License-Identifier: BSD-3-Clause
// What is to be known of a Work before a kernel starts, on the host. No CUDA in here.
#pragma once

#include "gpu/core/work.hpp"

#include <algorithm>
#include <bit>
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

// ---- records ----

constexpr int64_t record_most_packed = 1024; // bytes of a record, packed
constexpr int64_t record_most_extent = 2048; // and in memory

// A record's packed bytes and extent, of an image or of a strided side whose outermost dimension
// repeats it.
struct Record {
    int64_t packed;
    int64_t extent;
};

inline Record record_of(const Side &s)
{
    if (s.shape == Shape::image)
        return {s.bytes, s.extent};
    return {outer_bytes(s), s.dim[s.dims - 1].stride};
}

// ---- lists of runs ----

// A work one side of which has a list.
struct Listed {
    char *mem;     // of the first stretch that is touched
    char *dense;   // where the first packed byte lies
    int64_t first; // packed bytes to move, counted from that stretch's beginning
    int64_t bytes;
    RunList runs;
};

inline Listed listed(const Work &work)
{
    const Halves h = halves(work);
    const RunList &runs = h.other->runs;
    const int64_t stretch = h.other->first / runs.bytes;
    return {h.other->base + stretch * runs.extent, h.dense->base + h.dense->first,
            h.other->first - stretch * runs.bytes, work.bytes, runs};
}

// Threads for a short run, a word each, and how many runs are touched.
constexpr int64_t short_run_most_lanes = 32;

inline int64_t short_run_lanes(const Listed &list, int width)
{
    return std::bit_ceil(static_cast<uint32_t>(list.runs.longest / width));
}

inline int64_t short_run_groups(const Listed &list)
{
    return divide_up(list.first + list.bytes, list.runs.bytes) * list.runs.count;
}

// ---- transposing ----

constexpr int transposed_tile = 32; // elements on a side

// The dimension, other than the fastest, in which blocks touch; -1: none.
inline int near_dimension(const Side &s)
{
    for (int d = 1; d < s.dims; ++d)
        if (s.dim[d].stride == s.block)
            return d;
    return -1;
}

// Elements in dimension d as far as a transfer reaches that ends at packed byte `end`.
inline int64_t elements_along(const Side &s, int d, int64_t end)
{
    return d < s.dims - 1 ? s.dim[d].count : divide_up(end, d == 0 ? s.block : s.dim[d].bytes);
}

inline int64_t transposed_tiles(const Side &s, int near, int64_t end)
{
    int64_t tiles = 1;
    for (int d = 0; d < s.dims; ++d) {
        const int64_t count = elements_along(s, d, end);
        tiles *= d == 0 || d == near ? divide_up(count, transposed_tile) : count;
    }
    return tiles;
}

// ---- batches ----

// Whether a work can be an item of a batch: one side dense, the other in up to three dimensions,
// with small numbers. Both sides dense are one block of one repetition.
inline bool fits_item(const Work &w, const Halves &h)
{
    const Side &s = *h.other;
    const int width = word_width(w);
    if (s.shape != Shape::strided)
        return w.bytes / width < int64_t{1} << 31;
    return s.dims <= 3 && is_narrow(s, origin(s).first, w.bytes, width);
}

// The same, the other side being an image.
inline bool fits_image_item(const Work &w) { return w.bytes / word_width(w) < int64_t{1} << 31; }

} // namespace heddle::gpu::cuda
