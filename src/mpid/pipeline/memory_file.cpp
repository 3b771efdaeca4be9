// SPDX-License-Identifier: BSD-3-Clause
#include "memory_file.hpp"

#include "../../gpu/error_detail.hpp"

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

// NO_MEMORY where there may be some another time.
int failed(const char *call, int otherwise)
{
    const int reason = errno;
    gpu::set_error_detail(
        (std::string("shared memory: ") + call + ": " + std::strerror(reason)).c_str());
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE ? int{HEDDLE_ERR_NO_MEMORY}
                                                                    : otherwise;
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

} // namespace

MemoryFile::~MemoryFile()
{
    if (at_)
        munmap(at_, bytes_);
    if (file_ >= 0)
        close(file_);
}

int MemoryFile::make(const char *name, size_t bytes)
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

int MemoryFile::open(const std::string &path, size_t bytes, uint64_t inode)
{
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0)
        return failed(path.c_str(), HEDDLE_ERR_FORMAT);
    const uint64_t found = inode_of(file_, bytes);
    if (!found || (inode && found != inode))
        return HEDDLE_ERR_FORMAT;
    const int e = map(bytes);
    close(std::exchange(file_, -1)); // the mapping is enough, and a process may have many peers
    return e;
}

int MemoryFile::map(size_t bytes)
{
    void *const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED)
        return failed("mmap", HEDDLE_ERR_DEVICE);
    at_ = static_cast<char *>(at);
    bytes_ = bytes;
    return HEDDLE_SUCCESS;
}

uint64_t MemoryFile::inode() const { return inode_of(file_, bytes_); }

std::string path_of(pid_t process, const std::string &file)
{
    return "/proc/" + std::to_string(process) + "/fd/" + file;
}

} // namespace heddle::pipeline
