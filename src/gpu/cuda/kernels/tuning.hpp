// SPDX-License-Identifier: BSD-3-Clause
// What decides which kernel is taken, and how it is started: a table of what was measured, and laws
// for GPUs that were not. No CUDA in here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace heddle::gpu::cuda {

// The values of one H200 (compute capability 9.0, 141 GB; bench/results/gpu.md).
struct Tuning {
    // Transposing. Neighbours this far apart in pack order share no sector, and there are enough of
    // them for tiles.
    int64_t transpose_least_stride_bytes = 64;
    int64_t transpose_least_count = 16;
    int64_t transpose_least_bytes = 64 << 10;

    // Records. Words of four bytes and less leave most of a kernel's loads empty; records go
    // through shared memory. The strided kernel is as fast for little within a device, and lists of
    // runs are for little of an image.
    int record_most_word_bytes = 4;
    int64_t record_most_spread = 4; // extent by packed bytes
    // Where the packed bytes cross the host's link and the records do not: a pack reads the gaps,
    // an unpack looks at each of their words, which are short in long records. One H100, 5.6 MB of
    // blocks of 7 bytes, 31 times as far apart, to and from the host: 141 and 155 us; by single
    // bytes 205 and 170.
    int64_t pinned_record_most_spread = 32;
    int64_t pinned_unpack_most_bytes = 8 << 10; // extent times spread
    int64_t strided_records_least_bytes = int64_t{4} << 20;
    int64_t linked_records_least_bytes = 256 << 10; // over a link, and of images

    // Several works in one launch. A launch takes the processor as long as 512 KiB take the device
    // whose words are each located by themselves. Larger works than 8 MiB fill the device alone:
    // 32 bytes for each thread that it holds.
    // Parts of 512 KiB packed, in us, in one launch and in as many as there are parts:
    //
    //   parts         26        8        2
    //   irregular     58, 83    24, 26   14, 12   (26 of 1 MiB: 115, 84)
    //   transposed    27, 115   17, 40   12, 15
    //   records       52, 84    23, 30   13, 12
    int64_t shared_launch_most_bytes = 512 << 10;
    int64_t batched_most_bytes = int64_t{8} << 20;

    // Short blocks far apart in much memory lie in a DRAM row each. A multiprocessor packs them up
    // to a quarter faster with about 512 of them at a time, cut into four words, than with more
    // (strides of 256 to 1024 bytes).
    int64_t sparse_most_block_bytes = 64;
    int64_t sparse_least_block_bytes = 8;
    int64_t sparse_least_stride_bytes = 256;
    int64_t sparse_least_spread = 4; // stride by block
    int64_t sparse_least_span_bytes = int64_t{256} << 20;

    // When much is packed, tiles read a displacement once, not once for each word. 256 MB in runs
    // of 64 bytes take 182 us instead of 208.
    int64_t even_runs_most_packed_bytes = int64_t{8} << 20;
    // Threads for short runs: beyond as many as the device holds at a time (132 multiprocessors of
    // 2048, or nearly so), tiles are faster.
    int64_t short_runs_most_threads = int64_t{1} << 18;
    // A little data in few runs, where each thread block can take the whole list.
    int64_t few_runs_most_count = 2048;
    int64_t few_runs_most_words = 16 << 10;

    // Sectors that are written in part are fetched (fetch.cuh) where more is written than stays in
    // the cache anyway: from about half of its size on. The blocks have more than one sector and
    // fewer than 32.
    int64_t fetch_least_bytes = int64_t{24} << 20;
    int64_t fetch_most_sectors = 32;

    // A kernel of few blocks writes its signal itself, which is seen sooner than what the stream
    // does next. In a large grid the fences would cost more than that; where data cross a link, the
    // blocks wait for that anyway.
    int64_t signal_most_blocks = 512;
    int64_t signal_most_linked_blocks = 1024;

    bool operator==(const Tuning &) const = default;
};

// A GPU, as far as its tuning follows from what it is.
struct Traits {
    int compute_capability; // 90: 9.0
    int64_t threads;        // that its multiprocessors hold at a time
    int64_t cache_bytes;    // of the second level
};

// A GPU that was measured has a line here.
struct Measured {
    int compute_capability;
    Tuning tuning;
};
constexpr Measured measured[] = {{90, {}}};

// What no law is known for stays as on the H200. That is a guess: nobody has measured it there.
constexpr Tuning derived(const Traits &gpu)
{
    Tuning tuning;
    if (gpu.threads > 0) {
        tuning.short_runs_most_threads = gpu.threads;
        tuning.batched_most_bytes = 32 * gpu.threads;
    }
    if (gpu.cache_bytes > 0)
        tuning.fetch_least_bytes = gpu.cache_bytes / 2;
    return tuning;
}

constexpr Tuning tuning_of(const Traits &gpu)
{
    const auto *const found =
        std::find_if(std::begin(measured), std::end(measured), [&](const Measured &each) {
            return each.compute_capability == gpu.compute_capability;
        });
    return found != std::end(measured) ? found->tuning : derived(gpu);
}

} // namespace heddle::gpu::cuda
