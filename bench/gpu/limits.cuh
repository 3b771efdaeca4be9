// SPDX-License-Identifier: BSD-3-Clause
// Limit programs: all that the memory must do for a pack or an unpack, and nothing that waits for
// it. The user's memory is touched as the layout says, read for a pack and written for an unpack.
// As many contiguous bytes as are packed are written, or read. No store depends on a load: the
// value written is made from its place.
#pragma once

#include "move_words.cuh"

namespace bench {

__device__ inline unsigned bits(unsigned word) { return word; }
__device__ inline unsigned bits(unsigned long long word)
{
    return static_cast<unsigned>(word ^ (word >> 32));
}
__device__ inline unsigned bits(uint4 word) { return word.x ^ word.y ^ word.z ^ word.w; }

// Something to write at place i, that looks like data.
template <class Word> __device__ inline Word made_of(unsigned i)
{
    const unsigned a = i * 0x9e3779b9u;
    if constexpr (sizeof(Word) == sizeof(uint4))
        return {a, a * 5, a ^ 0x55555555u, ~a};
    else
        return static_cast<Word>(a * (sizeof(Word) > 4 ? 0x100000001ull : 1ull));
}

// Whether sectors are asked for before they are written in part: what they lack is then read early,
// not when they leave the cache. A prefetch by address takes the neighbour along that makes 64
// bytes with the sector.
enum class Fetch { none, sectors, pairs };

__device__ inline void fetch(const void *at, Fetch how)
{
#if __CUDA_ARCH__ >= 900
    if (how == Fetch::sectors) {
        const uintptr_t sector = reinterpret_cast<uintptr_t>(at) / 32 * 32;
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 32;" ::"l"(sector));
        return;
    }
#endif
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

// A touch of word i where `place` says.
template <class Word, class Place> struct TouchWords {
    Place place;
    __device__ unsigned read(const char *user, unsigned i) const
    {
        return bits(reinterpret_cast<const Word *>(user)[place(i)]);
    }
    __device__ void write(char *user, unsigned i) const
    {
        reinterpret_cast<Word *>(user)[place(i)] = made_of<Word>(i);
    }
};

// How a limit program is started.
struct Shape {
    Start start;
    bool apart = false; // every second thread block touches the user's memory, the others move what
                        // is packed
    // Not Fetch::none: Touch has `part(user, i)`, which is the sector that thread i fetches,
    // or null.
    Fetch fetch = Fetch::none;
};

struct Traffic {
    char *user;
    uint4 *packed;
    size_t packed_words; // of 16 bytes
    unsigned share;      // of them, each thread block's
    unsigned touches;
    bool apart;
    Fetch fetch;
};

// It begins while the one before it ends, as Heddle's kernels do, and ends behind it.
template <bool Pack, unsigned Each, class Touch>
__global__ void limit_program(Traffic all, Touch touch)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    const unsigned block = all.apart ? blockIdx.x / 2 : blockIdx.x, tile = blockDim.x * Each;
    unsigned mixed = 0;
    const auto each_touch = [&](auto &&act) {
#pragma unroll
        for (unsigned k = 0; k < Each; ++k)
            if (const unsigned i = block * tile + k * blockDim.x + threadIdx.x; i < all.touches)
                act(i);
    };
    const auto touch_all = [&] {
        if (!all.apart || blockIdx.x % 2 == 0)
            each_touch([&](unsigned i) {
                if constexpr (Pack)
                    mixed ^= touch.read(all.user, i);
                else
                    touch.write(all.user, i);
            });
    };
    const auto move_all = [&] {
        if (all.apart && blockIdx.x % 2 == 0)
            return;
        const size_t begin = size_t{block} * all.share;
#pragma unroll 4
        for (unsigned i = threadIdx.x; i < all.share; i += blockDim.x)
            if (begin + i < all.packed_words) {
                if constexpr (Pack)
                    all.packed[begin + i] = made_of<uint4>(static_cast<unsigned>(begin) + i);
                else
                    mixed ^= bits(all.packed[begin + i]);
            }
    };
    if constexpr (Pack) {
        touch_all();
        move_all();
    } else {
        if constexpr (requires { touch.part(all.user, 0); })
            if (all.fetch != Fetch::none)
                each_touch([&](unsigned i) {
                    if (const void *part = touch.part(all.user, i))
                        fetch(part, all.fetch);
                });
        move_all();
        touch_all();
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // What is read must reach memory, or might have to: once in four billion.
    if (mixed == 0x9e3779b9)
        all.packed->x = mixed;
}

// Whether the GPU can start a kernel while the one before it ends.
inline bool overlaps()
{
    static const bool can = [] {
        int device = 0, major = 0;
        BENCH_CUDA(cudaGetDevice(&device));
        BENCH_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
        return major >= 9;
    }();
    return can;
}

// `packed_bytes` is 0 where only the user's memory is touched.
template <bool Pack, unsigned Each, class Touch>
Mover limit_mover(int64_t touches, int64_t packed_bytes, Touch touch, Shape shape)
{
    const unsigned blocks = blocks_for(touches, shape.start.threads * Each);
    Traffic all{};
    all.packed_words = static_cast<size_t>(packed_bytes) / sizeof(uint4);
    all.share = static_cast<unsigned>((all.packed_words + blocks - 1) / blocks);
    all.touches = static_cast<unsigned>(touches);
    all.apart = shape.apart;
    all.fetch = shape.fetch;
    return [all, blocks, touch, start = shape.start](const Ends &ends, cudaStream_t stream) {
        Traffic now = all;
        now.user = ends.user;
        now.packed = reinterpret_cast<uint4 *>(ends.packed);
        const auto kernel = limit_program<Pack, Each, Touch>;
        if (start.shared > most_shared_unasked)
            BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(start.shared)));
        cudaLaunchAttribute overlap{};
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config{};
        config.gridDim = all.apart ? 2 * blocks : blocks;
        config.blockDim = start.threads;
        config.dynamicSmemBytes = start.shared;
        config.stream = stream;
        config.attrs = &overlap;
        config.numAttrs = overlaps() ? 1 : 0;
        BENCH_CUDA(cudaLaunchKernelEx(&config, kernel, now, touch));
    };
}

} // namespace bench
