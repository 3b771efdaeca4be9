// SPDX-License-Identifier: BSD-3-Clause
#include "tune_exporter.hpp"

#include "tune_memory.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace heddle::tools {
namespace {

using Clock = std::chrono::steady_clock;

// A context on a GPU takes seconds on some machines.
constexpr auto longest_start = std::chrono::seconds(60);
constexpr auto longest_end = std::chrono::seconds(5);

struct Pipe {
    int ends[2] = {-1, -1}; // to read from, to write to
    bool open() { return pipe2(ends, O_CLOEXEC) == 0; }
    ~Pipe()
    {
        for (const int end : ends)
            if (end >= 0)
                close(end);
    }
    int keep(int which)
    {
        const int end = ends[which];
        ends[which] = -1;
        return end;
    }
};

// In the new process. It dies with its parent, also if that died meanwhile.
[[noreturn]] void become_exporter(const char *plan, int input, int output, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && dup2(input, 0) >= 0 &&
        dup2(output, 1) >= 0)
        execl("/proc/self/exe", "heddle-tune", export_option, plan, nullptr);
    _exit(127);
}

bool write_all(const void *from, size_t bytes)
{
    const char *at = static_cast<const char *>(from);
    while (bytes > 0) {
        const ssize_t written = write(STDOUT_FILENO, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        bytes -= static_cast<size_t>(written);
    }
    return true;
}

} // namespace

std::unique_ptr<Exporter> Exporter::start(const ExportPlan &plan, std::string &reason)
{
    const std::string text = std::to_string(plan.device) + "," + std::to_string(plan.bytes) + "," +
                             std::to_string(plan.allocations);
    Pipe to, from;
    const pid_t self = getpid();
    const bool piped = to.open() && from.open();
    const pid_t process = piped ? fork() : -1;
    if (process == 0)
        become_exporter(text.c_str(), to.ends[0], from.ends[1], self);
    if (process < 0) {
        reason = std::strerror(errno);
        return nullptr;
    }
    std::unique_ptr<Exporter> made(new Exporter());
    made->process_ = process;
    made->input_ = to.keep(1);
    made->output_ = from.keep(0);
    close(from.keep(1)); // so that its end is seen
    if (made->receive(static_cast<size_t>(plan.allocations)))
        return made;
    reason =
        "a process that should export memory of device " + std::to_string(plan.device) + " did not";
    return nullptr;
}

bool Exporter::receive(size_t count)
{
    exported_.resize(count);
    char *at = reinterpret_cast<char *>(exported_.data());
    size_t left = count * sizeof(heddle_exported);
    const auto until = Clock::now() + longest_start;
    while (left > 0) {
        const auto rest =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
        pollfd wanted{output_, POLLIN, 0};
        const int ready = rest.count() > 0 ? poll(&wanted, 1, static_cast<int>(rest.count())) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        const ssize_t got = ready > 0 ? read(output_, at, left) : 0;
        if (got <= 0)
            return false;
        at += got;
        left -= static_cast<size_t>(got);
    }
    return true;
}

Exporter::~Exporter()
{
    close(input_);
    close(output_);
    const auto until = Clock::now() + longest_end;
    while (waitpid(process_, nullptr, WNOHANG) == 0) {
        if (Clock::now() > until)
            kill(process_, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

int run_exporter(const std::string &text)
{
    ExportPlan plan;
    std::string reason;
    if (std::sscanf(text.c_str(), "%d,%ld,%d", &plan.device, &plan.bytes, &plan.allocations) != 3)
        throw std::runtime_error("no plan of what to export: " + text);
    const auto memory = TuneMemory::open(reason);
    if (!memory)
        throw std::runtime_error(reason);
    for (int i = 0; i < plan.allocations; ++i) {
        void *const at = memory->on_device(static_cast<size_t>(plan.bytes), plan.device);
        heddle_exported exported{};
        if (!at || heddle_export(at, plan.bytes, &exported) != HEDDLE_SUCCESS)
            throw std::runtime_error("device " + std::to_string(plan.device) +
                                     " exports no memory: " + heddle_error_detail());
        if (!write_all(&exported, sizeof exported))
            return 2;
    }
    char unused;
    while (read(STDIN_FILENO, &unused, 1) > 0)
        continue;
    return 0;
}

} // namespace heddle::tools
