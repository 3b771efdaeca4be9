// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/repeated.hpp"

namespace heddle::gpu {

// A stream's children follow one another from instance to instance only where the extent says so.
Repeated repeated(const Plan &plan, int64_t count)
{
    const ImageNode &root = plan.image.nodes[0];
    if (root.kind == NodeKind::stream && (count == 1 || plan.extent == root.count * root.stride))
        return {count * root.count, root.bytes, root.stride, root.runs, root.by_bytes, true};
    return {count, plan.bytes, plan.extent, plan.runs, plan.by_bytes, false};
}

} // namespace heddle::gpu
