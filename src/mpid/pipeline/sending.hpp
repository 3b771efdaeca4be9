// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a message: waits to be matched, then packs as many chunks as the receiver has room for,
// each into a block that goes back once the chunk was sent (by value) or read (shared, or by reference). A dense buffer
// is not packed: the transport, or the receiver, reads it where it lies; a receiver that has its memory open already
// needs to ask for nothing. Where the peer took the last message by reference, the first chunk is packed while envelope
// and answer are under way, if there is memory to spare. A receiver in this same port moves everything itself, from one
// buffer to the other.
//
// A message that should not wait for its receiver is on *offer*: it goes like any other if somebody wants it soon. If
// nobody does, its bytes are copied into the host's memory; once they are there, and nobody has claimed the others
// meanwhile, the caller is told that it has ended, and what is left is a message by value out of the copy.
#pragma once

#include "message.hpp"
#include "offers.hpp"

#include <optional>

namespace heddle::pipeline {

class Sending final : public Message {
public:
    Sending(Port &port, void *peer, const heddle_side &from, int64_t bytes, uint64_t key,
            heddle_message_ended ended, void *argument);

    // Right after it was made. False where it cannot be offered, and nothing has happened. `within`: the receiver is of
    // this port.
    bool offer(bool within);
    // It was offered for long enough.
    void copy();
    // Before it is answered: its first chunk, if it is likely to be wanted.
    void pack_early();
    Envelope envelope() const;
    uint64_t key() const { return key_; }
    bool answered() const { return answered_; }
    // It was matched by nobody who wants any of it.
    void dropped();
    // A receiver of this port moves so many bytes itself, out of what side() says, until it calls given().
    bool can_give() const { return !answered_ && !failed(); }
    void give(int64_t bytes);
    void given(int error);
    heddle_side side() const { return buffer_.after(0); }

    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    int place(const Header &header, size_t bytes, void **where, Chunk **chunk) override;
    void carried(Chunk &chunk, int error) override;
    void moved(Chunk &chunk, int error) override;
    void drop_chunks() override;

private:
    bool use(int error, Block block) override;
    void failing() override;
    int answer(const Header &header);
    int returned(const Header &header);
    void read_at_once(int64_t bytes);
    void begin_round(const Header &header);
    bool may_begin() const;
    Chunk &begin_chunk(Block block);
    void pack(Chunk &chunk);
    void send_moved();
    void send_chunk(Chunk &chunk);
    void end_chunk(const Chunk &chunk);
    void decline();
    void copied(int error);
    bool can(Mode mode) const;
    bool packs() const { return !own_ && !buffer_.direct(); }

    const uint64_t key_;
    const int64_t total_;
    bool lends_;              // chunks may stay on the device
    bool shares_;             // or in host memory
    std::optional<Loan> own_; // the buffer itself is lent
    bool answered_ = false;
    bool gives_ = false;  // a receiver of this port reads the buffer
    std::optional<Offer> offer_; // until it is answered, or withdrawn
    std::unique_ptr<void, void (*)(void *)> copy_{nullptr, heddle_staging_free};
    Chunk copying_;              // all of the message; while it runs
    bool copies_ = false;        // it does
    int64_t granted_ = 0; // chunks, as answers count them
    int64_t begun_ = 0;   // chunks of this round
    int64_t next_ = 0;    // the first byte of the next one
};

} // namespace heddle::pipeline
