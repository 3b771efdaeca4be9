// SPDX-License-Identifier: BSD-3-Clause
// A receiver that answers, or reads all at once out of the sender's memory, where that is open
// already. If the data are packed there, it reads them as soon as they are.
#pragma once

#include "pipeline/protocol/port.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

class ReadingRecv : public Receiver {
public:
    ReadingRecv(Port &port, const Envelope &envelope, const Request &request)
        : Receiver(port, envelope, request),
          slot_number_(envelope.slot),
          most_by_value_(std::clamp(int64_t{1} << envelope.chunk_log2, smallest_chunk,
                                    is_of_this_node(envelope) ? port.limits().chunk
                                                              : port.limits().chunk_between_nodes))
    {
        // What is packed for a get is one chunk of its sender's.
        const bool is_one = at_.is_own() || envelope.kind == EnvelopeKind::get;
        chunk_bytes_ = mode_ == Mode::reference && is_one ? whole_chunk(bytes_) : chunk_to_pack();
    }

    // Its sender may be far from progress, and does not hear of it otherwise if this process fails,
    // nor this one if that does.
    bool look(Clock::time_point now) override
    {
        if (!waits_for_packing() || failed())
            return false;
        const SlotState packing = slot_.state();
        if (packing == SlotState::filling && now < until_)
            return true;
        Import import = std::exchange(packed_, {});
        if (packing == SlotState::open)
            read_all(std::move(import));
        else
            begin_round();
        return false;
    }

protected:
    // All of it, from there.
    virtual void read_all(Import &&from) = 0;
    // Answers, with room for what is to come.
    virtual void begin_round() = 0;
    // The same anew, for all of it by value.
    void begin_by_value()
    {
        mode_ = Mode::value;
        ++round_;
        chunk_bytes_ = chunk_to_pack();
        begin_round();
    }

    // The sender hears of it when all was read.
    bool reads_at_once()
    {
        Import import;
        if (mode_ != Mode::reference || !at_.allocation || chunks() != 1 ||
            !importer().find(at_, wanted_, import))
            return false;
        find_slot();
        if (at_.is_own())
            return read_all(std::move(import)), true;
        packed_ = std::move(import);
        until_ = Clock::now() + packing_timeout;
        port_.watch(*this);
        return true;
    }
    bool waits_for_packing() const { return packed_.at != nullptr; }
    void stop_waiting() { packed_ = {}; }

    void find_slot() { slot_ = find_get_slot(process_, slot_number_, other_); }
    Importer importer() const { return {*buffer_.device(), process_, mode_}; }
    // The size of a chunk where the sender packs.
    int64_t chunk_to_pack() const { return chunk_of(mode_, bytes_, most_by_value_); }
    int64_t chunks() const { return divide_up(wanted_, chunk_bytes_); }

    void send_answer(int64_t granted)
    {
        Header answer = header(Kind::answer);
        answer.bytes = wanted_;
        answer.chunk = chunk_bytes_;
        answer.granted = granted;
        send(answer);
    }

    void read(Chunk &chunk, Import &&from)
    {
        chunk.import = std::move(from.open);
        unpack(chunk, packed(from.at, chunk.bytes, from.memory));
    }
    void unpack(Chunk &chunk, const Data &from)
    {
        if (const Error e = move(chunk, from, buffer_.data(chunk.offset)))
            fail(e);
    }
    // Bytes that lie in the host's memory now, into a buffer that the host alone moves.
    Error unpack_at_once(const void *from, int64_t offset, int64_t bytes) const
    {
        const heddle_move move{packed(from, bytes).side, buffer_.data(offset).side, bytes,
                               HEDDLE_OP_REPLACE};
        return Error::of(heddle_transfer(&move, bytes > 0));
    }

    Slot slot_; // of what it reads at once; null: none, or it cannot be seen

private:
    const uint16_t slot_number_;
    const int64_t most_by_value_; // bytes of a chunk: the lower limit of both ports
    Import packed_;               // what is being packed, while it waits for that
    Clock::time_point until_;     // and until when
};

} // namespace heddle::pipeline
