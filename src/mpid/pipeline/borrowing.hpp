// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other processes, opened once and kept open.
#pragma once

#include "../../gpu/devices.hpp"
#include "whereabouts.hpp"
#include "wire.hpp"

namespace heddle::pipeline {

// Where `bytes` bytes that a process lent can be read by `device`.
int borrow(gpu::Device &device, uint64_t process, const Loan &loan, int64_t bytes, char **at);

// Whether something of that process could not be opened on `device` before.
bool cannot_borrow(const gpu::Device &device, uint64_t process);

} // namespace heddle::pipeline
