// SPDX-License-Identifier: BSD-3-Clause
#include "tickets.hpp"

#include "board.hpp"
#include "whereabouts.hpp"

#include <thread>

namespace heddle::pipeline {

namespace {

constexpr uint64_t free_word = 0;
constexpr int standing_bits = 3;
static_assert(static_cast<int>(Standing::abandoned) < 1 << standing_bits);

// Names of messages do not come again: so nobody takes a ticket for a later one.
uint64_t name_of(uint64_t message) { return message << standing_bits; }
uint64_t word_for(uint64_t name, Standing standing)
{
    return name | static_cast<uint64_t>(standing);
}

TicketRecord *record_of(Board *board, uint64_t message)
{
    return board && message ? &board->ticket[message % Board::tickets] : nullptr;
}

// They come at the same time, not one after the other.
void fetch_for_writing(const TicketRecord &record)
{
    for (size_t line = 0; line < sizeof record; line += 64)
        __builtin_prefetch(reinterpret_cast<const char *>(&record) + line, 1);
}

void store(TicketRecord &record, uint64_t word)
{
    shared_word(record.word).store(word, std::memory_order_release);
}

} // namespace

// ---- the receiver ----

Ticket::Ticket(uint64_t sender, uint64_t after, const Loan &at, int64_t capacity)
    : name_(name_of(after))
{
    TicketRecord *const record =
        sender == whereabouts().process ? nullptr : record_of(board_of(sender), after);
    if (!record)
        return;
    fetch_for_writing(*record);
    if (!change(record->word, free_word, word_for(name_, Standing::writing)))
        return;
    record->process = whereabouts().process;
    record->capacity = capacity;
    record->at = at;
    store(*record, word_for(name_, Standing::open));
    record_ = record;
}

Ticket Ticket::find(uint64_t sender, uint64_t after)
{
    Ticket found;
    found.record_ = record_of(board_of(sender), after);
    found.name_ = name_of(after);
    if (found.record_ && found.standing() == Standing::none)
        found.record_ = nullptr;
    return found;
}

Standing Ticket::standing() const
{
    const uint64_t word = shared_word(record_->word).load(std::memory_order_acquire);
    const auto standing = word & ((1u << standing_bits) - 1);
    return word - standing == name_ && standing <= static_cast<uint64_t>(Standing::abandoned)
               ? static_cast<Standing>(standing)
               : Standing::none;
}

bool Ticket::withdraw()
{
    TicketRecord *const record = std::exchange(record_, nullptr);
    return !record || change(record->word, word_for(name_, Standing::open), free_word);
}

void Ticket::wait() const
{
    const auto until = std::chrono::steady_clock::now() + grace;
    while (standing() == Standing::claimed && std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
}

void Ticket::end()
{
    TicketRecord *const record = std::exchange(record_, nullptr);
    if (!record)
        return;
    const auto becomes = [&](Standing from, uint64_t to) {
        return change(record->word, word_for(name_, from), to);
    };
    // A sender may claim it and give it back meanwhile.
    for (int tries = 0; tries < 4; ++tries)
        if (becomes(Standing::open, free_word) || becomes(Standing::done, free_word) ||
            becomes(Standing::failed, free_word) ||
            becomes(Standing::claimed, word_for(name_, Standing::abandoned))) // its sender does the
                                                                              // rest
            return;
}

void Ticket::end_unwritten()
{
    // Only what is no longer open can be waited for: an open one may be claimed at any moment, and
    // one that is claimed given back.
    const auto until = std::chrono::steady_clock::now() + grace;
    while (record_ && !change(record_->word, word_for(name_, Standing::open), free_word) &&
           standing() == Standing::claimed && std::chrono::steady_clock::now() < until)
        wait();
    end();
}

// ---- the sender ----

void fetch_ticket(uint64_t after)
{
    if (const TicketRecord *const record = record_of(own_board(), after))
        __builtin_prefetch(record, 1);
}

bool is_ticket_open(uint64_t after)
{
    TicketRecord *const record = record_of(own_board(), after);
    return record && shared_word(record->word).load(std::memory_order_relaxed) ==
                         word_for(name_of(after), Standing::open);
}

Claim::Claim(uint64_t after, int64_t bytes) : name_(name_of(after))
{
    Board *const board = own_board();
    TicketRecord *const record = board && is_ours(*board) ? record_of(board, after) : nullptr;
    if (!record ||
        !change(record->word, word_for(name_, Standing::open), word_for(name_, Standing::claimed)))
        return;
    record_ = record;
    if (record->capacity < bytes)
        give_back();
}

Claim::~Claim() { leave(Standing::failed); }

uint64_t Claim::process() const { return record_->process; }

Loan Claim::at() const { return record_->at; }

Loan Claim::place() const
{
    const Loan &all = record_->at;
    return {all.allocation, all.at, all.base, all.size, {}};
}

void Claim::done() { leave(Standing::done); }

void Claim::give_back() { leave(Standing::open); }

void Claim::leave(Standing standing)
{
    TicketRecord *const record = std::exchange(record_, nullptr);
    if (record &&
        !change(record->word, word_for(name_, Standing::claimed), word_for(name_, standing)))
        store(*record, free_word); // it was abandoned
}

} // namespace heddle::pipeline
