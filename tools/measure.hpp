// SPDX-License-Identifier: BSD-3-Clause
// How long a GPU takes for a type, beside a plain copy of as many bytes and the memory's limit for
// the layout. The limit is a plain copy that moves as many bytes as its sectors and the packed
// bytes have.
#pragma once

#include "facts.hpp"

#include <optional>

namespace heddle::tools {

struct Timing {
    double gpu = 0;  // seconds on the GPU, by events; median
    double wall = 0; // seconds of the blocking call; median. Copies have none.
    std::string by;  // what the blocking call did it by
};

struct Measured {
    std::string device;
    Timing pack, unpack, copy, limit;
};

// Empty, with the reason in a sentence, where nothing could be measured.
std::optional<Measured> measure(const Type &type, const Facts &facts, std::string &reason);

} // namespace heddle::tools
