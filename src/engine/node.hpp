// SPDX-License-Identifier: BSD-3-Clause
// Nodes of layouts, hash-consed: no two nodes that are there are equal, so equality is a comparison
// of pointers (Filliatre and Conchon, "Type-safe modular hash-consing", ML Workshop 2006). A weak
// table finds the node that a new one would equal. A node leaves the table with its last owner. Any
// thread may make, copy and release nodes at any time. Leaves alone stay out of the table: they are
// compared by value, which is as fast, and a struct of a million of them would wait for the table.
#pragma once

#include "heddle.h"

#include "engine/spin_lock.hpp"
#include "engine/words.hpp"

#include <atomic>
#include <span>
#include <utility>
#include <vector>

namespace heddle {

enum class Form : uint8_t { dense, stream, gather, runs, concat };

struct Node;

// An owner of a node, or of none.
class NodePtr {
public:
    NodePtr() = default;
    NodePtr(const NodePtr &other);
    NodePtr(NodePtr &&other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    NodePtr &operator=(NodePtr other) noexcept
    {
        std::swap(node_, other.node_);
        return *this;
    }
    ~NodePtr() { release(); }

    const Node *get() const { return node_; }
    const Node &operator*() const { return *node_; }
    const Node *operator->() const { return node_; }
    explicit operator bool() const { return node_ != nullptr; }
    bool operator==(const NodePtr &other) const; // whether the nodes are equal

    // Whether it has no other owner. Another thread can find it in the table at any time, so a
    // caller may only save work by it.
    bool is_alone() const;

private:
    friend class NodeTable;

    explicit NodePtr(const Node *node) : node_(node) {} // which counts this owner already
    void release();

    const Node *node_ = nullptr;
};

struct Placed {
    int64_t displ = 0;
    NodePtr node;

    bool operator==(const Placed &) const = default;
};

using Members = std::vector<Placed, Pooled<Placed>>;

// What only irregular nodes have.
struct Blocks {
    // gather, runs: where each block begins, the first at 0; runs: then the units before each
    // block, and the total. An image has them in this order, too.
    Words words;
    Members members; // concat; members[0].displ is 0
    // The lower bits that any of the numbers has, set by node_of: of where blocks begin, and of the
    // units before each.
    uint8_t displ_bits = 0, prefix_bits = 0;

    bool operator==(const Blocks &other) const;
};

// What a node says. `consecutive`, `depth`, `bytes` (but for a dense one) and `runs` follow from
// the rest.
struct Shape {
    Form form = Form::dense;
    uint8_t label = HEDDLE_MIXED; // the heddle_predefined of every leaf below, or MIXED
    bool consecutive = false;     // whether the bytes follow one another in memory, in pack order
    int16_t depth = 1;
    int64_t bytes = 0;  // packed size
    int64_t runs = 0;   // leaves in pack order, each a contiguous run
    int64_t count = 1;  // stream: children; gather, runs, concat: blocks
    int64_t stride = 0; // stream: between children; runs: between the units of a block
    NodePtr child;      // stream: repeated; gather: one block; runs: one unit
};

struct Node : Shape {
    const Blocks *const blocks; // of gather, runs and concat; else null

    // Of gather and runs: where each block begins; of runs: units before each, and the total.
    std::span<const int64_t> displs() const
    {
        return blocks->words.all().first(static_cast<size_t>(count));
    }
    std::span<const int64_t> prefix() const
    {
        return blocks->words.all().subspan(static_cast<size_t>(count));
    }

    // Heap memory of this node alone, in bytes.
    int64_t memory() const;

private:
    friend class NodePtr;
    friend class NodeTable;

    friend struct Irregular;

    Node(Shape &&shape, const Blocks *its_blocks, uint64_t hash, Node *next)
        : Shape(std::move(shape)), blocks(its_blocks), hash_(hash), next_(next)
    {
    }
    Node(int64_t leaf_bytes, uint8_t leaf_label) : blocks(nullptr), hash_(0), next_(nullptr)
    {
        label = leaf_label;
        consecutive = true;
        bytes = leaf_bytes;
        runs = leaf_bytes > 0;
    }
    ~Node() = default; // end_node knows which kind it is

    uint64_t hash_; // of the shape
    Node *next_;    // in the same bucket of the table
    mutable std::atomic<int64_t> owners_{1};
};

// A leaf: always a new one.
NodePtr leaf_of(int64_t bytes, uint8_t label);

// The node of this shape: the one that is there, else a new one. Its children are nodes made by
// these functions; what follows from the rest is right. Only irregular ones have blocks. Errors:
// NO_MEMORY.
NodePtr node_of(Shape &&shape);
NodePtr node_of(Shape &&shape, Blocks &&blocks);

// Called by the last owner, which may be counted still. Ends the node, unless another thread has
// found it in the table meanwhile.
void end_node(const Node *node) noexcept;

// Owners are counted as shared_ptr does: without atomic operations while there is one thread.
inline NodePtr::NodePtr(const NodePtr &other) : node_(other.node_)
{
    if (!node_)
        return;
    std::atomic<int64_t> &owners = node_->owners_;
    if (is_single_threaded())
        owners.store(owners.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
        owners.fetch_add(1, std::memory_order_relaxed);
}

inline void NodePtr::release()
{
    if (!node_)
        return;
    std::atomic<int64_t> &owners = node_->owners_;
    const int64_t before = owners.load(std::memory_order_acquire);
    if (before == 1)
        end_node(node_); // which counts this owner out
    else if (is_single_threaded())
        owners.store(before - 1, std::memory_order_relaxed);
    else if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
        end_node(node_);
}

inline bool NodePtr::operator==(const NodePtr &other) const
{
    if (node_ == other.node_)
        return true;
    return node_ && other.node_ && node_->form == Form::dense && other.node_->form == Form::dense &&
           node_->bytes == other.node_->bytes && node_->label == other.node_->label;
}

inline bool NodePtr::is_alone() const
{
    return node_->owners_.load(std::memory_order_relaxed) == 1;
}

} // namespace heddle
