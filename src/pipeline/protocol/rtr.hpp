// SPDX-License-Identifier: BSD-3-Clause
// RTRs (slots.hpp): what a receiver tells of its buffer, and what its sender makes of that.
#pragma once

#include "pipeline/limits.hpp"
#include "pipeline/peer_memory/imports.hpp"
#include "pipeline/peer_memory/slots.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <map>
#include <string>

namespace heddle::pipeline {

// Posts one for the buffer of a receive. Whether its sender can write there.
bool post_rtr(const Limits &limits, const heddle_rtr &rtr, const Buffer &buffer);

// The types of other processes' buffers, as their RTRs write them. Each is made once.
class RemoteTypes {
public:
    // Null: these are no type's bytes, or there is no memory.
    const heddle_type *find(const unsigned char *flattened, size_t bytes);

private:
    std::map<std::string, gpu::TypeRef, std::less<>> all_;
};

// Where a put goes, open at its sender.
struct PutTarget {
    Import import;
    gpu::TypeRef type{nullptr};
    heddle_side side{};

    Data data() const { return {side, import.memory}; }
};
// The buffer of a record, for `bytes` packed bytes. PEER: it cannot be opened. FORMAT:
// its bytes do not lie where it says.
Error open_target(const RtrRecord &record, const Importer &by, int64_t bytes, RemoteTypes &types,
                  PutTarget &target);

} // namespace heddle::pipeline
