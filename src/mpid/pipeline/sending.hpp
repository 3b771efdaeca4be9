// SPDX-License-Identifier: BSD-3-Clause
// The sender's end of a message: waits to be matched, then packs as many chunks as the receiver has
// room for, each into a block that goes back once the chunk was sent (by value) or read (shared, or
// by reference). A dense buffer is not packed: the transport, or the receiver, reads it where it
// lies; a receiver that has its memory open already needs to ask for nothing, and takes it when it
// was read, as what is on offer. Where the peer took the last message by reference, the first chunk
// is packed while envelope and answer are under way, if there is memory to spare; if it is all, it
// is on offer once it is packed, and no answer is needed. A receiver in this same port moves
// everything itself, from one buffer to the other.
#pragma once

#include "offers.hpp"
#include "outgoing.hpp"

#include <optional>

namespace heddle::pipeline {

class Sending final : public Outgoing {
public:
    Sending(Port &port, void *peer, const heddle_side &from, int64_t bytes, uint64_t key,
            heddle_message_ended ended, void *argument);

    // Before it is answered: its first chunk, if it is likely to be wanted.
    void pack_early();
    Envelope envelope() const override;
    bool look(Clock::time_point now) override;
    bool was_seen_taken() override;

    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    void carried(Chunk &chunk, int error) override;
    void moved(Chunk &chunk, int error) override;

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
    bool can(Mode mode) const;
    bool packs() const { return !own_ && !buffer_.direct(); }

    const bool lends_;        // chunks may stay on the device
    const bool shares_;       // or in host memory
    std::optional<Loan> own_; // the buffer itself is lent
    Offer offer_; // by which it hears that all of it was read at once, out of the buffer or the
                  // first chunk
    int64_t granted_ = 0; // chunks, as answers count them
    int64_t begun_ = 0;   // chunks of this round
    int64_t next_ = 0;    // the first byte of the next one
};

} // namespace heddle::pipeline
