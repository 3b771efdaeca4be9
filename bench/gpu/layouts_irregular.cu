// SPDX-License-Identifier: BSD-3-Clause
// Blocks at irregular places: of irregular lengths (1 to 15 doubles), and of one length (32 bytes).
#include "limits.cuh"

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

// A bit for each double of the user's memory, set where it is one of a run: the runs, told in the
// fewest bytes.
std::vector<unsigned> marks_of(const Places &at)
{
    std::vector<unsigned> marks(static_cast<size_t>(at.span / 8 / 32 + 1));
    for (size_t i = 0; i < at.lengths.size(); ++i)
        for (int64_t k = 0; k < at.lengths[i]; ++k) {
            const auto bit = static_cast<size_t>(at.displacements[i] / 8 + k);
            marks[bit / 32] |= 1u << (bit % 32);
        }
    return marks;
}

// Touches two doubles in the user's order: each sector once. A pack reads whole what it touches;
// sectors that an unpack writes in part are fetched.
struct TouchPairs {
    const unsigned *marks;
    using Word = unsigned long long;
    // Those of the pair, or of its sector.
    __device__ unsigned marks_of(unsigned pair, unsigned doubles) const
    {
        const unsigned bit = 2 * pair / doubles * doubles;
        return __ldg(marks + bit / 32) >> bit % 32 & ((1u << doubles) - 1);
    }
    __device__ unsigned read(const char *user, unsigned i) const
    {
        return marks_of(i, 4) ? bits(reinterpret_cast<const uint4 *>(user)[i]) : 0;
    }
    __device__ void write(char *user, unsigned i) const
    {
        const unsigned both = marks_of(i, 2);
        auto *at = reinterpret_cast<uint4 *>(user) + i;
        if (both == 3)
            *at = made_of<uint4>(i);
        else if (both)
            reinterpret_cast<Word *>(at)[both - 1] = made_of<Word>(i);
    }
    __device__ const void *part(const char *user, unsigned i) const
    {
        const unsigned sector = marks_of(i, 4);
        return i % 2 == 0 && sector != 0 && sector != 15 ? reinterpret_cast<const uint4 *>(user) + i
                                                         : nullptr;
    }
};

void add_limits(Case &made, TouchPairs touch)
{
    const int64_t pairs = made.span / 16;
    const auto pack = [&]<unsigned Each>(std::integral_constant<unsigned, Each>, Start start) {
        made.limit.pack.push_back(limit_mover<true, Each>(pairs, made.bytes, touch, {start}));
    };
    const auto unpack = [&]<unsigned Each>(std::integral_constant<unsigned, Each>, Start start) {
        for (const Fetch fetch : {Fetch::none, Fetch::sectors})
            made.limit.unpack.push_back(
                limit_mover<false, Each>(pairs, made.bytes, touch, {start, false, fetch}));
    };
    for (const Start start : {Start{128}, Start{256}}) {
        pack(std::integral_constant<unsigned, 4>(), start);
        pack(std::integral_constant<unsigned, 8>(), start);
        unpack(std::integral_constant<unsigned, 1>(), start);
        unpack(std::integral_constant<unsigned, 2>(), start);
        unpack(std::integral_constant<unsigned, 4>(), start);
    }
}

Case hindexed(int64_t blocks)
{
    const Places at = places(blocks, 0);
    struct Lists {
        Device displs, prefix, marks;
    };
    auto lists = std::make_shared<Lists>(
        Lists{on_device(at.displacements), on_device(at.prefix), on_device(marks_of(at))});
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
    add_limits(made, {reinterpret_cast<const unsigned *>(lists->marks.get())});
    return made;
}

struct Listed {
    const int64_t *displs;
    __device__ size_t operator()(unsigned i) const
    {
        return static_cast<size_t>(displs[i / 4] / 8) + i % 4;
    }
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
    made.hand = words_mover<double>(blocks * length,
                                    Listed{reinterpret_cast<const int64_t *>(displs->get())});
    return made;
}

} // namespace

// The sizes are blocks.
std::vector<Layout> irregular_layouts()
{
    return {{.name = "hindexed-1-to-15",
             .strided = false,
             .sizes = {16, 100, 250, 10000, 100000, 1000000, 10000000},
             .make = hindexed,
             .limits = true},
            {.name = "hindexed-block-32",
             .strided = false,
             .sizes = {32, 512, 10000, 100000, 1000000, 4000000},
             .make = hindexed_block}};
}

} // namespace bench
