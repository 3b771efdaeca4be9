// SPDX-License-Identifier: BSD-3-Clause
// MINLOC and MAXLOC, and what is common to all reductions. A packed pair has no padding, and in
// memory it may have: its two members are located one by one.
#include "gpu/cuda/kernels/reduce.cuh"

namespace heddle::gpu::cuda {
namespace {

template <class Value, class Index> __global__ void __launch_bounds__(block_threads)
    reduce_pairs(const __grid_constant__ Work work, int from_width, int to_width, Signal signal)
{
    __shared__ StagedImage from_image;
    __shared__ StagedImage to_image;
    const ImageView from = stage_image(work.from, from_image);
    const ImageView to = stage_image(work.to, to_image);
    follow();
    constexpr int64_t size = sizeof(Value) + sizeof(Index);
    const int64_t step = static_cast<int64_t>(gridDim.x) * block_threads * size;
    for (int64_t i = (static_cast<int64_t>(blockIdx.x) * block_threads + threadIdx.x) * size;
         i < work.bytes; i += step) {
        const auto to_at = [&](int64_t x) {
            return work.to.base + place(work.to, to, work.to.first + x);
        };
        char *value_at = to_at(i);
        char *index_at = to_at(i + static_cast<int64_t>(sizeof(Value)));
        const int64_t x = work.from.first + i;
        const auto theirs = load_source<Value>(work, from, x, from_width);
        const auto their_index =
            load_source<Index>(work, from, x + static_cast<int64_t>(sizeof(Value)), from_width);
        const auto ours = load_element<Value>(value_at, to_width);
        const auto our_index = load_element<Index>(index_at, to_width);
        const bool is_better = precedes(work.op, theirs, ours);
        if (is_better)
            store_element(value_at, theirs, to_width);
        if (is_better || (theirs == ours && their_index < our_index))
            store_element(index_at, their_index, to_width);
    }
    reach(signal);
}

template <class Value, class Index> cudaError_t run(Launcher &launcher, const Work &work)
{
    // Packed pairs lie side by side, some at an odd multiple of what their values are aligned to
    // elsewhere.
    constexpr int size = sizeof(Value) + sizeof(Index);
    constexpr int most = size & -size;
    return launcher.start(reduce_pairs<Value, Index>, blocks_to_stay(launcher, work.bytes / size),
                          block_threads, 0, work, std::min<int>(work.from.word, most),
                          std::min<int>(work.to.word, most));
}

} // namespace

cudaError_t run_reduce_pairs(Launcher &launcher, const Work &work)
{
    switch (work.basic) {
    case HEDDLE_2INT32:
        return run<int32_t, int32_t>(launcher, work);
    case HEDDLE_2INT64:
        return run<int64_t, int64_t>(launcher, work);
    case HEDDLE_2FLOAT:
        return run<float, float>(launcher, work);
    case HEDDLE_2DOUBLE:
        return run<double, double>(launcher, work);
    case HEDDLE_FLOAT_INT:
        return run<float, int32_t>(launcher, work);
    case HEDDLE_DOUBLE_INT:
        return run<double, int32_t>(launcher, work);
    case HEDDLE_LONG_INT:
        return run<int64_t, int32_t>(launcher, work);
    default: // HEDDLE_SHORT_INT
        return run<int16_t, int32_t>(launcher, work);
    }
}

bool takes_reduce(const Work &work) { return can_combine(work.op, work.basic); }

cudaError_t run_reduce(Launcher &launcher, const Work &work)
{
    switch (category(work.basic)) {
    case Category::floating:
    case Category::complex:
        return run_reduce_floats(launcher, work);
    case Category::pair:
        return run_reduce_pairs(launcher, work);
    default:
        return run_reduce_integers(launcher, work);
    }
}

} // namespace heddle::gpu::cuda
