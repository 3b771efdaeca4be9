// SPDX-License-Identifier: BSD-3-Clause
// Runs of one length: a division says which of them a word belongs to, so nothing waits but for a
// displacement and the data.
#include "copy_words.cuh"
#include "runs.cuh"

namespace heddle::gpu::cuda {
namespace {

constexpr int64_t most_words = int64_t{1} << 31;

} // namespace

// Of much data packed, tiles read a displacement once, not once for each word: 64 bytes, 256 MB,
// take 182 us instead of 208 (H200).
bool are_even_runs(const Listed &list, int width, bool pack)
{
    constexpr int64_t most_packed = int64_t{8} << 20;
    const RunList &runs = list.runs;
    return (!pack || list.bytes <= most_packed) && runs.longest < INT32_MAX &&
           runs.longest * runs.count == runs.bytes &&
           (list.first + list.bytes) / width < most_words && runs.count < most_words;
}

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
