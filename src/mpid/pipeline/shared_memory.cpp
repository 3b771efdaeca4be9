// SPDX-License-Identifier: BSD-3-Clause
#include "shared_memory.hpp"

#include <cstring>
#include <string>
#include <unistd.h>

namespace heddle::pipeline {

namespace {

constexpr uint64_t right_magic = 0x6d68732d656c6468; // "hdle-shm"

struct Handle {
    uint64_t magic;
    uint64_t inode; // the number of a process may come again, and that of a file
    uint64_t bytes;
    int32_t process;
    int32_t file;
};
static_assert(sizeof(Handle) <= gpu::Backend::handle_bytes);

} // namespace

SharedMemory::~SharedMemory()
{
    if (pinned_)
        device_->backend().unpin(device_->ordinal(), file_.at());
}

int SharedMemory::make(gpu::Device &device, size_t bytes)
{
    device_ = &device;
    return file_.make("heddle", bytes);
}

// New pages come into being as they are pinned, and so near the device.
int SharedMemory::pin()
{
    const int e = device_->backend().pin(device_->ordinal(), file_.at(), file_.bytes());
    pinned_ = e == HEDDLE_SUCCESS;
    return e;
}

int SharedMemory::publish(unsigned char handle[gpu::Backend::handle_bytes])
{
    if (const int e = pin())
        return e;
    const Handle raw{right_magic, file_.inode(), file_.bytes(), getpid(), file_.number()};
    std::memset(handle, 0, gpu::Backend::handle_bytes);
    std::memcpy(handle, &raw, sizeof raw);
    return HEDDLE_SUCCESS;
}

int SharedMemory::open(gpu::Device &device, const unsigned char handle[gpu::Backend::handle_bytes])
{
    Handle raw;
    std::memcpy(&raw, handle, sizeof raw);
    if (raw.magic != right_magic || raw.bytes == 0 || !raw.inode)
        return HEDDLE_ERR_FORMAT;
    device_ = &device;
    if (const int e =
            file_.open(path_of(raw.process, std::to_string(raw.file)), raw.bytes, raw.inode))
        return e;
    return pin();
}

} // namespace heddle::pipeline
