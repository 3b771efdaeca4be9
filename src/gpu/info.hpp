// SPDX-License-Identifier: BSD-3-Clause
// What heddle_info tells of parts that stand on this one.
#pragma once

#include <string>

namespace heddle::gpu {

// `text` is asked for lines of text, each time that somebody wants to know.
void add_info(std::string (*text)());

} // namespace heddle::gpu
