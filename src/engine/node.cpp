// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node.hpp"

#include "engine/checked.hpp"
#include "engine/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unistd.h>

namespace heddle {

namespace {

// Hashes of words by multiplications of 64 to 128 bits, folded (as in Wang Yi's wyhash). The keys
// are secret and differ in each process: whoever sends flattened types cannot make them collide.
class Hash {
public:
    void add(uint64_t a, uint64_t b) { value_ = mixed(value_ ^ a, keys_[0] ^ b); }

    // `count` words; word(i) is the i-th. Four sums in turn, as each multiplication takes longer
    // than the next may wait.
    template <class Word> void add_all(size_t count, Word word)
    {
        std::array<uint64_t, lanes> sums{};
        size_t i = 0;
        for (; count - i >= 2 * lanes; i += 2 * lanes)
            for (size_t k = 0; k < lanes; ++k)
                sums[k] = mixed(sums[k] ^ word(i + 2 * k), keys_[k] ^ word(i + 2 * k + 1));
        for (; i + 1 < count; i += 2)
            add(word(i), word(i + 1));
        add(i < count ? word(i) : 0, count);
        add(sums[0], sums[1]);
        add(sums[2], sums[3]);
    }

    uint64_t value() const { return value_; }

private:
    static constexpr size_t lanes = 4;
    using Keys = std::array<uint64_t, lanes>;
    __extension__ using wide = unsigned __int128;

    static uint64_t mixed(uint64_t a, uint64_t b)
    {
        const wide product = static_cast<wide>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }

    static const Keys &secret_keys()
    {
        static const Keys keys = [] {
            Keys random;
            if (getentropy(random.data(), sizeof random) != 0)
                throw Error{HEDDLE_ERR_NO_MEMORY}; // the system has no randomness to give
            return random;
        }();
        return keys;
    }

    const Keys &keys_ = secret_keys();
    uint64_t value_ = keys_[1];
};

// Equal for equal nodes alone.
uint64_t word_of(const NodePtr &node)
{
    if (node->form == Form::dense) // no pointer: no node's address is odd
        return static_cast<uint64_t>(node->bytes) << 8 | static_cast<uint64_t>(node->label) << 1 |
               1;
    return reinterpret_cast<uintptr_t>(node.get());
}

// It reads all words, and so finds their bits, too.
uint64_t hash_of(const Shape &s, Blocks *blocks)
{
    Hash hash;
    hash.add(static_cast<uint64_t>(s.form) | static_cast<uint64_t>(s.count) << 3,
             static_cast<uint64_t>(s.stride));
    if (s.child)
        hash.add(word_of(s.child), 0);
    if (!blocks)
        return hash.value();
    const auto add_words = [&hash](std::span<const int64_t> words) {
        uint64_t bits = 0;
        hash.add_all(words.size(), [&bits, a = words.data()](size_t i) {
            const auto word = static_cast<uint64_t>(a[i]);
            bits |= word;
            return word;
        });
        return static_cast<uint8_t>(bits);
    };
    if (const auto words = std::as_const(blocks->words).all(); !words.empty()) {
        const auto count = static_cast<size_t>(s.count);
        blocks->displ_bits = add_words(words.first(count));
        blocks->prefix_bits = add_words(words.subspan(count));
    }
    if (const auto &members = blocks->members; !members.empty()) {
        uint64_t bits = 0;
        hash.add_all(2 * members.size(), [&bits, a = members.data()](size_t i) {
            if (i % 2)
                return word_of(a[i / 2].node);
            const auto displ = static_cast<uint64_t>(a[i / 2].displ);
            bits |= displ;
            return displ;
        });
        blocks->displ_bits = static_cast<uint8_t>(bits);
    }
    return hash.value();
}

// Whether a node is of this shape.
bool is_of(const Node &n, const Shape &s, const Blocks *blocks)
{
    return n.form == s.form && n.label == s.label && n.bytes == s.bytes && n.count == s.count &&
           n.stride == s.stride && n.child == s.child && (!n.blocks || *n.blocks == *blocks);
}

// A part of the table: a list of nodes for each bucket.
struct alignas(64) Shard {
    SpinLock lock;
    Node **list = nullptr;
    size_t buckets = 0; // a power of two, or none yet
    size_t count = 0;   // of nodes
};

constinit std::array<Shard, 64> all_shards{}; // never destroyed: types may outlive it

Shard &shard_of(uint64_t hash) { return all_shards[hash >> 58]; }

} // namespace

// A node with its blocks, in one piece of memory.
struct Irregular : Node {
    Blocks own;

    Irregular(Shape &&shape, Blocks &&its_blocks, uint64_t hash, Node *next)
        : Node(std::move(shape), &own, hash, next), own(std::move(its_blocks))
    {
    }
};

bool Blocks::operator==(const Blocks &other) const
{
    return words.size() == other.words.size() && members == other.members &&
           std::equal(words.all().begin(), words.all().end(), other.words.all().begin());
}

// The table of all nodes but leaves. It owns none of them.
class NodeTable {
public:
    static NodePtr make_leaf(int64_t bytes, uint8_t label)
    {
        return NodePtr(new Node(bytes, label));
    }

    // `blocks`: null where it has none.
    static NodePtr find_or_make(Shape &&shape, Blocks *blocks)
    {
        const uint64_t hash = hash_of(shape, blocks);
        Shard &shard = shard_of(hash);
        const std::lock_guard lock(shard.lock);
        if (shard.count >= shard.buckets)
            resize(shard, shard.buckets ? 2 * shard.buckets : least);
        Node *&first = shard.list[hash & (shard.buckets - 1)];
        for (Node *n = first; n; n = n->next_)
            if (n->hash_ == hash && is_of(*n, shape, blocks) && has_gained_owner(*n))
                return NodePtr(n);
        if (blocks)
            first = new Irregular(std::move(shape), std::move(*blocks), hash, first);
        else
            first = new Node(std::move(shape), nullptr, hash, first);
        ++shard.count;
        return NodePtr(first);
    }

    static void end(const Node *node) noexcept
    {
        if (node->form != Form::dense && !has_left(*node))
            return;
        if (node->blocks)
            delete static_cast<const Irregular *>(node);
        else
            delete node;
    }

private:
    static constexpr size_t least = 16; // buckets; a power of two

    // A node without owners is about to leave the table, and stays without: an equal one may stand
    // beside it until then.
    static bool has_gained_owner(const Node &node)
    {
        int64_t owners = node.owners_.load(std::memory_order_relaxed);
        while (owners > 0)
            if (node.owners_.compare_exchange_weak(owners, owners + 1, std::memory_order_acquire,
                                                   std::memory_order_relaxed))
                return true;
        return false;
    }

    static bool has_left(const Node &node) noexcept
    {
        Shard &shard = shard_of(node.hash_);
        const std::lock_guard lock(shard.lock);
        // A node that the table found has more owners than the one that comes here. Their number
        // can grow from one only under the lock.
        if (node.owners_.load(std::memory_order_acquire) > 1 &&
            node.owners_.fetch_sub(1, std::memory_order_acq_rel) > 1)
            return false;
        Node **at = &shard.list[node.hash_ & (shard.buckets - 1)];
        while (*at != &node) {
            assert(*at);
            at = &(*at)->next_;
        }
        *at = node.next_;
        --shard.count;
        if (shard.buckets > least && shard.count < shard.buckets / 8)
            resize(shard, shard.buckets / 2);
        return true;
    }

    static void resize(Shard &shard, size_t buckets)
    {
        auto **const list = new (std::nothrow) Node *[buckets]();
        if (!list && !shard.list)
            throw std::bad_alloc();
        if (!list)
            return; // what is there serves, slower
        for (size_t i = 0; i < shard.buckets; ++i)
            for (Node *n = shard.list[i], *next = nullptr; n; n = next) {
                next = n->next_;
                Node *&first = list[n->hash_ & (buckets - 1)];
                n->next_ = std::exchange(first, n);
            }
        delete[] shard.list;
        shard.list = list;
        shard.buckets = buckets;
    }
};

int64_t Node::memory() const
{
    if (!blocks)
        return sizeof(Node);
    return static_cast<int64_t>(sizeof(Irregular) + blocks->members.capacity() * sizeof(Placed)) +
           blocks->words.memory();
}

NodePtr leaf_of(int64_t bytes, uint8_t label) { return NodeTable::make_leaf(bytes, label); }

NodePtr node_of(Shape &&shape)
{
    assert(shape.form == Form::stream && shape.child);
    return NodeTable::find_or_make(std::move(shape), nullptr);
}

NodePtr node_of(Shape &&shape, Blocks &&blocks)
{
    assert(shape.form != Form::dense && shape.form != Form::stream);
    return NodeTable::find_or_make(std::move(shape), &blocks);
}

void end_node(const Node *node) noexcept { NodeTable::end(node); }

} // namespace heddle
