// SPDX-License-Identifier: BSD-3-Clause
// The caller's own device memory, where it can be opened by other processes: they read a dense
// buffer where it lies.
#pragma once

#include "../../gpu/devices.hpp"
#include "wire.hpp"

#include <optional>

namespace heddle::pipeline {

// Where others find the device memory at `at`, of which a message of `bytes` bytes is sent;
// `memory` is what it lies in. Nothing before `least` bytes were sent out of its allocation, in all
// messages, of which each counts for some, for it takes long to open; nothing either where the
// device exports no memory of its kind (out of a pool, or mapped by the program itself), or does
// not tell one allocation from the next at the same address, or where it is scratch memory that
// goes when it comes back.
std::optional<Loan> export_own(gpu::Device &device, const gpu::Memory &memory, const char *at,
                               int64_t bytes, int64_t least);

// Whether a loan is of such memory.
inline bool is_own(const Loan &loan) { return loan.allocation & callers_own; }

// Where this very process has it; null where it is none of its own.
char *find_own(const Loan &loan, int64_t bytes);

} // namespace heddle::pipeline
