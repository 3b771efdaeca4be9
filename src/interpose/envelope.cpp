// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/envelope.hpp"

#include <cstring>

namespace heddle::interpose {

Envelope::Wire Envelope::written() const
{
    Wire wire{};
    std::memcpy(wire.data(), this, sizeof *this);
    return wire;
}

Envelope Envelope::read(const std::byte *wire)
{
    Envelope envelope;
    std::memcpy(&envelope, wire, sizeof envelope);
    return envelope;
}

bool Envelope::is_one() const { return magic == interpose::magic(); }

} // namespace heddle::interpose
