// SPDX-License-Identifier: BSD-3-Clause
// What two ports tell each other: envelopes and headers. These structs are what travels. Bytes from
// elsewhere are checked whole before anything of them is used.
#pragma once

#include "engine/error.hpp"
#include "gpu/core/backend.hpp"

#include <heddle_message.h>

namespace heddle::pipeline {

enum class Mode : uint8_t {
    value,    // chunks travel
    shared,   // chunks stay in host memory of the sender's, which the receiver maps
    reference // chunks stay on the sender's device
};
constexpr size_t modes = 3;

// In the number of an allocation that is the sender's caller's, and may be freed once it was read;
// others stay.
constexpr uint64_t callers_own = uint64_t{1} << 63;

// Where exported bytes lie.
struct Place {
    uint64_t allocation = 0; // which of the exporter's: the same number, the same memory; 0:
                             // nowhere
    uint64_t at = 0;         // how far in it

    bool is_own() const { return allocation & callers_own; }
};
// Whether `bytes` bytes from `at` on lie in an allocation of `all` bytes.
constexpr bool is_within(uint64_t all, uint64_t at, int64_t bytes)
{
    return static_cast<uint64_t>(bytes) <= all && at <= all - static_cast<uint64_t>(bytes);
}
// And how that memory is opened.
struct MemoryHandle {
    Place place;
    uint64_t base = 0; // device memory: the exporter's address of it, where another allocation may
                       // have been before
    uint64_t size = 0; // and its bytes
    unsigned char key[gpu::Backend::handle_bytes] = {};
};

// What the receiver has to do.
enum class EnvelopeKind : uint8_t {
    rendezvous, // answer; or, if it can, read all at once and mark the slot
    get,        // read and mark the slot: the data may be withdrawn, and are pushed then
    put         // wait: the sender writes where the receiver's RTR says
};

constexpr uint16_t wire_version = 13;

// The first 16 bytes of envelopes and headers are the same in every version: so who cannot read an
// envelope can refuse its message, and its sender understands.
struct Envelope {
    uint32_t magic = 0x45646448; // "HddE"
    uint16_t version = wire_version;
    uint8_t chunk_log2 = 0; // of most bytes of a chunk that travels, at the sender
    EnvelopeKind kind : 3 = EnvelopeKind::rendezvous;
    bool exports : 1 = false; // it can leave chunks on its device
    bool shares : 1 = false;  // it can leave chunks in host memory
    bool waits : 1 = false;   // its sender stays until it is over, and may use an RTR for what it
                              // sends next
    uint8_t unused : 2 = 0;
    uint64_t message = 0; // at the sender
    int64_t bytes = 0;
    uint64_t node = 0; // where the sender is (process.hpp)
    uint64_t process = 0;
    Place at; // rendezvous, get: where all of it lies: unpacked, in the sender's caller's memory,
              // or packed, once the slot is open. Put: after()
    uint16_t number = 0; // of the sender's port
    uint16_t slot = 0;   // rendezvous, get: by which it hears that all was read; 0: none
    uint32_t check = 0;

    // Put: whose RTR is used, that for what follows this message.
    uint64_t after() const { return at.allocation; }
    bool in_place() const { return kind != EnvelopeKind::put && at.is_own(); }
};
static_assert(sizeof(Envelope) == HEDDLE_ENVELOPE_BYTES);

void write_envelope(const Envelope &envelope, void *bytes);
// Errors: FORMAT, VERSION.
Error read_envelope(const void *bytes, Envelope &envelope);

enum class Kind : uint8_t {
    answer = 1, // receiver to sender: how the message is to come, and how many chunks may so far.
                // The number counts from the beginning, so that answers may overtake each other. A
                // higher round begins the message anew. Of a get by value: push it
    chunk,      // sender to receiver: with its bytes, or with a handle of the memory to read them
                // from
    returned,   // receiver to sender: exported bytes were read; instead of an answer: all that the
                // receiver wants was read where the envelope says, or unpacked of what was pushed
    declined,   // sender to receiver: there is nothing to export; by value, please
    failed,     // either way: this end has failed, and uses nothing of the other's any more
    refused,    // receiver to sender: nobody takes the message
    pushed      // sender to receiver: all bytes of a get that was withdrawn, matched or not
};

struct Header {
    uint32_t magic = 0x48646448; // "HddH"
    uint16_t version = wire_version;
    Kind kind{};
    Mode mode = Mode::value;
    uint64_t to = 0;     // the message that it is for, at the end that it goes to
    uint64_t from = 0;   // the sending end's number for it
    int64_t offset = 0;  // chunk, returned: of the packed bytes
    int64_t bytes = 0;   // chunk, returned: its bytes; answer: all that the receiver wants; pushed:
                         // all
    int64_t chunk = 0;   // answer: bytes of a chunk
    int64_t granted = 0; // answer: how many chunks may be sent: by value in all, exported ones at a
                         // time
    int32_t error = 0;   // refused; pushed: what there is instead of the bytes
    uint16_t round = 0;  // of answers
    uint16_t unused = 0;
    uint64_t check = 0;
    MemoryHandle memory; // chunk that does not travel. Others end before it

    bool has_memory() const { return kind == Kind::chunk && mode != Mode::value; }
};

struct HeaderBytes {
    unsigned char bytes[HEDDLE_HEADER_BYTES];
    size_t size = 0;
};

HeaderBytes write_header(const Header &header);
// One of another version that refuses a message is understood. Errors: FORMAT, VERSION.
Error read_header(const void *bytes, size_t size, Header &header);

} // namespace heddle::pipeline
