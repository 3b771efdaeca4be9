/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which path a message takes, and why: select() by itself, and what HEDDLE_LOG=policy prints.
 */
#include "two.hpp"

#include "pipeline/protocol/select.hpp"

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1};
constexpr int64_t bytes = 1000;

struct Asked {
    Asked() : buffer({memory.at(), bytes, heddle_type_predefined(HEDDLE_BYTE), 0}, bytes)
    {
        limits.peer = HEDDLE_PEER_AUTO;
    }
    heddle_message_path path(int flags, int64_t eager_limit = INT64_MAX,
                             int64_t length = bytes) const
    {
        return select({buffer.first(length), flags, eager_limit, has_rtr, get_runs}, limits, peer)
            .path;
    }

    const Switched on{"reset"};
    const gpu::Memory memory{device0, bytes};
    const wire::Buffer buffer;
    wire::Limits limits;
    wire::Peer peer;
    bool has_rtr = false, get_runs = false;
};

} // namespace

TEST_CASE("select: a path for each description", "[select]")
{
    Asked asked;
    CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_GET);
    CHECK(asked.path(HEDDLE_MESSAGE_SELF) == HEDDLE_PATH_SELF);
    CHECK(asked.path(0) == HEDDLE_PATH_PACK); /* another node */
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, bytes) == HEDDLE_PATH_GET);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, bytes - 1) == HEDDLE_PATH_RENDEZVOUS);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, 0) == HEDDLE_PATH_RENDEZVOUS);
    /* Its envelope would write beyond its data in a host receive. */
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, INT64_MAX, 63) == HEDDLE_PATH_PACK);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, INT64_MAX, 64) == HEDDLE_PATH_GET);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE | HEDDLE_MESSAGE_SYNCHRONOUS) == HEDDLE_PATH_PACK);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE | HEDDLE_MESSAGE_QUEUED) == HEDDLE_PATH_PACK);
    CHECK(asked.path(HEDDLE_MESSAGE_NODE | HEDDLE_MESSAGE_NATIVE, 1) == HEDDLE_PATH_NATIVE);
    asked.get_runs = true;
    CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_PACK);
    CHECK(asked.path(HEDDLE_MESSAGE_SELF) == HEDDLE_PATH_SELF);
    asked.has_rtr = true;
    CHECK(asked.path(HEDDLE_MESSAGE_NODE, 1) == HEDDLE_PATH_PUT);
}

TEST_CASE("select: after a miss as many gets are packed as the peer's history says", "[select]")
{
    Asked asked;
    asked.limits.peer = HEDDLE_PEER_VALUE;
    CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_PACK);
    asked.limits.peer = HEDDLE_PEER_AUTO;
    for (const int skipped : {1, 3, 7, 15, 15}) {
        asked.peer.gets.miss();
        for (int i = 0; i < skipped; ++i) {
            CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_PACK);
            CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_PACK); /* asking changes nothing */
            --asked.peer.gets.skipped;
        }
        CHECK(asked.path(HEDDLE_MESSAGE_NODE) == HEDDLE_PATH_GET);
    }
}

TEST_CASE("inside: choices are logged", "[.][inside]")
{
    const Switched on("reset");
    const std::string name = "/tmp/heddle-test-policy." + std::to_string(getpid());
    REQUIRE(std::freopen(name.c_str(), "w+", stderr));
    Two network;
    pass(network, spaced(device0, device1, 100000));
    std::fflush(stderr);
    std::string text(10000, '\0');
    std::FILE *const file = std::fopen(name.c_str(), "r");
    REQUIRE(file);
    text.resize(std::fread(text.data(), 1, text.size(), file));
    std::fclose(file);
    std::remove(name.c_str());
    INFO(text);
    std::smatch sent;
    REQUIRE(
        std::regex_search(text, sent,
                          std::regex("send (message [0-9a-f]+ of pid " + std::to_string(getpid()) +
                                     "): 100000 bytes of device 0, strided to another node: "
                                     "rendezvous \\(longer than the eager limit\\)")));
    const std::string received = "receive " + sent[1].str() +
                                 ": 100000 bytes into device 1, strided: "
                                 "by reference (";
    CHECK(text.find(received) != std::string::npos);
}

TEST_CASE("HEDDLE_LOG=policy prints each choice with its reason", "[select]")
{
    setenv("HEDDLE_LOG", "policy", 1);
    CHECK(run_inside("inside: choices are logged") == 0);
    unsetenv("HEDDLE_LOG");
}
