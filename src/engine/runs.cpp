// SPDX-License-Identifier: BSD-3-Clause
#include "engine/runs.hpp"

namespace heddle {

int64_t runs_before(const ImageView &v, int64_t id)
{
    int64_t runs = 0;
    for (int32_t k = 0; id > 0;) {
        const ImageNode &n = v.nodes[k];
        if (n.kind == NodeKind::dense)
            return runs + 1;
        if (n.kind == NodeKind::spans)
            return runs + find_block(v.prefix(n), n.count, id - 1) + 1;
        if (n.kind == NodeKind::concat) {
            const int64_t i = find_block(v.prefix(n), n.count, id - 1);
            runs += v.run_prefix(n)[i];
            id -= v.prefix(n)[i];
            k = static_cast<int32_t>(v.links(n)[i]);
        } else {
            const int64_t i = n.by_bytes.divide(id - 1);
            runs += i * n.runs;
            id -= i * n.bytes;
            k = n.child;
        }
    }
    return runs;
}

int64_t byte_of_run(const ImageView &v, int64_t run)
{
    int64_t byte = 0;
    for (int32_t k = 0; run > 0;) {
        const ImageNode &n = v.nodes[k];
        if (n.kind == NodeKind::spans)
            return byte + v.prefix(n)[run];
        if (n.kind == NodeKind::concat) {
            const int64_t i = find_block(v.run_prefix(n), n.count, run);
            byte += v.prefix(n)[i];
            run -= v.run_prefix(n)[i];
            k = static_cast<int32_t>(v.links(n)[i]);
        } else {
            const int64_t i = run / n.runs;
            byte += i * n.bytes;
            run -= i * n.runs;
            k = n.child;
        }
    }
    return byte;
}

} // namespace heddle
