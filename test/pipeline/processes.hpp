/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Another process, and a port of each with a socket between them.
 */
#pragma once

#include "../gpu/device_memory.hpp"
#include "../gpu/named.hpp"
#include "network.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace pipeline_test {

/* Frames: the sizes of a header and of its data, then both. An envelope is a frame without a
 * header. */
class Wire {
public:
    static constexpr int64_t chunk = 8192;

    Wire(int socket, int peer, int64_t timeout = 0) : socket_(socket)
    {
        const heddle_transport transport{
            sizeof(heddle_transport), this,
            [](void *context, void *, const void *header, size_t header_bytes, const void *data,
               size_t size, void *, int *done) -> int {
                *done = 1;
                Wire &wire = *static_cast<Wire *>(context);
                return wire.try_write(header, header_bytes, data, size) ? HEDDLE_SUCCESS
                                                                        : HEDDLE_ERR_PEER;
            }};
        const heddle_port_options options = port_options(chunk, 6, 0, peer, 0, timeout);
        gpu::succeeds(heddle_port_create(&transport, &options, &port), "heddle_port_create");
    }
    Wire(const Wire &) = delete;
    ~Wire() { heddle_port_destroy(port); }

    void write(const void *header, size_t header_bytes, const void *data, size_t size)
    {
        if (!try_write(header, header_bytes, data, size))
            gpu::fail("write");
    }

    /* Lets everything go on until `done`. */
    template <class Done> void run(Done &&done)
    {
        const auto began = std::chrono::steady_clock::now();
        while (!done()) {
            read();
            if (!rests)
                heddle_port_progress(port, nullptr);
            if (std::chrono::steady_clock::now() - began > std::chrono::seconds(30))
                gpu::fail("nothing ends any more");
        }
    }

    std::vector<char> next_envelope()
    {
        run([&] { return !envelopes_.empty(); });
        std::vector<char> envelope = std::move(envelopes_.front());
        envelopes_.pop_front();
        return envelope;
    }

    heddle_port *port = nullptr;
    int headers_read = 0;
    bool rests = false; /* makes no progress, and only the other does */

private:
    /* One frame, if there is one. */
    void read()
    {
        char any;
        if (recv(socket_, &any, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) /* the other may be through, and
                                                                     gone */
            return;
        uint64_t sizes[2];
        read_all(sizes, sizeof sizes);
        std::vector<char> header(sizes[0]), data(sizes[1]);
        read_all(header.data(), header.size());
        read_all(data.data(), data.size());
        if (header.empty())
            envelopes_.push_back(std::move(data));
        else
            gpu::succeeds(
                heddle_port_arrived(port, header.data(), header.size(), data.data(), data.size()),
                "heddle_port_arrived");
        headers_read += !header.empty();
    }

    /* False where the other is gone. */
    bool try_write(const void *header, size_t header_bytes, const void *data, size_t size)
    {
        const uint64_t sizes[] = {header_bytes, size};
        return write_all(sizes, sizeof sizes) && write_all(header, header_bytes) &&
               write_all(data, size);
    }
    bool write_all(const void *from, size_t size)
    {
        for (const char *at = static_cast<const char *>(from); size > 0;) {
            const ssize_t n = ::send(socket_, at, size, MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            at += n;
            size -= static_cast<size_t>(n);
        }
        return true;
    }
    void read_all(void *to, size_t size)
    {
        for (char *at = static_cast<char *>(to); size > 0;) {
            const ssize_t n = ::read(socket_, at, size);
            if (n <= 0)
                gpu::fail("the other process is gone");
            at += n;
            size -= static_cast<size_t>(n);
        }
    }

    int socket_;
    std::deque<std::vector<char>> envelopes_; /* nobody has received yet */
};

/* What the tests of the other process know of it. */
inline int other_socket()
{
    const char *const socket = std::getenv("HEDDLE_TEST_SOCKET");
    REQUIRE(socket);
    return std::atoi(socket);
}
inline gpu::Place other_device()
{
    return {gpu::Kind::device, std::atoi(std::getenv("HEDDLE_TEST_ON"))};
}

/* This very program, running one of its hidden tests; with other switches for its device. */
class Other {
public:
    Other(const char *test, int device, const char *switches)
    {
        int sockets[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
        socket_ = sockets[0];
        child_ = fork();
        if (child_ == 0) {
            close(sockets[0]);
            setenv("HEDDLE_TEST_SOCKET", std::to_string(sockets[1]).c_str(), 1);
            setenv("HEDDLE_TEST_ON", std::to_string(device).c_str(), 1);
            setenv("HEDDLE_SIM", switches, 1);
            setenv("HEDDLE_MESSAGE_OPEN", "16", 1);
            execl("/proc/self/exe", "pipeline", test, nullptr);
            _exit(127);
        }
        close(sockets[1]);
    }
    Other(const Other &) = delete;
    ~Other() { close(socket_); }

    int socket() const { return socket_; }
    void kill() const
    {
        ::kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }
    /* All of its checks hold. */
    void check_end() const
    {
        int status = 0;
        waitpid(child_, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }

private:
    int socket_ = -1;
    pid_t child_ = -1;
};

/* What `get` returns while this process can open no file. It makes no checks and calls nothing
 * virtual, for sanitizers need descriptors then. */
template <class Get> auto without_descriptors(Get &&get)
{
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const auto got = get();
    setrlimit(RLIMIT_NOFILE, &before);
    return got;
}

/* Byte `x` of a message. */
inline char byte_at(int message, int64_t x)
{
    return static_cast<char>((x * 7 + x / 256 + message * 13) % 251);
}

/* What its caller hears of a message's end. */
struct End {
    bool over = false;
    int error = -1;
    int64_t bytes = -1;
    int calls = 0;
    bool detailed = false; /* heddle_error_detail */
};
inline void ended(void *argument, int error, int64_t bytes)
{
    End &end = *static_cast<End *>(argument);
    end = {true, error, bytes, end.calls + 1, *heddle_error_detail() != '\0'};
}

} // namespace pipeline_test
