// SPDX-License-Identifier: BSD-3-Clause
// All that can be said of a committed type without moving anything.
#pragma once

#include "build.hpp"

#include <optional>
#include <string>

namespace heddle::tools {

struct Facts {
    heddle_type_info info{};
    std::string layout;             // heddle_type_describe
    int64_t count = 1;              // instances
    int64_t bytes = 0;              // of data in them
    int64_t begin = 0, end = 0;     // where they lie, from the buffer's address
    int64_t device_memory = 0;      // bytes of the type's description on a GPU
    std::optional<int64_t> touched; // bytes of the sectors that they touch; empty: not known
};

// Commits the type. The error has no place in the text.
std::variant<Facts, TextError> facts_of(const Type &type, int64_t count);

std::string_view name_of_plan(int plan);

} // namespace heddle::tools
