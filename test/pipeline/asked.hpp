/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that receives as another one asks it to, step by step: so a test of both is told at one
 * place.
 */
#pragma once

#include "processes.hpp"

#include "exchange.hpp"

#include <algorithm>

namespace pipeline_test {

/* Buffers of either end. */
class Buffers {
public:
    static constexpr int64_t size = 1 << 20, most_close = 4 << 20;
    /* close: blocks of 8 bytes, a byte apart, most_close at most. Nothing is looked at there. */
    enum class Kind { dense, strided, close, host };

    explicit Buffers(gpu::Place device)
        : device_(device, most_close / 8 * 9),
          host_({}, size),
          every_other_(oracle::build(*blocks(device, size / 2).type).commit()),
          close_(oracle::build(
                     *oracle::resized(oracle::contiguous(8, oracle::predefined(HEDDLE_BYTE)), 0, 9))
                     .commit())
    {
        clear();
    }
    /* Of a strided one there is half as much. */
    heddle_side side(Kind kind, int64_t bytes = size) const
    {
        if (kind == Kind::strided)
            return {device_.at(), std::min(bytes, size / 2) / 8, every_other_.get(), 0};
        if (kind == Kind::close)
            return {device_.at(), bytes / 8, close_.get(), 0};
        return {(kind == Kind::host ? host_ : device_).at(), bytes,
                heddle_type_predefined(HEDDLE_BYTE), 0};
    }
    void clear() const { put(std::vector<char>(size, 'g')); }
    /* So that the first packed bytes of either kind are the message's. */
    void fill(int message, Kind kind = Kind::dense) const { put(with(message, size, kind)); }
    /* Whether such a message has come, and nothing else. */
    bool holds(int message, int64_t bytes, Kind kind = Kind::dense) const
    {
        std::vector<char> got(size);
        device_.read(0, got.data(), got.size());
        return got == with(message, bytes, kind);
    }

private:
    static std::vector<char> with(int message, int64_t bytes, Kind kind)
    {
        std::vector<char> all(size, 'g');
        const bool strided = kind == Kind::strided;
        for (int64_t x = 0; x < (strided ? std::min(bytes, size / 2) : bytes); ++x)
            all[static_cast<size_t>(strided ? x / 8 * 16 + x % 8 : x)] = byte_at(message, x);
        return all;
    }
    void put(const std::vector<char> &contents) const
    {
        device_.write(0, contents.data(), contents.size());
        host_.write(0, contents.data(), contents.size());
    }

    gpu::Memory device_, host_;
    oracle::Type every_other_, close_;
};

enum class Ask {
    read, /* heddle_envelope_read */
    give, /* heddle_rtr_post, from a port with `peer` of a buffer of `kind` with `capacity` bytes
           */
    withdraw, /* heddle_rtr_withdraw */
    end_rtr,  /* heddle_rtr_end; says whether it took 10 ms */
    receive,  /* heddle_message_receive of the envelope, with `rtr` if `has_rtr` */
    look,     /* makes progress for a while */
    finish, /* until the message has ended, and then some; says whether it was `message`, and clears
               the buffer */
    lose,   /* heddle_port_lost */
    destroy, /* heddle_port_destroy, and makes another port */
    end
};

struct Question {
    Ask ask;
    heddle_rtr rtr{};
    bool has_rtr = true;
    Buffers::Kind kind = Buffers::Kind::dense;
    int peer = HEDDLE_PEER_AUTO;
    int64_t capacity = Buffers::size;
    int message = 0;
    char envelope[HEDDLE_ENVELOPE_BYTES] = {};
};

struct Answer {
    int error = HEDDLE_SUCCESS;
    int yes = -1; /* given, claimed, or right */
    heddle_envelope_info info{sizeof info, 0, 0, {}};
    End end;                            /* of the last message that was begun */
    int active = -1;                    /* the port */
    int headers = 0;                    /* that have come */
    int64_t rtrs = 0, by_reference = 0; /* that were counted */
};

/* The process that is asked, until it is asked to end. */
void be_asked();

} // namespace pipeline_test
