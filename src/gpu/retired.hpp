// SPDX-License-Identifier: BSD-3-Clause
// Images whose types are gone, though kernels on callers' streams may still read them: nothing was
// put on those streams to tell, for that would cost each call a microsecond of GPU time. Once
// enough have come together, one completion object for all that the device was given so far stands
// for them.
#pragma once

#include "backend.hpp"

#include <memory>
#include <mutex>

namespace heddle::gpu {

struct Resident;

class Retired {
public:
    Retired(Backend &backend, int ordinal);
    ~Retired();

    void add(std::unique_ptr<Resident> image) noexcept;
    // Lets go of what nobody can read any more. `all`: does not wait until there is more of it.
    void collect(bool all) noexcept;

private:
    using List = std::unique_ptr<Resident>; // linked by Resident::next

    static void drop(List list) noexcept;
    void mark() noexcept;

    Backend &backend_;
    int ordinal_;
    std::mutex mutex_;
    List waiting_;
    size_t count_ = 0; // of those that wait
    size_t bytes_ = 0;
    List marked_; // go when `done_` is reached
    Done *done_ = nullptr;
};

} // namespace heddle::gpu
