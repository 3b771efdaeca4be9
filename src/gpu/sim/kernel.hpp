// SPDX-License-Identifier: BSD-3-Clause
// What the simulated device does when it runs: copies, and Works carried out word by word.
#pragma once

#include "gpu/sim/access.hpp"

namespace heddle::gpu::sim {

// Whether a kernel is one that can take the work, as work.hpp says what each takes.
Fault check_launch(Kernel kernel, const Work &work);

// The place of a side's first byte; null where its layout cannot be read.
const void *first_byte(const Memories &memories, int device, const Side &side);

Fault run_kernel(const Memories &memories, int device, Kernel kernel, const Work &work);

Fault make_list(const Memories &memories, int device, Listing listing);
// The same of a Fold.
Fault check_fold(const Fold &fold);
Fault run_fold(const Memories &memories, int device, const Fold &fold);

Fault run_copy(const Memories &memories, int device, Limits limits, const Layers &copy);

} // namespace heddle::gpu::sim
