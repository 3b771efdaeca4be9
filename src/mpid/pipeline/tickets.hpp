// SPDX-License-Identifier: BSD-3-Clause
// Where a sender may put its next message itself. Who has received a message of a sender's, and
// posts the only receive that the next one can match, says so on the sender's board (board.hpp),
// under the name of the message that came before. A sender whose next message that is claims the
// ticket, and is the only one who writes there until it says that all is done; one that was not
// claimed can be withdrawn. Each of these is one compare-and-swap: nobody waits for the other.
#pragma once

#include "wire.hpp"

#include <chrono>
#include <utility>

namespace heddle::pipeline {

struct TicketRecord;

// For a sender that may be gone.
constexpr auto grace = std::chrono::seconds(1);

// How it stands with a ticket.
enum class Standing : uint8_t {
    none,    // there is no such ticket
    writing, // it is being made
    open,
    claimed,
    done,     // all is there
    failed,   // anything may be there, and nobody writes any more
    abandoned // claimed, and nobody waits for it any more
};

// The receiver's end of it.
class Ticket {
public:
    Ticket() = default;
    // For the message that its sender, another process, sends after `after`, if it has no more than
    // `capacity` bytes. Without effect where the sender's board cannot be seen, or has no room.
    Ticket(uint64_t sender, uint64_t after, const Loan &at, int64_t capacity);
    // One that was given.
    static Ticket find(uint64_t sender, uint64_t after);
    Ticket(Ticket &&other) noexcept
        : record_(std::exchange(other.record_, nullptr)), name_(other.name_)
    {
    }
    Ticket &operator=(Ticket &&other) noexcept
    {
        std::swap(record_, other.record_);
        std::swap(name_, other.name_);
        return *this;
    }
    ~Ticket() { end(); }

    explicit operator bool() const { return record_ != nullptr; }
    Standing standing() const;
    // False where it was claimed. Afterwards there is none.
    bool withdraw();
    // While it is claimed, by a sender that may be gone: for a second at most.
    void wait() const;
    // Nobody waits for it any more: it is withdrawn, or its place is free once nobody writes. The
    // sender's processor has to give a cache line up for that, so it is for when there is time.
    void end();
    // The same, once nobody writes, or after a second.
    void end_unwritten();
    // To be found again.
    void let_be() { record_ = nullptr; }

private:
    TicketRecord *record_ = nullptr;
    uint64_t name_ = 0;
};

// Whether there is one for what this process sends after `after`.
bool is_ticket_open(uint64_t after);
// It will be asked for: it comes from another processor's cache.
void fetch_ticket(uint64_t after);

// The sender's: it alone writes there. Fails when it goes before it is done.
class Claim {
public:
    Claim() = default;
    // Of the ticket for what follows `after`, if there is one for `bytes` bytes.
    Claim(uint64_t after, int64_t bytes);
    Claim(Claim &&other) noexcept
        : record_(std::exchange(other.record_, nullptr)), name_(other.name_)
    {
    }
    Claim &operator=(Claim &&other) noexcept
    {
        std::swap(record_, other.record_);
        std::swap(name_, other.name_);
        return *this;
    }
    ~Claim();

    explicit operator bool() const { return record_ != nullptr; }
    uint64_t process() const; // the receiver's
    // Without the handle, which is another cache line.
    Loan place() const;
    Loan at() const;
    void done();
    // Somebody else may use it after all.
    void give_back();

private:
    void leave(Standing standing);

    TicketRecord *record_ = nullptr;
    uint64_t name_ = 0;
};

} // namespace heddle::pipeline
