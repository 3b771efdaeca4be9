// SPDX-License-Identifier: BSD-3-Clause
// Host memory for large arrays that come and go with types, and for what messages land in. A
// program that makes a type for each message would have the system clear the same pages each time,
// which takes longer than all else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace heddle {

struct PoolBlock {
    char *at = nullptr; // as malloc aligns it; what is pooled, by 64 bytes
    size_t bytes = 0;
};

// Smaller ones are malloc's, which keeps them as well.
constexpr size_t least_pooled = size_t{32} << 10;

// The size of the block that serves `bytes` bytes: few sizes, so that a block serves again, and at
// most an eighth too large. Who knows `bytes` so knows the block.
constexpr size_t block_size(size_t bytes)
{
    if (bytes < least_pooled || bytes > SIZE_MAX / 2)
        return bytes;
    const size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
}

// Blocks of this size and more have pages of their own: they begin and end with a page.
constexpr size_t page_bytes = 4096, least_of_pages = 8 * page_bytes * 8;

// Blocks of one use never serve another.
enum class PoolUse : uint8_t {
    arrays,  // of types: somebody may keep something about their memory (on_block_end)
    scratch, // data
    staging  // that messages are sent from and land in, if they land there at all
};

// block_size(bytes) bytes, not initialized. Errors: std::bad_alloc.
PoolBlock take_block(size_t bytes, PoolUse use = PoolUse::arrays);
void give_block(PoolBlock block, PoolUse use = PoolUse::arrays) noexcept;
// The bytes that lie idle, for all uses.
size_t idle_bytes() noexcept;

// Is told of each block of pages of arrays before the system gets it back. May be set once.
using BlockEnds = void (*)(char *at) noexcept;
void on_block_end(BlockEnds call) noexcept;

// The pool as a container's allocator.
template <class T> struct Pooled {
    using value_type = T;

    Pooled() = default;
    template <class U> Pooled(const Pooled<U> &) {}

    T *allocate(size_t n)
    {
        if (n > SIZE_MAX / sizeof(T))
            throw std::bad_alloc();
        return reinterpret_cast<T *>(take_block(n * sizeof(T)).at);
    }
    void deallocate(T *at, size_t n)
    {
        give_block({reinterpret_cast<char *>(at), block_size(n * sizeof(T))});
    }
    bool operator==(const Pooled &) const { return true; }
};

} // namespace heddle
