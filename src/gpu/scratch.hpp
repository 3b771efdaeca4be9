// SPDX-License-Identifier: BSD-3-Clause
// What heddle_scratch_alloc has on loan.
#pragma once

namespace heddle::gpu {

// Whether a device's allocation is scratch memory that is freed when it comes back.
bool is_passing(const void *base);

} // namespace heddle::gpu
