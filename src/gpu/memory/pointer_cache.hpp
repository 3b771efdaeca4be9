// SPDX-License-Identifier: BSD-3-Clause
// What memory addresses name, and layouts of them.
#pragma once

#include "gpu/memory/endpoint.hpp"

#include <functional>

namespace heddle::gpu {

// Answers of the driver, kept for the length of one call. Nobody may free the memory meanwhile, so
// an allocation's answer serves for its other addresses, too.
class MemoryMap {
public:
    // A null backend: all memory is the host's.
    explicit MemoryMap(const Backend *backend) : backend_(backend) {}

    // Valid until the next call. By reference: what was just written in pieces is slow to copy as a
    // whole.
    const Memory &at(const char *address)
    {
        // Sources and targets are asked for in turn.
        if (holds(last_[latest_ ^ 1], address))
            latest_ ^= 1;
        else if (!holds(last_[latest_], address))
            ask(address);
        return last_[latest_];
    }
    // What at(address) has just answered, if that holds for all of `bytes` bytes from `low` on.
    // Memory that is pinned in part is pageable: kernels reach the pinned part alone.
    const Memory &all(const char *address, const char *low, uint64_t bytes);
    // What the next addresses may name.
    void expect(const Known &known)
    {
        if (known.from)
            last_[0] = *known.from;
        if (known.to)
            last_[1] = *known.to;
    }

    // Whether `bytes` bytes from `address` on are known to be all of `m`.
    static bool holds(const Memory &m, const char *address, uint64_t bytes = 1)
    {
        const uint64_t first =
            reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(m.base);
        return m.base && first < m.size && bytes <= m.size - first;
    }

private:
    // Makes what `address` names the latest.
    void ask(const char *address);

    const Backend *backend_;
    Memory last_[2]; // what was asked for last, and before that; or is expected
    int latest_ = 0;
};

// Calls sink(bytes, memory) for stretches of the first `bytes` packed bytes of `end`, in pack
// order, until it returns false. A stretch lies in one memory. A part of a layout that reaches no
// further than one allocation is not looked at more closely. So the time depends on the number of
// such parts, not of runs.
void visit_memory(const End &end, int64_t bytes, MemoryMap &map,
                  const std::function<bool(int64_t, const Memory &)> &sink);

} // namespace heddle::gpu
