// SPDX-License-Identifier: BSD-3-Clause
// Small copies that a thread asks for again. One by a copy engine takes some 7 us, 0.35 of them to
// find out that it is one: half of that is asking the driver whose memory lies at its ends. So what
// the last ones turned out to be is kept, until a type is freed, which gives its address to others.
// Only whose memory it is can have changed since; the engines find that out themselves, so that to
// be wrong costs time and never data: after every 63 it is asked again, and at once where an engine
// refuses.
#pragma once

#include "choose.hpp"

namespace heddle::gpu {

class Repeated {
public:
    // What this thread's same move was, if that is known.
    static Repeated *find(const heddle_move &asked);
    // It was carried out by this copy. Longer ones than some gain nothing, and are not kept.
    static void note(const heddle_move &asked, Method method, Device &device, const Layers &copy);

    Method method() const { return method_; }
    Device &device() const { return *device_; }
    const Layers &copy() const { return copy_; }
    void forget() { left_ = 0; }

private:
    static Repeated &slot(const heddle_move &asked);

    // All zero at first, so that it needs no constructor in each thread.
    int left_; // so many times it may be found
    Method method_;
    Device *device_;
    heddle_move asked_;
    uint64_t ended_; // Plan::ended, then
    Layers copy_;
};

} // namespace heddle::gpu
