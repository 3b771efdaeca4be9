// SPDX-License-Identifier: BSD-3-Clause
// The library's settings, and their table as README.gpu has it (maint/settings-table).
#pragma once

#include "heddle.h"

#include <iosfwd>
#include <string_view>
#include <vector>

namespace heddle::tools {

inline std::vector<heddle_setting> all_settings()
{
    std::vector<heddle_setting> all;
    heddle_setting each{};
    for (int64_t i = 0; heddle_setting_read(i, &each) == HEDDLE_SUCCESS; ++i)
        all.push_back(each);
    return all;
}

// The default: a value, or "(half of HEDDLE_SLAB_LIMIT)" without its parentheses.
inline std::string_view default_of(const heddle_setting &setting)
{
    const std::string_view fallback = setting.fallback;
    return fallback.starts_with('(') ? fallback.substr(1, fallback.size() - 2) : fallback;
}

// In Markdown, a row for each setting.
void print_settings(std::ostream &out);

} // namespace heddle::tools
