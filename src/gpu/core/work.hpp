// SPDX-License-Identifier: BSD-3-Clause
// What a device is asked to do: move packed bytes from one side to another, or combine them there.
// Plain data that fits in a kernel's parameters, and the pure function that says where a packed
// byte lies, for the host and for device code alike.
#pragma once

#include "engine/image.hpp"
#include "heddle.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace heddle::gpu {

// How the packed bytes of one side lie in memory.
enum class Shape : uint8_t {
    dense,   // one after the other
    strided, // blocks in up to max_dims dimensions
    image    // instances of an image
};

// One dimension of a strided side, fastest first. The outermost one's count bounds nothing.
struct Dim {
    int64_t stride; // in memory
    int64_t count;
    int64_t bytes; // packed, of one step
    Divisor by_bytes;
};

constexpr int max_dims = 12;

// The runs of a stretch of an image's instances, spelt out in memory that the device reads. A
// stretch is as many whole instances as fill a tile: run i is packed bytes [prefix[i], prefix[i +
// 1]) of it at displs[i]. tile[t] is the run that holds packed byte t * tile_bytes, so that a
// thread block finds its runs without a search. What a tile reads of its runs is in `entries`: half
// as many bytes, of short runs a tenth of all that is read.
struct RunList {
    const int64_t *displs;   // [count]; null: there is no list
    const int64_t *prefix;   // [count + 1]
    const uint64_t *entries; // [count]; run i's prefix in the upper bits, as far as there is room,
                             // and displs[i] in the lower ones
    const int32_t *tile;     // [ceil(bytes / tile_bytes) + 1]; the last entry is count - 1
    int64_t count;
    int64_t bytes; // packed bytes of a stretch, and how far apart stretches lie
    int64_t extent;
    Divisor by_bytes;
    int32_t most;    // most runs that touch one tile
    int32_t longest; // bytes of the longest run, at most INT32_MAX; times `count` it is `bytes`
                     // where all are of one length
};
constexpr int tile_bytes = 4096;

// Of the displacement. A type with a run that is further away from its first one has no list.
constexpr int entry_bits = 48;

HEDDLE_HD inline bool fits_entry(int64_t displ)
{
    constexpr int64_t end = int64_t{1} << (entry_bits - 1);
    return displ >= -end && displ < end;
}

HEDDLE_HD inline uint64_t entry_of(int64_t prefix, int64_t displ)
{
    constexpr uint64_t lower = (uint64_t{1} << entry_bits) - 1;
    return static_cast<uint64_t>(prefix) << entry_bits | (static_cast<uint64_t>(displ) & lower);
}

HEDDLE_HD inline int64_t displ_of(uint64_t entry)
{
    return static_cast<int64_t>(entry << (64 - entry_bits)) >> (64 - entry_bits);
}

// Where a run begins, counted from packed byte `from`: less than 65536 bytes behind it.
HEDDLE_HD inline int begin_of(uint64_t entry, int64_t from)
{
    return static_cast<uint16_t>((entry >> entry_bits) - static_cast<uint64_t>(from));
}

// What is found out of a list while it is made. All zero before a device makes one.
struct ListFacts {
    int32_t longest; // as RunList has them
    int32_t most;
    int32_t too_far; // not 0: a displacement fits no entry, so the list is of no use
};

// A list of runs (RunList) that is made where its arrays lie: by a device, or by the processor.
struct Listing {
    const int64_t *displs; // [count]
    const int64_t *prefix; // [count + 1]; not read where the runs are even
    int64_t even;          // bytes of each run; 0: they differ
    int64_t *even_prefix;  // [count + 1]: theirs, to be written
    int64_t count;
    int64_t tiles;
    uint64_t *entries; // [count]
    int32_t *tile;     // [tiles + 1]
    ListFacts *facts;

    HEDDLE_HD int64_t begin(int64_t run) const { return even > 0 ? run * even : prefix[run]; }
    HEDDLE_HD int32_t run_of(int64_t t) const
    {
        if (t == tiles)
            return static_cast<int32_t>(count - 1);
        const int64_t byte = t * tile_bytes;
        return static_cast<int32_t>(even > 0 ? byte / even : find_block(prefix, count, byte));
    }
};

// Of entry i, or tile i, alone.
HEDDLE_HD inline ListFacts list_run(const Listing &l, int64_t i)
{
    const int64_t begin = l.begin(i), length = l.begin(i + 1) - begin;
    if (l.even > 0) {
        l.even_prefix[i] = begin;
        if (i + 1 == l.count)
            l.even_prefix[i + 1] = begin + length;
    }
    l.entries[i] = entry_of(begin, l.displs[i]);
    return {static_cast<int32_t>(length < INT32_MAX ? length : INT32_MAX), 0,
            !fits_entry(l.displs[i])};
}
HEDDLE_HD inline ListFacts list_tile(const Listing &l, int64_t t)
{
    const int32_t run = l.run_of(t);
    l.tile[t] = run;
    return {0, t < l.tiles ? l.run_of(t + 1) - run + 1 : 0, 0};
}

// All of it, where no kernel makes it.
inline void make_list(const Listing &l)
{
    ListFacts all{};
    for (int64_t i = 0; i < l.count; ++i) {
        const ListFacts its = list_run(l, i);
        all.longest = its.longest > all.longest ? its.longest : all.longest;
        all.too_far |= its.too_far;
    }
    for (int64_t t = 0; t <= l.tiles; ++t) {
        const ListFacts its = list_tile(l, t);
        all.most = its.most > all.most ? its.most : all.most;
    }
    *l.facts = all;
}

struct Side {
    char *base = nullptr; // the address from which displacements count
    int64_t first = 0;    // the packed byte of this side at which the transfer begins
    Shape shape = Shape::dense;
    uint8_t dims = 0;  // strided
    uint8_t word = 16; // widest power of two, at most 16, that divides base, `first` and all
                       // lengths and displacements
    int64_t block = 0; // strided: bytes of a block
    Dim dim[max_dims]; // the first `dims` of them

    // An image's instances are records: each lies within its extent, in front of the next one.
    bool records = false;

    // Only an image has the next members. Other sides do not write them: they are more than half of
    // what the processor would write.
    int32_t nodes; // in its fixed block
    int64_t bytes; // of one instance, which lie `extent` apart
    int64_t extent;
    Divisor by_bytes;
    ImageView image;
    RunList runs;

    Side() {}
    HEDDLE_HD bool listed() const { return shape == Shape::image && runs.displs; }
};

// The displacement of packed byte `x` of a side, counted from its packed byte 0. O(dims), or
// O(depth) and O(log n) per irregular node of an image.
HEDDLE_HD inline int64_t displacement(const Side &s, int64_t x)
{
    if (s.shape == Shape::dense)
        return x;
    if (s.shape == Shape::strided) {
        int64_t displ = 0;
        for (int d = s.dims - 1; d >= 0; --d) {
            const int64_t i = s.dim[d].by_bytes.divide(x);
            displ += i * s.dim[d].stride;
            x -= i * s.dim[d].bytes;
        }
        return displ + x;
    }
    const int64_t instance = s.by_bytes.divide(x);
    return instance * s.extent + locate(s.image, x - instance * s.bytes).displ;
}

// Bytes from[from.first + i] to to[to.first + i], for i in [0, bytes). With an operator other than
// REPLACE the target becomes `target op source`, element by element, and both sides are cut at
// elements of `basic`.
struct Work {
    Side from;
    Side to;
    int64_t bytes = 0;
    heddle_op op = HEDDLE_OP_REPLACE;
    heddle_predefined basic = HEDDLE_BYTE;
    bool split = false; // the source is bytes in pieces: an element may lie in several
    bool remote = true; // the target may be memory that is not the device's own: others see it over
                        // a link
    bool far = true;    // the source may be
    bool pinned = false; // that is pinned memory, over the host's link; where both are, the target
};

// Dense vectors of `bytes` bytes of `basic`, which is no pair, combined element by element in their
// order. All lie at multiples of `word` bytes, and of an element's size. Each target is given the
// result, and may be one of the vectors.
struct Fold {
    static constexpr int most = 64;

    const char *from[most];
    int n = 0; // of them
    char *to[most];
    int targets = 1;
    int64_t bytes = 0;
    heddle_op op = HEDDLE_OP_SUM;
    heddle_predefined basic = HEDDLE_BYTE;
    int word = 1;
    bool remote = true; // as of Work
    bool far = true;
};

// The kernels of the plug-ins. A plug-in picks one for each Work, and says which.
enum class Kernel : uint8_t {
    strided,      // each side dense or strided: everything in parameters
    transpose,    // the same, where memory order and pack order disagree: tiles in shared memory
    records,      // one side dense, the other small records one after the other
    runs,         // one side dense, the other has a run list: a tile of runs in shared memory
    any,          // any two sides: each word located by itself
    reduce,       // an operator
    sparse,       // as strided, for short blocks far apart in much memory
    even_runs,    // as runs, all of one length
    short_runs,   // as runs, short and not too many
    few_runs,     // as runs, few of any length
    batch,        // several works, one side dense and the other strided in few dimensions
    batch_images, // several works, one side dense and the other an image
    batch_any,    // several works of any two sides
    fold,         // several dense vectors, by an operator
    count
};

inline constexpr const char *kernel_names[] = {
    "strided",   "transpose",  "records",  "runs",  "any",          "reduce",    "sparse",
    "even_runs", "short_runs", "few_runs", "batch", "batch_images", "batch_any", "fold"};
static_assert(std::size(kernel_names) == static_cast<size_t>(Kernel::count));

constexpr const char *kernel_name(Kernel kernel)
{
    return kernel_names[static_cast<size_t>(kernel)];
}

} // namespace heddle::gpu
