// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/tables.hpp"

#include <cmath>
#include <limits>

namespace heddle::gpu::model {

namespace {

// Whether the copy engine reads packed rows over the host's link.
bool reads_rows(Method method, Path path)
{
    return method == Method::blocks && path == Path::from_host;
}

// Whether packed rows in host memory cost by the lines that they touch: all that the copy engine
// reads, and long data that it writes. 23 MB do not, 46 MB do (bench/choice, H100s and H200s).
bool goes_by_lines(Method method, const Question &question)
{
    constexpr int64_t least_written = 32 << 20;
    return reads_rows(method, question.path) ||
           (method == Method::blocks && question.path == Path::to_host &&
            question.bytes >= least_written);
}

// What a method is expected to take amid other transfers. It was measured alone, and some lose:
// rows that are read two parts in a hundred, and stages one, and the time between their two steps.
// That is 6 us or none, as the second comes to the device before or after the first has ended
// (docs/notes/measured.md).
double amid_others(Method method, const Question &question, double seconds)
{
    constexpr int64_t least_of_steps = 16 << 10;
    const double between = question.bytes < least_of_steps                  ? 0
                           : has_timed_steps(question.path, question.bytes) ? 0.5e-6
                                                                            : 3e-6;
    if (method == Method::staged)
        return 1.01 * seconds + between;
    return reads_rows(method, question.path) ? 1.02 * seconds : seconds;
}

// What stands for a pattern that has no table.
Pattern like(Pattern pattern)
{
    switch (pattern) {
    case Pattern::records:
    case Pattern::transposed:
        return Pattern::odd;
    case Pattern::odd:
        return Pattern::words;
    case Pattern::words:
    case Pattern::near:
    case Pattern::runs:
        return Pattern::strided;
    default:
        return Pattern::count;
    }
}

} // namespace

double Tables::expected(Method method, const Question &question) const
{
    for (Pattern p = question.pattern; p != Pattern::count; p = like(p))
        if (const Grid &found = grid(method, p, question.path); !found.empty())
            return found.at(question.bytes, question.block,
                            goes_by_lines(method, question) ? Rows::in_lines : Rows::in_bytes);
    return std::numeric_limits<double>::infinity();
}

Method Tables::best(const Question &question, Methods among) const
{
    Method best = Method::count;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned m = 0; m < static_cast<unsigned>(Method::count); ++m) {
        const auto method = static_cast<Method>(m);
        if (!(among & set_of(method)))
            continue;
        const double time = amid_others(method, question, expected(method, question));
        if (time < least) {
            least = time;
            best = method;
        }
    }
    return best;
}

} // namespace heddle::gpu::model
