// SPDX-License-Identifier: BSD-3-Clause
// What the device's own library said about this thread's last error.
#pragma once

namespace heddle::gpu {

void set_error_detail(const char *text);
void clear_error_detail();

} // namespace heddle::gpu
