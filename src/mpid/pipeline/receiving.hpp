// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a message: answers, with as many chunks as it has room for, and unpacks
// them as they come. What this same port sends it moves at once, from one buffer to the other.
#pragma once

#include "borrowing.hpp"
#include "incoming.hpp"

#include <vector>

namespace heddle::pipeline {

class Outgoing;

class Receiving final : public Incoming {
public:
    Receiving(Port &port, void *peer, const Envelope &envelope, const heddle_side &to,
              int64_t capacity, heddle_message_ended ended, void *argument);

    // Takes room and answers, or reads at once.
    void begin() override;
    void confirm() override;
    bool look(Clock::time_point now) override;

    bool is_within() const override { return source_ != nullptr; }
    void advance() override;
    int arrived(const Header &header, const void *data, size_t bytes) override;
    int place(const Header &header, size_t bytes, void **where, Chunk **chunk) override;
    void carried(Chunk &chunk, int error) override;
    void moved(Chunk &chunk, int error) override;

private:
    bool use(int error, Block block) override;
    void take(Outgoing &sender);
    bool reads_at_once();
    void read_all(Borrowed &&borrowed);
    void answer_after_all();
    enum class Verdict { wanted, stray, senseless };
    Verdict judge(const Header &header, size_t bytes) const;
    int accept(const Header &header, size_t bytes, bool &wanted);
    Chunk &begin_chunk(const Header &header);
    void begin_move(Chunk &chunk, const void *from, const gpu::Memory *memory);
    void begin_move(const Header &header, Borrowed &&borrowed);
    int arrived_chunk(const Header &header, const void *data, size_t bytes);
    int arrived_loan(const Header &header);
    void end_chunk(Chunk &chunk);
    void keep(Block block);
    void send_answer();
    void tell_read(const Chunk &chunk, bool takes);
    void give_back(const Chunk &chunk);
    void fall_back();
    void begin_round();
    void cut();
    int64_t chunks() const { return (wanted_ + chunk_bytes_ - 1) / chunk_bytes_; }
    bool wants_room() const;

    const uint16_t offer_;
    const int64_t chunk_; // the lower limit of both ports
    bool falling_back_ = false;
    bool unanswered_ = false;    // reads at once
    Borrowed packing_;           // where it will, if that is packed soon
    Clock::time_point until_;    // it waits for that
    Outgoing *source_ = nullptr; // in this port: all is moved out of its buffer
    std::vector<Block> room_;    // for chunks that the sender was told of
    std::vector<bool> came_;     // by chunk
    int64_t through_ = 0;        // chunks
    int64_t granted_ = 0;        // chunks
    int64_t told_ = -1;          // of them
};

} // namespace heddle::pipeline
