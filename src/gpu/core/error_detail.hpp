// SPDX-License-Identifier: BSD-3-Clause
// What the device's own library said about this thread's last error.
#pragma once

#include "engine/guard.hpp"
#include "heddle.h"

#include <utility>

namespace heddle::gpu {

void set_error_detail(const char *text);
void clear_error_detail();

// What a call of the C API answers. What failed on the way to a success is not reported.
template <class F> int answer(F &&f)
{
    clear_error_detail();
    const int e = guard(std::forward<F>(f));
    if (!e)
        clear_error_detail();
    return e;
}

} // namespace heddle::gpu
