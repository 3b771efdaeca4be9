// SPDX-License-Identifier: BSD-3-Clause
// Deferred freeing: device memory whose owner is gone, though kernels on callers' streams may still
// read it. Nothing is put on those streams to tell, since that costs each call a microsecond of GPU
// time. Once enough has come together, one completion object stands for all that the device was
// given so far.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/core/slabs.hpp"

#include <memory>
#include <mutex>

namespace heddle::gpu {

struct Deferred {
    virtual ~Deferred() = default;

    Slab memory;
    std::unique_ptr<Deferred> next; // of those that wait
};

class DeferredFree {
public:
    DeferredFree(Backend &backend, int ordinal);
    ~DeferredFree();

    void add(std::unique_ptr<Deferred> one) noexcept;
    // Lets go of what nobody can read any more. `all`: does not wait until there is more of it.
    void collect(bool all) noexcept;

private:
    using List = std::unique_ptr<Deferred>; // linked by Deferred::next

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
