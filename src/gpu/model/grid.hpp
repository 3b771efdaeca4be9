// SPDX-License-Identifier: BSD-3-Clause
// A table of measured times over bytes and block length, and what lies between its entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::gpu::model {

class Grid {
public:
    Grid() = default;
    // Both axes ascend, and are positive. `seconds` has a row for each of `bytes`, with a column
    // for each of `blocks`; all are positive and finite. Check with is_sound() what a file says.
    Grid(const std::vector<int64_t> &bytes, const std::vector<int64_t> &blocks,
         const std::vector<double> &seconds);

    static bool is_sound(const std::vector<int64_t> &bytes, const std::vector<int64_t> &blocks,
                         const std::vector<double> &seconds);

    bool empty() const { return log_seconds_.empty(); }
    // Seconds for so much in such blocks. Between entries it is bilinear in the logarithms (papers
    // 002 and 004 interpolate linearly; times span four decades). Above the largest amount time
    // grows as the amount does; beyond the table's other edges it is the edge's.
    double at(int64_t bytes, int64_t block) const;

    // Each time divided into a constant part, that of the least amount, and the rest. Multiplies
    // the rest (for tables of a GPU that was not measured).
    void scale(double factor);

private:
    double log_at(size_t row, size_t column) const
    {
        return log_seconds_[row * log_blocks_.size() + column];
    }

    std::vector<double> log_bytes_, log_blocks_, log_seconds_; // to the base of 2
};

} // namespace heddle::gpu::model
