// SPDX-License-Identifier: BSD-3-Clause
// What the messages of all ports did, for heddle_info.
#pragma once

#include "gpu/core/counters.hpp"
#include "pipeline/wire.hpp"

#include <array>
#include <atomic>

namespace heddle::pipeline {

enum class Counter : uint8_t {
    sent_whole, // short messages, packed and unpacked by the caller
    received_whole,
    bytes_whole,
    sent_by_value, // messages; these three, and others like them, in the order of Mode
    sent_shared,
    sent_by_reference,
    received_by_value,
    received_shared,
    received_by_reference,
    failed,          // ends of messages
    chunks_by_value, // received
    chunks_shared,
    chunks_by_reference,
    bytes_by_value, // received
    bytes_shared,
    bytes_by_reference,
    within,        // messages of a port to itself, moved at once
    sent_in_place, // messages by reference that were read out of the caller's own memory
    claimed,       // gets that were read in time, at their receiver
    withdrawn,     // and the others, at their sender
    rtrs_posted,   // RTRs that were posted (slots.hpp)
    delivered,     // messages that were sent by one
    waits,         // for staging memory: turns that did not come at once
    beyond_limit,  // staging memory taken where the limit allowed none, so that nobody waits for
                   // ever
    fallbacks,     // to chunks by value, from others
    strays,        // headers of messages that had ended
    kept, // now: messages that a port has for receives that may come, or will throw away when they
          // come
    count
};

// Of the three that begin with `by_value`.
constexpr Counter counter_of(Counter by_value, Mode mode)
{
    return static_cast<Counter>(static_cast<uint8_t>(by_value) + static_cast<uint8_t>(mode));
}
void count(Counter counter, int64_t by = 1);
int64_t counted(Counter counter);

// Operations that went one way, and their bytes.
struct WayCount {
    const char *number_is, *bytes_are;
    std::atomic<int64_t> number{0}, bytes{0};

    void add(int64_t bytes_of_one);
    void tell(gpu::Counts &counts, const char *group, const char *description) const;
};

} // namespace heddle::pipeline
