// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/memory_file.hpp"

#include "gpu/core/error_detail.hpp"

#include <heddle.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace heddle::pipeline {

namespace {

Error failed(const char *call, Error otherwise)
{
    const int reason = errno;
    gpu::set_error_detail(
        (std::string("shared memory: ") + call + ": " + std::strerror(reason)).c_str());
    return is_shortage(reason) ? HEDDLE_ERR_NO_MEMORY : otherwise;
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

// Making a file longer than this ends the program (SIGXFSZ).
bool is_longer_than_allowed(size_t bytes)
{
    rlimit most{};
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
           bytes > most.rlim_cur;
}

static_assert(sizeof(SharedName) <= gpu::Backend::handle_bytes);
constexpr uint64_t right_magic = 0x6d68732d656c6468; // "hdle-shm"

} // namespace

bool is_shortage(int reason) { return reason == ENOMEM || reason == EMFILE || reason == ENFILE; }

SharedMemory::~SharedMemory()
{
    if (device_)
        static_cast<void>(device_->backend().unpin(device_->ordinal(), at_));
    if (at_)
        munmap(at_, bytes_);
    close_file();
}

void SharedMemory::close_file()
{
    if (file_ >= 0)
        close(std::exchange(file_, -1));
}

Error SharedMemory::make(size_t bytes, const char *name)
{
    if (is_longer_than_allowed(bytes)) {
        errno = EFBIG;
        return failed("ulimit -f", HEDDLE_ERR_DEVICE);
    }
    file_ = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file_ < 0)
        return failed("memfd_create", HEDDLE_ERR_DEVICE);
    if (ftruncate(file_, static_cast<off_t>(bytes)) != 0 ||
        fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return failed("ftruncate", HEDDLE_ERR_DEVICE);
    return map(bytes);
}

Error SharedMemory::open(const std::string &path, size_t bytes, uint64_t inode)
{
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0)
        return failed(path.c_str(), HEDDLE_ERR_FORMAT);
    const uint64_t found = inode_of(file_, bytes);
    if (!found || (inode && found != inode))
        return HEDDLE_ERR_FORMAT;
    const Error e = map(bytes);
    close_file(); // the mapping is enough, and a process may have many peers
    return e;
}

Error SharedMemory::map(size_t bytes)
{
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED)
        return failed("mmap", HEDDLE_ERR_DEVICE);
    at_ = static_cast<char *>(at);
    bytes_ = bytes;
    return HEDDLE_SUCCESS;
}

std::string path_of(pid_t process, const std::string &file)
{
    return "/proc/" + std::to_string(process) + "/fd/" + file;
}

// New pages come into being as they are pinned, and so near the device.
Error SharedMemory::pin(gpu::Device &device)
{
    const Error e = device.backend().pin(device.ordinal(), at_, bytes_);
    if (!e)
        device_ = &device;
    return e;
}

SharedName SharedMemory::name() const
{
    return {right_magic, inode_of(file_, bytes_), bytes_, getpid(), file_};
}

Error SharedMemory::publish(gpu::Device &device, unsigned char key[gpu::Backend::handle_bytes])
{
    const SharedName its = name();
    std::memcpy(key, &its, sizeof its);
    return pin(device);
}

Error SharedMemory::open(const SharedName &name)
{
    if (name.magic != right_magic || name.bytes == 0 || !name.inode)
        return HEDDLE_ERR_FORMAT;
    return open(path_of(name.process, std::to_string(name.file)), name.bytes, name.inode);
}

Error SharedMemory::open(gpu::Device &device, const unsigned char key[gpu::Backend::handle_bytes])
{
    SharedName name;
    std::memcpy(&name, key, sizeof name);
    const Error e = open(name);
    return e ? e : pin(device);
}

} // namespace heddle::pipeline
