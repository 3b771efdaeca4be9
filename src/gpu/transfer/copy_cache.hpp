// SPDX-License-Identifier: BSD-3-Clause
// Small copies that a thread asks for again. A copy by a copy engine takes some 7 us. The decision
// for a copy engine takes 0.35 us of them, half of it for asking the driver whose memory lies at
// the ends. So a thread keeps its last decisions until a type is freed, for another type may get
// its address. Since then only the memory's owner can have changed. The engines find that out
// themselves, so that a wrong decision costs time and never data. The driver is asked again after
// every 63 copies, and at once where an engine refuses.
#pragma once

#include "gpu/transfer/policy.hpp"

namespace heddle::gpu {

class CachedCopy {
public:
    // What this thread's same move was, if that is known.
    static CachedCopy *find(const heddle_move &asked);
    // It was carried out by this copy. Longer ones than some gain nothing, and are not kept.
    static void note(const heddle_move &asked, Method method, Device &device, const Layers &copy);

    Method method() const { return method_; }
    Device &device() const { return *device_; }
    const Layers &copy() const { return copy_; }
    void forget() { left_ = 0; }

private:
    static CachedCopy &slot(const heddle_move &asked);

    // All zero at first, so that it needs no constructor in each thread.
    int left_; // so many times it may be found
    Method method_;
    Device *device_;
    heddle_move asked_;
    uint64_t ended_; // Plan::ended, then
    Layers copy_;
};

} // namespace heddle::gpu
