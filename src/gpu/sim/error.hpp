// SPDX-License-Identifier: BSD-3-Clause
// Errors with their words for heddle_error_detail().
#pragma once

#include "engine/error.hpp"

#include <string>
#include <utility>

namespace heddle::gpu::sim {

struct [[nodiscard]] Fault {
    Error error;
    std::string text;

    explicit operator bool() const { return bool(error); }
};

inline Fault device_fault(std::string text) { return {HEDDLE_ERR_DEVICE, std::move(text)}; }

} // namespace heddle::gpu::sim
