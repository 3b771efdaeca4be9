/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.hpp"

#include "failure.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <system_error>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) __asan_poison_memory_region(at, size)
#define ALLOW(at, size) __asan_unpoison_memory_region(at, size)
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size) ((void)(at), (void)(size))
#endif

namespace property {
namespace {

constexpr int64_t largest_on_heap = int64_t{4} << 20;
#if defined(__SANITIZE_THREAD__)
constexpr int64_t largest_mapped = int64_t{1} << 35; /* its shadow leaves little address space */
#else
constexpr int64_t largest_mapped = int64_t{1} << 42;
#endif
constexpr int64_t most_entries_mapped = 3000;
constexpr int64_t page = 4096;
constexpr int64_t margin = 64;

} // namespace

void Memory::Unmap::operator()(std::byte *at) const { munmap(at, size); }

bool Memory::can_hold(const oracle::Packing &packing)
{
    const oracle::Range range = oracle::touched(packing.map(), packing.count());
    const int64_t span = range.high - range.low;
    return span <= largest_on_heap ||
           (span <= largest_mapped && packing.entries() <= most_entries_mapped);
}

Memory::Memory(const oracle::Packing &packing)
    : packing_(&packing), range_(oracle::touched(packing.map(), packing.count()))
{
}

Memory::Memory(const oracle::Packing &packing, oracle::Rng &rng) : Memory(packing)
{
    const int64_t span = range_.high - range_.low;
    if (span <= largest_on_heap) {
        /* Any alignment: odd addresses are as legal as others. */
        const int64_t odd = rng.percent(60) ? 0 : rng.in(1, 15);
        heap_.resize(static_cast<size_t>(span + 2 * margin + odd));
        base_ = reinterpret_cast<uintptr_t>(heap_.data()) +
                static_cast<uintptr_t>(margin + odd - range_.low);
        regions_.emplace_back(heap_.data(), heap_.size());
    } else {
        map_pages();
    }
    for (const auto &[at, size] : regions_)
        oracle::scramble(at, size, rng);
}

Memory::~Memory()
{
    if (!heap_.empty())
        ALLOW(heap_.data(), heap_.size());
}

void Memory::map_pages()
{
    const auto size = static_cast<size_t>((range_.high - range_.low + 2 * page) / page * page);
    void *at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        throw std::system_error(errno, std::generic_category(), "mmap");
    mapping_ = {static_cast<std::byte *>(at), Unmap{size}};
    base_ = reinterpret_cast<uintptr_t>(at) - static_cast<uintptr_t>(range_.low);

    std::vector<int64_t> pages;
    for (int64_t i = 0; i < packing_->entries(); ++i) {
        const int64_t first = packing_->displacement(i) - range_.low;
        for (int64_t p = first / page; p <= (first + packing_->size(i) - 1) / page; ++p)
            if (pages.empty() || pages.back() != p)
                pages.push_back(p);
    }
    std::sort(pages.begin(), pages.end());
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
    for (const int64_t p : pages) {
        std::byte *const start = mapping_.get() + p * page;
        if (!regions_.empty() && regions_.back().first + regions_.back().second == start)
            regions_.back().second += page;
        else
            regions_.emplace_back(start, page);
    }
    for (const auto &[start, length] : regions_)
        if (mprotect(start, length, PROT_READ | PROT_WRITE) != 0)
            throw std::system_error(errno, std::generic_category(), "mprotect");
}

Memory Memory::twin() const
{
    Memory other(*packing_);
    if (mapping_) {
        other.map_pages();
    } else {
        other.heap_.resize(heap_.size());
        other.regions_.emplace_back(other.heap_.data(), other.heap_.size());
        other.base_ = base_ - reinterpret_cast<uintptr_t>(heap_.data()) +
                      reinterpret_cast<uintptr_t>(other.heap_.data());
    }
    for (size_t i = 0; i < regions_.size(); ++i)
        std::memcpy(other.regions_[i].first, regions_[i].first, regions_[i].second);
    return other;
}

std::optional<int64_t> Memory::difference(const Memory &twin) const
{
    for (size_t i = 0; i < regions_.size(); ++i) {
        const auto &[mine, size] = regions_[i];
        const std::byte *theirs = twin.regions_[i].first;
        if (std::memcmp(mine, theirs, size) == 0)
            continue;
        const std::byte *at = std::mismatch(mine, mine + size, theirs).first;
        return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) - base_);
    }
    return std::nullopt;
}

Memory::Guard::Guard(const Memory &memory) : memory_(memory)
{
#if defined(__SANITIZE_ADDRESS__)
    if (memory.mapping_)
        return;
    FORBID(memory.heap_.data(), memory.heap_.size());
    for (int64_t i = 0; i < memory.packing_->entries(); ++i)
        ALLOW(reinterpret_cast<void *>(memory.base_ +
                                       static_cast<uintptr_t>(memory.packing_->displacement(i))),
              static_cast<size_t>(memory.packing_->size(i)));
#endif
}

Memory::Guard::~Guard()
{
    if (!memory_.heap_.empty())
        ALLOW(memory_.heap_.data(), memory_.heap_.size());
}

PackedBuffer::PackedBuffer(int64_t size, oracle::Rng &rng)
    : size_(size),
      start_(margin + static_cast<size_t>(rng.percent(60) ? 0 : rng.in(1, 15))),
      storage_(start_ + static_cast<size_t>(size) + margin)
{
    oracle::scramble(storage_.data(), storage_.size(), rng);
    original_ = storage_;
    FORBID(storage_.data() + start_ + size, margin);
}

PackedBuffer::~PackedBuffer() { ALLOW(storage_.data() + start_ + size_, margin); }

void PackedBuffer::untouched_beyond(int64_t written)
{
    ALLOW(storage_.data() + start_ + size_, margin);
    const size_t end = start_ + static_cast<size_t>(written);
    if (std::memcmp(storage_.data(), original_.data(), start_) != 0)
        fail("bytes before the packed buffer were written");
    if (std::memcmp(storage_.data() + end, original_.data() + end, storage_.size() - end) != 0)
        fail("bytes behind the ", written, " that were reported as written were written too");
    FORBID(storage_.data() + start_ + size_, margin);
}

} // namespace property
