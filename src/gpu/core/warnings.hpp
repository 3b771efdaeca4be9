// SPDX-License-Identifier: BSD-3-Clause
// Warnings: what a user should know of his settings and his devices, and no error says.
#pragma once

#include <string>

namespace heddle::gpu {

// `text` is one line, without its end. It goes where heddle_on_warning says.
void warn(const std::string &text);

} // namespace heddle::gpu
