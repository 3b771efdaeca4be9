// SPDX-License-Identifier: BSD-3-Clause
#include "counts.hpp"

#include <map>
#include <sstream>

namespace heddle::tools {
namespace {

// The line "kernels: strided 3 transpose 0" as {"strided": 3, "transpose": 0}.
std::map<std::string, long long> counts(std::string_view text, std::string_view line)
{
    std::map<std::string, long long> found;
    const size_t at = text.starts_with(line) ? 0 : text.find("\n" + std::string(line));
    if (at == std::string_view::npos)
        return found;
    const size_t begin = text.find(line, at) + line.size();
    std::istringstream words(std::string(text.substr(begin, text.find('\n', begin) - begin)));
    std::string name;
    for (long long count = 0; words >> name >> count;)
        found[name] = count;
    return found;
}

} // namespace

std::string done_between(std::string_view before, std::string_view after)
{
    std::string done;
    for (const char *kind : {"method", "kernel"}) {
        const std::string line = std::string(kind) + "s:";
        auto earlier = counts(before, line);
        for (const auto &[name, count] : counts(after, line))
            if (count > earlier[name])
                done += (done.empty() ? "" : ", ") + std::string(kind) + " " + name;
    }
    return done;
}

} // namespace heddle::tools
