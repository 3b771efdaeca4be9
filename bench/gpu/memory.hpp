// SPDX-License-Identifier: BSD-3-Clause
// Filling and comparing memory that the device reaches, by kernels.
#pragma once

#include <cstdint>

namespace bench {

// Each 8-byte word becomes a hash of its index and of `seed`;
// the rest is filled bytewise the same way.
void fill_pattern(char *at, int64_t bytes, uint64_t seed);

// How many bytes differ.
int64_t differing(const char *a, const char *b, int64_t bytes);

} // namespace bench
