// SPDX-License-Identifier: BSD-3-Clause
// What the messages of all ports did, for heddle_info.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle::pipeline {

enum class Counter : uint8_t {
    sent_by_value, // messages
    sent_by_reference,
    received_by_value,
    received_by_reference,
    failed,          // ends of messages
    chunks_by_value, // received
    chunks_by_reference,
    bytes_received,
    sent_in_place, // messages by reference that were read out of the caller's own memory
    waits,         // for staging memory: turns that did not come at once
    beyond_limit,  // staging memory taken where the limit allowed none, so that nobody waits for ever
    fallbacks,     // from reference to value
    strays,        // headers of messages that had ended
    count
};

void count(Counter counter, int64_t by = 1);
int64_t counted(Counter counter);

} // namespace heddle::pipeline
