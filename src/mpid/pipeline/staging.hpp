// SPDX-License-Identifier: BSD-3-Clause
// The staging memory of a port, for one direction: who waits for a block gets one when it is its
// turn, and goes to the end of the line for the next. What a port may hold is limited; but who
// holds nothing always gets a block, and so does, after a while, who waits for others that do not
// move: they may depend on a process that does not either.
#pragma once

#include "lending.hpp"

#include <chrono>
#include <deque>
#include <memory>

namespace heddle::pipeline {

class Staging;

// A block on loan; goes back by itself.
class Block {
public:
    Block() = default;
    Block(Block &&other) noexcept { swap(other); }
    Block &operator=(Block &&other) noexcept
    {
        Block(std::move(other)).swap(*this);
        return *this;
    }
    ~Block();

    explicit operator bool() const { return staging_ != nullptr; }
    char *at() const { return plain_ ? plain_.get() : piece_ ? piece_.at() : slab_.at(); }
    // What it lies in; null where that is to be asked for.
    const gpu::Memory *memory() const { return piece_ ? &piece_.memory() : nullptr; }
    // How another process finds it, if it is lent.
    const Loan &loan() const { return piece_.loan(); }

private:
    friend class Staging;
    void swap(Block &other) noexcept;

    gpu::Slab slab_;
    std::unique_ptr<char[]> plain_; // where there was no slab
    Piece piece_;
    Staging *staging_ = nullptr;
    int64_t bytes_ = 0;
};

class Waiter {
public:
    // What it waits for, near which device; null: the host alone uses it.
    virtual int64_t block_bytes() const = 0;
    virtual gpu::Device *block_device() const = 0;
    // It is its turn: a block, or the error that there was instead. Whether it wants another.
    virtual bool granted(int error, Block block) = 0;

    bool waits() const { return line_ != nullptr; }
    // Waits no more.
    void leave();

protected:
    Waiter() = default;
    Waiter(const Waiter &) = delete;
    ~Waiter() { leave(); }

private:
    friend class Staging;
    Staging *line_ = nullptr;
    bool counted_ = false; // as one that had to wait
};

class Staging {
public:
    // For chunks of that mode: host memory that the device reaches well, or memory that other
    // processes can read.
    Staging(Mode mode, int64_t limit) : mode_(mode), limit_(limit) {}

    // Puts it at the end of the line, if it does not stand there already.
    void wait(Waiter &waiter);
    // Serves the line as far as there are blocks. How many were served.
    int serve() { return line_.empty() ? 0 : serve_line(); }
    // A block without waiting; NO_MEMORY where the limit allows none.
    int take_spare(const Waiter &waiter, Block &block) { return take(waiter, false, block); }
    bool anyone_waits() const { return !line_.empty(); }

private:
    friend class Block;
    friend class Waiter;
    using Clock = std::chrono::steady_clock;

    int serve_line();
    int take(const Waiter &waiter, bool beyond, Block &block);
    int take_host(gpu::Device *device, size_t bytes, bool beyond, Block &block);
    void came_back(int64_t bytes);

    Mode mode_;
    int64_t limit_;
    int64_t held_ = 0;
    std::deque<Waiter *> line_;
    Clock::time_point moved_; // the last time that the line did, or a block came back
};

} // namespace heddle::pipeline
