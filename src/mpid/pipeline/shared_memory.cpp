// SPDX-License-Identifier: BSD-3-Clause
#include "shared_memory.hpp"

#include "../../gpu/error_detail.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

// NO_MEMORY where there may be some another time.
int failed(const char *call, int otherwise)
{
    const int reason = errno;
    gpu::set_error_detail((std::string("shared memory: ") + call + ": " + std::strerror(reason)).c_str());
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE ? int{HEDDLE_ERR_NO_MEMORY} : otherwise;
}

// Of such a file that has and keeps so many bytes; 0 for any other.
uint64_t inode_of(int file, size_t bytes)
{
    struct stat status {};
    const int seals = fcntl(file, F_GET_SEALS);
    const bool keeps = seals >= 0 && seals & F_SEAL_SHRINK && fstat(file, &status) == 0 &&
                       static_cast<uint64_t>(status.st_size) >= bytes;
    return keeps ? status.st_ino : 0;
}

} // namespace

SharedMemory::~SharedMemory()
{
    if (pinned_)
        device_->backend().unpin(device_->ordinal(), at_);
    if (at_)
        munmap(at_, bytes_);
    if (file_ >= 0)
        close(file_);
}

int SharedMemory::make(gpu::Device &device, size_t bytes)
{
    file_ = memfd_create("heddle", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file_ < 0)
        return failed("memfd_create", HEDDLE_ERR_DEVICE);
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0 || fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return failed("ftruncate", HEDDLE_ERR_DEVICE);
    return map(device, bytes);
}

int SharedMemory::map(gpu::Device &device, size_t bytes)
{
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED)
        return failed("mmap", HEDDLE_ERR_DEVICE);
    at_ = static_cast<char *>(at);
    bytes_ = bytes;
    device_ = &device;
    return HEDDLE_SUCCESS;
}

// New pages come into being as they are pinned, and so near the device.
int SharedMemory::pin()
{
    const int e = device_->backend().pin(device_->ordinal(), at_, bytes_);
    pinned_ = e == HEDDLE_SUCCESS;
    return e;
}

int SharedMemory::publish(unsigned char handle[gpu::Backend::handle_bytes])
{
    if (const int e = pin())
        return e;
    const Handle raw{right_magic, inode_of(file_, bytes_), bytes_, getpid(), file_};
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
    const std::string path = "/proc/" + std::to_string(raw.process) + "/fd/" + std::to_string(raw.file);
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0)
        return failed(path.c_str(), HEDDLE_ERR_FORMAT);
    if (inode_of(file_, raw.bytes) != raw.inode)
        return HEDDLE_ERR_FORMAT;
    if (const int e = map(device, raw.bytes))
        return e;
    close(std::exchange(file_, -1)); // the mapping is enough, and a process may have many peers
    return pin();
}

} // namespace heddle::pipeline
