// SPDX-License-Identifier: BSD-3-Clause
#include "exports.hpp"

#include "../../gpu/scratch.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace heddle::pipeline {

namespace {

// A message that is lent takes some 9 us less than a short one through the host's memory, and
// opening an allocation 0.1 ms, however long either is (H200).
constexpr int64_t least_counted = 4096;
// What was freed is not heard of; so no more are kept than are likely to be in use.
constexpr size_t most_kept = 4096;

struct Exported {
    char *base = nullptr;
    size_t size = 0;
    int64_t sent = 0;   // bytes of messages out of it
    bool asked = false; // for a handle
    bool opens = false; // it has one
    unsigned char handle[gpu::Backend::handle_bytes] = {};
};

class Exports {
public:
    // Never destroyed, as what they describe.
    static Exports &get()
    {
        static Exports &exports = *std::make_unique<Exports>().release();
        return exports;
    }

    Exported of(gpu::Device &device, const gpu::Memory &memory, int64_t bytes, int64_t least)
    {
        const std::lock_guard lock(mutex_);
        if (all_.size() >= most_kept && !all_.contains(memory.id))
            if (std::erase_if(all_, [](const auto &each) { return !each.second.opens; }) == 0)
                all_.clear();
        Exported &its = all_[memory.id];
        its.base = memory.base;
        its.size = memory.size;
        its.sent += std::min(std::max(bytes, least_counted), INT64_MAX - its.sent);
        if (its.sent >= least && !std::exchange(its.asked, true))
            its.opens = !device.backend().export_memory(device.ordinal(), memory.base, its.handle);
        return its;
    }

    char *find(uint64_t id, uint64_t at, size_t bytes)
    {
        const std::lock_guard lock(mutex_);
        const auto known = all_.find(id);
        if (known == all_.end() || bytes > known->second.size || at > known->second.size - bytes)
            return nullptr;
        return known->second.base + at;
    }

private:
    std::mutex mutex_;
    std::map<uint64_t, Exported> all_; // by the allocation's number
};

} // namespace

std::optional<Loan> export_own(gpu::Device &device, const gpu::Memory &memory, const char *at,
                               int64_t bytes, int64_t least)
{
    if (memory.kind != gpu::MemoryKind::device || memory.device != device.ordinal() || !memory.id ||
        !memory.base ||
        static_cast<size_t>(bytes) > memory.size - static_cast<size_t>(at - memory.base))
        return std::nullopt;
    if (gpu::is_passing(memory.base)) // receivers would keep it open, and so in being, long after
        return std::nullopt;
    const Exported exported = Exports::get().of(device, memory, bytes, least);
    if (!exported.opens)
        return std::nullopt;
    Loan loan;
    loan.allocation = memory.id | callers_own;
    loan.at = static_cast<uint64_t>(at - memory.base);
    loan.base = reinterpret_cast<uintptr_t>(memory.base);
    loan.size = memory.size;
    std::copy(std::begin(exported.handle), std::end(exported.handle), loan.handle);
    return loan;
}

char *find_own(const Loan &loan, int64_t bytes)
{
    return bytes < 0 ? nullptr
                     : Exports::get().find(loan.allocation & ~callers_own, loan.at,
                                           static_cast<size_t>(bytes));
}

} // namespace heddle::pipeline
