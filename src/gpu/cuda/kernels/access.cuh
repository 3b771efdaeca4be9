// SPDX-License-Identifier: BSD-3-Clause
// Where word `w` of a transfer lies, for the shapes that fit in a kernel's parameters.
#pragma once

#include "gpu/cuda/kernels/device_code.cuh"
#include "gpu/cuda/kernels/divider.hpp"

#include "gpu/cuda/kernels/fetch.cuh"
#include <bit>

namespace heddle::gpu::cuda {

struct DenseAccess {
    char *base;

    template <int width, class Index> __device__ char *at(Index w) const
    {
        return base + static_cast<int64_t>(w) * width;
    }
};

// Divider is that of the words' numbers, 32 or 64 bit wide. dims 0: as many as `count_of_dims`
// says.
template <class Divider_, int dims_> struct StridedAccess {
    using Divider = Divider_;
    using Index = decltype(Divider::value);
    static constexpr int dims = dims_;
    static constexpr int room = dims == 0 ? max_dims : dims;

    char *base;
    Index first; // word
    int count_of_dims;
    Divider block;       // words
    Divider count[room]; // of all but the outermost
    int64_t stride[room];

    template <int width> __device__ char *at(Index w) const
    {
        const Index x = first + w;
        Index i = block.divide(x);
        int64_t displ = static_cast<int64_t>(x - i * block.value) * width;
        const int n = dims == 0 ? count_of_dims : dims;
#pragma unroll
        for (int d = 0; d < n - 1; ++d) {
            const Index next = count[d].divide(i);
            displ += static_cast<int64_t>(i - next * count[d].value) * stride[d];
            i = next;
        }
        return base + displ + static_cast<int64_t>(i) * stride[n - 1];
    }

    // See fetch_part().
    template <int width> __device__ void fetch(Index w) const
    {
        const Index before = first + w - block.divide(first + w) * block.value;
        fetch_part(at<width>(w), before * width, (block.value - before) * width);
    }
};

// Blocks of one length at listed places, `count` of them in a stretch.
struct ListedAccess {
    using Divider = Divider32;
    using Index = uint32_t;

    char *base;
    const int64_t *displs;
    Index first;   // word
    Divider block; // words
    Divider count;
    int64_t extent; // of a stretch

    template <int width> __device__ char *at(Index w) const
    {
        const Index i = block.divide(first + w);
        const Index stretch = count.divide(i);
        const int64_t displ = __ldg(displs + (i - stretch * count.value));
        return base + stretch * extent + displ +
               static_cast<int64_t>(first + w - i * block.value) * width;
    }

    // See fetch_part().
    template <int width> __device__ void fetch(Index w) const
    {
        const Index before = first + w - block.divide(first + w) * block.value;
        fetch_part(at<width>(w), before * width, (block.value - before) * width);
    }
};

inline DenseAccess dense_access(const Side &s) { return {s.base + s.first}; }

template <class Access> Access strided_access(const Side &s, int width)
{
    using Divider = typename Access::Divider;
    const Origin o = origin(s);
    const int log = std::countr_zero(static_cast<unsigned>(width)); // quotients are exact
    Access a{};
    a.base = o.base;
    a.first = static_cast<typename Access::Index>(o.first >> log);
    a.count_of_dims = s.dims;
    a.block = Divider::of(s.block >> log);
    for (int d = 0; d < s.dims; ++d) {
        if (d < s.dims - 1)
            a.count[d] = Divider::of(s.dim[d].count);
        a.stride[d] = s.dim[d].stride;
    }
    return a;
}

} // namespace heddle::gpu::cuda
