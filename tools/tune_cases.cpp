// SPDX-License-Identifier: BSD-3-Clause
#include "tune_cases.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace heddle::tools {
namespace {

constexpr int64_t Ki = 1 << 10, Mi = 1 << 20;
// Short blocks lie in sectors of the device's memory of their own, as in the columns of a matrix.
using gpu::model::near_stride_bytes;

void must(int status)
{
    if (status != HEDDLE_SUCCESS)
        throw std::runtime_error(std::string("a type: ") + heddle_strerror(status));
}

template <class Make> Type made(Make make)
{
    heddle_type *raw = nullptr;
    must(make(&raw));
    Type type(raw);
    must(heddle_type_commit(raw));
    return type;
}

heddle_type *of_bytes() { return heddle_type_predefined(HEDDLE_BYTE); }

Layout strided(int64_t bytes, int64_t block, int64_t stride)
{
    const int64_t count = std::max<int64_t>(bytes / block, 1);
    return {made([&](heddle_type **type) {
                return heddle_type_hvector(count, block, stride, of_bytes(), type);
            }),
            1, count * block, count * stride};
}

// Blocks in ascending order, one to three blocks' lengths apart.
Layout irregular(int64_t bytes, int64_t block)
{
    const int64_t count = std::max<int64_t>(bytes / block, 1);
    std::vector<int64_t> displs;
    int64_t at = 0;
    uint32_t random = 1;
    for (int64_t i = 0; i < count; ++i) {
        displs.push_back(at);
        random = random * 1664525 + 1013904223;
        at += block * (2 + (random >> 30) % 3);
    }
    return {made([&](heddle_type **type) {
                return heddle_type_hindexed_block(count, block, displs.data(), of_bytes(), type);
            }),
            1, count * block, at};
}

// A square of elements, column by column.
Layout transposed(int64_t bytes, int64_t element)
{
    int64_t side = 1;
    while ((side + 1) * (side + 1) * element <= bytes)
        ++side;
    const Type one =
        made([&](heddle_type **type) { return heddle_type_contiguous(element, of_bytes(), type); });
    const Type column = made([&](heddle_type **type) {
        return heddle_type_hvector(side, 1, side * element, one.get(), type);
    });
    return {made([&](heddle_type **type) {
                return heddle_type_hvector(side, 1, element, column.get(), type);
            }),
            1, side * side * element, side * side * element};
}

std::vector<int64_t> up_to(std::vector<int64_t> sizes, int64_t most)
{
    std::erase_if(sizes, [&](int64_t each) { return each > most; });
    if (sizes.empty())
        sizes.push_back(most);
    return sizes;
}

// Too far apart for records, or too long for them, over the host's link, too: there 5 bytes are a
// record up to 40 times as far apart (Tuning::pinned_unpack_most_bytes).
int64_t sparse_stride(int64_t block)
{
    constexpr int64_t least_spread = 5, over_link = 41, longest_record = 2048;
    return std::max(least_spread * block, std::min(over_link * block, longest_record + 1));
}

// Over the host's link they may be far apart, and those are slower: these lie between.
int64_t spread_of_records(Path path) { return path == Path::pack || path == Path::unpack ? 2 : 4; }

} // namespace

Layout layout_of(Pattern pattern, Path path, int64_t bytes, int64_t block, int64_t spread)
{
    switch (pattern) {
    case Pattern::strided:
    case Pattern::words:
        return strided(bytes, block,
                       spread ? spread * block : std::max(2 * block, near_stride_bytes));
    case Pattern::near:
        return strided(bytes, block, (spread ? spread : gpu::model::near_spread) * block);
    case Pattern::odd:
        return strided(bytes, block, spread ? spread * block : sparse_stride(block));
    case Pattern::records:
        return strided(bytes, block, (spread ? spread : spread_of_records(path)) * block + 1);
    case Pattern::runs:
        return irregular(bytes, block);
    case Pattern::transposed:
        return transposed(bytes, block);
    default:
        return {made([&](heddle_type **type) {
                    return heddle_type_contiguous(bytes, of_bytes(), type);
                }),
                1, bytes, bytes};
    }
}

std::vector<GridPlan> grid_plans(bool quick, int64_t most_bytes)
{
    using Numbers = std::vector<int64_t>;
    const auto sizes = [&](const Numbers &few, const Numbers &all) {
        return up_to(quick ? few : all, most_bytes);
    };
    const auto pick = [&](const Numbers &few, const Numbers &all) { return quick ? few : all; };
    const Numbers link = sizes({4 * Ki, 64 * Ki, 512 * Ki, 2 * Mi, 8 * Mi, 32 * Mi},
                               {4 * Ki, 16 * Ki, 64 * Ki, 256 * Ki, 512 * Ki, Mi, 2 * Mi, 4 * Mi,
                                8 * Mi, 16 * Mi, 32 * Mi, 64 * Mi});
    const Numbers within =
        sizes({4 * Ki, 64 * Ki, 512 * Ki, 2 * Mi, 32 * Mi},
              {Ki, 16 * Ki, 64 * Ki, 256 * Ki, 512 * Ki, Mi, 2 * Mi, 4 * Mi, 16 * Mi, 64 * Mi});
    const Numbers host = sizes({4 * Ki, 128 * Ki, 4 * Mi},
                               {4 * Ki, 32 * Ki, 128 * Ki, 512 * Ki, 2 * Mi, 8 * Mi, 16 * Mi});
    const Numbers strided =
        pick({8, 32, 128, 512, 2 * Ki, 32 * Ki},
             {8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, Ki, 2 * Ki, 8 * Ki, 64 * Ki});
    const Numbers near = pick({8, 32, 128}, {8, 16, 32, 64, 128, 168});
    const Numbers words = pick({4, 60, 412, 4004}, {4, 28, 60, 108, 204, 412, 1004, 4004, 20004});
    const Numbers odd = pick({9, 37, 301, 3001}, {5, 9, 21, 37, 75, 151, 301, 601, 3001, 20001});
    const Numbers records = pick({9, 37, 301}, {3, 5, 9, 21, 37, 75, 151, 301, 601, 1001});
    const Numbers runs =
        pick({8, 64, 512, 4 * Ki}, {8, 16, 32, 64, 128, 256, 512, Ki, 4 * Ki, 16 * Ki});
    const int64_t sparse_most = 16 * Mi; // it takes up to 41 times as much memory
    const Numbers elements = pick({8}, {4, 8, 16});
    std::vector<GridPlan> plans{
        {Pattern::dense, Path::pack, {"copy_engine", "kernel"}, within, {1}}};
    for (const Path path : {Path::to_host, Path::from_host}) {
        plans.push_back({Pattern::dense, path, {"copy_engine", "kernel", "staged"}, link, {1}});
        plans.push_back({Pattern::strided, path, {"blocks", "kernel", "staged"}, link, strided});
        plans.push_back({Pattern::words, path, {"blocks", "kernel", "staged"}, link, words});
        plans.push_back(
            {Pattern::odd, path, {"blocks", "kernel", "staged"}, up_to(link, sparse_most), odd});
        plans.push_back({Pattern::records, path, {"blocks", "kernel", "staged"}, link, records});
        plans.push_back({Pattern::runs, path, {"kernel", "staged"}, link, runs});
        plans.push_back({Pattern::transposed, path, {"kernel", "staged"}, link, elements});
    }
    for (const Path path : {Path::pack, Path::unpack}) {
        plans.push_back({Pattern::strided, path, {"kernel"}, within, strided});
        plans.push_back({Pattern::words, path, {"kernel"}, within, words});
        plans.push_back({Pattern::odd, path, {"kernel"}, up_to(within, sparse_most), odd});
        plans.push_back({Pattern::records, path, {"kernel"}, within, records});
        plans.push_back({Pattern::runs, path, {"kernel"}, within, runs});
        plans.push_back({Pattern::transposed, path, {"kernel"}, within, elements});
    }
    for (const Path path : {Path::from_host_layout, Path::to_host_layout}) {
        plans.push_back({Pattern::strided, path, {"blocks", "kernel", "bounced"}, host, strided});
        plans.push_back({Pattern::near, path, {"blocks", "kernel", "bounced"}, host, near});
        plans.push_back({Pattern::words, path, {"blocks", "kernel", "bounced"}, host, words});
        plans.push_back({Pattern::odd, path, {"blocks", "kernel", "bounced"}, host, odd});
        plans.push_back({Pattern::runs, path, {"kernel", "bounced"}, host, runs});
    }
    return plans;
}

std::vector<int64_t> together_sizes(int64_t most_bytes)
{
    return up_to({64 * Ki, 128 * Ki, 256 * Ki, 512 * Ki, Mi, 2 * Mi, 4 * Mi, 8 * Mi}, most_bytes);
}

} // namespace heddle::tools
