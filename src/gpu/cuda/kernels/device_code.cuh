// SPDX-License-Identifier: BSD-3-Clause
// What all kernels share: words, staging of images, the signal at the end.
#pragma once

#include "gpu/cuda/kernels/geometry.hpp"
#include "gpu/cuda/kernels/kernel.hpp"

namespace heddle::gpu::cuda {

constexpr int block_threads = 256;

template <int width> struct WordOf;
template <> struct WordOf<1> {
    using type = unsigned char;
};
template <> struct WordOf<2> {
    using type = unsigned short;
};
template <> struct WordOf<4> {
    using type = unsigned int;
};
template <> struct WordOf<8> {
    using type = uint2;
};
template <> struct WordOf<16> {
    using type = uint4;
};
template <int width> using Word = typename WordOf<width>::type;

// Ordinary accesses. Accesses that mark lines to be evicted first (__ldcs, __stcs) crowd into what
// is left of the cache, even if the rest is idle. They are up to a fifth slower on an H200.
template <int width> __device__ __forceinline__ Word<width> load_word(const char *from)
{
    return *reinterpret_cast<const Word<width> *>(from);
}

template <int width> __device__ __forceinline__ void store_word(char *to, Word<width> word)
{
    *reinterpret_cast<Word<width> *>(to) = word;
}

// The beginning of every kernel, which touches no moved data before. A kernel starts while the one
// before it on its stream runs (CUDA Programming Guide, "Programmatic Dependent Launch"). When this
// returns, what was on the stream before is over. Until then the kernel computes addresses, and may
// read images, which nobody writes for as long as a kernel may read them. The next kernel is let in
// only then. So a caller's own kernel, started likewise, overlaps with one of ours and not with
// two.
__device__ __forceinline__ void await_earlier()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_in()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void follow()
{
    await_earlier();
    let_next_in();
}

// The end of every kernel: all threads of all blocks come here. Whoever sees the number sees what
// they wrote. Either each block stores a number of its own, or the last block stores one. The last
// block has seen the others' writes by way of the counter, and its store releases them with its
// own. Writes that crossed a link are waited for, which takes a microsecond and a half on an H200.
// Writes to the device's own memory are there for all that the host may start next.
__device__ __forceinline__ void reach(const Signal &signal)
{
    if (!signal.slot)
        return;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    uint32_t *slot = signal.slot;
    if (gridDim.x <= Signal::words) {
        slot += blockIdx.x;
    } else {
        uint32_t ended;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                     : "=r"(ended)
                     : "l"(signal.counter)
                     : "memory");
        if (ended != gridDim.x - 1)
            return;
        *signal.counter = 0;
    }
    if (signal.remote) {
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(slot), "r"(signal.value)
                     : "memory");
    } else {
        __threadfence();
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(slot), "r"(signal.value)
                     : "memory");
    }
}

// Copies a side's image to shared memory, where it has room for it: its fixed block, and its
// lookaside buffer if that is short as well. Then a search in it costs tens of cycles a step, not
// hundreds.
constexpr int staged_nodes = 32;
constexpr int staged_numbers = 256;

struct StagedImage {
    uint4 nodes[staged_nodes * sizeof(ImageNode) / sizeof(uint4)];
    int64_t side[staged_numbers];
    unsigned long long side_length;
};

// How far a node's arrays reach into the lookaside buffer.
__device__ __forceinline__ int64_t end_of_arrays(const ImageNode &n)
{
    switch (n.kind) {
    case NodeKind::gather:
        return n.side + n.count;
    case NodeKind::spans:
    case NodeKind::runs:
        return n.side + 2 * n.count + 1;
    case NodeKind::concat:
        return n.side + 4 * n.count + 2;
    default:
        return 0;
    }
}

// Called by all threads of a block.
__device__ __forceinline__ ImageView stage_image(const Side &s, StagedImage &shared)
{
    static_assert(sizeof(ImageNode) % sizeof(uint4) == 0);
    if (s.shape != Shape::image || s.nodes > staged_nodes)
        return s.image;
    if (threadIdx.x == 0)
        shared.side_length = 0;
    const auto *from = reinterpret_cast<const uint4 *>(s.image.nodes);
    for (int i = threadIdx.x; i < s.nodes * static_cast<int>(sizeof(ImageNode) / sizeof(uint4));
         i += blockDim.x)
        shared.nodes[i] = from[i];
    __syncthreads();
    const auto *const nodes = reinterpret_cast<const ImageNode *>(shared.nodes);
    if (static_cast<int>(threadIdx.x) < s.nodes)
        atomicMax(&shared.side_length,
                  static_cast<unsigned long long>(end_of_arrays(nodes[threadIdx.x])));
    __syncthreads();
    const unsigned long long length = shared.side_length;
    if (length > staged_numbers)
        return {nodes, s.image.side};
    for (unsigned i = threadIdx.x; i < length; i += blockDim.x)
        shared.side[i] = s.image.side[i];
    __syncthreads();
    return {nodes, shared.side};
}

// displacement() by an image that may have moved.
__device__ __forceinline__ int64_t place(const Side &s, const ImageView &image, int64_t x)
{
    if (s.shape != Shape::image)
        return displacement(s, x);
    const int64_t instance = s.by_bytes.divide(x);
    return instance * s.extent + locate(image, x - instance * s.bytes).displ;
}

} // namespace heddle::gpu::cuda
