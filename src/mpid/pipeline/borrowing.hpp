// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes, opened once and kept open: what is made to be lent for good, what is a
// caller's own (exports.hpp) until others were used since, for its owner may have freed it.
#pragma once

#include "../../gpu/devices.hpp"
#include "whereabouts.hpp"
#include "wire.hpp"

namespace heddle::pipeline {

// Memory that is open for as long as this lives.
struct Borrowed {
    char *at = nullptr;
    std::shared_ptr<const void> open;
    const gpu::Memory *memory = nullptr; // that it lies in, where that is known
};

// Where `bytes` bytes that a process lent in that mode can be read by `device`.
int borrow(gpu::Device &device, uint64_t process, Mode mode, const Loan &loan, int64_t bytes,
           Borrowed &borrowed);

// The same by reference for what is open already; the loan needs no handle. Whether it is.
bool borrow_open(gpu::Device &device, uint64_t process, const Loan &loan, int64_t bytes,
                 Borrowed &borrowed);

// Whether something of that process could not be opened for `device` before: of what it makes to be
// lent in that mode, or, `own`, of what is a caller's own.
bool cannot_borrow(const gpu::Device &device, uint64_t process, Mode mode, bool own);

// Closes all that is open of that process's, but for what is being read.
void close_borrowed(uint64_t process);

} // namespace heddle::pipeline
