/* SPDX-License-Identifier: BSD-3-Clause */
#include "typemap.hpp"

#include "basics.hpp"

#include <algorithm>
#include <limits>

namespace oracle {
namespace {

int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        throw Overflow();
    return sum;
}

int64_t mul(int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        throw Overflow();
    return product;
}

/* Collects instances of old types at their displacements. */
class Placer {
public:
    void place(const Typemap &old, int64_t displacement)
    {
        for (const Entry &entry : old.entries)
            map_.entries.push_back(
                {add(entry.displacement, displacement), entry.kind, entry.owner});
        const int64_t lb = add(old.lb, displacement);
        const int64_t ub = add(old.ub, displacement);
        map_.lb = placed_ ? std::min(map_.lb, lb) : lb;
        map_.ub = placed_ ? std::max(map_.ub, ub) : ub;
        placed_ = true;
        if (!old.entries.empty())
            map_.alignment = std::max(map_.alignment, old.alignment);
    }

    void block(const Typemap &old, int64_t displacement, int64_t blocklength)
    {
        for (int64_t i = 0; i < blocklength; ++i)
            place(old, add(displacement, mul(i, old.extent())));
    }

    Typemap take() { return std::move(map_); }

private:
    Typemap map_;
    bool placed_ = false;
};

Typemap expand_predefined(heddle_predefined which)
{
    Typemap map;
    for (const Primitive &primitive : basic(which).primitives)
        map.entries.push_back({primitive.displacement, primitive.kind, which});
    map.ub = basic(which).extent;
    map.alignment = basic(which).alignment;
    return map;
}

/* Whether build() gives every member the very same type. */
bool of_one_type(const Expr &e)
{
    const auto same = [&](const ExprPtr &a, const ExprPtr &b) {
        return a == b || (a->maker == Maker::Predefined && b->maker == Maker::Predefined &&
                          a->predefined == b->predefined);
    };
    return std::all_of(e.children.begin(), e.children.end(), [&](const ExprPtr &child) {
        return same(undup(child), undup(e.children.front()));
    });
}

Typemap expand_struct(const Expr &e, const std::vector<const Typemap *> &olds)
{
    Placer placer;
    for (size_t i = 0; i < olds.size(); ++i)
        placer.block(*olds[i], e.displacements[i], e.blocklengths[i]);
    Typemap map = placer.take();
    if (of_one_type(e))
        return map;
    const int64_t beyond = map.extent() % map.alignment;
    if (beyond != 0)
        map.ub = add(map.ub, beyond > 0 ? map.alignment - beyond : -beyond);
    return map;
}

Typemap expand_subarray(const Expr &e, const Typemap &old)
{
    const size_t ndims = e.sizes.size();
    /* How many elements apart neighbours of each dimension are. */
    std::vector<int64_t> step(ndims);
    int64_t whole = 1;
    for (size_t i = 0; i < ndims; ++i) {
        const size_t dim = e.order == HEDDLE_ORDER_C ? ndims - 1 - i : i;
        step[dim] = whole;
        whole = mul(whole, e.sizes[dim]);
    }

    Placer placer;
    /* Dimensions from the slowest to the fastest in memory, which is also the order of packing. */
    const auto visit = [&](const auto &self, size_t level, int64_t element) -> void {
        if (level == ndims)
            return placer.place(old, mul(element, old.extent()));
        const size_t dim = e.order == HEDDLE_ORDER_C ? level : ndims - 1 - level;
        for (int64_t i = 0; i < e.subsizes[dim]; ++i)
            self(self, level + 1, add(element, mul(e.starts[dim] + i, step[dim])));
    };
    visit(visit, 0, 0);

    Typemap map = placer.take();
    map.lb = 0;
    map.ub = mul(whole, old.extent());
    return map;
}

} // namespace

Typemap expand(const Expr &e, const std::vector<const Typemap *> &olds)
{
    if (e.maker == Maker::Predefined)
        return expand_predefined(e.predefined);
    if (e.maker == Maker::Struct)
        return expand_struct(e, olds);

    const Typemap &old = *olds.at(0);
    Placer placer;
    switch (e.maker) {
    case Maker::Predefined:
    case Maker::Struct:
        break;
    case Maker::Contiguous:
        placer.block(old, 0, e.count);
        break;
    case Maker::Vector:
        for (int64_t i = 0; i < e.count; ++i)
            placer.block(old, mul(i, mul(e.stride, old.extent())), e.blocklength);
        break;
    case Maker::Hvector:
        for (int64_t i = 0; i < e.count; ++i)
            placer.block(old, mul(i, e.stride), e.blocklength);
        break;
    case Maker::Indexed:
        for (size_t i = 0; i < e.displacements.size(); ++i)
            placer.block(old, mul(e.displacements[i], old.extent()), e.blocklengths[i]);
        break;
    case Maker::Hindexed:
        for (size_t i = 0; i < e.displacements.size(); ++i)
            placer.block(old, e.displacements[i], e.blocklengths[i]);
        break;
    case Maker::IndexedBlock:
        for (const int64_t displacement : e.displacements)
            placer.block(old, mul(displacement, old.extent()), e.blocklength);
        break;
    case Maker::HindexedBlock:
        for (const int64_t displacement : e.displacements)
            placer.block(old, displacement, e.blocklength);
        break;
    case Maker::Resized: {
        Typemap map = old;
        map.lb = e.lb;
        map.ub = add(e.lb, e.extent);
        return map;
    }
    case Maker::Dup:
        return old;
    case Maker::Subarray:
        return expand_subarray(e, old);
    }
    return placer.take();
}

Typemap expand(const Expr &expr)
{
    std::vector<Typemap> olds;
    for (const ExprPtr &child : expr.children)
        olds.push_back(expand(*child));
    std::vector<const Typemap *> pointers;
    for (const Typemap &old : olds)
        pointers.push_back(&old);
    return expand(expr, pointers);
}

int64_t size_of(const Typemap &map)
{
    int64_t size = 0;
    for (const Entry &entry : map.entries)
        size += primitive_size(entry.kind);
    return size;
}

int64_t true_lb(const Typemap &map) { return touched(map, 1).low; }

int64_t true_ub(const Typemap &map) { return touched(map, 1).high; }

heddle_predefined basic_of(const Typemap &map)
{
    if (map.entries.empty())
        return HEDDLE_MIXED;
    const heddle_predefined first = map.entries.front().owner;
    const bool same = std::all_of(map.entries.begin(), map.entries.end(),
                                  [&](const Entry &e) { return e.owner == first; });
    return same ? first : HEDDLE_MIXED;
}

bool is_contiguous(const Typemap &map)
{
    if (map.entries.empty())
        return true;
    const int64_t start = map.entries.front().displacement;
    int64_t next = start;
    for (const Entry &entry : map.entries) {
        if (entry.displacement != next)
            return false;
        next += primitive_size(entry.kind);
    }
    return next - start == map.extent();
}

bool overlaps(const Typemap &map, int64_t count)
{
    std::vector<std::pair<int64_t, int64_t>> blocks;
    for (int64_t i = 0; i < count; ++i)
        for (const Entry &entry : map.entries) {
            const int64_t begin = i * map.extent() + entry.displacement;
            const int64_t end = begin + primitive_size(entry.kind);
            if (!blocks.empty() && blocks.back().second == begin)
                blocks.back().second = end;
            else
                blocks.emplace_back(begin, end);
        }
    if (!std::is_sorted(blocks.begin(), blocks.end()))
        std::sort(blocks.begin(), blocks.end());
    for (size_t i = 1; i < blocks.size(); ++i)
        if (blocks[i].first < blocks[i - 1].second)
            return true;
    return false;
}

Range touched(const Typemap &map, int64_t count)
{
    if (map.entries.empty() || count == 0)
        return {};
    Range range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (const Entry &entry : map.entries) {
        range.low = std::min(range.low, entry.displacement);
        range.high = std::max(range.high, add(entry.displacement, primitive_size(entry.kind)));
    }
    const int64_t last = mul(count - 1, map.extent());
    range.low = std::min(range.low, add(range.low, last));
    range.high = std::max(range.high, add(range.high, last));
    return range;
}

} // namespace oracle
