// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <algorithm>

namespace bench {

std::vector<Layout> layouts()
{
    std::vector<Layout> all;
    for (auto group :
         {block_layouts, grid_layouts, irregular_layouts, record_layouts, transpose_layouts})
        for (Layout &each : group())
            all.push_back(std::move(each));
    return all;
}

int64_t sectors_of(const Type &type, int64_t count)
{
    constexpr int64_t sector = 32, at_once = 1 << 16;
    std::vector<iovec> runs(at_once);
    int64_t bytes = 0, next = 0; // the first byte that no counted sector holds
    for (int64_t first = 0, found = at_once; found == at_once; first += found) {
        BENCH_HEDDLE(heddle_iov(nullptr, count, type.get(), first, runs.data(), at_once, &found));
        for (int64_t i = 0; i < found; ++i) {
            const auto begin = reinterpret_cast<int64_t>(runs[static_cast<size_t>(i)].iov_base);
            const auto end = begin + static_cast<int64_t>(runs[static_cast<size_t>(i)].iov_len);
            const int64_t from = std::max(begin / sector * sector, next);
            const int64_t to = (end + sector - 1) / sector * sector;
            bytes += std::max<int64_t>(to - from, 0);
            next = std::max(next, to);
        }
    }
    return bytes;
}

} // namespace bench
