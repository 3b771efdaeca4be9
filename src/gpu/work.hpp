// SPDX-License-Identifier: BSD-3-Clause
// What a device is asked to do: move packed bytes from one side to another, or combine them there.
// Plain data that fits in a kernel's parameters, and the pure function that says where a packed
// byte lies, for the host and for device code alike.
#pragma once

#include "../mpi/datatype/engine/image.hpp"
#include "heddle.h"

#include <cstddef>
#include <cstdint>

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
// thread block finds its runs without a search. What a tile reads of its runs is in `spots`: half
// as many bytes, of short runs a tenth of all that is read.
struct RunList {
    const int64_t *displs; // [count]; null: there is no list
    const int64_t *prefix; // [count + 1]
    const uint64_t *spots; // [count]; run i's prefix in the upper bits, as far as there is room,
                           // and displs[i] - lowest
    const int32_t *tile;   // [ceil(bytes / tile_bytes) + 1]; the last entry is count - 1
    int64_t count;
    int64_t bytes; // packed bytes of a stretch, and how far apart stretches lie
    int64_t extent;
    int64_t lowest; // of the displacements
    Divisor by_bytes;
    int32_t most;    // most runs that touch one tile
    int32_t longest; // bytes of the longest run, at most INT32_MAX; times `count` it is `bytes`
                     // where all are of one length
};
constexpr int tile_bytes = 4096;

constexpr int spot_bits = 48; // of the displacement; runs that are further apart have no list
constexpr uint64_t most_spread = (uint64_t{1} << spot_bits) - 1;

HEDDLE_HD inline int64_t displ_of(const RunList &list, uint64_t spot)
{
    return list.lowest + static_cast<int64_t>(spot & most_spread);
}

// Where a run begins, counted from packed byte `from`: less than 65536 bytes behind it.
HEDDLE_HD inline int begin_of(uint64_t spot, int64_t from)
{
    return static_cast<uint16_t>((spot >> spot_bits) - static_cast<uint64_t>(from));
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

    // Of an image alone, and not written in other sides: more than half of what the processor would
    // write.
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
};

// The kernels, each for what the ones before it do not take. choose.hpp says which.
enum class Kernel : uint8_t {
    strided,   // each side dense or strided: everything in parameters
    transpose, // the same, where memory order and pack order disagree: tiles through shared memory
    records,   // one side dense, the other small records one after the other: through shared memory
    runs,      // one side dense, the other has a run list: a tile of runs in shared memory
    any,       // any two sides: each word located by itself
    reduce,    // an operator
    count
};

const char *kernel_name(Kernel kernel);

} // namespace heddle::gpu
