// SPDX-License-Identifier: BSD-3-Clause
// The program, its heap (brk) and its first thread's stack. No driver ever maps anything there, so
// none need be asked. That would take a tenth of the time of a message within a node.
#pragma once

namespace heddle::gpu {

// False: it may lie anywhere else.
bool is_program_memory(const void *ptr);

} // namespace heddle::gpu
