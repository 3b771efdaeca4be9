// SPDX-License-Identifier: BSD-3-Clause
// Memory of this process that others can open: its callers' own device memory, out of which a dense
// buffer is read where it lies; and a pool for chunks, a device's or the host's, in pieces. The
// pool is made in a few large allocations, each exported once and opened once by each process that
// reads from it; for both take long. They stay until the process ends: what others have open must
// not be freed.
#pragma once

#include "gpu/core/devices.hpp"
#include "pipeline/wire.hpp"

#include <optional>

namespace heddle::pipeline {

// Where this very process has exported memory; null where it is none of its own.
char *find_exported(const Place &place, int64_t bytes);

// ---- a caller's own ----

// How others reach the device memory at `at`, of which a message of `bytes` bytes is sent; `memory`
// is what it lies in. Nothing before `least` bytes were sent out of its allocation, for it takes
// long to open; each message counts for some. Nothing either where the device exports no memory of
// its kind (out of a pool, or mapped by the program itself), or does not tell one allocation from
// the next at the same address. Nothing of scratch memory, which goes when it comes back.
std::optional<MemoryHandle> export_own(gpu::Device &device, const gpu::Memory &memory,
                                       const char *at, int64_t bytes, int64_t least);

// ---- the pool ----

struct PoolMemory;

// A piece of it; null: none.
struct Piece {
    PoolMemory *pool = nullptr;
    char *at = nullptr;

    MemoryHandle handle() const;
    const gpu::Memory &memory() const;
};

// A piece of at least `bytes` bytes for chunks of that mode: of the device's memory, or of the
// host's near it. NO_MEMORY where all are in use, and no more are to be made: one process's, for
// one device, take at most HEDDLE_SLAB_LIMIT each, unless `beyond`. A first one of up to 8 MiB is
// always made. At the limit a larger piece serves.
Error take_piece(gpu::Device &device, Mode mode, size_t bytes, bool beyond, Piece &piece);
void give_back(const Piece &piece);

// False once such memory turned out to be none that can be exported.
bool can_export(const gpu::Device &device, Mode mode);

} // namespace heddle::pipeline
