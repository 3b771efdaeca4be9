// SPDX-License-Identifier: BSD-3-Clause
#include "outgoing.hpp"

#include "port.hpp"

namespace heddle::pipeline {

Envelope Outgoing::addressed() const
{
    const Whereabouts here = whereabouts();
    Envelope envelope;
    envelope.message = id();
    envelope.bytes = total_;
    envelope.chunk = port_.limits().chunk;
    envelope.node = here.node;
    envelope.process = here.process;
    envelope.number = port_.limits().number;
    return envelope;
}

void Outgoing::dropped()
{
    answered_ = true;
    alone_ = true;
    wanted_ = 0;
    port_.ready(*this);
}

void Outgoing::refused(int error)
{
    if (error)
        fail_alone(HEDDLE_ERR_PEER);
    else
        dropped();
}

void Outgoing::give(int64_t bytes)
{
    answered_ = true;
    alone_ = true;
    wanted_ = bytes;
    gives_ = true;
}

void Outgoing::given(int error)
{
    gives_ = false;
    if (error)
        fail(error);
    else
        done_ = wanted_;
    port_.ready(*this);
}

void Outgoing::drop_chunks()
{
    gives_ = false;
    Message::drop_chunks();
}

} // namespace heddle::pipeline
