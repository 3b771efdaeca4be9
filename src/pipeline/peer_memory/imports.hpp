// SPDX-License-Identifier: BSD-3-Clause
// Memory of other processes, opened once and kept open: what is in a pool for good, what is a
// caller's own (exports.hpp) until others were used since, for its owner may have freed it.
#pragma once

#include "gpu/core/devices.hpp"
#include "pipeline/wire.hpp"

#include <memory>

namespace heddle::pipeline {

// Memory that is open for as long as this lives.
struct Import {
    char *at = nullptr;
    std::shared_ptr<const void> open;
    const gpu::Memory *memory = nullptr; // that it lies in, where that is known
};

// Whose memory, which device is to reach it, and how it was exported.
struct Importer {
    gpu::Device &device;
    uint64_t process;
    Mode mode;

    // Where `bytes` bytes of it are. RANGE: it is open, and has not so many. A failure is
    // remembered (is_closed), but for that and NO_MEMORY, which may go with the next message.
    Error open(const MemoryHandle &handle, int64_t bytes, Import &import) const;
    // The same for what is open already. Whether it is.
    bool find(const Place &place, int64_t bytes, Import &import) const;
    // As open(), of memory that its owner may have freed meanwhile: the caller says whether a
    // failure is to be remembered.
    Error try_open(const MemoryHandle &handle, int64_t bytes, Import &import) const;
    void remember_closed(const MemoryHandle &handle, Error error) const;
    // Whether something of the pool, or, `own`, of a caller's own could not be opened before.
    bool is_closed(bool own) const;
};

// Closes all that is open of that process's, but for what is being read.
void close_imports(uint64_t process);

} // namespace heddle::pipeline

// For callers that access it without a message: windows of one-sided communication.
struct heddle_import : heddle::pipeline::Import {};
