/* SPDX-License-Identifier: BSD-3-Clause */
#include "mirror.hpp"

#include "named.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace gpu {
namespace {

constexpr int64_t largest_whole = int64_t{8} << 20;
constexpr int64_t most_entries_of_pages = 3000;
constexpr int64_t page = 4096;
constexpr int64_t margin = 64;

int64_t span_of(const oracle::Range &range) { return range.high - range.low; }

} // namespace

bool Mirror::fits(const oracle::Packing &packing, Place place)
{
    const int64_t span = span_of(oracle::touched(packing.map(), packing.count()));
    return span <= largest_whole || (span <= Machine::get().largest(place.kind) &&
                                     packing.entries() <= most_entries_of_pages);
}

Mirror::Mirror(size_t size, int64_t origin)
    : size_(size),
      origin_(origin),
      data_(static_cast<std::byte *>(allocate_pageable(size)), Unmap{size})
{
    if (!data_)
        throw std::bad_alloc();
}

Mirror::Mirror(const oracle::Packing &packing, int misaligned, oracle::Rng &rng)
    : Mirror(static_cast<size_t>(span_of(oracle::touched(packing.map(), packing.count())) +
                                 2 * margin + misaligned),
             margin + misaligned - oracle::touched(packing.map(), packing.count()).low)
{
    if (static_cast<int64_t>(size_) <= largest_whole + 4 * margin)
        regions_.push_back({0, size_});
    else
        find_pages(packing);
    for (const Region &region : regions_)
        oracle::scramble(data_.get() + region.at, region.size, rng);
}

void Mirror::find_pages(const oracle::Packing &packing)
{
    std::vector<int64_t> pages;
    for (int64_t i = 0; i < packing.entries(); ++i) {
        const int64_t first = packing.displacement(i) + origin_;
        for (int64_t p = first / page; p <= (first + packing.size(i) - 1) / page; ++p)
            if (pages.empty() || pages.back() != p)
                pages.push_back(p);
    }
    std::sort(pages.begin(), pages.end());
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
    for (const int64_t p : pages) {
        const auto at = static_cast<size_t>(p * page);
        const size_t size = std::min(static_cast<size_t>(page), size_ - at);
        if (!regions_.empty() && regions_.back().at + regions_.back().size == at)
            regions_.back().size += size;
        else
            regions_.push_back({at, size});
    }
}

Mirror Mirror::twin() const
{
    Mirror other(size_, origin_);
    other.regions_ = regions_;
    for (const Region &region : regions_)
        std::memcpy(other.data_.get() + region.at, data_.get() + region.at, region.size);
    return other;
}

void Mirror::upload(const Memory &memory) const
{
    for (const Region &region : regions_)
        memory.write(region.at, data_.get() + region.at, region.size);
}

void Mirror::download(const Memory &memory)
{
    for (const Region &region : regions_)
        memory.read(region.at, data_.get() + region.at, region.size);
}

std::optional<int64_t> Mirror::difference(const Mirror &other) const
{
    for (const Region &region : regions_) {
        const std::byte *mine = data_.get() + region.at;
        const std::byte *theirs = other.data_.get() + region.at;
        if (std::memcmp(mine, theirs, region.size) == 0)
            continue;
        const auto at = static_cast<int64_t>(region.at) +
                        (std::mismatch(mine, mine + region.size, theirs).first - mine);
        return at - origin_;
    }
    return std::nullopt;
}

} // namespace gpu
