// SPDX-License-Identifier: BSD-3-Clause
// What both ends of a message have in common: a name, an other end, chunks on their way, and an end
// that comes once. An end that fails uses nobody's memory any more when it has ended, its own
// caller's included.
#pragma once

#include "gpu/core/devices.hpp"
#include "pipeline/peer_memory/imports.hpp"
#include "pipeline/peer_memory/slots.hpp"
#include "pipeline/peer_memory/staging.hpp"
#include "pipeline/protocol/buffer.hpp"

#include <array>
#include <list>
#include <optional>

namespace heddle::pipeline {

class Port;
class Sender;

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
        exported // the other end reads it
    } state = State::moving;
    Block block{};
    std::shared_ptr<const void> import{}; // keeps open what it is read from
};

// What a caller asks for: a message out of or into its buffer.
struct Request {
    void *peer = nullptr;
    Buffer buffer;
    uint64_t key = 0; // of one that is sent
    heddle_message_ended ended = nullptr;
    void *argument = nullptr;
};

// A message that has ended, for the caller to be told.
struct Ending {
    heddle_message_ended ended = nullptr;
    void *argument = nullptr;
    Error error;
    int64_t bytes = 0;
    std::array<char, 256> detail{};
};

class Message : public Waiter {
public:
    using Clock = std::chrono::steady_clock;

    Message(Port &port, const Request &request);
    virtual ~Message() = default;

    uint64_t id() const { return id_; }
    void *peer() const { return peer_; }
    Mode mode() const { return mode_; }
    virtual Sender *as_sender() { return nullptr; }
    // Both ends are this port's.
    virtual bool is_within() const { return false; }
    int64_t block_bytes() const override { return chunk_bytes_; }
    gpu::Device *block_device() const override { return buffer_.device(); }
    bool granted(Error error, Block block) final;

    // Does what can be done. Called by heddle_port_progress once something has happened to it.
    virtual void advance() = 0;
    // A header for it came; FORMAT where it makes no sense. Where none is to come, none does.
    virtual Error arrived(const Header &, const void *, size_t) { return HEDDLE_ERR_FORMAT; }
    // Where the bytes of a chunk are to go; null: nowhere. `chunk` is what they belong to.
    virtual Error place(const Header &, size_t, void **, Chunk **) { return HEDDLE_ERR_FORMAT; }
    // The transport is done with the memory of a chunk.
    virtual void carried(Chunk &, Error) {}
    // A chunk was packed or unpacked.
    virtual void moved(Chunk &chunk, Error error);
    // A slot tells what no header does (slots.hpp): sees what became of it. False once there is
    // nothing to see any more.
    virtual bool look(Clock::time_point) { return false; }
    // What was pushed under that name has come, or will not. Whether it waits for that.
    virtual bool pushed_came(uint64_t) { return false; }

    // Nothing that is not on its way already is begun any more, and `error` is how the message
    // ends.
    void fail(Error error);
    // The same, and the other end is not to be told: it knows, or cannot be told.
    void fail_alone(Error error);
    // Takes back what the transport and the other end will never give back.
    virtual void drop_chunks() { chunks_.clear(); }
    // Its other end's process is gone: the same for what the transport has alone.
    virtual void forsake();

protected:
    // What granted() says.
    virtual bool use(Error, Block) { return false; }
    // The other end is to know that this one has failed.
    virtual void failing() {}
    bool is_notified() const { return life_ != Life::running; }
    bool failed() const { return static_cast<bool>(ending_.error); }
    // Its caller was not told of its end yet.
    bool is_awaited() const { return ending_.ended != nullptr; }
    // To the other end.
    Header header(Kind kind) const;
    void send(const Header &header);
    // The same, what needs no answer: if that fails, nobody can be told.
    void tell(Kind kind);
    // It has ended.
    void finish();
    // The same for a caller that waits for nothing else: it is told, and what is left is done by
    // the progress after this one.
    void finish_soon();
    // The same where the caller alone is told: the message goes on.
    void notify_end(int64_t bytes);

    int64_t bytes_at(int64_t offset) const { return std::min(chunk_bytes_, wanted_ - offset); }
    Chunk &add_chunk(int64_t offset, int64_t bytes, Block block = {});
    // Packs or unpacks one, which goes if that cannot be: NO_MEMORY.
    Error move(Chunk &chunk, const Data &from, const Data &to);
    void erase(const Chunk &chunk);
    void erase_chunks(Chunk::State state);

    Port &port_;
    const uint64_t id_;
    void *const peer_;
    uint64_t other_ = 0; // the other end's name for it; 0: it is not to be told anything
    Buffer buffer_;
    const gpu::TypeRef type_;
    Ending ending_;
    Mode mode_ = Mode::value;
    uint16_t round_ = 0;
    int64_t chunk_bytes_ = 0;
    int64_t wanted_ = 0;      // bytes that the receiver takes
    int64_t done_ = 0;        // bytes of chunks that are through
    std::list<Chunk> chunks_; // on their way

private:
    friend class Port;
    enum class Life : uint8_t {
        running,
        notified, // its caller was told of its end, and it still has work to do
        ended     // it goes
    };
    bool note_failure(Error error);

    Life life_ = Life::running;
    bool queued_ = false; // to advance
};

// An envelope, a key by which it is known before it is answered, and a receiver that may be of this
// same port, and moves everything itself.
class Sender : public Message {
public:
    Sender(Port &port, const Request &request, EnvelopeKind kind);

    Sender *as_sender() override { return this; }
    const Envelope &envelope() const { return envelope_; }
    // Sees whether its data were read, and nothing else. True if they were.
    bool see_read();
    bool is_get() const { return envelope_.kind == EnvelopeKind::get; }
    uint64_t key() const { return key_; }
    int64_t bytes() const { return envelope_.bytes; }
    // Nobody can have its envelope, if that was not sent; or it is known who has.
    bool can_be_abandoned() const { return envelope_.kind == EnvelopeKind::put || !is_answered(); }
    // Nobody takes any of it, or any more of it; `error`: why.
    void refused(Error error);
    // Its receiver has not answered.
    bool waits_for_match() const { return !is_answered() && !failed() && is_awaited(); }
    // Its envelope was not sent.
    virtual void abandoned(Error error) { fail_alone(error); }
    // A receiver of this port moves so many bytes itself, out of data(), until it calls given().
    bool can_give() const { return !is_answered() && !failed(); }
    void give(int64_t bytes);
    void given(Error error);
    Data data() const { return buffer_.data(0); }

    void drop_chunks() override;

protected:
    void failing() override;
    bool is_answered() const { return match_ != Match::unknown; }
    bool is_moving() const { return match_ == Match::moving; }
    // Its receiver has all that it wants.
    bool is_over() const { return is_answered() && done_ == wanted_; }
    void note_answer() { match_ = std::max(match_, Match::answered); }
    // FORMAT where it cannot be met.
    Error answered(const Header &answer);
    // `anew`: the first one, or of a higher round. Otherwise it only grants more.
    virtual void take_answer(const Header &, bool) {}

    // Into the chunk's block.
    Error pack(Chunk &chunk);

    // ---- what its receiver reads where it lies ----

    // Whether its chunks can stay, in that way.
    bool can_stay(Mode mode) const;
    // The buffer itself, if it is dense. Whether it can be read at once.
    bool export_own();
    // Adds a chunk, in exported memory, that no answer has asked for yet.
    Error add_early_chunk();
    // Once that is asked for: begins, and, if there is a slot, says where it will be.
    void begin_early_chunk();
    // By which it hears that all of it was read.
    void take_slot(SlotState state);
    virtual void was_read(int64_t bytes);

    Envelope envelope_;
    std::optional<MemoryHandle> own_; // the buffer itself is exported
    GetSlot slot_;

private:
    enum class Match : uint8_t {
        unknown,
        answered, // its receiver is known
        moving    // and, of this port, moves the bytes
    };
    const uint64_t key_;
    bool makes_sense(const Header &answer, bool anew) const;

    Match match_ = Match::unknown;
    const gpu::ProfilerSpan span_{"heddle send", buffer_.bytes()};
};

// An envelope that was met, how much of its message is wanted, and the fastest way to it.
class Receiver : public Message {
public:
    Receiver(Port &port, const Envelope &envelope, const Request &request);

    virtual void begin() = 0;

protected:
    // So many bytes of it, in so many chunks, came in that mode.
    void count_received(int64_t bytes, int chunks) const;
    // It is all there, as far as it is wanted.
    void finish_received();

    const uint64_t process_; // the sender's
    const int64_t bytes_;    // that it sends, or would
    const Place at_;         // where all of it lies, or will
    bool is_truncated() const { return bytes_ > wanted_; }

private:
    const gpu::ProfilerSpan span_{"heddle receive", bytes_};
};

// ---- rendezvous: rndv_send.cpp, rndv_recv.cpp ----

Sender *send_rndv(Port &port, const Request &request);
std::unique_ptr<Receiver> receive_rndv(Port &port, const Envelope &envelope,
                                       const Request &request);

// ---- get: get_send.cpp, get_recv.cpp ----

// Null where it cannot be: nothing has happened.
Sender *send_get(Port &port, const Request &request);
std::unique_ptr<Receiver> receive_get(Port &port, const Envelope &envelope, const Request &request);

// ---- self: self.cpp ----

Sender *send_self(Port &port, const Request &request);
// Of any sender of this port that can give.
std::unique_ptr<Receiver> receive_self(Port &port, const Envelope &envelope, const Request &request,
                                       Sender &sender);

// ---- put: put.cpp ----

// Waits for the RTR (limits.hpp says how long), a little longer than it saves: where both ends go
// on at the same time, it comes when its sender looks. Whether it came.
bool wait_for_rtr(Port &port, const void *peer, uint64_t after, bool is_persistent);
// Of what follows `after`: claims the RTR and begins to write, before all else that a message
// takes; `is_batched`: or with the port's progress. Null where it cannot: nothing has happened.
Sender *send_put(Port &port, const Request &request, uint64_t after, bool is_batched);
// `rtr` is its from then on.
std::unique_ptr<Receiver> receive_put(Port &port, const Envelope &envelope, const Request &request,
                                      const Slot &rtr);

} // namespace heddle::pipeline
