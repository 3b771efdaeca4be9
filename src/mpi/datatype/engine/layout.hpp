// SPDX-License-Identifier: BSD-3-Clause
// Layouts: the canonical form of a type, as an algebra of five nodes (docs/design.md, section 4).
//
// A node says where its packed bytes lie, in pack order, counted from its own first packed byte:
// every node begins at zero of its own, and the displacement that is left over stands in the Placed
// around it. The functions below are the only way to make nodes. Each applies the rewrites that
// concern it, so what they return is canonical; no rewrite changes the sequence of bytes.
//
// Leaves carry the predefined type that they hold; leaves of different ones do not merge. `erase`
// gives the layout of the bytes alone.
#pragma once

#include "heddle.h"

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle {

enum class Form : uint8_t { dense, stream, gather, runs, concat };

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Placed {
    int64_t displ = 0;
    NodePtr node;
};

// What only irregular nodes have.
struct Blocks {
    std::vector<int64_t> displs; // gather, runs: where each block begins; displs[0] is 0
    std::vector<int64_t> prefix; // runs: units before each block, and the total
    std::vector<Placed> members; // concat; members[0].displ is 0

    // Of the node that they belong to; computed when it is first compared with one that looks like
    // it.
    mutable std::atomic<uint64_t> digest_low{0};
    mutable std::atomic<uint64_t> digest_high{0}; // with its top bit once both are there
};

struct Node {
    Form form = Form::dense;
    uint8_t label = HEDDLE_MIXED; // the heddle_predefined of every leaf below, or MIXED
    bool consecutive = false;     // whether the bytes follow one another in memory, in pack order
    int16_t depth = 1;
    int64_t bytes = 0;  // packed size
    int64_t runs = 0;   // leaves in pack order, each a contiguous run
    int64_t count = 1;  // stream: children; gather, runs, concat: blocks
    int64_t stride = 0; // stream: between children; runs: between the units of a block
    NodePtr child;      // stream: repeated; gather: one block; runs: one unit
    std::unique_ptr<Blocks> blocks;

    // Heap memory of this node alone, in bytes.
    int64_t memory() const;
};

// Nothing at all: the layout of a type of size zero.
Placed empty();
// Consecutive bytes of one predefined type.
Placed dense(int64_t bytes, heddle_predefined label);
// `count` children, each `stride` after the one before.
Placed stream(int64_t count, int64_t stride, const Placed &child);
// Block i holds lens[i] children, `stride` apart, from displs[i] on; without lens, `len` of them
// each.
Placed blocks(std::vector<int64_t> displs, std::span<const int64_t> lens, int64_t len,
              int64_t stride, const Placed &child);
// Members one after the other.
Placed concat(std::vector<Placed> members);
// The same bytes with every leaf labelled HEDDLE_BYTE, and with the merges which that allows. A
// layout of one label is its own erasure.
Placed erase(const Placed &layout);

// Whether two layouts are the same, but for a chance of 2^-100 (digest.hpp). All comparisons
// together take time linear in the nodes that are compared.
bool equal(const NodePtr &a, const NodePtr &b);
// The text form of heddle_type_describe; OVERFLOW where it is longer than describe_limit (a layout
// that holds itself many times over can be short and its text without end).
constexpr size_t describe_limit = size_t{64} << 20;
std::string describe(const Placed &layout);

} // namespace heddle
