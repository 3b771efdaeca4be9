// SPDX-License-Identifier: BSD-3-Clause
// What heddle_scratch_alloc has given out.
#pragma once

namespace heddle::gpu {

// Whether a device's allocation is scratch memory that is freed when it comes back.
bool is_temporary(const void *base);

} // namespace heddle::gpu
