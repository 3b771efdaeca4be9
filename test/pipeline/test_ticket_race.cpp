/* SPDX-License-Identifier: BSD-3-Clause
 *
 * heddle_ticket_end beside a sender that claims the ticket at that very moment: once it has
 * returned nobody writes, and the ticket's place is free.
 */
#include "../../src/mpid/pipeline/board.hpp"
#include "../../src/mpid/pipeline/tickets.hpp"
#include "../../src/mpid/pipeline/whereabouts.hpp"

#include <catch2/catch.hpp>
#include <heddle.h>

#include <atomic>
#include <thread>

using namespace heddle::pipeline;

namespace {

uint64_t word(uint64_t after, Standing standing)
{
    return after << 3 | static_cast<uint64_t>(standing);
}

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

TEST_CASE("a ticket is ended while its sender claims it", "[tickets][threads]")
{
    Board *const board = own_board();
    REQUIRE(board);
    constexpr uint64_t turns = 100000;
    std::atomic<uint64_t> turn{0}, passed{0};
    std::thread sender(
        [&] { /* this process's own, as the other's would */
              for (uint64_t i = 1; i <= turns; ++i) {
                  await(turn, i);
                  uint64_t &it = board->ticket[i % Board::tickets].word;
                  pass_time(i * 7 % 241);
                  const bool claimed =
                      change(it, word(i, Standing::open), word(i, Standing::claimed));
                  if (claimed)
                      pass_time(1600);
                  if (claimed && i % 3 == 0)
                      change(it, word(i, Standing::claimed), word(i, Standing::open)); /* it gives
                                                                                          it back */
                  else if (claimed)
                      change(it, word(i, Standing::claimed), word(i, Standing::done));
                  passed = i;
              }
        });
    uint64_t left = 0;
    for (uint64_t i = 1; i <= turns; ++i) {
        uint64_t &it = board->ticket[i % Board::tickets].word;
        shared_word(it).store(word(i, Standing::open));
        const heddle_ticket ticket{whereabouts().process, i};
        turn = i;
        pass_time(i * 13 % 151);
        heddle_ticket_end(&ticket);
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
