// SPDX-License-Identifier: BSD-3-Clause
// The one thing that the public API does not tell: by which kernel a device would pack a type.
#pragma once

#include <heddle.h>

#include <string>

namespace heddle::tools {

// Its name; empty where nobody can say.
std::string kernel_name_for(const heddle_type *type, int64_t count);

} // namespace heddle::tools
