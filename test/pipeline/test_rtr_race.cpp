/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots, and who frees them. heddle_rtr_end beside a sender that claims the RTR at that very
 * moment: once it has returned nobody writes, and the slot is free.
 */
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/peer_memory/slots.hpp"

#include <catch2/catch.hpp>
#include <heddle_message.h>

#include <atomic>
#include <thread>

using namespace heddle::pipeline;

namespace {

void pass_time(uint64_t turns)
{
    for (uint64_t i = 0; i < turns; ++i)
        std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* Without giving the processor away at once: the two are to meet within nanoseconds. */
void await(const std::atomic<uint64_t> &number, uint64_t least)
{
    for (int tries = 0; number.load(std::memory_order_acquire) < least; ++tries)
        if (tries > 10000)
            std::this_thread::yield();
}

} // namespace

TEST_CASE("an RTR is ended while its sender claims it", "[put][threads]")
{
    Slots *const own = own_slots();
    REQUIRE(own);
    constexpr uint64_t turns = 100000;
    std::atomic<uint64_t> turn{0}, passed{0};
    std::thread sender([&] { /* this process's own, as the other's would */
                             for (uint64_t i = 1; i <= turns; ++i) {
                                 await(turn, i);
                                 Slot slot(&own->rtr[i % Slots::rtrs].word, i);
                                 pass_time(i * 7 % 241);
                                 const bool claimed = slot.change(SlotState::open, SlotState::busy);
                                 if (claimed)
                                     pass_time(1600);
                                 if (claimed) /* each third is given back */
                                     slot.change(SlotState::busy,
                                                 i % 3 ? SlotState::done : SlotState::open);
                                 passed = i;
                             }
    });
    uint64_t left = 0;
    for (uint64_t i = 1; i <= turns; ++i) {
        uint64_t &it = own->rtr[i % Slots::rtrs].word;
        Slot(&it, i).set(SlotState::open);
        const heddle_rtr rtr{process_id().process, i};
        turn = i;
        pass_time(i * 13 % 151);
        heddle_rtr_end(&rtr);
        left += shared_word(it).load() != 0;
        await(passed, i);
        left += shared_word(it).load() != 0;
        shared_word(it).store(0);
        if (left > 5)
            break; /* each takes a second where one is waited for in vain */
    }
    turn = turns;
    sender.join();
    CHECK(left == 0);
}

TEST_CASE("a slot that was withdrawn is another message's, and not freed again", "[get]")
{
    GetSlot withdrawn(1001, SlotState::open);
    REQUIRE(withdrawn.number() != 0);
    REQUIRE(withdrawn->change(SlotState::open, SlotState::none));
    const GetSlot next(1002, SlotState::open);
    REQUIRE(next.number() == withdrawn.number());
    withdrawn = GetSlot();
    CHECK(next->state() == SlotState::open);
}
