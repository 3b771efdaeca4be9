// SPDX-License-Identifier: BSD-3-Clause
// What the messages of all ports did, for heddle_info.
#pragma once

#include "gpu/core/counters.hpp"
#include "pipeline/wire.hpp"

#include <array>
#include <atomic>

namespace heddle::pipeline {

// Each once, for its number here and for its name (counters.cpp).
#define HEDDLE_MESSAGE_COUNTERS(EACH)                                                              \
    EACH(sent_whole) /* short messages, packed and unpacked by the caller */                       \
    EACH(received_whole)                                                                           \
    EACH(bytes_whole)                                                                              \
    EACH(sent_by_value) /* messages; these three, and others like them, in the order of Mode */    \
    EACH(sent_shared)                                                                              \
    EACH(sent_by_reference)                                                                        \
    EACH(received_by_value)                                                                        \
    EACH(received_shared)                                                                          \
    EACH(received_by_reference)                                                                    \
    EACH(failed)          /* ends of messages */                                                   \
    EACH(chunks_by_value) /* received */                                                           \
    EACH(chunks_shared)                                                                            \
    EACH(chunks_by_reference)                                                                      \
    EACH(bytes_by_value) /* received */                                                            \
    EACH(bytes_shared)                                                                             \
    EACH(bytes_by_reference)                                                                       \
    EACH(within)        /* messages of a port to itself, moved at once */                          \
    EACH(sent_in_place) /* messages by reference, read out of the caller's own memory */           \
    EACH(claimed)       /* gets that were read in time, at their receiver */                       \
    EACH(withdrawn)     /* and the others, at their sender */                                      \
    EACH(rtrs_posted)   /* RTRs that were posted (slots.hpp) */                                    \
    EACH(delivered)     /* messages that were sent by one */                                       \
    EACH(waits)         /* for staging memory: turns that did not come at once */                  \
    EACH(beyond_limit)  /* staging memory beyond the limit, so that nobody waits for ever */       \
    EACH(fallbacks)     /* to chunks by value, from others */                                      \
    EACH(strays)        /* headers of messages that had ended */                                   \
    EACH(kept) /* now: messages that a port has for receives that may come, or will throw away */

enum class Counter : uint8_t {
#define HEDDLE_NUMBER(name) name,
    HEDDLE_MESSAGE_COUNTERS(HEDDLE_NUMBER) count
#undef HEDDLE_NUMBER
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
