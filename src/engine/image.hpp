// SPDX-License-Identifier: BSD-3-Clause
// Images: a layout serialized for traversal (papers 000 and 001). The fixed block is an array of
// nodes of one size, in preorder, that a thread block can cache. The lookaside buffer holds what
// has no fixed size: displacements, prefix sums, child links. Plain data and pure functions, for
// the host and for device code alike.
#pragma once

#include "engine/host_device.hpp"

#include <cstdint>

namespace heddle {

// Division of nonnegative 63-bit numbers by a divisor known beforehand: one multiplication and a
// shift (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI
// 1994).
struct Divisor {
    uint64_t magic; // 0: the divisor is a power of two
    int shift;

    HEDDLE_HD int64_t divide(int64_t n) const
    {
        const auto u = static_cast<uint64_t>(n);
        if (magic == 0)
            return static_cast<int64_t>(u >> shift);
#if defined(__CUDA_ARCH__)
        return static_cast<int64_t>(__umul64hi(u, magic) >> shift);
#else
        __extension__ using wide = unsigned __int128;
        return static_cast<int64_t>(static_cast<uint64_t>((static_cast<wide>(u) * magic) >> 64) >>
                                    shift);
#endif
    }

    static Divisor of(int64_t d)
    {
        const auto u = static_cast<uint64_t>(d);
        int log = 63 - __builtin_clzll(u);
        if ((u & (u - 1)) == 0)
            return {0, log};
        // n < 2^63, so the multiplier ceil(2^(64 + log) / d) fits 64 bits and errs by less than
        // 1/d.
        __extension__ using wide = unsigned __int128;
        return {static_cast<uint64_t>((static_cast<wide>(1) << (64 + log)) / u) + 1, log};
    }
};

enum class NodeKind : uint8_t {
    dense,  // `bytes` consecutive bytes
    stream, // `count` children, `stride` apart
    gather, // `count` children at displs[i]
    spans,  // `count` blocks of bytes: prefix[i + 1] - prefix[i] of them at displs[i]
    runs,   // the same of children, which lie `stride` apart within a block
    concat  // `count` members: child links[i] at displs[i], packed bytes from prefix[i] on
};

struct ImageNode {
    int64_t count;
    int64_t stride;
    int64_t bytes;    // packed bytes of one child; dense: its own; spans: 1
    int64_t runs;     // contiguous runs of one child; dense, spans: 1
    int64_t side;     // where in the lookaside buffer its arrays begin (see ImageView)
    Divisor by_bytes; // divides by `bytes`
    int32_t child;    // index of the child node
    NodeKind kind;
    uint8_t label;       // heddle_predefined of the leaves below, or HEDDLE_MIXED
    uint8_t displ_bits;  // the lower bits that any displacement has
    uint8_t prefix_bits; // or prefix sum
};

static_assert(sizeof(ImageNode) == 64, "the fixed block is meant to be small");

// What a traversal needs of an image, and how a node's arrays lie one after the other:
// displs[count]; prefix[count + 1]; of a concat also run_prefix[count + 1] and links[count].
struct ImageView {
    const ImageNode *nodes;
    const int64_t *side;

    HEDDLE_HD const int64_t *displs(const ImageNode &n) const { return side + n.side; }
    HEDDLE_HD const int64_t *prefix(const ImageNode &n) const { return side + n.side + n.count; }
    HEDDLE_HD const int64_t *run_prefix(const ImageNode &n) const
    {
        return side + n.side + 2 * n.count + 1;
    }
    HEDDLE_HD const int64_t *links(const ImageNode &n) const
    {
        return side + n.side + 3 * n.count + 2;
    }
};

// Packed bytes of one instance of a node.
HEDDLE_HD inline int64_t packed_size(const ImageView &image, const ImageNode &n)
{
    switch (n.kind) {
    case NodeKind::dense:
        return n.bytes;
    case NodeKind::stream:
    case NodeKind::gather:
        return n.count * n.bytes;
    case NodeKind::runs:
        return image.prefix(n)[n.count] * n.bytes;
    default: // spans, concat
        return image.prefix(n)[n.count];
    }
}

// The block i with prefix[i] <= x < prefix[i + 1], by bisection.
HEDDLE_HD inline int64_t find_block(const int64_t *prefix, int64_t count, int64_t x)
{
    int64_t lo = 0;
    int64_t hi = count;
    while (hi - lo > 1) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (prefix[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

struct Location {
    int64_t displ;  // from the address of the instance
    int64_t run;    // bytes from there on that are contiguous
    int64_t within; // bytes of this leaf before this one
    uint8_t label;
};

// Where packed byte `id` of one instance lies: the point-based traversal (paper 001, section 3.2).
// O(depth), and O(log n) per irregular node; no state.
HEDDLE_HD inline Location locate(const ImageView &image, int64_t id)
{
    int64_t displ = 0;
    int32_t k = 0;
    for (;;) {
        const ImageNode &n = image.nodes[k];
        switch (n.kind) {
        case NodeKind::dense:
            return {displ + id, n.bytes - id, id, n.label};
        case NodeKind::stream: {
            const int64_t i = n.by_bytes.divide(id);
            displ += i * n.stride;
            id -= i * n.bytes;
            k = n.child;
            break;
        }
        case NodeKind::gather: {
            const int64_t i = n.by_bytes.divide(id);
            displ += image.displs(n)[i];
            id -= i * n.bytes;
            k = n.child;
            break;
        }
        case NodeKind::spans: {
            const int64_t *prefix = image.prefix(n);
            const int64_t i = find_block(prefix, n.count, id);
            return {displ + image.displs(n)[i] + (id - prefix[i]), prefix[i + 1] - id,
                    id - prefix[i], n.label};
        }
        case NodeKind::runs: {
            const int64_t *prefix = image.prefix(n);
            const int64_t unit = n.by_bytes.divide(id);
            const int64_t i = find_block(prefix, n.count, unit);
            displ += image.displs(n)[i] + (unit - prefix[i]) * n.stride;
            id -= unit * n.bytes;
            k = n.child;
            break;
        }
        case NodeKind::concat: {
            const int64_t *prefix = image.prefix(n);
            const int64_t i = find_block(prefix, n.count, id);
            displ += image.displs(n)[i];
            id -= prefix[i];
            k = static_cast<int32_t>(image.links(n)[i]);
            break;
        }
        }
    }
}

} // namespace heddle
