// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/memory/pointer_cache.hpp"

#include "gpu/image/extents.hpp"

namespace heddle::gpu {

namespace {

// No memory changes its kind within one. (Pinned memory may begin in one that is otherwise
// pageable: to take it for that costs time alone.)
constexpr uintptr_t page = 4096;

uintptr_t page_of(const char *address, uint64_t further = 0)
{
    return (reinterpret_cast<uintptr_t>(address) + further) / page;
}

class Walk {
public:
    using Sink = std::function<bool(int64_t, const Memory &)>;

    Walk(const End &end, MemoryMap &map, const Sink &sink)
        : end_(end),
          view_(end.plan->image.view()),
          reaches_(reaches_of(*end.plan)),
          map_(map),
          sink_(sink)
    {
    }

    bool all(int64_t bytes)
    {
        const Plan &plan = *end_.plan;
        return repeated(0, plan.bytes, plan.extent, end_.offset, end_.offset + bytes, plan.displ);
    }

private:
    const char *address(int64_t displ, int64_t more) const
    {
        return end_.displaced(
            static_cast<int64_t>(static_cast<uint64_t>(displ) + static_cast<uint64_t>(more)));
    }

    // The memory that all of `reach` lies in; null where it is more than one.
    const Memory *around(int64_t displ, const Reach &reach)
    {
        const char *const low = address(displ, reach.low);
        const Memory &m = map_.at(low);
        return MemoryMap::holds(
                   m, low, static_cast<uint64_t>(reach.high) - static_cast<uint64_t>(reach.low))
                   ? &m
                   : nullptr;
    }

    // Bytes lo to hi of one instance of node k at `displ`, all of them in the instance.
    bool node(int32_t k, int64_t lo, int64_t hi, int64_t displ)
    {
        const ImageNode &n = view_.nodes[k];
        if (n.kind == NodeKind::dense)
            return dense(lo, hi, displ);
        if (const Memory *const m = around(displ, reaches_[static_cast<size_t>(k)]))
            return sink_(hi - lo, *m);
        switch (n.kind) {
        case NodeKind::stream:
            return repeated(n.child, n.bytes, n.stride, lo, hi, displ);
        case NodeKind::gather:
            for (int64_t i = n.by_bytes.divide(lo), at = i * n.bytes; at < hi; ++i, at += n.bytes)
                if (!node(n.child, std::max(lo - at, int64_t{0}), std::min(hi - at, n.bytes),
                          displ + view_.displs(n)[i]))
                    return false;
            return true;
        default:
            return blocks(n, lo, hi, displ);
        }
    }

    // Visits a node with a prefix sum. Its units are bytes, a run's children, or members' bytes.
    bool blocks(const ImageNode &n, int64_t lo, int64_t hi, int64_t displ)
    {
        const int64_t *const prefix = view_.prefix(n);
        const int64_t unit = n.kind == NodeKind::runs ? n.bytes : 1;
        for (int64_t i = find_block(prefix, n.count, lo / unit);
             i < n.count && prefix[i] * unit < hi; ++i) {
            const int64_t at = prefix[i] * unit;
            const int64_t first = std::max(lo - at, int64_t{0}),
                          last = std::min(hi, prefix[i + 1] * unit) - at;
            const int64_t place = displ + view_.displs(n)[i];
            if (!(n.kind == NodeKind::spans ? dense(first, last, place)
                  : n.kind == NodeKind::runs
                      ? repeated(n.child, unit, n.stride, first, last, place)
                      : node(static_cast<int32_t>(view_.links(n)[i]), first, last, place)))
                return false;
        }
        return true;
    }

    bool dense(int64_t lo, int64_t hi, int64_t displ)
    {
        const char *const low = address(displ, lo);
        map_.at(low);
        return sink_(hi - lo, map_.all(low, low, static_cast<uint64_t>(hi - lo)));
    }

    // Bytes lo to hi of instances of node k, `bytes` packed bytes each, the first at `displ`,
    // `stride` apart: as a whole, or each half by itself.
    bool repeated(int32_t k, int64_t bytes, int64_t stride, int64_t lo, int64_t hi, int64_t displ)
    {
        const int64_t first = lo / bytes, count = (hi - 1) / bytes + 1 - first, at = first * bytes;
        const int64_t place = displ + first * stride;
        if (count == 1)
            return node(k, lo - at, hi - at, place);
        if (const Memory *const m =
                around(place, reaches_[static_cast<size_t>(k)].repeated(count, stride)))
            return sink_(hi - lo, *m);
        const int64_t half = count / 2 * bytes;
        return repeated(k, bytes, stride, lo - at, half, place) &&
               repeated(k, bytes, stride, half, hi - at, place);
    }

    const End &end_;
    const ImageView view_;
    const std::span<const Reach> reaches_;
    MemoryMap &map_;
    const Sink &sink_;
};

} // namespace

void MemoryMap::ask(const char *address)
{
    latest_ ^= 1;
    // In place: what was just written in pieces is slow to copy as a whole.
    static_assert(std::is_trivially_destructible_v<Memory>);
    Memory &m = *new (&last_[latest_]) Memory(backend_ ? backend_->query(address, true) : Memory());
    if (m.kind == MemoryKind::host && !m.base) {
        m.base = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(address) / page * page);
        m.size = page;
    }
}

// Pages are pinned as a whole, so the range may end within one.
const Memory &MemoryMap::all(const char *address, const char *low, uint64_t bytes)
{
    static constexpr Memory pageable{};
    const Memory &m = last_[latest_];
    const uintptr_t first = page_of(address);
    if (m.kind != MemoryKind::pinned || (page_of(low) == first && page_of(low, bytes - 1) == first))
        return m;
    return !m.base || holds(m, low, bytes) ? m : pageable;
}

void visit_memory(const End &end, int64_t bytes, MemoryMap &map,
                  const std::function<bool(int64_t, const Memory &)> &sink)
{
    if (bytes > 0)
        Walk(end, map, sink).all(bytes);
}

} // namespace heddle::gpu
