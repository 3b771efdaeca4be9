// SPDX-License-Identifier: BSD-3-Clause
// The memory that an end of a transfer lies in. Types of absolute addresses lead through several,
// which are one place as long as the first device among theirs reaches them all.
#pragma once

#include "gpu/core/backend.hpp"

#include <bitset>

namespace heddle::gpu {

struct Place : Memory {   // of that first device, if there is one
    std::bitset<64> also; // further devices that have a part of it
    bool mixed = false;   // a part of it is another device's memory or of another kind
    bool several = false; // it is of several allocations, and no copy of rows may cross over

    Place() = default;
    Place(const Memory &memory) : Memory(memory) {}

    // All of it is memory that this very device has.
    bool lies_on(int ordinal) const { return Memory::lies_on(ordinal) && !mixed; }
    // A part of it is this device's memory.
    bool touches(int ordinal) const;
    bool is_reached_by(int ordinal, const Backend &backend) const;
    // A new one becomes one memory; without a copy in between, whose parts would have to be waited
    // for.
    void be(const Memory &memory) { static_cast<Memory &>(*this) = memory; }
    // Takes more memory in; false, and nothing changed, where that would be another place.
    bool add(const Memory &memory, const Backend &backend);

    // Calls f(device) for each device that has a part of it, until it returns true, which is
    // returned.
    template <class F> bool any_device(F &&f) const
    {
        if (kind == MemoryKind::device && f(device))
            return true;
        for (size_t d = 0; also.any() && d < also.size(); ++d)
            if (also[d] && f(static_cast<int>(d)))
                return true;
        return false;
    }
};

// The memory that the ends of a move begin in, where the driver was asked already and its answer is
// still valid. Null, or without a range: it is asked for.
struct Known {
    const Memory *from = nullptr;
    const Memory *to = nullptr;
};

} // namespace heddle::gpu
