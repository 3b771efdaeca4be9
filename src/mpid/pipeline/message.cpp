// SPDX-License-Identifier: BSD-3-Clause
#include "message.hpp"

#include "counters.hpp"
#include "port.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <utility>

namespace heddle::pipeline {

namespace {

// Names of two processes are hardly ever the same, so that a header that went astray is noticed.
uint64_t next_id()
{
    static std::atomic<uint64_t> made{0};
    return (whereabouts().process >> number_bits << 32) +
           made.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

Message::Message(Port &port, void *peer, const heddle_side &side, int64_t bytes,
                 heddle_message_ended ended, void *argument)
    : port_(port), id_(next_id()), peer_(peer), buffer_(side, bytes)
{
    ending_.ended = ended;
    ending_.argument = argument;
}

bool Message::granted(int error, Block block)
{
    bool another = false;
    const int e = guard([&] {
        another = use(error, std::move(block));
        return HEDDLE_SUCCESS;
    });
    if (e)
        fail(e);
    return another && !failed();
}

void Message::moved(Chunk &chunk, int error)
{
    chunk.state = Chunk::State::moved;
    if (error)
        fail(error);
    port_.ready(*this);
}

void Message::fail(int error)
{
    if (failed() || told_)
        return;
    ending_.error = error;
    if (error == HEDDLE_ERR_DEVICE)
        std::snprintf(ending_.detail.data(), ending_.detail.size(), "%s", heddle_error_detail());
    if (ending_.ended) // its caller hears of it
        count(Counter::failed);
    leave();
    if (!alone_)
        failing();
    port_.ready(*this);
}

void Message::fail_alone(int error)
{
    alone_ = true;
    fail(error);
    port_.ready(*this);
}

void Message::forsake()
{
    std::erase_if(chunks_, [](const Chunk &chunk) { return chunk.state == Chunk::State::carried; });
    port_.ready(*this);
}

void Message::tell(Kind kind)
{
    Header header;
    header.kind = kind;
    header.to = other_;
    header.from = id_;
    port_.send(*this, header);
}

void Message::finish()
{
    ending_.bytes = done_;
    port_.end(*this);
}

void Message::finish_soon()
{
    Ending ending = std::exchange(ending_, {});
    ending.bytes = done_;
    port_.tell(ending);
    told_ = true;
}

std::list<Chunk>::iterator Message::find(const Chunk &chunk)
{
    return std::find_if(chunks_.begin(), chunks_.end(),
                        [&](const Chunk &each) { return &each == &chunk; });
}

} // namespace heddle::pipeline
