// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a message in the host's memory, which a device reaches well.
#pragma once

#include <heddle.h>

#include <memory>

namespace heddle::pipeline {

using Bytes = std::unique_ptr<void, decltype(&heddle_staging_free)>;
inline Bytes no_bytes() { return {nullptr, heddle_staging_free}; }

// Null where there is no memory. `near`: as heddle_staging_alloc.
inline Bytes new_bytes(int64_t bytes, const void *near)
{
    void *at = nullptr;
    if (heddle_staging_alloc(bytes, near, &at) != HEDDLE_SUCCESS)
        at = nullptr;
    return {at, heddle_staging_free};
}

// A message that came before it was asked for; or is not to be kept when it comes.
struct Pushed {
    Bytes at = no_bytes();
    int64_t bytes = 0;
    bool whole = false; // all of them are there, or will not come
    int error = HEDDLE_SUCCESS;
    bool unwanted = false;
};

} // namespace heddle::pipeline
