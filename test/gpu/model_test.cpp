/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The performance model: its tables, their files, and what a decision costs. Usage:
 * model_test [FOLDER-OF-TABLES [NAME]], with HEDDLE_DEVICE the simulated device's plug-in.
 */
#include "gpu/model/builtin.hpp"
#include "gpu/model/message_sizes.hpp"
#include "gpu/model/read_tables.hpp"
#include "gpu/model/table_for.hpp"
#include "gpu/transfer/decisions.hpp"
#include "gpu/transfer/task.hpp"
#include "named.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <unistd.h>

namespace {

using namespace heddle;
using namespace heddle::gpu;
using namespace heddle::gpu::model;
using ::gpu::fail;
using ::gpu::same;
using ::gpu::text;

std::string folder = TABLES;

void about(double value, double expected, const char *what)
{
    if (!(std::abs(value - expected) <= 1e-9 * std::abs(expected)))
        fail(what, ": ", value, ", not ", expected);
}

void between_entries()
{
    const Grid grid({100, 10000}, {4, 64}, {1e-6, 4e-6, 100e-6, 400e-6});
    about(grid.at(100, 4), 1e-6, "an entry");
    about(grid.at(10000, 64), 400e-6, "another");
    about(grid.at(1000, 4), 10e-6, "half way in bytes");
    about(grid.at(100, 16), 2e-6, "half way in blocks");
    about(grid.at(1000, 16), 20e-6, "in the middle");
    about(grid.at(1, 1), 0.5e-6, "half the least, at least");
    about(Grid({100, 300}, {1}, {3e-6, 5e-6}).at(20, 1), 2.2e-6, "a start and so much a byte");
    about(Grid({100, 300}, {1}, {3e-6, 2e-6}).at(20, 1), 3e-6, "the least, where more is faster");
    about(Grid({100}, {1}, {3e-6}).at(20, 1), 3e-6, "the only amount");
    about(grid.at(20000, 1 << 20), 800e-6, "twice the largest amount");
    same(Grid().at(1, 1), static_cast<double>(INFINITY), "an empty table");
    Grid scaled = grid;
    scaled.scale(2);
    about(scaled.at(100, 4), 1e-6, "the constant part stays");
    about(scaled.at(10000, 4), 199e-6, "the rest doubles");
}

void sound_tables()
{
    same(Grid::is_sound({1, 2}, {1}, {1, 2}), true, "a sound one");
    same(Grid::is_sound({2, 2}, {1}, {1, 2}), false, "bytes that do not ascend");
    same(Grid::is_sound({0, 2}, {1}, {1, 2}), false, "no bytes at all");
    same(Grid::is_sound({1, 2}, {1}, {1}), false, "too few times");
    same(Grid::is_sound({1, 2}, {1}, {1, 0}), false, "a time of 0");
    same(Grid::is_sound({1, 2}, {1}, {1, NAN}), false, "a time that is no number");
    same(Grid::is_sound({}, {1}, {}), false, "nothing");
}

/* Where the curves cross, the choice changes. */
void the_soonest()
{
    Tables tables;
    const auto set = [&](Method method, double few, double many) {
        tables.grid(method, Pattern::strided, Path::to_host) =
            Grid({1000, 1000000}, {8}, {few, many});
    };
    set(Method::kernel, 10e-6, 1000e-6); /* as late as the other at 31623 bytes */
    set(Method::blocks, 100e-6, 100e-6);
    const Methods both = set_of(Method::kernel) | set_of(Method::blocks);
    const auto number = [](Method method) { return static_cast<int>(method); };
    const auto best = [&](Pattern pattern, int64_t bytes, Methods among) {
        return method_name(tables.best({pattern, Path::to_host, bytes, 8}, among));
    };
    using Name = std::string;
    same(Name(best(Pattern::strided, 30000, both)), Name("kernel"), "below the crossing");
    same(Name(best(Pattern::strided, 34000, both)), Name("blocks"), "above the crossing");
    for (const Pattern like : {Pattern::runs, Pattern::near, Pattern::words})
        same(Name(best(like, 30000, both)), Name("kernel"), "a pattern like it");
    same(Name(best(Pattern::strided, 30000, set_of(Method::blocks))), Name("blocks"),
         "what can be done");
    same(number(tables.best({Pattern::strided, Path::to_host, 30000, 8}, set_of(Method::staged))),
         number(Method::count), "nothing is known");
    for (const Path path : {Path::to_host, Path::from_host}) { /* 1 % sooner than the other */
        tables.grid(Method::kernel, Pattern::near, path) = Grid({1000}, {8}, {10e-6});
        tables.grid(Method::blocks, Pattern::near, path) = Grid({1000}, {8}, {9.9e-6});
    }
    const auto nearly = [&](Path path) {
        return Name(method_name(tables.best({Pattern::near, path, 1000, 8}, both)));
    };
    same(nearly(Path::to_host), Name("blocks"), "rows that are written lose nothing");
    same(nearly(Path::from_host), Name("kernel"), "rows that are read lose 2 %");
    const Methods steps = set_of(Method::kernel) | set_of(Method::staged);
    set(Method::staged, 9.8e-6, 980e-6); /* 2 % sooner: 4.3 us of 215 at 100000 bytes */
    same(Name(best(Pattern::strided, 100000, steps)), Name("kernel"), "3 us between two steps");
    same(Name(best(Pattern::strided, 10000, steps)), Name("staged"), "not between short ones");
    set(Method::staged, 9e-6, 900e-6);
    same(Name(best(Pattern::strided, 100000, steps)), Name("staged"), "less than both its steps");
    /* The same from the host: from 48 to 320 KiB the second step begins behind the first. */
    for (const auto &[method, us] : {std::pair{Method::kernel, 20.0}, {Method::staged, 19.0}})
        tables.grid(method, Pattern::strided, Path::from_host) =
            Grid({1000, 1000000}, {8}, {us * 1e-6, us * 1e-6});
    for (const auto &[bytes, expected] : {std::pair{40 << 10, "kernel"},
                                          {48 << 10, "staged"},
                                          {319 << 10, "staged"},
                                          {320 << 10, "kernel"}})
        same(Name(method_name(tables.best({Pattern::strided, Path::from_host, bytes, 8}, steps))),
             Name(expected), "stages from the host of ", bytes);
    set(Method::staged, 9.95e-6, 995e-6);
    same(Name(best(Pattern::strided, 1000, steps)), Name("kernel"), "stages lose 1 %");
}

/* Rows of 112 bytes take what two and a half lines take, where they are read, and where many are
 * written; else what lies between two and four lines. */
void long_rows_touch_lines()
{
    Tables tables;
    const auto takes = [&](Path path, int64_t bytes) {
        tables.grid(Method::blocks, Pattern::strided, path) =
            Grid({1 << 10, 1 << 30}, {64, 128}, {1e-6, 1e-6, 1048576e-6, 1048576e-6});
        return tables.expected(Method::blocks, {Pattern::strided, path, bytes, 112});
    };
    constexpr double us_by_bytes = 1e-6 / 1024, lines = 160.0 / 112;
    for (const int64_t bytes : {16 << 20, 32 << 20}) {
        const double all = us_by_bytes * static_cast<double>(bytes);
        about(takes(Path::from_host, bytes), all * lines, "read");
        about(takes(Path::to_host, bytes), bytes < 32 << 20 ? all : all * lines, "written");
    }
}

/* Packed rows of 8 bytes touch a line of 64 each, rows of 112 two and a half. */
void rows_touch_lines()
{
    const Grid grid({1 << 10, 1 << 20}, {64, 128}, {1e-6, 1e-6, 1024e-6, 1024e-6});
    about(grid.at(1 << 14, 64, Rows::in_lines), 16e-6, "an entry's length");
    about(grid.at(1 << 14, 112, Rows::in_lines), 16e-6 * 160 / 112, "between whole lines");
    about(grid.at(1 << 14, 96, Rows::in_lines), 16e-6 * 128 / 96, "half lines");
    about(grid.at(1 << 14, 112), 16e-6, "in bytes");
    const Grid with_start({1 << 10, 3 << 10}, {64, 128}, {2e-6, 2e-6, 4e-6, 4e-6});
    about(with_start.at(1 << 9, 112, Rows::in_lines), 1e-6 + 1e-6 * 160 / 112 / 2,
          "below the least amount");
    const Grid shorter({1 << 10, 1 << 20}, {8, 64}, {1e-6, 1e-6, 1024e-6, 1024e-6});
    about(shorter.at(1 << 14, 16, Rows::in_lines),
          std::exp2((std::log2(8e-6) * 2 + std::log2(64e-6)) / 3), "below a line");
    about(shorter.at(1 << 10, 16, Rows::in_lines),
          std::exp2((std::log2(0.5e-6) * 2 + std::log2(4e-6)) / 3), "a column that goes on");

    Tables tables;
    for (const Path path : {Path::to_host, Path::from_host})
        for (const Method method : {Method::blocks, Method::kernel})
            tables.grid(method, Pattern::strided, path) = grid;
    const auto expected = [&](Method method, Path path) {
        return tables.expected(method, {Pattern::strided, path, 1 << 14, 112});
    };
    about(expected(Method::blocks, Path::from_host), 16e-6 * 160 / 112, "read from the host");
    about(expected(Method::blocks, Path::to_host), 16e-6, "written to the host");
    about(expected(Method::kernel, Path::from_host), 16e-6, "by a kernel");
}

/* What is compiled in is what the files say. */
void built_in_tables()
{
    Tables read;
    same(read_tables(folder + "/h100-pcie5.json", read), std::string(), "share/heddle");
    const Tables built = made(h100_pcie5);
    same(built.device, read.device, "device");
    same(built.together_most_bytes, read.together_most_bytes, "together_most_bytes");
    same(built.together_link_most_bytes, read.together_link_most_bytes, "over the link");
    int grids = 0;
    for (unsigned m = 0; m < static_cast<unsigned>(Method::count); ++m)
        for (unsigned p = 0; p < static_cast<unsigned>(Pattern::count); ++p)
            for (unsigned w = 0; w < static_cast<unsigned>(Path::count); ++w) {
                const Grid &ours = built.grid(Method(m), Pattern(p), Path(w)),
                           &theirs = read.grid(Method(m), Pattern(p), Path(w));
                same(ours.empty(), theirs.empty(), "the same grids");
                grids += ours.empty() ? 0 : 1;
                for (const int64_t bytes : {4096, 70000, 5 << 20})
                    for (const int64_t block : {8, 300, 5000})
                        if (!ours.empty() &&
                            std::abs(ours.at(bytes, block) / theirs.at(bytes, block) - 1) > 1e-6)
                            fail("grid ", m, " ", p, " ", w, " differs");
            }
    if (grids < 40)
        fail("only ", grids, " grids");
}

void devices_get_tables()
{
    std::string warning;
    const Tables h100 = tables_for({"NVIDIA H100 80GB HBM3", 3352, 63, 132}, "", warning);
    same(h100.origin, std::string("built in, measured on NVIDIA H100 80GB HBM3"), "an H100's");
    const Tables slow = tables_for({"NVIDIA A2", 200, 15.75, 10}, "", warning);
    same(warning, std::string(), "no warning");
    const Question large{Pattern::dense, Path::to_host, 64 << 20, 1};
    const double ratio =
        slow.expected(Method::copy_engine, large) / h100.expected(Method::copy_engine, large);
    if (ratio < 3.9 || ratio > 4)
        fail("a link of a quarter takes ", ratio, " times as long");
    const Question within{Pattern::strided, Path::pack, 64 << 20, 1024};
    const double memory =
        slow.expected(Method::kernel, within) / h100.expected(Method::kernel, within);
    if (memory < 10 || memory > 3352 / 200.0)
        fail("slow memory takes ", memory, " times as long");
}

struct Written {
    explicit Written(const std::string &text)
    {
        std::snprintf(name, sizeof name, "/tmp/model_test.XXXXXX");
        const int file = mkstemp(name);
        if (file < 0 || write(file, text.data(), text.size()) < 0)
            fail("no file can be written");
        close(file);
    }
    Written(const Written &) = delete;
    ~Written() { unlink(name); }
    char name[64];
};

/* A good file with one place made bad: why it is not read is told in words that contain `words`. */
void is_refused(std::string file, const char *what, const char *with, const char *words,
                Tables &tables)
{
    const size_t at = file.find(what);
    if (at == file.npos)
        fail("no ", what);
    file.replace(at, std::string(what).size(), with);
    const std::string why = read_tables(Written(file).name, tables);
    if (why.find(words) == why.npos)
        fail(with, " in the place of ", what, ": \"", why, "\"");
}

void tables_without_sense()
{
    const std::string good =
        R"({"heddle_tuning": 1, "device": "X", "grids": [{"method": "kernel", "pattern": "strided",)"
        R"( "path": "to_host", "bytes": [10, 20], "blocks": [8], "us": [[1.5], [2]]}]})";
    Tables tables;
    same(read_tables(Written(good).name, tables), std::string(), "a good file");
    about(tables.expected(Method::kernel, {Pattern::strided, Path::to_host, 10, 8}), 1.5e-6,
          "what it says");
    const auto refuses = [&](const char *what, const char *with, const char *words) {
        is_refused(good, what, with, words, tables);
        same(tables.device, std::string("X"), "the tables stay");
    };
    refuses("]}]}", "", "no JSON object");
    refuses("\"heddle_tuning\": 1", "\"heddle_tuning\": 4", "version 4");
    refuses("\"heddle_tuning\": 1", "\"heddle_tuning\": 0", "version 0");
    refuses("heddle_tuning", "other", "no table");
    refuses("\"X\"", "3", "no device");
    refuses("[{\"method\"", "[3, {\"method\"", "grid 0");
    refuses("kernel", "magic", "grid 0");
    refuses("strided", "striped", "grid 0");
    refuses("to_host", "to_moon", "grid 0");
    refuses("[10, 20]", "[20, 10]", "grid 0");
    refuses("[10, 20]", "\"much\"", "grid 0");
    refuses("[8]", "[8, 16]", "grid 0");
    refuses("1.5", "-1.5", "grid 0");
    refuses("\"grids\"", "\"together_most_bytes\": -1, \"grids\"", "no number of bytes");
    refuses("1.5", "\"long\"", "grid 0");
    refuses("[[1.5], [2]]", "[1.5, 2]", "grid 0");
    refuses("[8], \"us\": [[1.5], [2]]", "[8, 16], \"us\": [[1.5, 2, 3], [2]]", "grid 0");
    same(read_tables("/nonexistent", tables), std::string("it cannot be read"), "no file");
    same(read_tables("/tmp", tables), std::string("it cannot be read"), "a folder");
    std::string warning;
    const Written foreign(good);
    const Tables instead = tables_for({"Y", 0, 0, 0}, foreign.name, warning);
    same(warning,
         text("HEDDLE_TUNING=", foreign.name, " is ignored: it was measured on X, and this is Y"),
         "a foreign file");
    same(instead.device, std::string(h100_pcie5.device), "the built-in tables instead");
}

const char *const with_links =
    R"({"heddle_tuning": 3, "device": "X", "grids": [{"method": "kernel", "pattern": "strided",)"
    R"( "path": "to_host", "bytes": [10, 20], "blocks": [8], "us": [[1.5], [2]]}], "devices": 2,)"
    R"( "peers": [{"method": "kernel", "from": 0, "to": 1, "bytes": [10, 20], "us": [3, 4]}],)"
    R"( "nodes": [{"device": 0, "node": -1, "path": "to_host", "bytes": [10], "us": [5]},)"
    R"( {"device": 0, "node": 1, "path": "to_host", "bytes": [10], "us": [4.5]}],)"
    R"( "imports": [{"from": 1, "to": 0, "open_us": 9000, "bytes": [10], "us": [6]}],)"
    R"( "messages": [{"where": "remote", "bytes": [1, 20], "us": [2, 8]},)"
    R"( {"where": "local", "bytes": [1], "us": [0.5]}]})";

void links()
{
    Tables tables;
    same(read_tables(Written(with_links).name, tables), std::string(), "a good file");
    about(tables.links.peer(Method::kernel, 0, 1, 20), 4e-6, "a peer's");
    same(tables.links.peer(Method::kernel, 1, 0, 20), static_cast<double>(INFINITY), "no such");
    same(tables.links.peer(Method::copy_engine, 0, 1, 20), static_cast<double>(INFINITY), "none");
    about(tables.links.host(Path::to_host, 10), 4.5e-6, "the sooner node's");
    same(tables.links.host(Path::from_host, 10), static_cast<double>(INFINITY), "the other way");
    about(tables.links.imports.at(0).open_seconds, 9e-3, "opening");
    about(tables.links.slowest_between_devices(), 10 / 6e-6, "the only one between devices");
    about(tables.links.transport()->at(20, 1), 8e-6, "messages between nodes");
    tables.links.messages.erase(tables.links.messages.begin());
    about(tables.links.transport()->at(1, 1), 0.5e-6, "messages within a node");
    tables.links.messages.clear();
    same(tables.links.transport() == nullptr, true, "no messages");
    const auto refuses = [&](const char *what, const char *with, const char *words) {
        is_refused(with_links, what, with, words, tables);
    };
    refuses("\"devices\": 2", "\"devices\": \"two\"", "number of devices");
    refuses("\"peers\": [", "\"peers\": [3, ", "its peers 0");
    refuses("\"peers\": [", "\"peers\": 3, \"others\": [", "its peers are no list");
    refuses("\"kernel\", \"from\"", "\"magic\", \"from\"", "its peers 0");
    refuses("\"from\": 0", "\"from\": -1", "its peers 0");
    refuses("\"to\": 1", "\"to\": 1.5", "its peers 0");
    refuses("[3, 4]", "[3]", "its peers 0");
    refuses("[3, 4]", "[3, -4]", "its peers 0");
    refuses("[3, 4]", "7", "its peers 0");
    refuses("\"node\": 1, \"path\": \"to_host\"", "\"node\": 1, \"path\": \"pack\"", "its nodes 1");
    refuses("\"node\": -1", "\"node\": -2", "its nodes 0");
    refuses("9000", "0", "its imports 0");
    refuses("9000", "\"long\"", "its imports 0");
    refuses("\"messages\": [", "\"messages\": [{}, ", "its messages 0");
    refuses("\"local\"", "\"far\"", "its messages 1");
    refuses("\"local\"", "3", "its messages 1");
    refuses("[2, 8]", "[2, 0]", "its messages 0");
    refuses("[1, 20]", "[0, 20]", "its messages 0");
}

/* The links of the machine on which the constants were found, as bench/results/copies.md has them.
 * The rates of its tables are those of its host link. */
Links links_of_h100s(const Tables &tables)
{
    Links links;
    const std::vector<int64_t> bytes{4096, 65536, 1 << 20, 16 << 20, 64 << 20};
    for (const Path path : {Path::to_host, Path::from_host}) {
        std::vector<double> seconds;
        for (const int64_t each : bytes)
            seconds.push_back(
                tables.expected(Method::copy_engine, {Pattern::dense, path, each, each}));
        links.nodes.push_back({0, 0, path, Grid(bytes, {1}, seconds)});
    }
    links.imports.push_back({1, 0, 9.5e-3, Grid({4096, 64 << 20}, {1}, {10e-6, 190e-6})});
    return links;
}

Grid link_of(double latency, double bytes_a_second)
{
    std::vector<int64_t> bytes;
    std::vector<double> seconds;
    for (int64_t each = 1024; each <= 64 << 20; each *= 2) {
        bytes.push_back(each);
        seconds.push_back(latency + static_cast<double>(each) / bytes_a_second);
    }
    return {bytes, {1}, seconds};
}

void messages_are_cut_as_measured()
{
    std::string warning;
    Tables tables = tables_for({"NVIDIA H100 80GB HBM3", 3352, 63, 132}, "", warning);
    const auto is = [&](const char *what, int64_t chunk, int64_t shared, int64_t reference) {
        const MessageSizes sizes = message_sizes(tables);
        same(sizes.chunk, chunk, what, ": chunk");
        same(sizes.worth_value, int64_t{1} << 17, what, ": by value");
        same(sizes.worth_shared, shared, what, ": shared");
        same(sizes.worth_reference, reference, what, ": by reference");
    };
    is("built in", 1 << 20, 1 << 18, 1 << 21);
    const Links measured = links_of_h100s(tables);
    tables.links = measured;
    is("H100s, measured", 1 << 20, 1 << 18, 1 << 21);
    tables.links.nodes.clear();
    is("no nodes", 1 << 20, 1 << 18, 1 << 21);
    tables.links = measured;
    for (NodeLink &each : tables.links.nodes)
        each.times = link_of(2e-6, 1e9);
    is("1 GB/s and little latency", 64 << 10, 1 << 14, 1 << 21);
    for (NodeLink &each : tables.links.nodes)
        each.times = link_of(1e-3, 40e9);
    is("a latency of a millisecond", 32 << 20, 1 << 17, 1 << 21);
    tables.links = measured;
    tables.links.imports[0].times = link_of(20e-6, 22e9);
    is("devices over PCIe", 1 << 20, 1 << 18, 1 << 17);
}

void messages_are_cut_by_the_transport()
{
    std::string warning;
    Tables tables = tables_for({"NVIDIA H100 80GB HBM3", 3352, 63, 132}, "", warning);
    constexpr int64_t chunk = 1 << 20, staging = 128 << 20;
    const auto is = [&](const char *what, int64_t value, int64_t window) {
        const MessageSizes sizes = message_sizes(tables);
        same(sizes.worth_value, value, what, ": by value");
        same(window_of(sizes, chunk, staging), window, what, ": window");
        same(sizes.chunk, chunk, what, ": chunk");
        same(sizes.worth_shared, int64_t{1} << 18, what, ": shared");
    };
    is("no messages", 1 << 17, 8);
    tables.links.messages = {{Where::local, link_of(0.5e-6, 25e9)}};
    is("25 GB/s within a node", 1 << 17, 8);
    tables.links.messages.push_back({Where::remote, link_of(2e-6, 6e9)});
    is("6 GB/s between nodes", 1 << 15, 8);
    tables.links.messages.back().times = link_of(20e-6, 0.1e9);
    is("0.1 GB/s", 1 << 14, 8);
    /* A chunk takes 1.09 ms there, its answer 1 ms, and 64 MiB take 6.6 ms: 20.3 MiB meanwhile. */
    tables.links.messages.back().times = link_of(1e-3, 12e9);
    is("a millisecond", 1 << 16, 23);
    same(window_of(message_sizes(tables), chunk, 16 << 20), int64_t{16}, "little staging");
    same(window_of(message_sizes(tables), chunk, 4 << 20), int64_t{8}, "less staging");
    tables.links.messages.back().times = Grid({1}, {1}, {1e300});
    is("no link is so slow", 1 << 14, 8);
}

/* On H100s a launch takes 8 us, and 50 GB/s cross the host's link. */
void messages_follow_the_network()
{
    std::string warning;
    Tables tables = tables_for({"NVIDIA H100 80GB HBM3", 3352, 63, 132}, "", warning);
    const auto is = [&](const char *what, int64_t between_nodes, int64_t whole) {
        const MessageSizes sizes = message_sizes(tables);
        same(sizes.chunk_between_nodes, between_nodes, what, ": chunk between nodes");
        same(sizes.whole, whole, what, ": whole");
        same(sizes.chunk, int64_t{1} << 20, what, ": chunk within a node");
    };
    is("built in", 1 << 20, 1 << 17);
    tables.links.messages = {{Where::remote, link_of(2e-6, 6e9)}};
    is("no link with the host", 1 << 20, 1 << 17);
    tables.links = links_of_h100s(tables);
    is("no messages", 1 << 20, 1 << 17);
    tables.links.messages = {{Where::local, link_of(0.5e-6, 12e9)}};
    is("messages within a node", 1 << 20, 1 << 18);
    tables.links.messages.push_back({Where::remote, link_of(2e-6, 48e9)});
    is("a network as fast as the host's link", 1 << 20, 1 << 20);
    tables.links.messages.back().times = link_of(2e-6, 12e9);
    is("a fast network", 1 << 18, 1 << 18);
    tables.links.messages.back().times = link_of(2e-6, 1e9);
    is("a slow network", 1 << 16, 1 << 16);
    /* 512 KiB take 574 us whole, and 560 in chunks: an envelope and its answer take more. */
    tables.links.messages.back().times = link_of(12e-6, 1e9);
    is("a slow network with a delay", 1 << 16, 1 << 19);
    tables.links.messages.back().times = link_of(1e-3, 12e9);
    is("a fast network with a long delay", 1 << 20, 1 << 20);
    /* 5 ms each way, and UCX's rendezvous from 64 KiB on: 16 ms in chunks of 16 KiB, 26 whole. But
     * 256 KiB took 38 ms in chunks of 64 KiB, and 28 whole. */
    tables.links.messages.back().times =
        Grid({1, 16384, 65536, 1 << 20, 16 << 20}, {1}, {5.1e-3, 5.2e-3, 26e-3, 30.7e-3, 90e-3});
    is("a delay and a rendezvous", 1 << 20, 1 << 20);
}

/* A transfer of blocks from the device to pinned memory, or the other way, as the policy sees it.
 */
struct Transfer {
    explicit Transfer(int64_t blocks, int64_t block = 64, int64_t stride = 256, bool back = false)
    {
        Devices *const devices = Devices::open();
        if (!devices)
            throw ::gpu::Skip("no simulated device");
        Backend &backend = devices->backend();
        const auto most = static_cast<size_t>(blocks * stride);
        if (backend.allocate(0, most, &device) || backend.allocate_pinned(0, most, &pinned))
            fail("no memory");
        heddle_type_hvector(blocks, block, stride, heddle_type_predefined(HEDDLE_BYTE), &type);
        heddle_type_commit(type);
        const heddle_move asked{
            {back ? pinned : device, 1, type, 0},
            {back ? device : pinned, blocks * block, heddle_type_predefined(HEDDLE_BYTE), 0},
            blocks * block,
            HEDDLE_OP_REPLACE};
        MemoryMap map(&backend);
        if (check_move(asked, move))
            fail("the move is refused");
        place_move(move, devices, map);
        direct = std::make_unique<Direct>(&move, Method::kernel);
        if (make_work(move, direct->work))
            fail("no work is made");
    }
    Transfer(const Transfer &) = delete;
    ~Transfer()
    {
        Backend &backend = Devices::open()->backend();
        static_cast<void>(backend.free(0, device));
        static_cast<void>(backend.free_pinned(0, pinned));
        heddle_type_release(type);
    }

    void *device = nullptr, *pinned = nullptr;
    heddle_type *type = nullptr;
    Move move;
    std::unique_ptr<Direct> direct;
};

constexpr Methods all_methods = set_of(Method::kernel) | set_of(Method::blocks) |
                                set_of(Method::staged) | set_of(Method::bounced);

/* What a stride makes of blocks, on the device and on the host. */
void patterns_are_told_apart()
{
    const auto is = [](int64_t block, int64_t stride, bool back, Pattern expected) {
        const Transfer one(100, block, stride, back);
        same(static_cast<int>(question_of(one.move, one.direct->work).pattern),
             static_cast<int>(expected), "the pattern");
    };
    is(24, 72, true, Pattern::near);
    is(24, 504, true, Pattern::near);
    is(24, 512, true, Pattern::strided);
    is(384, 504, true, Pattern::strided);
    is(24, 72, false, Pattern::strided);
    is(12, 72, true, Pattern::words);
}

void decisions_are_remembered()
{
    const Transfer one(1000);
    const int64_t before = decisions_made();
    const Method first = soonest(one.move, one.direct->work, all_methods);
    same(decisions_made() - before, int64_t{1}, "the model is asked");
    same(soonest(one.move, one.direct->work, all_methods) == first, true, "the same again");
    same(decisions_made() - before, int64_t{1}, "and is not asked again");
    soonest(one.move, one.direct->work, set_of(Method::kernel));
    same(decisions_made() - before, int64_t{2}, "it is asked anew");
    const Transfer other(2000); /* a plan of its own */
    soonest(other.move, other.direct->work, all_methods);
    same(decisions_made() - before, int64_t{3}, "of another plan");
}

/* The least nanoseconds a call, of many short measurements: others may run on this processor. */
template <class Call> double nanoseconds(Call call)
{
    using Clock = std::chrono::steady_clock;
    constexpr int calls = 200;
    double least = 1e9;
    for (int i = 0; i < 500; ++i) {
        const auto begin = Clock::now();
        for (int k = 0; k < calls; ++k)
            call();
        least = std::min(
            least, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls);
    }
    return least;
}

void decisions_are_cheap()
{
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    throw ::gpu::Skip("not optimized");
#else
    const Transfer one(1000);
    volatile int sink = 0;
    const double hit = nanoseconds(
        [&] { sink = static_cast<int>(soonest(one.move, one.direct->work, all_methods)); });
    const Tables &tables = tables_of(*one.move.device);
    const double miss = nanoseconds([&] {
        sink = static_cast<int>(tables.best(question_of(one.move, one.direct->work), all_methods));
    });
    std::printf("a hit takes %.1f ns, a miss %.0f ns\n", hit, miss);
    if (hit > 10 || miss > 1000)
        fail("a hit takes ", hit, " ns (at most 10), a miss ", miss, " (at most 1000)");
#endif
}

const ::gpu::AddTests tests{
    {"between entries", between_entries},
    {"sound tables", sound_tables},
    {"the soonest", the_soonest},
    {"rows touch lines", rows_touch_lines},
    {"long rows touch lines", long_rows_touch_lines},
    {"built-in tables", built_in_tables},
    {"devices get tables", devices_get_tables},
    {"tables without sense", tables_without_sense},
    {"links", links},
    {"messages are cut as measured", messages_are_cut_as_measured},
    {"messages are cut by the transport", messages_are_cut_by_the_transport},
    {"messages follow the network", messages_follow_the_network},
    {"patterns are told apart", patterns_are_told_apart},
    {"decisions are remembered", decisions_are_remembered},
    {"decisions are cheap", decisions_are_cheap}};

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1)
        folder = argv[1];
    ::gpu::Tally tally;
    ::gpu::run_named(argc > 2 ? argv[2] : "", tally);
    std::printf("%s\n", tally.line().c_str());
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}
