// SPDX-License-Identifier: BSD-3-Clause
// A table of measured times over bytes and block length, and what lies between its entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::gpu::model {

// What makes rows of different lengths comparable: their bytes, or, where packed rows are read over
// the host's link, the lines of 64 bytes that they touch. The copy engine takes 1.3 to 1.5 ns for
// each of those, whatever a row's length (docs/notes/measured.md).
enum class Rows { in_bytes, in_lines };

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
    // 002 and 004 interpolate linearly; times span four decades). Below the least amount it is a
    // start and so much a byte, as between the first two. Above the largest amount time grows as
    // the amount does. Beyond the edges of blocks it is the edge's. Two lengths of blocks are
    // compared where `rows` of them are as much.
    double at(int64_t bytes, int64_t block, Rows rows = Rows::in_bytes) const;

    // Each time divided into a constant part, that of the least amount, and the rest. Multiplies
    // the rest (for tables of a GPU that was not measured).
    void scale(double factor);

private:
    double log_at(size_t row, size_t column) const
    {
        return log_seconds_[row * log_blocks_.size() + column];
    }

    double log_below(double log_bytes, size_t column) const; // below the least amount

    // All to the base of 2. log_touched_: what a block touches, in units of its own length.
    std::vector<double> log_bytes_, log_blocks_, log_touched_, log_seconds_;
};

} // namespace heddle::gpu::model
