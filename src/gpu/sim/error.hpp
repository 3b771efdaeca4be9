// SPDX-License-Identifier: BSD-3-Clause
// Errors as values: a code of heddle.h and the words for heddle_error_detail().
#pragma once

#include "heddle.h"

#include <string>
#include <utility>

namespace heddle::gpu::sim {

struct [[nodiscard]] Error {
    int code = HEDDLE_SUCCESS;
    std::string text;

    explicit operator bool() const { return code != HEDDLE_SUCCESS; }
};

inline Error device_error(std::string text) { return {HEDDLE_ERR_DEVICE, std::move(text)}; }

} // namespace heddle::gpu::sim
