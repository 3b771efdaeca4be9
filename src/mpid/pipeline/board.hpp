// SPDX-License-Identifier: BSD-3-Clause
// A piece of memory of each process that others of the node can map: words and records by which two
// processes agree on what becomes of a message, with one compare-and-swap each and nobody waiting
// for anybody.
#pragma once

#include "wire.hpp"

#include <atomic>
#include <cstddef>

namespace heddle::pipeline {

// A receiver's, at the sender that may use it (tickets.hpp). But for the handle it is one cache
// line.
struct alignas(64) TicketRecord {
    uint64_t word;
    uint64_t process; // the receiver's
    int64_t capacity;
    Loan at;
};
static_assert(offsetof(TicketRecord, at.handle) <= 64);

struct Board {
    static constexpr uint16_t offers = 8190;
    static constexpr uint16_t tickets = 64;

    uint64_t magic;
    uint64_t process;
    uint64_t offer[offers]; // offers.hpp
    TicketRecord ticket[tickets];
};

// This process's, null where there can be none. It stays until the process ends; a forked child has
// its parent's, and must not use it (is_ours).
Board *own_board();
bool is_ours(const Board &board);
// Of a process of this node, this one included; null where it cannot be seen.
Board *board_of(uint64_t process);

// A word of either process.
inline std::atomic_ref<uint64_t> shared_word(uint64_t &word)
{
    static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);
    return std::atomic_ref(word);
}
inline bool change(uint64_t &word, uint64_t from, uint64_t to)
{
    return shared_word(word).compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

} // namespace heddle::pipeline
