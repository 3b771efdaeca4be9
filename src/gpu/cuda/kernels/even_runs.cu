// SPDX-License-Identifier: BSD-3-Clause
// Runs of one length: a division says which of them a word belongs to, so nothing waits but for a
// displacement and the data.
#include "gpu/cuda/kernels/copy_words.cuh"
#include "gpu/cuda/kernels/runs.cuh"

namespace heddle::gpu::cuda {
cudaError_t run_even_runs(Launcher &launcher, const Listed &list, int width, bool pack, bool fetch)
{
    return for_width(width, [&](auto constant) {
        constexpr int w = constant;
        const RunList &runs = list.runs;
        const ListedAccess listed{list.mem,
                                  runs.displs,
                                  static_cast<uint32_t>(list.first / w),
                                  Divider32::of(runs.longest / w),
                                  Divider32::of(runs.count),
                                  runs.extent};
        const DenseAccess dense{list.dense};
        return pack ? start_copy<w>(launcher, listed, dense, list.bytes, false)
                    : start_copy<w>(launcher, dense, listed, list.bytes, fetch);
    });
}

} // namespace heddle::gpu::cuda
