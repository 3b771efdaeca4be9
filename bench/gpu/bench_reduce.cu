// SPDX-License-Identifier: BSD-3-Clause
// Sums of packed doubles into a strided target.
#include "benchmarks.hpp"
#include "type.hpp"

#include <cstring>

namespace bench {
namespace {

constexpr unsigned threads = 256, each = 2;

// Numbers whose sums are exact, so that the order and the place of additions do not show.
__global__ void fill_numbers(double *at, size_t count, unsigned factor)
{
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += size_t{gridDim.x} * blockDim.x)
        at[i] = static_cast<double>((i * factor) % 1000003);
}

void fill(const Device &memory, unsigned factor)
{
    fill_numbers<<<2048, 256>>>(reinterpret_cast<double *>(memory.get()),
                                static_cast<size_t>(memory.bytes() / 8), factor);
    BENCH_CUDA(cudaGetLastError());
    BENCH_CUDA(cudaDeviceSynchronize());
}

// The hand-written kernel: pairs of doubles.
template <unsigned Block, unsigned Stride>
__global__ void add_blocks(double2 *__restrict target, const double2 *__restrict source,
                           unsigned words)
{
    constexpr unsigned per_block = Block / 16;
    const unsigned first = blockIdx.x * (threads * each) + threadIdx.x;
    double2 a[each], b[each];
    const auto place = [](unsigned i) {
        return size_t{i / per_block} * (Stride / 16) + i % per_block;
    };
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (const unsigned i = first + k * threads; i < words) {
            a[k] = __ldcs(target + place(i));
            b[k] = __ldcs(source + i);
        }
#pragma unroll
    for (unsigned k = 0; k < each; ++k)
        if (const unsigned i = first + k * threads; i < words)
            __stcs(target + place(i), double2{a[k].x + b[k].x, a[k].y + b[k].y});
}

template <unsigned Block, unsigned Stride>
void by_hand(char *target, const char *source, int64_t bytes, cudaStream_t on)
{
    const auto words = static_cast<unsigned>(bytes / 16);
    add_blocks<Block, Stride><<<(words + threads * each - 1) / (threads * each), threads, 0, on>>>(
        reinterpret_cast<double2 *>(target), reinterpret_cast<const double2 *>(source), words);
    BENCH_CUDA(cudaGetLastError());
}

using Hand = void (*)(char *, const char *, int64_t, cudaStream_t);

struct Shape {
    int64_t block, stride;
    Hand hand;
};

void measure(benchmark::State &state, const Shape &shape, int64_t bytes, bool hand)
{
    const int64_t count = bytes / shape.block;
    const Type type =
        Type::hvector(count, shape.block / 8, shape.stride, Type::predefined(HEDDLE_DOUBLE));
    const Device target(count * shape.stride), source(bytes);
    const heddle_move move{{source.get(), bytes / 8, heddle_type_predefined(HEDDLE_DOUBLE), 0},
                           {target.get(), 1, type.get(), 0},
                           bytes,
                           HEDDLE_OP_SUM};
    std::vector<Enqueue> queued{
        [&](int, cudaStream_t on) { BENCH_HEDDLE(heddle_transfer_on_stream(&move, 1, on)); }};
    if (hand)
        queued.emplace(queued.begin(), [&](int, cudaStream_t on) {
            shape.hand(target.get(), source.get(), bytes, on);
        });
    fill(target, 7);
    fill(source, 13);
    std::vector<double> wanted = on_host<double>(target);
    const std::vector<double> added = on_host<double>(source);
    BENCH_HEDDLE(heddle_accumulate(added.data(), bytes / 8, nullptr, wanted.data(), 1, type.get(),
                                   HEDDLE_OP_SUM));
    const Stream stream;
    queued.front()(0, stream);
    stream.wait();
    const std::vector<double> found = on_host<double>(target);
    if (std::memcmp(found.data(), wanted.data(), found.size() * 8) != 0)
        throw std::runtime_error("wrong data");
    state.counters["bytes"] = static_cast<double>(bytes);
    state.counters["sectors"] = static_cast<double>(bytes); // of the target, all of it data
    report_gpu(state, queued);
    if (!hand)
        report_wall(state, {[&](int) { BENCH_HEDDLE(heddle_transfer(&move, 1)); }});
}

} // namespace

void register_reductions()
{
    static const Shape shapes[] = {{128, 512, by_hand<128, 512>},
                                   {4096, 8192, by_hand<4096, 8192>}};
    for (const Shape &shape : shapes)
        for (const int64_t bytes : {int64_t{1} << 20, int64_t{64} << 20, int64_t{256} << 20})
            for (const bool hand : {false, true})
                add("sum-" + std::to_string(shape.block) + "-stride-" +
                        std::to_string(shape.stride) + "/" + std::to_string(bytes) +
                        "/reduce/device/" + (hand ? "hand" : "heddle"),
                    [&shape, bytes, hand](benchmark::State &state) {
                        measure(state, shape, bytes, hand);
                    });
}

} // namespace bench
