/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffer.hpp"

#include <cstdlib>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

namespace gpu {
namespace {

std::vector<std::byte> random_bytes(size_t n, uint64_t seed)
{
    oracle::Rng rng(seed);
    std::vector<std::byte> bytes(n);
    for (std::byte &each : bytes)
        each = static_cast<std::byte>(rng.next());
    return bytes;
}

int end(Way way, heddle_request *request, int device, void *stream)
{
    if (way == Way::on_stream)
        Machine::get().synchronize(device, stream);
    return way == Way::begun ? heddle_wait(&request) : HEDDLE_SUCCESS;
}

} // namespace

Buffer::Buffer(Place place, size_t bytes, uint64_t seed) : Buffer(place, random_bytes(bytes, seed))
{
}

Buffer::Buffer(Place place, std::vector<std::byte> bytes)
    : expected(std::move(bytes)), memory_(place, expected.size())
{
    if (!memory_)
        throw std::bad_alloc();
    upload();
}

std::vector<std::byte> Buffer::bytes() const
{
    std::vector<std::byte> now(expected.size());
    memory_.read(0, now.data(), now.size());
    return now;
}

int64_t counted(const std::string &name)
{
    heddle_counter counter{};
    for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i)
        if (counter.name == name)
            return counter.value;
    fail("there is no counter ", name);
    return 0;
}

const char *to_text(Way way)
{
    return way == Way::blocking ? "heddle_transfer"
           : way == Way::begun  ? "heddle_transfer_begin"
                                : "on a stream";
}

int transfer(Way way, const std::vector<heddle_move> &moves, int device)
{
    const auto n = static_cast<int64_t>(moves.size());
    if (way == Way::blocking)
        return heddle_transfer(moves.data(), n);
    heddle_request *request = nullptr;
    void *stream = way == Way::on_stream ? Machine::get().make_stream(device) : nullptr;
    int error = way == Way::begun ? heddle_transfer_begin(moves.data(), n, &request)
                                  : heddle_transfer_on_stream(moves.data(), n, stream);
    if (error == HEDDLE_SUCCESS)
        error = end(way, request, device, stream);
    if (stream)
        Machine::get().end_stream(device, stream);
    return error;
}

void transfer_all(Way way, const std::vector<heddle_move> &moves, int device)
{
    if (const int error = transfer(way, moves, device))
        fail(to_text(way), ": ", heddle_strerror(error), " (", heddle_error_detail(), ")");
}

void need_devices(int n)
{
    if (Machine::get().devices() < n)
        throw Skip(n == 1 ? "no device" : text("fewer than ", n, " devices"));
}

void need_simulation()
{
    if (!Machine::get().is_simulated())
        throw Skip("needs the simulated device");
}

Ended run_self(const std::vector<std::string> &arguments,
               const std::vector<std::pair<std::string, std::string>> &environment)
{
    int ends[2];
    if (pipe(ends) != 0)
        fail("pipe");
    std::vector<char *> argv{const_cast<char *>("gpu")};
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        for (const auto &[name, value] : environment)
            setenv(name.c_str(), value.c_str(), 1);
        execv("/proc/self/exe", argv.data());
        _exit(127);
    }
    close(ends[1]);
    Ended ended{-1, {}};
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
        ended.output.append(part, static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child)
        ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
}

void self_succeeds(const std::vector<std::string> &arguments,
                   const std::vector<std::pair<std::string, std::string>> &environment)
{
    const Ended ended = run_self(arguments, environment);
    if (ended.status == 0)
        return;
    std::string what = "a process with";
    for (const auto &[name, value] : environment)
        what += " " + name + "=\"" + value + "\"";
    for (const std::string &argument : arguments)
        what += " " + argument;
    fail(what, " ended with ", ended.status, ":\n", ended.output);
}

} // namespace gpu
