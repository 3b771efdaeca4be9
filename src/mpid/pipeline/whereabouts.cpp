// SPDX-License-Identifier: BSD-3-Clause
#include "whereabouts.hpp"

#include <ctime>
#include <fstream>
#include <pthread.h>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::pipeline {

namespace {

uint64_t hash(const std::string &text)
{
    uint64_t sum = 0xcbf29ce484222325; // FNV-1a: the same in every process, whatever it was
                                       // compiled with
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

uint64_t find_random()
{
    std::random_device source;
    return uint64_t{source()} << 32 | source();
}

Whereabouts here;

// With random bits of its own: the number may have been another child's.
void be_named()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now); // it may be called in any state
    const uint64_t other =
        here.process ^
        static_cast<uint64_t>(now.tv_sec * 1000000000 + now.tv_nsec) * 0x9e3779b97f4a7c15;
    here.process = other >> number_bits << number_bits | static_cast<uint64_t>(getpid());
}

} // namespace

// Each message asks several times, and getpid() is a system call: so a forked child is told of its
// new number.
Whereabouts whereabouts()
{
    static const bool found = [] {
        here = {find_node(), find_random() << number_bits};
        be_named();
        return pthread_atfork(nullptr, nullptr, be_named) == 0;
    }();
    (void)found;
    return here;
}

} // namespace heddle::pipeline
