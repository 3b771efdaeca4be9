// SPDX-License-Identifier: BSD-3-Clause
#include "methods.hpp"

#include "tune_measure.hpp"

#include <stdexcept>

namespace heddle::tools {
namespace {

constexpr struct {
    Path path;
    const char *words;
} ways[] = {{Path::pack, "pack"},
            {Path::unpack, "unpack"},
            {Path::to_host, "to pinned memory"},
            {Path::from_host, "from pinned memory"}};

Layout layout_of(const Type &type, const Facts &facts)
{
    heddle_type_retain(type.get());
    return {Type(type.get()), facts.count, facts.bytes, facts.end};
}

} // namespace

std::vector<MethodTime> method_times(const Type &type, const Facts &facts, bool measure,
                                     std::string &reason)
{
    std::vector<MethodTime> times;
    if (facts.bytes == 0 || facts.begin < 0) {
        reason = facts.bytes == 0 ? "there is no data to move"
                                  : "its data begin in front of the buffer's address";
        return times;
    }
    try {
        Bench bench;
        const Layout layout = layout_of(type, facts);
        for (const auto &way : ways) {
            const std::string chosen = bench.chosen(layout, way.path);
            for (const char *const method : modelled_methods) {
                MethodTime time{way.words,
                                method,
                                method == chosen,
                                bench.expected(layout, way.path, method),
                                {}};
                if (measure)
                    if (const auto found = bench.time(layout, way.path, method, TrialOptions()))
                        time.measured = found->median;
                if (time.chosen || time.expected || time.measured)
                    times.push_back(time);
            }
        }
    } catch (const std::runtime_error &error) {
        reason = error.what();
        times.clear();
    }
    return times;
}

} // namespace heddle::tools
