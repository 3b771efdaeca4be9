// SPDX-License-Identifier: BSD-3-Clause
// An error inside the library: a value of its own type, so that nobody takes it for a count,
// returns it for a truth value, or forgets it. Only the C API deals in integers (`of`, `code`).
#pragma once

#include "heddle.h"

namespace heddle {

class [[nodiscard]] Error {
public:
    constexpr Error() = default; // none
    constexpr Error(heddle_error code) : code_(code) {}

    // Whether there is one.
    constexpr explicit operator bool() const { return code_ != HEDDLE_SUCCESS; }
    constexpr bool operator==(const Error &) const = default;

    // Of an integer of the C API, or of the wire; PEER where that is no code.
    static constexpr Error of(int code)
    {
        return code >= HEDDLE_SUCCESS && code <= HEDDLE_ERR_LOST ? static_cast<heddle_error>(code)
                                                                 : HEDDLE_ERR_PEER;
    }
    // For the C API.
    constexpr int code() const { return code_; }

private:
    heddle_error code_ = HEDDLE_SUCCESS;
};

} // namespace heddle
