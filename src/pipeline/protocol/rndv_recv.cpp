// SPDX-License-Identifier: BSD-3-Clause
// The receiver's end of a rendezvous: answers, with as many chunks as it has room for, and unpacks
// them as they come. Or it reads all at once.
#include "pipeline/counters.hpp"
#include "pipeline/protocol/reading_recv.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>
#include <vector>

namespace heddle::pipeline {

namespace {

class RndvRecv final : public ReadingRecv {
public:
    using ReadingRecv::ReadingRecv;

    // Takes room and answers, or reads at once. What is packed is read as a whole.
    void begin() override
    {
        if ((is_truncated() && !at_.is_own()) || !reads_at_once())
            begin_round();
    }

    void advance() override
    {
        if (failed() || state_ == State::falling_back)
            room_.clear();
        if (failed()) {
            if (!chunks_.empty())
                return;
            if (other_)
                tell(Kind::failed);
            return finish();
        }
        if (state_ == State::falling_back) {
            if (chunks_.empty())
                fall_back();
            return;
        }
        if (done_ == wanted_) {
            count(counter_of(Counter::received_by_value, mode_));
            return finish_received();
        }
        if (mode_ == Mode::value && wants_room()) {
            if (buffer_.direct())
                granted_ = std::min(chunks(), through() + port_.limits().window);
            else
                port_.receiving().wait(*this);
        }
        if (granted_ > notified_)
            answer();
    }

    // ---- what comes ----

    Error arrived(const Header &header, const void *data, size_t bytes) override
    {
        switch (header.kind) {
        case Kind::chunk:
            return arrived_chunk(header, data, bytes);
        case Kind::declined:
            if (mode_ != Mode::value && header.round == round_)
                stop_reading("its sender has nothing to export");
            return HEDDLE_SUCCESS;
        case Kind::failed:
            // What it exported is still its own: it is told when that is not read any more.
            if (mode_ == Mode::value)
                fail_alone(HEDDLE_ERR_PEER);
            else
                fail(HEDDLE_ERR_PEER);
            return HEDDLE_SUCCESS;
        default:
            return HEDDLE_ERR_FORMAT;
        }
    }

    Error place(const Header &header, size_t bytes, void **where, Chunk **chunk) override
    {
        if (header.kind != Kind::chunk || header.mode != Mode::value)
            return HEDDLE_ERR_FORMAT;
        if (is_stray(header))
            return HEDDLE_SUCCESS;
        if (!makes_sense(header, bytes))
            return HEDDLE_ERR_FORMAT;
        *chunk = &begin_chunk(header.offset);
        (*chunk)->state = Chunk::State::carried;
        *where = buffer_.direct() ? buffer_.address(header.offset) : (*chunk)->block.at();
        return HEDDLE_SUCCESS;
    }

    void carried(Chunk &chunk, Error error) override
    {
        if (error)
            fail(error);
        if (failed()) {
            erase(chunk);
            port_.ready(*this);
        } else if (buffer_.direct()) {
            end_chunk(chunk);
        } else {
            unpack(chunk, packed(chunk.block.at(), chunk.bytes, chunk.block.memory()));
        }
    }

    void moved(Chunk &chunk, Error error) override
    {
        const bool at_once = state_ == State::reading;
        if (at_once)
            state_ = State::chunks;
        // By the slot, if that takes all of it: whose sender took it back has failed, and its
        // memory may have been another's.
        const bool by_slot = at_once && !is_truncated() && slot_;
        const bool is_right =
            !error && !failed() && (!by_slot || slot_.change(SlotState::open, SlotState::done));
        if (!is_right)
            fail(error ? error : HEDDLE_ERR_PEER);
        else if (!by_slot && mode_ != Mode::value)
            acknowledge(chunk);
        end_chunk(chunk);
    }

private:
    void read_all(Import &&from) override
    {
        state_ = State::reading;
        read(begin_chunk(0), std::move(from));
        port_.transfers().begin_if_idle();
    }

    // Room for what is to come, as far as there is some at once.
    void begin_round() override
    {
        state_ = State::chunks;
        came_.assign(static_cast<size_t>(chunks()), false);
        if (mode_ != Mode::value || buffer_.direct()) {
            granted_ = std::min(chunks(), port_.limits().window);
        } else if (wants_room()) {
            port_.receiving().wait(*this);
            port_.receiving().serve();
        }
        port_.ready(*this);
        answer();
    }

    void stop_reading(const char *reason)
    {
        if (state_ != State::falling_back)
            log_fall_back(other_, process_, reason);
        stop_waiting();
        state_ = State::falling_back;
        port_.ready(*this);
    }

    // Nothing of the sender's memory is read any more: it may begin anew, by value.
    void fall_back()
    {
        count(Counter::fallbacks);
        done_ = granted_ = 0;
        begin_by_value();
    }

    void answer()
    {
        notified_ = granted_;
        send_answer(granted_);
    }

    // Chunks.
    int64_t through() const { return divide_up(done_, chunk_bytes_); }
    bool wants_room() const
    {
        return granted_ < chunks() && granted_ - through() < port_.limits().window;
    }

    bool use(Error error, Block block) override
    {
        if (failed() || !wants_room())
            return false;
        if (error)
            return fail(error), false;
        keep(std::move(block));
        port_.ready(*this);
        return wants_room();
    }

    void keep(Block block)
    {
        room_.push_back(std::move(block));
        ++granted_;
    }

    // ---- chunks ----

    // Of a round that is over.
    bool is_stray(const Header &header) const
    {
        const bool stray = failed() || state_ == State::falling_back || header.round != round_;
        count(Counter::strays, stray);
        return stray;
    }

    bool makes_sense(const Header &header, size_t bytes) const
    {
        return header.mode == mode_ && !came_.empty() && header.offset < wanted_ &&
               header.offset % chunk_bytes_ == 0 && header.bytes == bytes_at(header.offset) &&
               !came_[static_cast<size_t>(header.offset / chunk_bytes_)] &&
               bytes == (mode_ == Mode::value ? static_cast<size_t>(header.bytes) : 0) &&
               (mode_ != Mode::value || buffer_.direct() || !room_.empty());
    }

    Error arrived_chunk(const Header &header, const void *data, size_t bytes)
    {
        if (is_stray(header))
            return HEDDLE_SUCCESS;
        if (!makes_sense(header, bytes))
            return HEDDLE_ERR_FORMAT;
        if (mode_ != Mode::value)
            return read_chunk(header), HEDDLE_SUCCESS;
        Chunk &chunk = begin_chunk(header.offset);
        if (buffer_.of_host()) { // from where it lies
            if (const Error e = unpack_at_once(data, chunk.offset, chunk.bytes))
                fail(e);
            end_chunk(chunk);
        } else {
            std::memcpy(chunk.block.at(), data, bytes);
            carried(chunk, HEDDLE_SUCCESS);
        }
        return HEDDLE_SUCCESS;
    }

    void read_chunk(const Header &header)
    {
        Import import;
        if (importer().open(header.memory, header.bytes, import))
            stop_reading("its memory cannot be opened");
        else
            read(begin_chunk(header.offset), std::move(import));
    }

    Chunk &begin_chunk(int64_t offset)
    {
        Chunk &chunk = add_chunk(offset, bytes_at(offset));
        if (mode_ == Mode::value && !buffer_.direct()) {
            assert(!room_.empty()); // as makes_sense() sees
            chunk.block = std::move(room_.back());
            room_.pop_back();
        }
        if (!came_.empty())
            came_[static_cast<size_t>(offset / chunk_bytes_)] = true;
        return chunk;
    }

    // The sender may use the memory of a chunk again.
    void acknowledge(const Chunk &chunk)
    {
        Header returned = header(Kind::returned);
        returned.offset = chunk.offset;
        returned.bytes = chunk.bytes;
        send(returned);
    }

    void end_chunk(Chunk &chunk)
    {
        if (!failed()) {
            done_ += chunk.bytes;
            count_received(chunk.bytes, 1);
            // Room for the next one, unless it is others' turn.
            if (chunk.block && wants_room() && !waits() && !port_.receiving().anyone_waits())
                keep(std::move(chunk.block));
        }
        erase(chunk);
        port_.ready(*this);
    }

    enum class State : uint8_t {
        chunks,      // come, as the answers ask for
        reading,     // all at once, and has not answered
        falling_back // to chunks by value, once nothing of the sender's is read any more
    };
    State state_ = State::chunks;
    std::vector<Block> room_; // for chunks that the sender was told of
    std::vector<bool> came_;  // by chunk; none before there was an answer
    int64_t granted_ = 0;     // chunks
    int64_t notified_ = 0;    // of these the sender knows
};

} // namespace

std::unique_ptr<Receiver> receive_rndv(Port &port, const Envelope &envelope, const Request &request)
{
    return std::make_unique<RndvRecv>(port, envelope, request);
}

} // namespace heddle::pipeline
