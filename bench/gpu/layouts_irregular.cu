// SPDX-License-Identifier: BSD-3-Clause
// Blocks at irregular places: of irregular lengths (1 to 15 doubles), and of one length (32 bytes).
#include "move_words.cuh"

#include <algorithm>
#include <random>

namespace bench {
namespace {

struct Places {
    std::vector<int64_t> lengths, displacements; // doubles; bytes
    std::vector<int64_t> prefix{0};              // doubles packed before each
    int64_t span = 0;                            // bytes
};

// `count` blocks of `fixed` doubles, or of 1 to 15 where that is 0, 1 to 16 doubles apart.
Places places(int64_t count, int64_t fixed)
{
    Places made;
    std::mt19937 random(12345);
    int64_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t length = fixed ? fixed : 1 + static_cast<int64_t>(random() % 15);
        at += 1 + static_cast<int64_t>(random() % 16);
        made.lengths.push_back(length);
        made.displacements.push_back(at * 8);
        made.prefix.push_back(made.prefix.back() + length);
        at += length;
    }
    made.span = at * 8;
    return made;
}

// Half a warp a block.
template <bool Pack> __global__ void move_runs(double *__restrict user, double *__restrict packed,
                                               const int64_t *__restrict displs,
                                               const int64_t *__restrict prefix, int64_t blocks)
{
    const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const int64_t block = thread / 16, lane = thread % 16;
    if (block >= blocks)
        return;
    const int64_t begin = prefix[block];
    if (lane >= prefix[block + 1] - begin)
        return;
    if (Pack)
        __stcs(packed + begin + lane, __ldcs(user + displs[block] / 8 + lane));
    else
        __stcs(user + displs[block] / 8 + lane, __ldcs(packed + begin + lane));
}

Case hindexed(int64_t blocks)
{
    const Places at = places(blocks, 0);
    struct Lists {
        Device displs, prefix;
    };
    auto lists = std::make_shared<Lists>(Lists{on_device(at.displacements), on_device(at.prefix)});
    Case made;
    made.type = Type::hindexed(at.lengths, at.displacements, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = at.prefix.back() * 8;
    made.span = at.span;
    made.sectors = sectors_of(made.type, 1);
    made.kept = lists;
    made.hand = [lists = lists.get(), blocks](const Ends &ends, cudaStream_t stream) {
        constexpr unsigned threads = 256, per_block = threads / 16;
        const auto grid = static_cast<unsigned>((blocks + per_block - 1) / per_block);
        (ends.pack ? move_runs<true> : move_runs<false>)<<<grid, threads, 0, stream>>>(
            reinterpret_cast<double *>(ends.user), reinterpret_cast<double *>(ends.packed),
            reinterpret_cast<const int64_t *>(lists->displs.get()),
            reinterpret_cast<const int64_t *>(lists->prefix.get()), blocks);
        BENCH_CUDA(cudaGetLastError());
    };
    return made;
}

struct Listed {
    const int64_t *displs;
    __device__ size_t operator()(unsigned i) const { return static_cast<size_t>(displs[i / 4] / 8) + i % 4; }
};

Case hindexed_block(int64_t blocks)
{
    constexpr int64_t length = 4;
    const Places at = places(blocks, length);
    auto displs = std::make_shared<Device>(on_device(at.displacements));
    Case made;
    made.type = Type::hindexed_block(length, at.displacements, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = blocks * length * 8;
    made.span = at.span;
    made.sectors = sectors_of(made.type, 1);
    made.kept = displs;
    made.hand =
        words_mover<double>(blocks * length, Listed{reinterpret_cast<const int64_t *>(displs->get())});
    return made;
}

} // namespace

// The sizes are blocks.
std::vector<Layout> irregular_layouts()
{
    return {{.name = "hindexed-1-to-15",
             .strided = false,
             .sizes = {16, 100, 250, 10000, 100000, 1000000, 10000000},
             .make = hindexed},
            {.name = "hindexed-block-32",
             .strided = false,
             .sizes = {32, 512, 10000, 100000, 1000000, 4000000},
             .make = hindexed_block}};
}

} // namespace bench
