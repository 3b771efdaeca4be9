// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/upload.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::gpu {

namespace {

constexpr size_t largest_step = size_t{4} << 20;

} // namespace

Upload::~Upload()
{
    if (begun_)
        static_cast<void>(wait());
}

Error Upload::begin()
{
    const Error e = device_.upload_stream(stream_);
    begun_ = !e;
    return e;
}

Error Upload::wait()
{
    const Error e = device_.backend().stream_synchronize(device_.ordinal(), stream_);
    slabs_.clear();
    begun_ = false;
    return e;
}

Error Upload::copy_bytes(void *to, const void *from, size_t bytes)
{
    return device_.backend().copy(device_.ordinal(), stream_, contiguous_copy(to, from, bytes),
                                  nullptr);
}

Error Upload::copy(char *to, const void *from, size_t bytes, bool is_pinned)
{
    if (on_host_) {
        std::memcpy(to, from, bytes);
        return HEDDLE_SUCCESS;
    }
    if (is_pinned)
        return copy_bytes(to, from, bytes);
    Slab taken;
    const Error e = device_.pinned.take_up_to(std::min(bytes, largest_step), taken);
    if (e == HEDDLE_ERR_NO_MEMORY) {
        const Error copied = copy_bytes(to, from, bytes);
        return copied ? copied : wait();
    }
    if (e)
        return e;
    slabs_.push_back(std::move(taken));
    Slab &slab = slabs_.back();
    for (size_t at = 0; at < bytes; at += slab.bytes()) {
        const size_t n = std::min(slab.bytes(), bytes - at);
        if (at > 0) // the slab is read still
            if (const Error waited =
                    device_.backend().stream_synchronize(device_.ordinal(), stream_))
                return waited;
        std::memcpy(slab.at(), static_cast<const char *>(from) + at, n);
        if (const Error copied = copy_bytes(to + at, slab.at(), n))
            return copied;
    }
    return HEDDLE_SUCCESS;
}

Error Upload::read(void *to, const void *from, size_t bytes)
{
    Slab slab;
    const Error taken = on_host_ ? Error{} : device_.pinned.take_up_to(bytes, slab);
    if (taken && taken != HEDDLE_ERR_NO_MEMORY)
        return taken;
    if (!on_host_)
        if (const Error e = copy_bytes(slab ? slab.at() : to, from, bytes))
            return e;
    if (const Error e = wait())
        return e;
    if (slab || on_host_)
        std::memcpy(to, slab ? static_cast<const void *>(slab.at()) : from, bytes);
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu
