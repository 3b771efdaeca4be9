// SPDX-License-Identifier: BSD-3-Clause
// What predefined types are called in the text form: by MPI's names for C, by Fortran's widths and
// by heddle.h's own, in letters of any case, with or without MPI_ before them.
#pragma once

#include <heddle.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::tools {

std::optional<heddle_predefined> predefined_named(std::string_view name);

// The first of its names; HEDDLE_MIXED: "mixed".
std::string_view name_of(heddle_predefined which);

std::vector<std::string_view> predefined_names();

std::string lower(std::string_view text);

// The candidate that `name` was most likely meant to be; empty where none comes near.
std::string_view nearest(std::string_view name, const std::vector<std::string_view> &candidates);

} // namespace heddle::tools
