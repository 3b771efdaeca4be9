// SPDX-License-Identifier: BSD-3-Clause
// The choice of the method for a transfer and of the kernel for a work: two questions that every
// path asks. Every answer can be forced (HEDDLE_METHOD, HEDDLE_KERNEL) where the forced one can do
// what is asked, and is counted. The plug-in has some kernels in several forms (runs: even, short,
// few or tiled; strided: sparse blocks) and several works in one batch; which it takes follows from
// the work alone, and counts as what was chosen here.
#pragma once

#include "moves.hpp"
#include "sides.hpp"

#include <array>
#include <atomic>

namespace heddle::gpu {

enum class Method : uint8_t {
    host,        // both ends in the host's memory: the engine
    copy_engine, // both ends contiguous
    blocks,      // blocks at one stride or two: the copy engine's 2-D and 3-D copies
    kernel,      // one kernel that reaches both ends, also in pinned memory (one-shot)
    chunked,  // device, one slab of device memory, copy engine, pinned memory: overlapped by chunks
    staged,   // through pinned slabs, where no device reaches both ends
    combined, // an operator that no device has: target and source go to the host, and the target
              // back
    count
};

const char *method_name(Method method);

// The answers of one call. Equal ones in a row are counted together, for to count takes as long as
// to choose.
class Choices {
public:
    Choices() = default;
    Choices(const Choices &) = delete;
    Choices &operator=(const Choices &) = delete;
    ~Choices();

    // The method for a transfer; `work` is it as a kernel sees it, null where no device reaches
    // both ends. `alone`: no other transfer goes with it, which could share a launch. `on_stream`:
    // it must be something that one stream can be told, and left with.
    Method method(const Move &move, const Work *work, bool alone, bool on_stream);
    // It was the answer before, and is not asked for again.
    void again(Method method);
    // `together`: other moves go with it, which could share a launch. `beside`: other launches run
    // at the same time.
    Kernel kernel(const Work &work, const Move &move, bool together, bool beside);

private:
    template <class E> struct Tally {
        E answer = E::count;
        int64_t times = 0;
    };

    Tally<Method> method_;
    Tally<Kernel> kernel_;
};

// How often each was chosen, since the start of the process.
std::array<int64_t, static_cast<size_t>(Method::count)> method_counts();
std::array<int64_t, static_cast<size_t>(Kernel::count)> kernel_counts();

} // namespace heddle::gpu
