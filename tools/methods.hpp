// SPDX-License-Identifier: BSD-3-Clause
// What each method should take for a type, by the model's tables, and what it takes.
#pragma once

#include "facts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace heddle::tools {

struct MethodTime {
    std::string way;    // "pack", "unpack", "to pinned memory", "from pinned memory"
    std::string method; // a name of HEDDLE_METHOD
    bool chosen = false;
    std::optional<double> expected, measured; // seconds of a blocking call; median
};

// Packing and unpacking `facts.count` instances within the device, and to and from pinned memory.
// `measure`: each method is forced and timed, too. Empty, with the reason, where no device is open,
// or the data do not lie behind the buffer's address.
std::vector<MethodTime> method_times(const Type &type, const Facts &facts, bool measure,
                                     std::string &reason);

} // namespace heddle::tools
