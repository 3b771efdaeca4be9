// SPDX-License-Identifier: BSD-3-Clause
// Arrays of 64-bit numbers that are written once: not initialized, moved and never copied, large
// ones in pooled memory.
#pragma once

#include "engine/pool.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace heddle {

class Words {
public:
    Words() = default;
    explicit Words(size_t size) : size_(size)
    {
        if (size > SIZE_MAX / sizeof(int64_t))
            throw std::bad_alloc();
        if (size > 0)
            block_ = take_block(size * sizeof(int64_t));
    }
    Words(Words &&other) noexcept
        : block_(std::exchange(other.block_, {})), size_(std::exchange(other.size_, 0))
    {
    }
    Words &operator=(Words other) noexcept
    {
        std::swap(block_, other.block_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Words()
    {
        if (block_.at)
            give_block(block_);
    }

    // The first `size` of them alone. Memory that is of no use any more goes back.
    void shrink(size_t size)
    {
        size_ = size;
        const size_t bytes = size * sizeof(int64_t);
        if (bytes > block_.bytes / 4 * 3)
            return;
        Words smaller(size);
        if (size > 0)
            std::memcpy(smaller.data(), data(), bytes);
        *this = std::move(smaller);
    }

    int64_t *data() { return reinterpret_cast<int64_t *>(block_.at); }
    const int64_t *data() const { return reinterpret_cast<const int64_t *>(block_.at); }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    int64_t &operator[](size_t i) { return data()[i]; }
    int64_t operator[](size_t i) const { return data()[i]; }
    std::span<const int64_t> all() const { return {data(), size_}; }
    int64_t memory() const { return static_cast<int64_t>(block_.bytes); }

private:
    PoolBlock block_;
    size_t size_ = 0;
};

} // namespace heddle
