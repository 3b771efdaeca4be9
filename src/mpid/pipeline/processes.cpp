// SPDX-License-Identifier: BSD-3-Clause
#include "processes.hpp"

#include "whereabouts.hpp"

#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace heddle::pipeline {

namespace {

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

// One process, for as long as it lives.
class Life {
public:
    explicit Life(pid_t number)
        : number_(number), file_(open_process(number)), ended_(file_ < 0 && errno == ESRCH)
    {
    }
    Life(const Life &) = delete;
    ~Life() { forget(); }

    bool has_ended()
    {
        pollfd asked{file_, POLLIN, 0};
        if (!ended_)
            ended_ =
                file_ < 0 ? is_gone(number_) : poll(&asked, 1, 0) > 0 && asked.revents & POLLIN;
        if (ended_)
            forget();
        return ended_;
    }

private:
    void forget()
    {
        if (file_ >= 0)
            close(file_);
        file_ = -1;
    }

    const pid_t number_;
    int file_;
    bool ended_;
};

class Lives {
public:
    // Never destroyed: ports may be, later.
    static Lives &get()
    {
        static Lives &lives = *std::make_unique<Lives>().release();
        return lives;
    }

    bool has_ended(uint64_t process)
    {
        const std::lock_guard lock(mutex_);
        return all_.try_emplace(process, number_of(process)).first->second.has_ended();
    }

private:
    std::mutex mutex_;
    std::map<uint64_t, Life> all_;
};

} // namespace

bool has_ended(uint64_t process)
{
    return process != whereabouts().process && Lives::get().has_ended(process);
}

} // namespace heddle::pipeline
