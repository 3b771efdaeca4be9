// SPDX-License-Identifier: BSD-3-Clause
// The names of predefined types in the text form: MPI's for C, Fortran's widths and heddle.h's own.
// Letters may have any case, and MPI_ before them may be missing.
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
