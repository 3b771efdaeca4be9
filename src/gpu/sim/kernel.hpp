// SPDX-License-Identifier: BSD-3-Clause
// What the simulated device does when it runs: copies, and Works carried out word by word.
#pragma once

#include "access.hpp"

namespace heddle::gpu::sim {

// Whether a kernel is one that can take the work, as work.hpp says what each takes.
Error check_launch(Kernel kernel, const Work &work);

Error run_kernel(const Memories &memories, int device, Kernel kernel, const Work &work);

Error run_copy(const Memories &memories, int device, Limits limits, const Layers &copy);

} // namespace heddle::gpu::sim
