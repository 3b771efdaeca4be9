/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages are cut as the table says that HEDDLE_TUNING names. It is read once, so this program
 * runs itself with each.
 */
#include "exchange.hpp"
#include "two.hpp"

#include "gpu/model/read_tables.hpp"
#include "pipeline/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

namespace pipeline_test {
namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1};

using heddle::pipeline::find_limits;
using heddle::pipeline::Limits;
using heddle::pipeline::Mode;
using heddle::pipeline::worth_a_launch;

/* A device whose link with the host moves `mb` MB/s after 10 us, and packs in 10 us. Times are in
 * us, so that MB/s are bytes a microsecond. */
std::string table_of(int64_t mb, const std::string &messages = "")
{
    std::string bytes, us;
    for (int64_t each = 1024; each <= 64 << 20; each *= 2) {
        bytes += (bytes.empty() ? "" : ", ") + std::to_string(each);
        us += (us.empty() ? "" : ", ") + std::to_string(10 + each / mb);
    }
    const auto link = [&](const char *path) {
        return std::string(R"({"device": 0, "node": 0, "path": ")") + path + R"(", "bytes": [)" +
               bytes + R"(], "us": [)" + us + "]}";
    };
    return R"({"heddle_tuning": 3, "device": "simulated device", "devices": 1, "grids": [)"
           R"({"method": "kernel", "pattern": "strided", "path": "pack", "bytes": [1024],)"
           R"( "blocks": [8], "us": [[10]]}], "nodes": [)" +
           link("to_host") + ", " + link("from_host") + "]" + messages + "}";
}

struct Expected {
    int64_t chunk, shared, value = 1 << 17, window = 8;
    int64_t between_nodes = chunk, whole = 1 << 17;
};

/* What this program finds, run with these variables before it. */
void finds(const std::string &variables, const Expected &expected)
{
    const std::string command =
        variables + " EXPECTED_CHUNK=" + std::to_string(expected.chunk) +
        " EXPECTED_SHARED=" + std::to_string(expected.shared) +
        " EXPECTED_VALUE=" + std::to_string(expected.value) +
        " EXPECTED_WINDOW=" + std::to_string(expected.window) +
        " EXPECTED_BETWEEN_NODES=" + std::to_string(expected.between_nodes) +
        " EXPECTED_WHOLE=" + std::to_string(expected.whole) + " '" + program_invocation_name +
        "' 'inside: tuned' >/dev/null";
    INFO(command);
    CHECK(std::system(command.c_str()) == 0);
}

struct TableFile {
    explicit TableFile(const std::string &text)
    {
        const int file = mkstemp(name);
        REQUIRE(file >= 0);
        close(file);
        std::ofstream(name) << text;
    }
    TableFile(const TableFile &) = delete;
    ~TableFile() { unlink(name); }
    char name[32] = "/tmp/heddle-tuned-XXXXXX";
};

} // namespace

TEST_CASE("inside: tuned", "[.]")
{
    const auto expected = [](const char *name) {
        const char *const value = std::getenv(name);
        REQUIRE(value);
        return std::atoll(value);
    };
    Limits limits;
    REQUIRE(find_limits({}, limits) == HEDDLE_SUCCESS);
    CHECK(limits.chunk == expected("EXPECTED_CHUNK"));
    CHECK(limits.chunk_between_nodes == expected("EXPECTED_BETWEEN_NODES"));
    CHECK(limits.window == expected("EXPECTED_WINDOW"));
    CHECK(heddle_message_whole() == expected("EXPECTED_WHOLE"));
    CHECK(worth_a_launch(Mode::shared) == expected("EXPECTED_SHARED"));
    CHECK(worth_a_launch(Mode::value) == expected("EXPECTED_VALUE"));
    CHECK(heddle_message_chunk(int64_t{1} << 40) == limits.chunk_between_nodes);
    const int64_t small = std::min(worth_a_launch(Mode::value) - 1, limits.chunk_between_nodes);
    CHECK(heddle_message_chunk(small) >= small); /* whole */
    const Limits as_found = limits;
    heddle_port_options options{};
    options.chunk = 8192;
    REQUIRE(find_limits(options, limits) == HEDDLE_SUCCESS);
    CHECK(limits.chunk == 8192);
    CHECK(limits.chunk_between_nodes == 8192);

    /* Whole messages of both modes, of several chunks, still come. */
    for (const int peer : {HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED}) {
        Network network(9, {false, 0, 0});
        const heddle_port_options found = port_options(0, 0, 0, peer);
        const size_t a = network.add(found), b = network.add(found);
        constexpr int64_t bytes = 3 << 20;
        const Since sent(heddle::pipeline::Counter::bytes_by_value);
        Exchange exchange(network, a, b,
                          plan(blocks(device0, bytes), blocks(device1, bytes), bytes), 1);
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(sent.now() == (peer == HEDDLE_PEER_VALUE ? bytes : 0));
    }

    /* The receiver says how large the chunks are, by where its sender is. */
    for (const bool is_far : {false, true}) {
        Network network(9, {false, 0, 0});
        const heddle_port_options found = port_options(0, 0, 0, HEDDLE_PEER_VALUE);
        const size_t a = network.add(found), b = network.add(found);
        constexpr int64_t bytes = 8 << 20;
        Exchange exchange(network, a, b,
                          plan(blocks(device0, bytes), blocks(device1, bytes), bytes), 1);
        int64_t chunk = 0;
        network.loses = [&](size_t, const std::vector<unsigned char> &raw) {
            wire::Header header;
            REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
            if (header.kind == wire::Kind::answer)
                chunk = header.chunk;
            return false;
        };
        exchange.send();
        if (is_far)
            exchange.seems_far();
        exchange.receive();
        run(network, [&] { return exchange.over(); });
        exchange.check();
        CHECK(chunk == wire::chunk_of(Mode::value, bytes,
                                      is_far ? as_found.chunk_between_nodes : as_found.chunk));
    }
}

TEST_CASE("messages are cut by the rates of links", "[rules]")
{
    constexpr Expected as_found_on_h100s{1 << 20, 1 << 18};
    finds("HEDDLE_TUNING=", as_found_on_h100s);
    finds("HEDDLE_TUNING=/nonexistent", as_found_on_h100s);
    finds("HEDDLE_MESSAGE_CHUNK=32K", {32 << 10, 1 << 18});
    const TableFile fast(table_of(50000)), slow(table_of(5000));
    heddle::gpu::model::Tables tables;
    const std::string wrong = read_tables(fast.name, tables);
    if (wrong.find("without nlohmann-json") != wrong.npos)
        return; /* no table can be read */
    REQUIRE(wrong.empty());
    finds(std::string("HEDDLE_TUNING=") + fast.name, {1 << 20, 1 << 18});
    finds(std::string("HEDDLE_TUNING=") + slow.name, {1 << 17, 1 << 15});
    finds(std::string("HEDDLE_MESSAGE_CHUNK=2M HEDDLE_TUNING=") + slow.name, {2 << 20, 1 << 15});

    /* A chunk takes 25 ms there, its answer 10 ms, at 2 GB/s: 71 MB meanwhile. An envelope and its
     * answer take 20 ms, so that what is no longer than a chunk goes whole. */
    const TableFile far(table_of(
        50000, R"(, "messages": [{"where": "local", "bytes": [1, 67108864], "us": [1, 6711]},)"
               R"( {"where": "remote", "bytes": [1, 67108864], "us": [10000, 33554]}])"));
    const std::string by_far = std::string("HEDDLE_TUNING=") + far.name;
    finds(by_far, {1 << 20, 1 << 18, 1 << 14, 70, 1 << 20, 1 << 20});
    finds("HEDDLE_MESSAGE_CHUNK=4M " + by_far, {4 << 20, 1 << 18, 1 << 14, 21, 4 << 20, 1 << 20});
    finds("HEDDLE_MESSAGE_STAGING=16M " + by_far,
          {1 << 20, 1 << 18, 1 << 14, 16, 1 << 20, 1 << 20});
    finds("HEDDLE_MESSAGE_WINDOW=3 " + by_far, {1 << 20, 1 << 18, 1 << 14, 3, 1 << 20, 1 << 20});

    /* 2 GB/s at once: chunks of 64 KiB, which take 11 us to pack, keep up with that. 128 KiB take
     * 90 us whole, and 88 in chunks. */
    const TableFile near(table_of(
        50000, R"(, "messages": [{"where": "remote", "bytes": [1, 1024, 32768, 65536, 1048576,)"
               R"( 67108864], "us": [1, 1.5, 17, 33.5, 525, 33555]}])"));
    finds(std::string("HEDDLE_TUNING=") + near.name,
          {1 << 20, 1 << 18, 1 << 14, 8, 1 << 16, 1 << 16});
}

} // namespace pipeline_test
