// SPDX-License-Identifier: BSD-3-Clause
#include "engine/type.hpp"

#include "engine/checked.hpp"
#include "engine/predefined.hpp"

#include <algorithm>

namespace heddle {

namespace {

// The bounds of a sequence of blocks (MPI 4.0, section 5.1, equation 5.1).
class Hull {
public:
    // `len` instances of a type, its extent apart, from `displ` on.
    void add_block(int64_t displ, int64_t len, const heddle_type &t)
    {
        const int64_t last = mul(sub(len, 1), t.bounds.extent());
        const int64_t low = add(displ, std::min<int64_t>(last, 0));
        const int64_t high = add(displ, std::max<int64_t>(last, 0));
        include(b_.lb, b_.ub, any_, add(low, t.bounds.lb), add(high, t.bounds.ub));
        if (t.size() > 0)
            include(b_.true_lb, b_.true_ub, any_data_, add(low, t.bounds.true_lb),
                    add(high, t.bounds.true_ub));
    }

    heddle_bounds bounds() const
    {
        sub(b_.ub, b_.lb);
        sub(b_.true_ub, b_.true_lb);
        return b_;
    }

private:
    static void include(int64_t &lb, int64_t &ub, bool &any, int64_t l, int64_t u)
    {
        lb = any ? std::min(lb, l) : l;
        ub = any ? std::max(ub, u) : u;
        any = true;
    }

    heddle_bounds b_;
    bool any_ = false;
    bool any_data_ = false;
};

TypePtr make(Placed layout, const heddle_bounds &bounds, int64_t elements, const heddle_type &like)
{
    auto t = std::make_unique<heddle_type>();
    t->layout = std::move(layout);
    t->bounds = bounds;
    t->elements = elements;
    t->basic = elements > 0 ? like.basic : HEDDLE_MIXED;
    t->alignment = elements > 0 ? like.alignment : 1; // what is not in the typemap aligns nothing
    return t;
}

} // namespace

TypePtr make_predefined(heddle_predefined which)
{
    const PredefinedInfo &p = predefined_info(which);
    auto t = std::make_unique<heddle_type>();
    t->predefined = true;
    t->basic = which;
    t->alignment = p.alignment;
    t->elements = p.pair ? 2 : 1;
    t->bounds = {0, p.extent, 0, p.size};
    if (p.pair) {
        const int value = predefined_info(p.value).size;
        const int index = predefined_info(p.index).size;
        t->layout =
            concat({{0, dense(value, p.value).node}, {p.index_displ, dense(index, p.index).node}});
        t->bounds.true_ub = p.index_displ + index;
    } else {
        t->layout = dense(p.size, which);
    }
    commit(*t);
    count_memory(*t);
    return t;
}

TypePtr make_stream(int64_t count, int64_t blocklength, int64_t stride, const heddle_type &old)
{
    Hull hull;
    const int64_t n = mul(count, blocklength);
    if (n > 0) {
        hull.add_block(0, blocklength, old);
        hull.add_block(mul(count - 1, stride), blocklength, old);
    }
    Placed layout = blocklength == 1 ? stream(count, stride, old.layout)
                                     : stream(count, stride,
                                              stream(blocklength, old.bounds.extent(), old.layout));
    return make(std::move(layout), hull.bounds(), mul(n, old.elements), old);
}

template <class Int> TypePtr make_blocks(const BlockList<Int> &list, const heddle_type &old)
{
    const Reach reach = list.reach();
    Hull hull;
    if (reach.children > 0) {
        hull.add_block(reach.low, 1, old);
        hull.add_block(reach.high, 1, old);
    }
    return make(blocks(list, old.layout), hull.bounds(), mul(reach.children, old.elements), old);
}

template TypePtr make_blocks(const BlockList<int> &list, const heddle_type &old);
template TypePtr make_blocks(const BlockList<int64_t> &list, const heddle_type &old);

namespace {

// Blocks of a struct: equal ones near each other are one node.
class BlockMaker {
public:
    explicit BlockMaker(size_t members) : known_(members < worthwhile ? 0 : places) {}

    Placed operator()(int64_t len, const heddle_type &type)
    {
        if (len == 1)
            return type.layout;
        if (known_.empty())
            return stream(len, type.bounds.extent(), type.layout);
        const auto which = reinterpret_cast<uintptr_t>(&type) / sizeof(heddle_type) +
                           static_cast<uintptr_t>(len) * 37;
        Known &k = known_[which % places];
        if (k.type != &type || k.len != len)
            k = {&type, len, stream(len, type.bounds.extent(), type.layout)};
        return k.block;
    }

private:
    static constexpr size_t worthwhile = 16, places = 64;

    struct Known {
        const heddle_type *type = nullptr;
        int64_t len = 0;
        Placed block;
    };
    std::vector<Known> known_;
};

// The same data in every instance, at the same places.
bool same_data(const heddle_type &a, const heddle_type &b)
{
    return a.bounds.extent() == b.bounds.extent() && a.layout == b.layout;
}

// The layout of a struct whose members with data all have `like`'s: as that of a struct of one
// type.
Placed blocks_of(const heddle_type &like, std::span<const int64_t> lens,
                 std::span<const int64_t> displs, std::span<heddle_type *const> types)
{
    std::vector<int64_t> d, l;
    for (size_t i = 0; i < types.size(); ++i)
        if (lens[i] > 0 && types[i]->size() > 0) {
            d.push_back(displs[i]);
            l.push_back(lens[i]);
        }
    return blocks(BlockList<int64_t>(d, l, 0, like.bounds.extent()), like.layout);
}

} // namespace

TypePtr make_struct(std::span<const int64_t> lens, std::span<const int64_t> displs,
                    std::span<heddle_type *const> types)
{
    if (!types.empty() &&
        std::all_of(types.begin(), types.end(), [&](auto *t) { return t == types[0]; }))
        return make_blocks(BlockList<int64_t>(displs, lens, 0, types[0]->bounds.extent()),
                           *types[0]);

    auto t = std::make_unique<heddle_type>();
    Hull hull;
    BlockMaker block_of(types.size());
    const heddle_type *first = nullptr; // with data
    bool alike = true;                  // so are all with data
    Members members;
    members.reserve(types.size());
    for (size_t i = 0; i < types.size(); ++i) {
        if (lens[i] == 0)
            continue;
        const heddle_type &old = *types[i];
        hull.add_block(displs[i], lens[i], old);
        t->alignment = std::max(t->alignment, old.alignment);
        if (old.size() == 0)
            continue;
        t->basic = t->elements == 0 || t->basic == old.basic ? old.basic : HEDDLE_MIXED;
        t->elements = add(t->elements, mul(lens[i], old.elements));
        first = first ? first : &old;
        alike = alike && same_data(*first, old);
        members.push_back(block_of(lens[i], old));
        members.back().displ = add(members.back().displ, displs[i]);
    }
    t->bounds = hull.bounds();
    const int64_t excess = t->bounds.extent() % t->alignment; // below zero where the extent is
    if (excess != 0)
        t->bounds.ub = add(t->bounds.ub, excess > 0 ? t->alignment - excess : -excess);
    if (alike && first)
        t->layout = blocks_of(*first, lens, displs, types);
    else
        t->layout = concat(std::move(members));
    return t;
}

TypePtr make_resized(const heddle_type &old, int64_t lb, int64_t extent)
{
    heddle_bounds b = old.bounds;
    b.lb = lb;
    b.ub = add(lb, extent);
    return make(old.layout, b, old.elements, old);
}

TypePtr make_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                      std::span<const int64_t> starts, bool fortran, const heddle_type &old)
{
    const size_t n = sizes.size();
    int64_t stride = old.bounds.extent();
    int64_t displ = 0;
    int64_t elements = old.elements;
    Placed layout = old.layout;
    int64_t low = 0, high = 0; // displacements of the outermost instances
    for (size_t k = 0; k < n; ++k) {
        const size_t d = fortran ? k : n - 1 - k; // the fastest varying dimension first
        layout = stream(subsizes[d], stride, layout);
        const int64_t begin = mul(starts[d], stride);
        displ = add(displ, begin);
        const int64_t end = add(begin, mul(subsizes[d] - 1, stride));
        low = add(low, std::min(begin, end));
        high = add(high, std::max(begin, end));
        elements = mul(elements, subsizes[d]);
        stride = mul(stride, sizes[d]);
    }
    layout.displ = add(layout.displ, displ);
    heddle_bounds b{0, stride, 0, 0}; // explicit bounds (MPI 4.0, section 5.1.3, equation 5.2)
    if (layout.node->bytes > 0) {
        b.true_lb = add(low, old.bounds.true_lb);
        b.true_ub = add(high, old.bounds.true_ub);
        sub(b.true_ub, b.true_lb);
    } else {
        layout = empty();
    }
    return make(layout, b, elements, old);
}

void commit(heddle_type &type)
{
    if (type.plan.load(std::memory_order_acquire))
        return;
    const bool mixed = type.layout.node->label == HEDDLE_MIXED; // else it is its own erasure
    auto plan = mixed
                    ? std::make_unique<Plan>(type.layout, erase(type.layout), type.bounds.extent())
                    : std::make_unique<Plan>(type.layout, type.layout, type.bounds.extent());
    const Plan *none = nullptr;
    if (type.plan.compare_exchange_strong(none, plan.get(), std::memory_order_acq_rel))
        static_cast<void>(plan.release()); // the type's; else another thread was first
}

namespace {

// Nodes that no other type shares.
int64_t own_memory(const NodePtr &n)
{
    if (!n || !n.is_alone())
        return 0;
    int64_t m = n->memory() + own_memory(n->child);
    if (n->blocks)
        for (const Placed &p : n->blocks->members)
            m += own_memory(p.node);
    return m;
}

} // namespace

void count_memory(heddle_type &type) { type.own_memory = own_memory(type.layout.node); }

} // namespace heddle

int64_t heddle_type::memory() const
{
    int64_t m = static_cast<int64_t>(sizeof(heddle_type)) + own_memory;
    if (const heddle::Plan *p = plan.load(std::memory_order_acquire))
        m += p->memory();
    return m;
}
