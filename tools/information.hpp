// SPDX-License-Identifier: BSD-3-Clause
// What the library says of itself, as a string.
#pragma once

#include "heddle.h"

#include <string>

namespace heddle::tools {

// Empty where memory runs out.
inline std::string information()
{
    size_t length = 0;
    if (heddle_info(nullptr, 0, &length) != HEDDLE_SUCCESS)
        return {};
    std::string text(length + 1, '\0');
    if (heddle_info(text.data(), text.size(), &length) != HEDDLE_SUCCESS)
        return {};
    text.resize(length);
    return text;
}

} // namespace heddle::tools
