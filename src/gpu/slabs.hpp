// SPDX-License-Identifier: BSD-3-Clause
// Slabs: staging blocks of power-of-two sizes, kept for reuse. A pool is bounded; what it cannot
// give, its users do without.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace heddle::gpu {

class SlabPool;

// A slab on loan; goes back to its pool by itself.
class Slab {
public:
    Slab() = default;
    Slab(SlabPool *pool, char *at, size_t bytes, bool pooled)
        : pool_(pool), at_(at), bytes_(bytes), pooled_(pooled)
    {
    }
    Slab(Slab &&other) noexcept { swap(other); }
    Slab &operator=(Slab &&other) noexcept
    {
        swap(other);
        return *this;
    }
    Slab(const Slab &) = delete;
    Slab &operator=(const Slab &) = delete;
    ~Slab();

    explicit operator bool() const { return at_ != nullptr; }
    char *at() const { return at_; }
    size_t bytes() const { return bytes_; }
    // Whether its memory is there for others when it goes back; otherwise it may be freed.
    bool stays() const { return pooled_; }

private:
    void swap(Slab &other) noexcept
    {
        std::swap(pool_, other.pool_);
        std::swap(at_, other.at_);
        std::swap(bytes_, other.bytes_);
        std::swap(pooled_, other.pooled_);
    }

    SlabPool *pool_ = nullptr;
    char *at_ = nullptr;
    size_t bytes_ = 0;
    bool pooled_ = true;
};

class SlabPool {
public:
    using Allocate = std::function<int(size_t bytes, void **at)>;
    using Free = std::function<void(void *at)>;

    static constexpr size_t smallest = 4096;

    // Holds at most `limit` bytes, those on loan included.
    SlabPool(Allocate allocate, Free free, size_t limit);

    // A slab of at least `bytes` bytes. HEDDLE_ERR_NO_MEMORY where the limit or the memory is
    // reached. Nothing is locked while memory is allocated.
    int take(size_t bytes, Slab &slab);
    // The same, or as large a part of it as can be had, down to the smallest.
    int take_up_to(size_t bytes, Slab &slab);
    // Memory of that size, or up to twice as much that came back before; it counts towards the
    // limit, and stays, only while it lies idle.
    int take_apart(size_t bytes, Slab &slab);
    // Bytes of the slabs that are in use: where there are some, waiting may help.
    size_t lent() const;
    size_t held() const; // and of those that lie idle

private:
    friend class Slab;

    struct Apart {
        char *at;
        size_t bytes;
    };

    void give_back(char *at, size_t bytes);
    void give_back_apart(Apart memory);
    bool trim();

    Allocate allocate_;
    Free free_;
    size_t limit_;
    mutable std::mutex mutex_;
    std::array<std::vector<char *>, 48> idle_; // by the logarithm of their size
    std::vector<Apart> apart_;                 // idle
    size_t held_ = 0;
    size_t lent_ = 0;
};

} // namespace heddle::gpu
