// SPDX-License-Identifier: BSD-3-Clause
// What the nodes of a labelled image add up to where every predefined element is worth so much: its
// bytes in external32, or one.
#pragma once

#include "engine/plan.hpp"
#include "engine/predefined.hpp"

#include <vector>

namespace heddle {

// How often a node repeats its child.
inline int64_t repetitions(const ImageView &v, const ImageNode &n)
{
    return n.kind == NodeKind::runs ? v.prefix(n)[n.count] : n.count;
}

inline heddle_predefined label(const ImageNode &n)
{
    return static_cast<heddle_predefined>(n.label);
}

// Only the order of the elements matters: what holds one predefined type is an array of it, however
// irregular its layout. A node that several members share is measured once.
class Measure {
public:
    using Worth = int64_t (*)(const PredefinedInfo &);

    Measure(const Image &image, Worth worth)
        : view_(image.view()), worth_(worth), sums_(image.nodes.size(), -1)
    {
        sum(0);
    }

    const ImageView &view() const { return view_; }
    const ImageNode &node(int32_t k) const { return view_.nodes[k]; }
    int64_t packed(int32_t k) const { return packed_size(view_, node(k)); }
    int64_t of(int32_t k) const { return sums_[static_cast<size_t>(k)]; }

private:
    int64_t sum(int32_t k)
    {
        int64_t &known = sums_[static_cast<size_t>(k)];
        if (known < 0)
            known = compute(node(k));
        return known;
    }

    int64_t compute(const ImageNode &n)
    {
        if (n.label != HEDDLE_MIXED) {
            const PredefinedInfo &p = predefined_info(label(n));
            return packed_size(view_, n) / p.size * worth_(p);
        }
        if (n.kind != NodeKind::concat)
            return repetitions(view_, n) * sum(n.child);
        int64_t total = 0;
        for (int64_t i = 0; i < n.count; ++i)
            total += sum(static_cast<int32_t>(view_.links(n)[i]));
        return total;
    }

    ImageView view_;
    Worth worth_;
    std::vector<int64_t> sums_; // of each node; -1: not measured yet
};

} // namespace heddle
