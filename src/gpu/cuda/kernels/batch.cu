// SPDX-License-Identifier: BSD-3-Clause
// Several Works in one kernel, described in its parameters. A thread block finds its Work by the
// numbers of blocks before each.
#include "gpu/cuda/kernels/access.cuh"

#include <algorithm>

namespace heddle::gpu::cuda {
namespace {

constexpr int64_t parameter_bytes = 4096; // of any kernel; more from CUDA 12.1 on, at some cost

// ---- one side dense, the other strided in few dimensions and with 32-bit numbers ----

// StridedAccess for up to three dimensions, and no more of it than must be sent with each launch.
struct Item {
    static constexpr int words_to_pack = 4, words_to_unpack = 2; // of one thread; 26 faces of
                                                                 // 256^3: a write more is 1 us more

    char *dense;
    char *other;
    int64_t stride[3];
    uint32_t first; // word of the other side
    uint32_t words;
    Divider32 block;    // words
    Divider32 count[2]; // of all dimensions but the outermost
    uint8_t width;
    bool pack;

    template <int width> __device__ char *at(uint32_t w) const
    {
        const uint32_t x = first + w;
        const uint32_t i = block.divide(x);
        const uint32_t j = count[0].divide(i);
        const uint32_t k = count[1].divide(j);
        return other + static_cast<int64_t>(x - i * block.value) * width +
               static_cast<int64_t>(i - j * count[0].value) * stride[0] +
               static_cast<int64_t>(j - k * count[1].value) * stride[1] +
               static_cast<int64_t>(k) * stride[2];
    }
};

// ---- one side dense, the other located in an image ----

struct ImageItem {
    // Searches of one thread do not overlap.
    static constexpr int words_to_pack = 1, words_to_unpack = 1;

    char *dense;
    char *other;
    ImageView image;
    Divisor by_instances;
    int64_t instance; // packed bytes
    int64_t extent;
    int64_t first; // packed byte of the other side
    uint32_t words;
    uint8_t width;
    bool pack;

    template <int width> __device__ char *at(uint32_t w) const
    {
        const int64_t x = first + static_cast<int64_t>(w) * width;
        const int64_t i = by_instances.divide(x);
        return other + i * extent + locate(image, x - i * instance).displ;
    }
};

// ---- both ----

template <class Item, int items> struct Items {
    Items() {} // leaves as it is what is not used

    int count;
    uint32_t first_block[items]; // of each
    Item item[items];
};

constexpr int neighbours = 26; // of an exchange in three dimensions: each byte sent costs the
                               // caller time
template <class Item>
constexpr int few_items = (parameter_bytes - 64) / (sizeof(Item) + sizeof(uint32_t));
template <class Item>
constexpr int many_items = (8 * parameter_bytes - 1024) / (sizeof(Item) + sizeof(uint32_t));

template <class Starts>
__device__ __forceinline__ int find_item(const Starts &first_block, int count)
{
    int low = 0;
    int high = count;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (first_block[middle] <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

template <int width, bool pack, class Item>
__device__ __forceinline__ void copy_words(const Item &item, uint32_t block)
{
    constexpr int each = pack ? Item::words_to_pack : Item::words_to_unpack;
    const uint32_t w = block * (block_threads * each) + threadIdx.x;
    Word<width> word[each];
    char *to[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const uint32_t at = w + i * block_threads;
        if (at >= item.words)
            continue;
        char *const dense = item.dense + static_cast<int64_t>(at) * width;
        char *const other = item.template at<width>(at);
        to[i] = pack ? dense : other;
        word[i] = *reinterpret_cast<const Word<width> *>(pack ? other : dense);
    }
#pragma unroll
    for (int i = 0; i < each; ++i)
        if (w + i * block_threads < item.words)
            *reinterpret_cast<Word<width> *>(to[i]) = word[i];
}

template <int width, class Item>
__device__ __forceinline__ void copy_item(const Item &item, uint32_t block)
{
    if (item.pack)
        copy_words<width, true>(item, block);
    else
        copy_words<width, false>(item, block);
}

template <class Item, int items> __global__ void __launch_bounds__(block_threads)
    copy_items(const __grid_constant__ Items<Item, items> batch, Signal signal)
{
    const int k = find_item(batch.first_block, batch.count);
    const Item item = batch.item[k]; // read once: the parameters are slow to reach by a number
    const uint32_t block = blockIdx.x - batch.first_block[k];
    follow();
    switch (item.width) {
    case 16:
        copy_item<16>(item, block);
        break;
    case 8:
        copy_item<8>(item, block);
        break;
    case 4:
        copy_item<4>(item, block);
        break;
    case 2:
        copy_item<2>(item, block);
        break;
    default:
        copy_item<1>(item, block);
    }
    reach(signal);
}

// These describe a Work that fits (geometry.hpp).

// Both sides dense are one block of one repetition.
void set_item(Item &item, const Work &w)
{
    const Halves h = halves(w);
    const Side &s = *h.other;
    const int width = word_width(w);
    const int log = std::countr_zero(static_cast<unsigned>(width));
    const Origin o = origin(s);
    // Dimensions that are not there: all of theirs is one repetition.
    const int dims = s.shape == Shape::strided ? s.dims : 0;
    item.dense = h.dense->base + h.dense->first;
    item.other = o.base;
    item.first = static_cast<uint32_t>(o.first >> log);
    item.words = static_cast<uint32_t>(w.bytes >> log);
    item.width = static_cast<uint8_t>(width);
    item.pack = h.pack;
    item.block = Divider32::of(dims > 0 ? s.block >> log : item.words);
    for (int d = 0; d < 3; ++d) {
        item.stride[d] = d < dims ? s.dim[d].stride : 0;
        if (d < 2)
            item.count[d] = Divider32::of(d < dims - 1 ? s.dim[d].count : int64_t{1} << 31);
    }
}

void set_item(ImageItem &item, const Work &w)
{
    const Halves h = halves(w);
    const int width = word_width(w);
    const Side &s = *h.other;
    const Origin o = origin(s);
    item = {h.dense->base + h.dense->first,
            o.base,
            s.image,
            s.by_bytes,
            s.bytes,
            s.extent,
            o.first,
            static_cast<uint32_t>(w.bytes / width),
            static_cast<uint8_t>(width),
            h.pack};
}

template <class Item, int items>
cudaError_t run_items(Launcher &launcher, std::span<const Work *const> works)
{
    Items<Item, items> batch;
    int64_t blocks = 0;
    batch.count = 0;
    for (const Work *w : works) {
        Item &item = batch.item[batch.count];
        set_item(item, *w);
        batch.first_block[batch.count++] = static_cast<uint32_t>(blocks);
        blocks += divide_up(
            item.words, block_threads * (item.pack ? Item::words_to_pack : Item::words_to_unpack));
    }
    return launcher.start(copy_items<Item, items>, blocks, block_threads, 0, batch);
}

template <class Item> cudaError_t run_items(Launcher &launcher, std::span<const Work *const> works)
{
    return works.size() <= neighbours        ? run_items<Item, neighbours>(launcher, works)
           : works.size() <= few_items<Item> ? run_items<Item, few_items<Item>>(launcher, works)
                                             : run_items<Item, many_items<Item>>(launcher, works);
}

// ---- any ----

template <int works> struct Works {
    int count;
    uint32_t first_block[works + 1];
    Work work[works];
};

constexpr int few_works = (parameter_bytes - 64) / (sizeof(Work) + sizeof(uint32_t));
constexpr int many_works = (8 * parameter_bytes - 1024) / (sizeof(Work) + sizeof(uint32_t));

template <int width>
__device__ __forceinline__ void copy_work(const Work &work, uint32_t block, uint32_t blocks)
{
    const int64_t step = static_cast<int64_t>(blocks) * block_threads * width;
    for (int64_t i = (static_cast<int64_t>(block) * block_threads + threadIdx.x) * width;
         i < work.bytes; i += step) {
        const char *source = work.from.base + displacement(work.from, work.from.first + i);
        char *target = work.to.base + displacement(work.to, work.to.first + i);
        store_word<width>(target, load_word<width>(source));
    }
}

template <int works> __global__ void __launch_bounds__(block_threads)
    copy_works(const __grid_constant__ Works<works> batch, Signal signal)
{
    const int k = find_item(batch.first_block, batch.count);
    const Work &work = batch.work[k];
    const uint32_t block = blockIdx.x - batch.first_block[k];
    const uint32_t blocks = batch.first_block[k + 1] - batch.first_block[k];
    int width = min(work.from.word, work.to.word);
    while (width > 1 && work.bytes % width != 0)
        width /= 2;
    follow();
    switch (width) {
    case 16:
        copy_work<16>(work, block, blocks);
        break;
    case 8:
        copy_work<8>(work, block, blocks);
        break;
    case 4:
        copy_work<4>(work, block, blocks);
        break;
    case 2:
        copy_work<2>(work, block, blocks);
        break;
    default:
        copy_work<1>(work, block, blocks);
    }
    reach(signal);
}

template <int room> cudaError_t run_works(Launcher &launcher, std::span<const Work *const> works)
{
    Works<room> batch;
    int64_t blocks = 0;
    batch.count = static_cast<int>(std::min<size_t>(works.size(), room));
    for (int i = 0; i < batch.count; ++i) {
        const Work &w = *works[static_cast<size_t>(i)];
        batch.work[i] = w;
        batch.first_block[i] = static_cast<uint32_t>(blocks);
        blocks += std::min<int64_t>(divide_up(w.bytes, int64_t{block_threads} * word_width(w)),
                                    int64_t{launcher.processors()} * 8);
    }
    batch.first_block[batch.count] = static_cast<uint32_t>(blocks);
    return launcher.start(copy_works<room>, blocks, block_threads, 0, batch);
}

} // namespace

size_t batch_room(Kernel batch)
{
    return batch == Kernel::batch          ? many_items<Item>
           : batch == Kernel::batch_images ? many_items<ImageItem>
                                           : many_works;
}

cudaError_t run_batch(Launcher &launcher, Kernel batch, std::span<const Work *const> works)
{
    if (batch == Kernel::batch)
        return run_items<Item>(launcher, works);
    if (batch == Kernel::batch_images)
        return run_items<ImageItem>(launcher, works);
    return works.size() <= few_works ? run_works<few_works>(launcher, works)
                                     : run_works<many_works>(launcher, works);
}

} // namespace heddle::gpu::cuda
