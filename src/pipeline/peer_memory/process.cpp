// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/process.hpp"

#include "engine/immortal.hpp"

#include <cerrno>
#include <ctime>
#include <fstream>
#include <map>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <random>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle::pipeline {

namespace {

// ---- this process ----

// FNV-1a: the same in every process, whatever it was compiled with.
uint64_t hash(const std::string &text)
{
    uint64_t sum = 0xcbf29ce484222325;
    for (const char c : text)
        sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

// A boot of a machine; and a container in it, for handles are of no use across containers'
// processes.
uint64_t find_node()
{
    std::string boot;
    struct stat processes {};
    if (!(std::ifstream("/proc/sys/kernel/random/boot_id") >> boot) ||
        stat("/proc/self/ns/pid", &processes) != 0)
        return 0;
    return hash(boot + " " + std::to_string(processes.st_ino)) | 1;
}

ProcessId own;

// With random bits of its own: the number may have been another child's.
void find_name()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now); // it may be called in any state
    const uint64_t random =
        own.process ^
        static_cast<uint64_t>(now.tv_sec * 1000000000 + now.tv_nsec) * 0x9e3779b97f4a7c15;
    own.process = random >> number_bits << number_bits | static_cast<uint64_t>(getpid());
}

// ---- others ----

// A file that becomes readable when the process ends; -1 where the system gives none.
int open_process(pid_t number)
{
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, number, 0));
#else
    return (void)number, errno = ENOSYS, -1;
#endif
}

// The same by /proc, where its state stands behind the name of the program in brackets.
bool is_gone(pid_t number)
{
    const std::string folder = "/proc/" + std::to_string(number);
    std::ifstream file(folder + "/stat");
    std::string text;
    if (!std::getline(file, text))
        return access("/proc/self", F_OK) == 0 && access(folder.c_str(), F_OK) != 0 &&
               errno == ENOENT;
    const size_t state = text.rfind(") ");
    return state != std::string::npos && state + 2 < text.size() &&
           (text[state + 2] == 'Z' || text[state + 2] == 'X');
}

// One process, with its file for as long as it lives.
struct Life {
    explicit Life(pid_t number_)
        : number(number_), file(open_process(number)), ended(file < 0 && errno == ESRCH)
    {
    }
    bool has_ended()
    {
        if (!ended) {
            pollfd asked{file, POLLIN, 0};
            ended = file < 0 ? is_gone(number) : poll(&asked, 1, 0) > 0 && asked.revents & POLLIN;
            if (ended && file >= 0)
                close(file);
        }
        return ended;
    }

    const pid_t number;
    const int file;
    bool ended;
};

struct Lives {
    std::mutex mutex;
    std::map<uint64_t, Life> all;
};

} // namespace

// Each message asks several times, and getpid() is a system call: so a forked child is told of its
// new number.
ProcessId process_id()
{
    static const bool found = [] {
        std::random_device random;
        own = {find_node(), (uint64_t{random()} << 32 | random()) << number_bits};
        find_name();
        return pthread_atfork(nullptr, nullptr, find_name) == 0;
    }();
    (void)found;
    return own;
}

bool has_ended(uint64_t process)
{
    if (process == process_id().process)
        return false;
    Lives &lives = immortal<Lives>();
    const std::lock_guard lock(lives.mutex);
    return lives.all.try_emplace(process, number_of(process)).first->second.has_ended();
}

} // namespace heddle::pipeline
