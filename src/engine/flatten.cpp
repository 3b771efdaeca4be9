// SPDX-License-Identifier: BSD-3-Clause
// Types as bytes: 64-bit words of the machine. A header; then the nodes of the typed layout, each
// after the nodes that it refers to, the root last. Reading trusts nothing: nodes are made anew by
// the layout algebra, sizes and bounds are computed again, and what does not fit together is
// refused.
#include "engine/guard.hpp"
#include "engine/predefined.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace heddle {

namespace {

constexpr int64_t magic = 0x454c444445480000; // "HEDDLE" in the upper bytes
constexpr int64_t version = 2;

enum Header { h_magic, h_words, h_lb, h_extent, h_alignment, h_basic, h_displ, h_nodes, h_count };

// Words of a node: form, label, count, stride, child, then its arrays.
constexpr size_t node_words = 5;
constexpr int64_t byte_child = -1; // runs of bytes: no child node

bool spans(const Node &n)
{
    return n.form == Form::runs && n.stride == 1 && n.child->form == Form::dense &&
           n.child->bytes == 1;
}

class Writer {
public:
    explicit Writer(const heddle_type &t)
    {
        words_.resize(h_count);
        if (t.size() > 0)
            write(*t.layout.node);
        words_[h_magic] = magic | version;
        words_[h_words] = static_cast<int64_t>(words_.size());
        words_[h_lb] = t.bounds.lb;
        words_[h_extent] = t.bounds.extent();
        words_[h_alignment] = t.alignment;
        words_[h_basic] = t.basic;
        words_[h_displ] = t.layout.displ;
        words_[h_nodes] = static_cast<int64_t>(index_.size());
    }

    std::span<const int64_t> words() const { return words_; }
    std::vector<int64_t> take() { return std::move(words_); }

private:
    int64_t write(const Node &n)
    {
        auto it = index_.find(&n);
        if (it != index_.end())
            return it->second;
        std::vector<int64_t> links;
        if (n.form == Form::concat)
            for (const Placed &m : n.blocks->members)
                links.push_back(write(*m.node));
        const int64_t child = n.child && !spans(n) ? write(*n.child) : byte_child;
        const int64_t count = n.form == Form::dense ? n.bytes : n.count;
        words_.insert(words_.end(),
                      {static_cast<int64_t>(n.form), n.label, count, n.stride, child});
        if (n.form == Form::concat)
            for (size_t i = 0; i < links.size(); ++i)
                words_.insert(words_.end(), {n.blocks->members[i].displ, links[i]});
        else if (n.blocks)
            words_.insert(words_.end(), n.displs().begin(), n.displs().end());
        if (n.form == Form::runs)
            for (size_t i = 0; i < n.displs().size(); ++i)
                words_.push_back(n.prefix()[i + 1] - n.prefix()[i]);
        const auto k = static_cast<int64_t>(index_.size());
        index_.emplace(&n, k);
        return k;
    }

    std::vector<int64_t> words_;
    std::unordered_map<const Node *, int64_t> index_;
};

[[noreturn]] void damaged() { throw Error{HEDDLE_ERR_FORMAT}; }

// A node that was read: its layout, and what a type knows beyond it.
struct Part {
    Placed layout;
    int64_t lb = 0; // of the data
    int64_t ub = 0;
    int64_t elements = 0;
};

class Reader {
public:
    explicit Reader(std::span<const int64_t> words) : words_(words) {}

    TypePtr read()
    {
        auto t = std::make_unique<heddle_type>();
        t->bounds.lb = words_[h_lb];
        t->bounds.ub = add(words_[h_lb], words_[h_extent]);
        const int64_t align = words_[h_alignment];
        if (align < 1 || align > 64 || (align & (align - 1)) != 0)
            damaged();
        t->alignment = static_cast<int32_t>(align);

        const int64_t nodes = words_[h_nodes];
        at_ = h_count;
        if (nodes < 0 || static_cast<size_t>(nodes) > (words_.size() - at_) / node_words)
            damaged();
        parts_.reserve(static_cast<size_t>(nodes));
        for (int64_t k = 0; k < nodes; ++k)
            parts_.push_back(node());
        if (at_ != words_.size())
            damaged();
        t->layout = empty();
        if (nodes > 0) {
            const Part &root = parts_.back();
            const int64_t displ = words_[h_displ];
            t->layout = {add(displ, root.layout.displ), root.layout.node};
            t->elements = root.elements;
            t->bounds.true_lb = add(displ, root.lb);
            t->bounds.true_ub = add(displ, root.ub);
            sub(t->bounds.true_ub, t->bounds.true_lb); // refuses a true extent beyond 63 bits
        }
        t->basic = basic(*t);
        return t;
    }

private:
    // The predefined type that the header claims, where the leaves bear it out.
    heddle_predefined basic(const heddle_type &t) const
    {
        const int64_t b = words_[h_basic];
        if (b == HEDDLE_MIXED)
            return HEDDLE_MIXED;
        if (b < 0 || b > HEDDLE_MIXED || t.size() == 0)
            damaged();
        const auto which = static_cast<heddle_predefined>(b);
        const PredefinedInfo &p = predefined_info(which);
        const int label = t.layout.node->label;
        if (t.size() % p.size != 0 ||
            (p.pair ? p.value != p.index && label != HEDDLE_MIXED : label != b))
            damaged();
        return which;
    }

    std::span<const int64_t> take(int64_t n)
    {
        if (n < 0 || static_cast<size_t>(n) > words_.size() - at_)
            damaged();
        const auto s = words_.subspan(at_, static_cast<size_t>(n));
        at_ += static_cast<size_t>(n);
        return s;
    }

    const Part &part(int64_t k) const
    {
        if (k < 0 || static_cast<size_t>(k) >= parts_.size())
            damaged();
        return parts_[static_cast<size_t>(k)];
    }

    static Part leaf(int64_t bytes, int64_t label)
    {
        if (label < 0 || label >= HEDDLE_PREDEFINED_COUNT)
            damaged();
        const auto which = static_cast<heddle_predefined>(label);
        const PredefinedInfo &p = predefined_info(which);
        if (p.pair || bytes <= 0 || bytes % p.size != 0)
            damaged();
        return {dense(bytes, which), 0, bytes, bytes / p.size};
    }

    // Blocks of `lens` children each; the children of a block are `stride` apart.
    static Part repeat(std::span<const int64_t> displs, std::span<const int64_t> lens,
                       int64_t stride, const Part &child)
    {
        if (std::any_of(lens.begin(), lens.end(), [](int64_t n) { return n <= 0; }))
            damaged();
        Part r{blocks(BlockList<int64_t>(displs, lens, 1, stride), child.layout), INT64_MAX,
               INT64_MIN, 0};
        for (size_t i = 0; i < displs.size(); ++i) {
            const int64_t n = lens.empty() ? 1 : lens[i];
            const int64_t last = mul(n - 1, stride);
            r.lb = std::min(r.lb, add(add(displs[i], std::min<int64_t>(last, 0)), child.lb));
            r.ub = std::max(r.ub, add(add(displs[i], std::max<int64_t>(last, 0)), child.ub));
            r.elements = add(r.elements, mul(n, child.elements));
        }
        return r;
    }

    Part node()
    {
        const auto head = take(node_words);
        const int64_t label = head[1], count = head[2], stride = head[3], child = head[4];
        if (count <= 0)
            damaged();
        switch (head[0]) {
        case static_cast<int64_t>(Form::dense):
            return leaf(count, label);
        case static_cast<int64_t>(Form::stream): {
            const Part &c = part(child);
            const int64_t last = mul(count - 1, stride);
            return {stream(count, stride, c.layout), add(c.lb, std::min<int64_t>(last, 0)),
                    add(c.ub, std::max<int64_t>(last, 0)), mul(count, c.elements)};
        }
        case static_cast<int64_t>(Form::gather):
            return repeat(take(count), {}, 0, part(child));
        case static_cast<int64_t>(Form::runs): {
            const auto displs = take(count);
            const auto lens = take(count);
            return child == byte_child ? spans_of(displs, lens, label)
                                       : repeat(displs, lens, stride, part(child));
        }
        case static_cast<int64_t>(Form::concat):
            if (count > INT64_MAX / 2)
                damaged();
            return members(take(2 * count));
        default:
            damaged();
        }
    }

    static Part spans_of(std::span<const int64_t> displs, std::span<const int64_t> lens,
                         int64_t label)
    {
        const Part unit = leaf(predefined_info(checked_label(label)).size, label);
        const int64_t size = unit.ub;
        std::vector<int64_t> units(lens.begin(), lens.end());
        for (int64_t &n : units) {
            if (n <= 0 || n % size != 0)
                damaged();
            n /= size;
        }
        return repeat(displs, units, size, unit);
    }

    static heddle_predefined checked_label(int64_t label)
    {
        if (label < 0 || label >= HEDDLE_PREDEFINED_COUNT)
            damaged();
        return static_cast<heddle_predefined>(label);
    }

    Part members(std::span<const int64_t> pairs)
    {
        Part r{{}, INT64_MAX, INT64_MIN, 0};
        Members placed;
        placed.reserve(pairs.size() / 2);
        for (size_t i = 0; i < pairs.size(); i += 2) {
            const Part &c = part(pairs[i + 1]);
            placed.push_back({add(pairs[i], c.layout.displ), c.layout.node});
            r.lb = std::min(r.lb, add(pairs[i], c.lb));
            r.ub = std::max(r.ub, add(pairs[i], c.ub));
            r.elements = add(r.elements, c.elements);
        }
        r.layout = concat(std::move(placed));
        return r;
    }

    std::span<const int64_t> words_;
    size_t at_ = 0;
    std::vector<Part> parts_;
};

// RTRs and collectives ask for the same types again and again.
const Flattened &flattened_of(const heddle_type &type)
{
    constexpr size_t most_kept = 512;
    if (const Flattened *const known = type.flattened.load(std::memory_order_acquire))
        return *known;
    Writer writer(type);
    auto made = std::make_unique<Flattened>();
    made->bytes = writer.words().size_bytes();
    if (made->bytes <= most_kept)
        made->words = writer.take();
    const Flattened *first = nullptr; // another thread's
    return type.flattened.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)
               ? *made.release()
               : *first;
}

} // namespace

} // namespace heddle

using namespace heddle;

int heddle_flatten_size(const heddle_type *type, size_t *size)
{
    if (const Error e = check_type(type))
        return e.code();
    if (!size)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        *size = flattened_of(*type).bytes;
        return HEDDLE_SUCCESS;
    });
}

int heddle_flatten(const heddle_type *type, void *bytes, size_t capacity)
{
    if (const Error e = check_type(type))
        return e.code();
    if (!bytes)
        return HEDDLE_ERR_ARG;
    if (!type->plan.load(std::memory_order_acquire))
        return HEDDLE_ERR_NOT_COMMITTED;
    return guard([&] {
        const Flattened &known = flattened_of(*type);
        if (known.bytes > capacity)
            return HEDDLE_ERR_TRUNCATE;
        if (known.words.empty())
            std::memcpy(bytes, Writer(*type).words().data(), known.bytes);
        else
            std::memcpy(bytes, known.words.data(), known.bytes);
        return HEDDLE_SUCCESS;
    });
}

int heddle_unflatten(const void *bytes, size_t size, heddle_type **newtype)
{
    if (!bytes || !newtype)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        int64_t first;
        if (size < sizeof first)
            return HEDDLE_ERR_FORMAT;
        std::memcpy(&first, bytes, sizeof first);
        if ((first & ~int64_t{0xffff}) != magic)
            return HEDDLE_ERR_FORMAT;
        if ((first & 0xffff) != version)
            return HEDDLE_ERR_VERSION;
        if (size % sizeof(int64_t) != 0 || size < h_count * sizeof(int64_t))
            return HEDDLE_ERR_FORMAT;
        std::vector<int64_t> words(size / sizeof(int64_t)); // the bytes may lie at any address
        std::memcpy(words.data(), bytes, size);
        if (static_cast<uint64_t>(words[h_words]) != words.size())
            return HEDDLE_ERR_FORMAT;
        try {
            TypePtr made = Reader(words).read();
            count_memory(*made); // while it alone holds its layout: the image will, too
            commit(*made);
            *newtype = made.release();
        } catch (const Error &) {
            return HEDDLE_ERR_FORMAT;
        }
        return HEDDLE_SUCCESS;
    });
}
