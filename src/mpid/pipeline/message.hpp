// SPDX-License-Identifier: BSD-3-Clause
// What both ends of a message have in common: a name, an other end, chunks on their way, and an end
// that comes once. An end that fails uses nobody's memory any more when it has ended, its own
// caller's included.
#pragma once

#include "buffer.hpp"
#include "staging.hpp"

#include <algorithm>
#include <array>
#include <list>

namespace heddle::pipeline {

class Port;

// Of a chunk that no answer has asked for yet.
constexpr uint16_t no_round = 0xffff;

// A part of a message that is on its way.
struct Chunk {
    int64_t offset = 0;
    int64_t bytes = 0;
    uint16_t round = 0; // of the answer that it was made for
    enum class State : uint8_t {
        moving, // the device or the host packs or unpacks it
        moved,
        carried, // the transport has its memory
        lent     // the other end reads it
    } state = State::moving;
    Block block;
    std::shared_ptr<const void> borrowed; // keeps open what it is read from
};

// A message that has ended, for the caller to be told.
struct Ending {
    heddle_message_ended ended = nullptr;
    void *argument = nullptr;
    int error = HEDDLE_SUCCESS;
    int64_t bytes = 0;
    std::array<char, 256> detail{};
};

class Message : public Waiter {
public:
    using Clock = std::chrono::steady_clock;

    Message(Port &port, void *peer, const heddle_side &side, int64_t bytes,
            heddle_message_ended ended, void *argument);
    virtual ~Message() = default;

    uint64_t id() const { return id_; }
    void *peer() const { return peer_; }
    Mode mode() const { return mode_; }
    // Both ends are this port's.
    virtual bool is_within() const { return false; }
    int64_t block_bytes() const override { return chunk_bytes_; }
    gpu::Device *block_device() const override { return buffer_.device(); }
    bool granted(int error, Block block) final;

    // Does what can be done. Called by heddle_port_progress once something has happened to it.
    virtual void advance() = 0;
    // A header for it came; FORMAT where it makes no sense.
    virtual int arrived(const Header &header, const void *data, size_t bytes) = 0;
    // Where the bytes of a chunk are to go; null: nowhere. `chunk` is what they belong to.
    virtual int place(const Header &, size_t, void **, Chunk **) { return HEDDLE_ERR_FORMAT; }
    // The transport is done with the memory of a chunk.
    virtual void carried(Chunk &, int) {}
    // A chunk was packed or unpacked.
    virtual void moved(Chunk &chunk, int error);

    // Nothing that is not on its way already is begun any more, and `error` is how the message
    // ends.
    void fail(int error);
    // The same, and the other end is not to be told: it knows, or cannot be told.
    void fail_alone(int error);
    // Takes back what the transport and the other end will never give back.
    virtual void drop_chunks() { chunks_.clear(); }
    // Its other end's process is gone: the same for what the transport has alone.
    virtual void forsake();
    // Its caller was not told of its end yet.
    bool is_awaited() const { return ending_.ended != nullptr; }

protected:
    // What granted() says.
    virtual bool use(int, Block) { return false; }
    // The other end is to know that this one has failed.
    virtual void failing() {}
    bool failed() const { return ending_.error != HEDDLE_SUCCESS; }
    // The other end, what needs no answer: if that fails, nobody can be told.
    void tell(Kind kind);
    // It has ended.
    void finish();
    // The same for a caller that waits for nothing else: it is told, and what is left is done by
    // the progress after this one.
    void finish_soon();
    int64_t bytes_at(int64_t offset) const { return std::min(chunk_bytes_, wanted_ - offset); }
    std::list<Chunk>::iterator find(const Chunk &chunk);
    void erase(const Chunk &chunk) { chunks_.erase(find(chunk)); }

    Port &port_;
    const uint64_t id_;
    void *const peer_;
    uint64_t other_ = 0; // the other end's name for it
    Buffer buffer_;
    Ending ending_;
    Mode mode_ = Mode::value;
    uint16_t round_ = 0;
    int64_t chunk_bytes_ = 0;
    int64_t wanted_ = 0;      // bytes that the receiver takes
    int64_t done_ = 0;        // bytes of chunks that are through
    bool alone_ = false;      // the other end is not to be told anything
    std::list<Chunk> chunks_; // on their way

private:
    friend class Port;
    bool ready_ = false; // stands in the port's list
    bool ended_ = false; // and only waits for its caller to be told
    bool told_ = false;  // or the other way round
};

} // namespace heddle::pipeline
