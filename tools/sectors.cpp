// SPDX-License-Identifier: BSD-3-Clause
#include "sectors.hpp"

#include <heddle.h>

#include <algorithm>
#include <sys/uio.h>
#include <vector>

namespace heddle::tools {
namespace {

constexpr int64_t most_runs = int64_t{1} << 24;
constexpr int64_t runs_at_a_time = 4096;

struct Stretch {
    int64_t first, end; // sectors
    bool operator<(const Stretch &other) const { return first < other.first; }
};

} // namespace

std::optional<int64_t> touched_bytes(const Type &type, int64_t count)
{
    int64_t runs = 0;
    if (heddle_iov_len(count, type.get(), INT64_MAX, &runs, nullptr) != HEDDLE_SUCCESS ||
        runs > most_runs)
        return std::nullopt;
    std::vector<Stretch> stretches;
    stretches.reserve(static_cast<size_t>(runs));
    std::vector<iovec> some(runs_at_a_time);
    for (int64_t at = 0, n = 0; at < runs; at += n) {
        if (heddle_iov(nullptr, count, type.get(), at, some.data(), runs_at_a_time, &n) !=
                HEDDLE_SUCCESS ||
            n == 0)
            return std::nullopt;
        for (int64_t i = 0; i < n; ++i) {
            const iovec &run = some[static_cast<size_t>(i)];
            const auto displ =
                static_cast<int64_t>(reinterpret_cast<uintptr_t>(run.iov_base)); // may be negative
            const int64_t last = displ + static_cast<int64_t>(run.iov_len) - 1;
            stretches.push_back({displ >> 5, (last >> 5) + 1});
        }
    }
    static_assert(sector == 1 << 5);
    if (!std::is_sorted(stretches.begin(), stretches.end()))
        std::sort(stretches.begin(), stretches.end());
    int64_t sectors = 0, counted = INT64_MIN;
    for (const Stretch &each : stretches) {
        if (each.end <= counted)
            continue;
        sectors += each.end - std::max(each.first, counted);
        counted = each.end;
    }
    return sectors * sector;
}

} // namespace heddle::tools
