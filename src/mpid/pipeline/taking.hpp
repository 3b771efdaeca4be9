// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a message on offer (offers.hpp): reads it where it lies, and takes it; or,
// if that cannot be, or it was withdrawn while it was read, unpacks what its sender pushes. Its
// answers only tell the sender that it was matched, how far it is from reading, or that it will
// not: the sender goes its way whatever becomes of them.
#pragma once

#include "borrowing.hpp"
#include "incoming.hpp"
#include "pushed.hpp"

namespace heddle::pipeline {

class Taking final : public Incoming {
public:
    Taking(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
           int64_t capacity, heddle_message_ended ended, void *argument);

    void begin() override;
    void confirm() override;
    // Of the sender's message.
    uint64_t name() const { return other_; }
    // All its bytes.
    void came(Pushed pushed);

    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    void moved(Chunk &chunk, int error) override;

private:
    void read(Borrowed &&borrowed);
    void was_read(int error);
    void unpack();
    void move(Borrowed &&from);
    void over();
    void answer(Mode mode, bool asks_where);

    const uint16_t offer_;
    Pushed pushed_;
    bool answered_ = false;
    bool came_ = false; // what is pushed, or that there is nothing
    bool unpacks_ = false;
    bool over_ = false;
};

} // namespace heddle::pipeline
