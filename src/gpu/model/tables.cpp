// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/tables.hpp"

#include <cmath>
#include <limits>

namespace heddle::gpu::model {

namespace {

constexpr double kernel_on_link = 1.02;

bool crosses_link(Path path) { return path != Path::pack && path != Path::unpack; }

// What stands for a pattern that has no table.
Pattern like(Pattern pattern)
{
    switch (pattern) {
    case Pattern::records:
    case Pattern::transposed:
        return Pattern::odd;
    case Pattern::odd:
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
            return found.at(question.bytes, question.block);
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
        const bool holds_gpu = method == Method::kernel && crosses_link(question.path);
        const double time = expected(method, question) * (holds_gpu ? kernel_on_link : 1);
        if (time < least) {
            least = time;
            best = method;
        }
    }
    return best;
}

} // namespace heddle::gpu::model
