// SPDX-License-Identifier: BSD-3-Clause
// Memory that other processes can read, a device's or the host's, in pieces. It is made in a few
// large allocations, each exported once and opened once by each process that reads from it; for
// both take long. They stay until the process ends: what others have open must not be freed.
#pragma once

#include "../../gpu/devices.hpp"
#include "wire.hpp"

#include <utility>

namespace heddle::pipeline {

// One such allocation.
struct Lent;

// A piece on loan; goes back by itself.
class Piece {
public:
    Piece() = default;
    Piece(Lent *lent, char *at, const Loan &loan) : lent_(lent), at_(at), loan_(loan) {}
    Piece(Piece &&other) noexcept
        : lent_(std::exchange(other.lent_, nullptr)), at_(other.at_), loan_(other.loan_)
    {
    }
    Piece &operator=(Piece &&other) noexcept
    {
        std::swap(lent_, other.lent_);
        std::swap(at_, other.at_);
        std::swap(loan_, other.loan_);
        return *this;
    }
    ~Piece();

    explicit operator bool() const { return lent_ != nullptr; }
    char *at() const { return at_; }
    const Loan &loan() const { return loan_; }
    const gpu::Memory &memory() const;

private:
    Lent *lent_ = nullptr;
    char *at_ = nullptr;
    Loan loan_;
};

// A piece of at least `bytes` bytes for chunks of that mode: of the device's memory, or of the
// host's near it. NO_MEMORY where all are on loan, and no more are to be made: one process's, for
// one device, take at most HEDDLE_SLAB_LIMIT each, unless `beyond`.
int lend(gpu::Device &device, Mode mode, size_t bytes, bool beyond, Piece &piece);

// False once such memory turned out to be none that can be exported.
bool can_lend(const gpu::Device &device, Mode mode);

// Where this very process has it; null where it is none of its own.
char *find_lent(const Loan &loan, int64_t bytes);

} // namespace heddle::pipeline
