// SPDX-License-Identifier: BSD-3-Clause
// Slabs: staging blocks of power-of-two sizes, kept for reuse. A pool is bounded; what it cannot
// give, its users do without.
#pragma once

#include "engine/error.hpp"
#include "gpu/core/handle.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace heddle::gpu {

class SlabPool;

struct SlabMemory {
    SlabPool *pool = nullptr;
    char *at = nullptr;
    size_t bytes = 0;
    bool pooled = true; // of one of the pool's sizes

    explicit operator bool() const { return at != nullptr; }
};

struct GiveBackSlab {
    void operator()(const SlabMemory &memory) const;
};

// A slab in use; goes back to its pool by itself.
class Slab : public Owned<SlabMemory, GiveBackSlab> {
public:
    using Owned::Owned;

    char *at() const { return value_.at; }
    size_t bytes() const { return value_.bytes; }
    // Whether its memory is there for others when it goes back; otherwise it may be freed.
    bool stays() const { return value_.pooled; }
};

class SlabPool {
public:
    using Allocate = std::function<Error(size_t bytes, void **at)>;
    using Free = std::function<void(void *at)>;

    static constexpr size_t smallest = 4096;

    // Holds at most `limit` bytes, those in use included.
    SlabPool(Allocate allocate, Free free, size_t limit);

    // A slab of at least `bytes` bytes. HEDDLE_ERR_NO_MEMORY where the limit or the memory is
    // reached. Nothing is locked while memory is allocated.
    Error take(size_t bytes, Slab &slab);
    // The same, or as large a part of it as can be had, down to the smallest.
    Error take_up_to(size_t bytes, Slab &slab);
    // Memory of that size, or up to twice as much that came back before; it counts towards the
    // limit, and stays, only while it lies idle.
    Error take_apart(size_t bytes, Slab &slab);
    // Bytes of the slabs that are in use: where there are some, waiting may help.
    size_t in_use() const;
    size_t held() const; // and of those that lie idle

private:
    friend struct GiveBackSlab;

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
    size_t in_use_ = 0;
};

} // namespace heddle::gpu
