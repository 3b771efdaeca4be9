// SPDX-License-Identifier: BSD-3-Clause
// The contiguous runs of memory that an image names, in pack order. One function visits the runs of
// a byte range; others lead from a byte to its run's number and back. Each is O(depth), O(log n)
// per irregular node, before it reaches the first run.
#pragma once

#include "engine/image.hpp"
#include "engine/plan.hpp"

#include <algorithm>

namespace heddle {

// Calls sink(displ, bytes, label) for each run of bytes [lo, hi) of one instance of node k at
// `displ`. The first and the last run are cut to fit. Stops when the sink returns false, and
// returns whether it never did.
template <class Sink>
bool visit_runs(const ImageView &v, int32_t k, int64_t lo, int64_t hi, int64_t displ, Sink &&sink)
{
    const ImageNode &n = v.nodes[k];
    switch (n.kind) {
    case NodeKind::dense:
        return sink(displ + lo, hi - lo, n.label);
    case NodeKind::spans: {
        const int64_t *prefix = v.prefix(n);
        for (int64_t i = find_block(prefix, n.count, lo); lo < hi; ++i) {
            const int64_t end = std::min(hi, prefix[i + 1]);
            if (!sink(displ + v.displs(n)[i] + (lo - prefix[i]), end - lo, n.label))
                return false;
            lo = end;
        }
        return true;
    }
    case NodeKind::concat: {
        const int64_t *prefix = v.prefix(n);
        for (int64_t i = find_block(prefix, n.count, lo); lo < hi; ++i) {
            const int64_t end = std::min(hi, prefix[i + 1]);
            if (!visit_runs(v, static_cast<int32_t>(v.links(n)[i]), lo - prefix[i], end - prefix[i],
                            displ + v.displs(n)[i], sink))
                return false;
            lo = end;
        }
        return true;
    }
    default: {
        // Children of equal size; of a runs node, in blocks of their own.
        const int64_t *prefix = n.kind == NodeKind::runs ? v.prefix(n) : nullptr;
        int64_t i = n.by_bytes.divide(lo);
        int64_t block = prefix ? find_block(prefix, n.count, i) : 0;
        for (int64_t begin = i * n.bytes; lo < hi; ++i, begin += n.bytes) {
            int64_t d = displ;
            if (prefix) {
                if (i == prefix[block + 1])
                    ++block;
                d += v.displs(n)[block] + (i - prefix[block]) * n.stride;
            } else {
                d += n.kind == NodeKind::gather ? v.displs(n)[i] : i * n.stride;
            }
            const int64_t end = std::min(hi, begin + n.bytes);
            if (!visit_runs(v, n.child, lo - begin, end - begin, d, sink))
                return false;
            lo = end;
        }
        return true;
    }
    }
}

// Visits the runs of `count` instances of a planned type. `typed` chooses the image whose runs do
// not span leaves of different predefined types.
template <class Sink> bool visit_instances(const Plan &plan, bool typed, int64_t count, int64_t lo,
                                           int64_t hi, Sink &&sink)
{
    const Image &image = typed ? plan.typed_image() : plan.image;
    const int64_t displ = typed ? plan.typed_displ : plan.displ;
    if (lo >= hi || plan.bytes == 0)
        return true;
    if (plan.contiguous && !(typed && plan.typed))
        return sink(displ + lo, hi - lo, image.nodes[0].label);
    for (int64_t i = lo / plan.bytes; i < count && lo < hi; ++i) {
        const int64_t begin = i * plan.bytes;
        const int64_t end = std::min(hi, begin + plan.bytes);
        if (!visit_runs(image.view(), 0, lo - begin, end - begin, displ + i * plan.extent, sink))
            return false;
        lo = end;
    }
    return true;
}

// Where packed byte `offset` of any number of instances lies.
inline Location locate(const Plan &plan, int64_t offset)
{
    const int64_t i = plan.by_bytes.divide(offset);
    Location l = locate(plan.image.view(), offset - i * plan.bytes);
    l.displ += plan.displ + i * plan.extent;
    return l;
}

// The number of runs of one instance that begin before packed byte `id`.
int64_t runs_before(const ImageView &v, int64_t id);
// The packed byte at which run number `run` of one instance begins.
int64_t byte_of_run(const ImageView &v, int64_t run);

} // namespace heddle
