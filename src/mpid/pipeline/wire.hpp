// SPDX-License-Identifier: BSD-3-Clause
// What two ports tell each other: envelopes and headers, as values and as bytes. Bytes from
// elsewhere are checked whole before anything of them is used.
//
//   envelope  sender to receiver, by whatever matches messages; it may say where the bytes lie, or will when they are packed,
//             and that they lie there on offer (offers.hpp): then who has read them there takes it. If it may be withdrawn, an
//             answer is nothing to wait for: by reference, it asks where they lie; by value, for all of them at once. Or it
//             says that they are written where a ticket says (tickets.hpp)
//   answer    receiver to sender: how the message is to come, and how many chunks may so far. The number counts from
//             the beginning, so that answers may overtake each other. A higher round begins the message anew.
//   chunk     sender to receiver: with its bytes behind it, or with a loan, which says where they can be read
//   returned  receiver to sender: the bytes of a loan were read; in the place of an answer: out of where the envelope
//             says that they lie, all that the receiver wants, which may be less than there is
//   declined  sender to receiver: there is nothing to lend; by value, please
//   failed    either way: this end of the message has failed, and uses nothing of the other's any more
//   refused   receiver to sender: nobody takes the message
//   matched   receiver to sender: the message was matched by a probe, and is not received yet
//   pushed    sender to receiver: all bytes of a message that was on offer, before or after it was matched; it is answered by
//             returned
//   forget    sender to receiver: nobody asks for what was pushed, or will be
#pragma once

#include "../../gpu/backend.hpp"

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

// Where lent bytes can be read.
struct Loan {
    uint64_t allocation = 0; // which of the sender's allocations: the same number, the same memory
    uint64_t at = 0;         // how far in it
    uint64_t base = 0; // device memory: the sender's address of it, where another allocation may
                       // have been before
    uint64_t size = 0; // and its bytes
    unsigned char handle[gpu::Backend::handle_bytes] = {};
};

struct Envelope {
    uint64_t message = 0; // at the sender
    int64_t bytes = 0;
    int64_t chunk = 0; // most bytes of one that travels, at the sender
    uint64_t node = 0; // where the sender is (whereabouts.hpp)
    uint64_t process = 0;
    uint16_t number = 0;    // of its port
    uint16_t offer = 0;     // 0: there is none
    bool withdraws = false; // the offer may be withdrawn
    bool lends = false;     // it can leave chunks on its device
    bool shares = false;    // it can leave chunks in host memory
    Loan at; // where all of it lies: unpacked, in the sender's caller's memory, or packed, once the
             // offer is open; there is no handle in it. Allocation 0: nowhere yet

    bool waits = false; // its sender stays until it is over, and may use a ticket for what it sends
                        // next
    uint64_t after = 0; // not 0: whoever sends it writes it where the ticket for what follows that
                        // message says

    bool in_place() const { return at.allocation & callers_own; }
};

void write_envelope(const Envelope &envelope, void *bytes);
// Errors: FORMAT, VERSION.
int read_envelope(const void *bytes, Envelope &envelope);

enum class Kind : uint8_t {
    answer = 1,
    chunk,
    returned,
    declined,
    failed,
    refused,
    pushed,
    matched,
    forget
};

struct Header {
    Kind kind{};
    Mode mode = Mode::value;
    uint16_t round = 0;  // of answers
    uint64_t to = 0;     // the message that it is for, at the end that it goes to
    uint64_t from = 0;   // the sending end's number for it
    int64_t offset = 0;  // chunk, returned: of the packed bytes
    int64_t bytes = 0;   // chunk, returned: its bytes; answer: all that the receiver wants; pushed:
                         // all
    int64_t chunk = 0;   // answer: bytes of a chunk
    int64_t granted = 0; // answer: how many chunks may be sent: by value in all, lent ones at a
                         // time
    int error = 0;       // refused; pushed: what there is instead of the bytes
    Loan loan;           // chunk that does not travel
};

struct HeaderBytes {
    unsigned char bytes[HEDDLE_HEADER_BYTES];
    size_t size = 0;
};

HeaderBytes write_header(const Header &header);
// Errors: FORMAT, VERSION.
int read_header(const void *bytes, size_t size, Header &header);

} // namespace heddle::pipeline
