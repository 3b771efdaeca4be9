// SPDX-License-Identifier: BSD-3-Clause
// The table of settings: their names, values and defaults, what they do and when to change them.
// Settings are parsed by it, warnings and heddle-explain quote it, and maint/settings-table writes
// README.gpu's table from it. A new setting is a line here, and a member of Settings.
#pragma once

#include <cstdint>
#include <span>

namespace heddle::gpu {

enum class SettingKind : uint8_t {
    text,
    choice,    // one of the words of `values`
    list,      // any of them, with commas in between
    number,    // a number, K, M or G behind it or not
    of_another // read by another part, as MPICH's control variables: only documented here
};

struct Setting {
    const char *name;
    SettingKind kind;
    const char *values;
    const char *fallback; // the default; where it is no value, a description of it in parentheses
    const char *meaning;
    const char *advice; // when to change it
};

std::span<const Setting> all_settings();

// The setting must exist.
const Setting &setting_named(const char *name);

} // namespace heddle::gpu
