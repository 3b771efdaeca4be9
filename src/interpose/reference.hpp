// SPDX-License-Identifier: BSD-3-Clause
// A message that its receiver reads out of the sender's device memory (the method peer). The sender
// packs into memory that the receiver has open, and sends an envelope in the place of the data. So
// neither end ever waits for the other, but as the MPI makes it wait.
//
//  sender                                    receiver
//    [its memory is not open there]
//    ask for that, in the page      =====>   a message ends: open what is asked for (once)
//    === data, by the MPI ==============>    [this message goes the usual way]
//
//    pack into a piece of that memory
//    === envelope, by the MPI ==========>    unpack out of the piece
//    the piece is free              <=====   the slot says "read", in the sender's page
#pragma once

#include "interpose/data.hpp"
#include "interpose/envelope.hpp"

#include <memory>
#include <optional>

namespace heddle::interpose {

// At the sender.
class Reference {
public:
    // Null where the message is to go the usual way: it is short or too long, the receiver has not
    // opened the memory, or there is none left.
    static std::unique_ptr<Reference> make(int64_t bytes, const void *near, Place to);
    // For a message that is as long as an envelope: its data lie in the page. Sent as they are,
    // they would have to be looked into for a probe, and that would end a synchronous send.
    static std::unique_ptr<Reference> make_letter(Place to);
    Reference(const Reference &) = delete;
    Reference &operator=(const Reference &) = delete;
    // Gives the piece back: now, or once it has been read.
    ~Reference();

    void *at() const { return at_; }
    const std::byte *wire() const { return wire_.data(); }
    // The MPI gets the envelope.
    void note_sent() { is_sent_ = true; }
    // It has not: the receiver never will.
    void note_not_sent() { is_sent_ = false; }
    // The MPI has ended a synchronous send, but perhaps for a probe alone. Soon known.
    bool may_be_probed() const;

    // Shorter messages are as fast packed (two H100s: 1 KiB takes 19 us packed; 16 KiB 24 us
    // packed, 21 us by reference).
    static constexpr int64_t least_bytes = 8 << 10;
    // The pool has room for one of the longest by itself, and for half of that beside others
    // (HEDDLE_SLAB_LIMIT).
    static constexpr int64_t most_bytes = 256 << 20;

private:
    Reference(const heddle_piece &piece, int slot, int64_t bytes, int allocation, Place to);
    Reference(int slot, Place to);

    std::optional<heddle_piece> piece_; // none: in the page
    void *at_;
    int slot_;
    Place to_;
    Envelope::Wire wire_;
    bool is_sent_ = false;
};

// At the receiver: a probe takes a message of that process. While this lives, its synchronous sends
// do not end.
class Looking {
public:
    explicit Looking(Place sender);
    Looking(const Looking &) = delete;
    Looking &operator=(const Looking &) = delete;
    ~Looking();

private:
    const Place sender_;
};
// What the message's sender hears: it is taken for a probe, and then received. Nothing where the
// data come in chunks: such a message is never a synchronous one.
void note_probed(const Envelope &envelope);
void note_received(const Envelope &envelope);

// At the receiver: while it lives, the sender keeps the data.
class Reading {
public:
    explicit Reading(const Envelope &envelope);
    Reading(const Reading &) = delete;
    Reading &operator=(const Reading &) = delete;
    ~Reading();

    int64_t bytes() const { return envelope_.bytes; }
    // Null where that memory is not open.
    void *at() const;

private:
    const Envelope envelope_;
};

// Opens what others ask this process to open, for the device of this buffer.
void import_what_is_asked_for(const Data &near);
// Closes all of it.
void release_imports();

} // namespace heddle::interpose
