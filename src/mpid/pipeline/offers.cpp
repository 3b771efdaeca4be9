// SPDX-License-Identifier: BSD-3-Clause
#include "offers.hpp"

#include "board.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace heddle::pipeline {

namespace {

// A word is the name of the message that it is of, and how it stands with it; names do not come
// again, so that a late receiver meets none of a later message's.
constexpr uint64_t free_word = 0; // withdrawn, too
enum Standing : uint64_t { open, read, taken, packing };

uint64_t name_of(uint64_t message) { return message << 2; }

uint64_t &word_of(Board &board, uint16_t number) { return board.offer[number - 1]; }

// Which of this process's words are not in use.
class Idle {
public:
    // Never destroyed, as the board.
    static Idle &get()
    {
        static Idle &idle = *std::make_unique<Idle>().release();
        return idle;
    }

    Idle()
    {
        if (!own_board())
            return;
        numbers_.reserve(Board::offers);
        for (uint16_t number = Board::offers; number > 0; --number)
            numbers_.push_back(number);
    }

    uint16_t take(uint64_t word)
    {
        const std::lock_guard lock(mutex_);
        if (numbers_.empty() || !is_ours(*own_board()))
            return 0;
        const uint16_t number = numbers_.back();
        numbers_.pop_back();
        shared_word(word_of(*own_board(), number)).store(word, std::memory_order_release);
        return number;
    }
    void give_back(uint16_t number)
    {
        shared_word(word_of(*own_board(), number)).store(free_word, std::memory_order_release);
        const std::lock_guard lock(mutex_);
        numbers_.push_back(number);
    }

private:
    std::mutex mutex_;
    std::vector<uint16_t> numbers_;
};

// Null where there is no such offer to be seen.
Board *board_with(uint16_t offer, uint64_t process)
{
    return offer == 0 || offer > Board::offers ? nullptr : board_of(process);
}

// Of an offer that was not taken.
bool change_standing(Board &board, uint16_t number, uint64_t name, uint64_t to)
{
    return change(word_of(board, number), name | open, to) ||
           change(word_of(board, number), name | read, to);
}

} // namespace

Offer::Offer(uint64_t message, bool open) : name_(name_of(message))
{
    number_ = Idle::get().take(name_ | (open ? Standing::open : packing));
}

Offer::~Offer()
{
    if (number_)
        Idle::get().give_back(number_);
}

uint64_t Offer::word() const
{
    return shared_word(word_of(*own_board(), number_)).load(std::memory_order_acquire);
}

bool Offer::is_taken() const { return number_ && word() == (name_ | taken); }

bool Offer::is_read() const { return number_ && word() == (name_ | read); }

void Offer::open()
{
    change(word_of(*own_board(), number_), name_ | packing, name_ | Standing::open);
}

bool Offer::withdraw() { return change_standing(*own_board(), number_, name_, free_word); }

Sight begin_reading(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Sight::none;
    return change(word_of(*board, offer), name_of(message) | open, name_of(message) | read)
               ? Sight::open
               : Sight::withdrawn;
}

Sight look_at_offer(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Sight::none;
    const uint64_t word = shared_word(word_of(*board, offer)).load(std::memory_order_acquire);
    return word == (name_of(message) | open)      ? Sight::open
           : word == (name_of(message) | packing) ? Sight::packing
                                                  : Sight::withdrawn;
}

Take take_offer(uint64_t process, uint16_t offer, uint64_t message)
{
    Board *const board = board_with(offer, process);
    if (!board)
        return Take::none;
    return change_standing(*board, offer, name_of(message), name_of(message) | taken)
               ? Take::taken
               : Take::withdrawn;
}

} // namespace heddle::pipeline
