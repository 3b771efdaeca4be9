// SPDX-License-Identifier: BSD-3-Clause
// The staging memory of a port, for one direction: who waits for a block gets one when it is its
// turn, and goes to the end of the line for the next. What a port may hold is limited; but who
// holds nothing always gets a block, and so does, after a while, who waits for others that do not
// move: they may depend on a process that does not either.
#pragma once

#include "pipeline/peer_memory/exports.hpp"

#include <chrono>
#include <deque>

namespace heddle::pipeline {

class Staging;

// What a block counts for, and what it is, if others can read it.
struct Share {
    Staging *staging = nullptr;
    int64_t bytes = 0;
    Piece piece{};

    explicit operator bool() const { return staging != nullptr; }
};
struct GiveBackShare {
    void operator()(const Share &share) const;
};

// A leased block; goes back by itself.
class Block : public gpu::Owned<Share, GiveBackShare> {
public:
    using Owned::Owned;

    char *at() const { return value_.piece.pool ? value_.piece.at : slab_.at(); }
    // What it lies in; null where that is to be asked for.
    const gpu::Memory *memory() const
    {
        return value_.piece.pool ? &value_.piece.memory() : nullptr;
    }
    // How another process opens it, if it can.
    MemoryHandle handle() const { return value_.piece.handle(); }

private:
    friend class Staging;

    gpu::Slab slab_; // or the host's alone
};

class Waiter {
public:
    // What it waits for, near which device; null: the host alone uses it.
    virtual int64_t block_bytes() const = 0;
    virtual gpu::Device *block_device() const = 0;
    // It is its turn: a block, or the error that there was instead. Whether it wants another.
    virtual bool granted(Error error, Block block) = 0;

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
    int serve();
    // A block without waiting; NO_MEMORY where the limit allows none.
    Error take_spare(const Waiter &waiter, Block &block) { return take(waiter, false, block); }
    bool anyone_waits() const { return !line_.empty(); }

private:
    friend struct GiveBackShare;
    friend class Waiter;
    using Clock = std::chrono::steady_clock;

    Error take(const Waiter &waiter, bool beyond, Block &block);
    Error take_host(gpu::Device *device, size_t bytes, bool beyond, Block &block);

    Mode mode_;
    int64_t limit_;
    int64_t held_ = 0;
    std::deque<Waiter *> line_;
    Clock::time_point moved_; // the last time that the line did, or a block came back
};

} // namespace heddle::pipeline
