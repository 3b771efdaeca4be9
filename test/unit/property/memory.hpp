/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory for a buffer of some type: exactly what the type touches, random bytes in it, and a watch
 * over everything else. Ranges of up to 4 MiB lie on the heap between margins that are compared too
 * (and, with AddressSanitizer, forbidden together with the gaps while the engine runs). Longer
 * ranges are reserved address space in which only the touched pages exist.
 */
#pragma once

#include "../oracle/reference.hpp"
#include "../oracle/rng.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace property {

class Memory {
public:
    /* Whether a buffer for `packing` is possible; types may reach farther than addresses do. */
    static bool can_hold(const oracle::Packing &packing);

    Memory(const oracle::Packing &packing, oracle::Rng &rng);
    Memory(Memory &&) = default;
    ~Memory();

    /* The buffer's address as MPI means it: displacement 0, which may lie outside the memory. */
    void *buffer() const { return reinterpret_cast<void *>(base_); }
    uintptr_t base() const { return base_; }

    /* Another such memory with the same contents. */
    Memory twin() const;

    /* The displacement of some byte that differs from the twin's, if any. */
    std::optional<int64_t> difference(const Memory &twin) const;

    /* While it lives, AddressSanitizer forbids every byte that the typemap does not name. */
    class Guard {
    public:
        explicit Guard(const Memory &memory);
        Guard(const Guard &) = delete;
        ~Guard();

    private:
        const Memory &memory_;
    };

private:
    struct Unmap {
        size_t size;
        void operator()(std::byte *at) const;
    };

    explicit Memory(const oracle::Packing &packing);
    void map_pages();

    const oracle::Packing *packing_;
    oracle::Range range_; /* touched displacements */
    uintptr_t base_ = 0;
    std::vector<std::byte> heap_;
    std::unique_ptr<std::byte, Unmap> mapping_{nullptr, Unmap{0}};
    std::vector<std::pair<std::byte *, size_t>> regions_; /* all that may be read */
};

/* A packed buffer of exact size, misaligned at will, whose surroundings must stay as they are. */
class PackedBuffer {
public:
    PackedBuffer(int64_t size, oracle::Rng &rng);
    ~PackedBuffer();
    PackedBuffer(const PackedBuffer &) = delete;

    std::byte *data() { return storage_.data() + start_; }
    int64_t size() const { return size_; }
    std::span<const std::byte> bytes() { return {data(), static_cast<size_t>(size_)}; }

    /* Fails where a byte outside [0, written) changed since it was made. */
    void untouched_beyond(int64_t written);

private:
    static constexpr size_t margin = 32;

    int64_t size_;
    size_t start_;
    std::vector<std::byte> storage_;
    std::vector<std::byte> original_;
};

} // namespace property
