// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace heddle::gpu::model {
namespace {

std::vector<double> logarithms(const std::vector<int64_t> &numbers)
{
    std::vector<double> all;
    all.reserve(numbers.size());
    for (const int64_t each : numbers)
        all.push_back(std::log2(static_cast<double>(each)));
    return all;
}

bool ascends(const std::vector<int64_t> &axis)
{
    return !axis.empty() && axis[0] > 0 &&
           std::adjacent_find(axis.begin(), axis.end(), std::greater_equal<>()) == axis.end();
}

// The bytes of all lines that a packed block touches, on average, in units of its own length. Such
// blocks begin at all multiples of the divisor that they have in common with a line.
double log_touched(int64_t block)
{
    constexpr int64_t line = 64;
    return std::log2(static_cast<double>(block + line - std::gcd(block, line)) /
                     static_cast<double>(block));
}

// Where a value lies on an axis: behind which entry, and how far on to the next one.
struct Position {
    size_t low, high;
    double part;
};

Position position(const std::vector<double> &axis, double value)
{
    const size_t last = axis.size() - 1;
    if (last == 0 || value >= axis.back())
        return {last, last, 0};
    if (value <= axis.front())
        return {0, 1, 0};
    const auto above =
        static_cast<size_t>(std::upper_bound(axis.begin(), axis.end(), value) - axis.begin());
    return {above - 1, above, (value - axis[above - 1]) / (axis[above] - axis[above - 1])};
}

double log_of(int64_t number)
{
    return std::log2(static_cast<double>(std::max<int64_t>(number, 1)));
}

} // namespace

bool Grid::is_sound(const std::vector<int64_t> &bytes, const std::vector<int64_t> &blocks,
                    const std::vector<double> &seconds)
{
    return ascends(bytes) && ascends(blocks) && seconds.size() == bytes.size() * blocks.size() &&
           std::all_of(seconds.begin(), seconds.end(),
                       [](double each) { return std::isfinite(each) && each > 0; });
}

Grid::Grid(const std::vector<int64_t> &bytes, const std::vector<int64_t> &blocks,
           const std::vector<double> &seconds)
    : log_bytes_(logarithms(bytes)), log_blocks_(logarithms(blocks))
{
    for (const int64_t each : blocks)
        log_touched_.push_back(log_touched(each));
    log_seconds_.reserve(seconds.size());
    for (const double each : seconds)
        log_seconds_.push_back(std::log2(each));
}

double Grid::at(int64_t bytes, int64_t block, Rows rows) const
{
    if (empty())
        return std::numeric_limits<double>::infinity();
    const double log_bytes = log_of(bytes);
    const bool in_lines = rows == Rows::in_lines;
    const double touched = in_lines ? log_touched(std::max<int64_t>(block, 1)) : 0;
    const auto of_column = [&](size_t c) {
        const double as_much = log_bytes + (in_lines ? touched - log_touched_[c] : 0);
        if (as_much < log_bytes_.front())
            return log_below(as_much, c);
        const Position row = position(log_bytes_, as_much);
        const double beyond = std::max(0.0, as_much - log_bytes_.back());
        return std::lerp(log_at(row.low, c), log_at(row.high, c), row.part) + beyond;
    };
    const Position column = position(log_blocks_, log_of(block));
    return std::exp2(std::lerp(of_column(column.low), of_column(column.high), column.part));
}

double Grid::log_below(double log_bytes, size_t column) const
{
    const double least = log_at(0, column);
    if (log_bytes_.size() == 1)
        return least;
    const double from = std::exp2(log_bytes_[0]), to = std::exp2(log_bytes_[1]);
    const double rate = (std::exp2(log_at(1, column)) - std::exp2(least)) / (to - from);
    const double seconds = std::exp2(least) - std::max(rate, 0.0) * (from - std::exp2(log_bytes));
    return std::max(std::log2(std::max(seconds, 0.0)), least - 1); // half of it, at least
}

void Grid::scale(double factor)
{
    const size_t columns = log_blocks_.size();
    for (size_t i = log_seconds_.size(); i-- > 0;) {
        const double least = std::exp2(log_seconds_[i % columns]);
        const double rest = std::max(0.0, std::exp2(log_seconds_[i]) - least);
        if (i >= columns) // the first row is what all others are measured by
            log_seconds_[i] = std::log2(least + factor * rest);
    }
}

} // namespace heddle::gpu::model
