// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/error_detail.hpp"

#include "heddle.h"

#include <cstdio>

namespace heddle::gpu {

namespace {

// Fixed: noting that memory ran out must not need memory.
thread_local char detail[256] = "";

} // namespace

void set_error_detail(const char *text) { std::snprintf(detail, sizeof detail, "%s", text); }

void clear_error_detail() { detail[0] = '\0'; }

} // namespace heddle::gpu

const char *heddle_error_detail(void) { return heddle::gpu::detail; }
