// SPDX-License-Identifier: BSD-3-Clause
// The choice of the method for a transfer, which every path asks for. It can be forced
// (HEDDLE_METHOD) where the forced one can do what is asked, and is counted. The kernel is the
// plug-in's choice (Backend::launch); it is counted here, too.
#pragma once

#include "gpu/core/method.hpp"
#include "gpu/transfer/kernel_side.hpp"
#include "gpu/transfer/resolve.hpp"

#include <array>
#include <atomic>

namespace heddle::gpu {

// Equal answers in a row are counted together: to count takes as long as to choose.
template <class E> struct Tally {
    E answer = E::count;
    int64_t times = 0;
};

struct Choice {
    Method method;
    const char *reason; // for people (HEDDLE_LOG=policy)
};

// How a transfer is asked for.
struct Asked {
    bool alone = false;     // no other transfer goes with it, which could share a launch
    bool awaited = false;   // the calling thread waits for it at once, and for nothing else
    bool on_stream = false; // it must be something that one stream does alone
};

// The answers of one call.
class Choices {
public:
    Choices() = default;
    Choices(const Choices &) = delete;
    Choices &operator=(const Choices &) = delete;
    ~Choices();

    // The method for a transfer; `work` is it as a kernel sees it, null where no device reaches
    // both ends.
    Choice method(const Move &move, const Work *work, Asked asked);
    // It was the answer before, and is not asked for again.
    void again(Method method);

private:
    Tally<Method> method_;
};

// The method that is forced, by the calling thread or else by HEDDLE_METHOD; count: none is.
Method forced_method();
// Whether the calling thread forces one.
bool is_forced_here();
// Forces one for the calling thread's transfers; count ends that.
void force_method(Method method);
// Whether the kernel of a staged transfer is to be launched behind its copy (model/tables.hpp).
// That can be done where the caller waits.
bool has_timed_steps(const Move &move);
// Whether a method can carry out a transfer. `work` as above.
bool can_do(Method method, const Move &move, const Work *work);

// Counts the kernels that launches were carried out by.
void count_kernels(std::span<const Launch> launches);

// Logs one transfer's choice. `kernel`: its name, or null.
void log_choice(const Move &move, const Choice &choice, const char *kernel);

// How often each was taken, since the start of the process.
std::array<int64_t, static_cast<size_t>(Method::count)> method_counts();
std::array<int64_t, static_cast<size_t>(Kernel::count)> kernel_counts();

} // namespace heddle::gpu
