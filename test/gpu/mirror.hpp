/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What memory of a device holds, or should hold, in memory that the program can look at: all that a
 * type touches, the gaps between, and margins around it. If a range reaches far, it holds only the
 * touched pages.
 */
#pragma once

#include "../unit/oracle/reference.hpp"
#include "../unit/oracle/rng.hpp"
#include "device_memory.hpp"

#include <optional>

namespace gpu {

class Mirror {
public:
    /* Whether memory of `place` can hold it. */
    static bool fits(const oracle::Packing &packing, Place place);

    /* Random bytes everywhere. The first touched byte lies `misaligned` bytes beyond a multiple
     * of 64. */
    Mirror(const oracle::Packing &packing, int misaligned, oracle::Rng &rng);
    Mirror(Mirror &&) = default;

    /* Another with the same contents. */
    Mirror twin() const;

    /* Bytes that memory needs to hold it all,
     * and where in them displacement 0 is (which may be outside). */
    size_t size() const { return size_; }
    int64_t origin() const { return origin_; }
    /* Displacement 0 in the mirror itself, for the oracle. */
    uintptr_t base() const
    {
        return reinterpret_cast<uintptr_t>(data_.get()) + static_cast<uintptr_t>(origin_);
    }
    std::byte *at(int64_t displacement) const
    {
        return reinterpret_cast<std::byte *>(base() + static_cast<uintptr_t>(displacement));
    }

    void upload(const Memory &memory) const;
    /* Makes it what the memory holds. */
    void download(const Memory &memory);
    /* The displacement of some byte that differs from the other's, if any. */
    std::optional<int64_t> difference(const Mirror &other) const;

private:
    struct Region {
        size_t at, size;
    };
    struct Unmap {
        size_t size;
        void operator()(std::byte *at) const { release_pageable(at, size); }
    };

    Mirror(size_t size, int64_t origin);
    void find_pages(const oracle::Packing &packing);

    size_t size_;
    int64_t origin_;
    std::unique_ptr<std::byte, Unmap> data_;
    std::vector<Region> regions_;
};

} // namespace gpu
