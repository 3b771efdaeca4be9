/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What can be tried in a process of its own alone: no device, little memory, devices that do not
 * reach each other, methods that are forced.
 */
#include "buffer.hpp"
#include "types.hpp"

#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace gpu {
namespace {

const std::vector<std::string> some_cases{"--cases", "400", "--seed", "1", "--no-named"};

size_t occurrences(const std::string &what, const std::string &in)
{
    size_t n = 0;
    for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1))
        ++n;
    return n;
}

std::string info_text()
{
    size_t length = 0;
    succeeds(heddle_info(nullptr, 0, &length), "heddle_info");
    std::string info(length + 1, '\0');
    succeeds(heddle_info(info.data(), info.size(), &length), "heddle_info");
    info.resize(strlen(info.c_str()));
    return info;
}

void info()
{
    const std::string whole = info_text();
    if (Machine::get().devices() > 0 && whole.find("device 0") == whole.npos)
        fail("heddle_info names no device 0: ", whole);
    char part[6];
    size_t length = 0;
    succeeds(heddle_info(part, sizeof part, &length), "heddle_info");
    same(std::string(part), whole.substr(0, 5), "the beginning of heddle_info");
}

/* Run by the next test, in a process whose device cannot be opened. */
void inside_without_a_device()
{
    if (Machine::get().devices() > 0)
        throw Skip("there is a device");
    same(heddle_device_open(), int{HEDDLE_ERR_NO_DEVICE}, "opening");
    same(heddle_device_open(), int{HEDDLE_ERR_NO_DEVICE}, "opening again");
    if (const char *reason = getenv("EXPECTED_REASON"))
        if (info_text().find(reason) == std::string::npos)
            fail("heddle_info does not say ", reason, ": ", info_text());
    const Buffer memory({}, 100, 1);
    const heddle_move move{bytes_at(memory.at(), 40), bytes_at(memory.at(50), 40), 40,
                           HEDDLE_OP_REPLACE};
    same(heddle_transfer_on_stream(&move, 1, nullptr), int{HEDDLE_ERR_NO_DEVICE},
         "a stream without a device");
    memory.check("a stream without a device");
    same(heddle_memory_kind(memory.at(), nullptr), int{HEDDLE_MEMORY_HOST}, "kind of memory");
}

void without_a_device()
{
    takes_long();
    struct {
        const char *device, *devices, *reason;
    } const ways[] = {{"none", "2", "HEDDLE_DEVICE=none"},
                      {"/nowhere/libheddle-no.so", "2", "/nowhere/libheddle-no.so"},
                      {"/proc/self/exe", "2", "no device"}};
    for (const auto &way : ways) {
        const std::vector<std::pair<std::string, std::string>> environment{
            {"HEDDLE_DEVICE", way.device}, {"EXPECTED_REASON", way.reason}};
        self_succeeds({"--cases", "100", "--seed", "1", "--no-named"}, environment);
        self_succeeds({"--only-named", "--named", "inside: without a device"}, environment);
        const Ended ended = run_self({"--cases", "3", "--seed", "1", "--no-named"}, environment);
        same(occurrences("heddle: no device: ", ended.output),
             size_t{std::string(way.device) != "none"}, way.device, ": ", ended.output);
    }
    need_simulation();
    const char *plugin = getenv("HEDDLE_DEVICE");
    self_succeeds({"--only-named", "--named", "inside: without a device"},
                  {{"HEDDLE_DEVICE", plugin},
                   {"HEDDLE_SIM_DEVICES", "0"},
                   {"EXPECTED_REASON", "HEDDLE_SIM_DEVICES is 0"}});
    self_succeeds(
        {"--only-named", "--named", "inside: without a device"},
        {{"HEDDLE_DEVICE", plugin}, {"HEDDLE_SIM", "nonsense"}, {"EXPECTED_REASON", "nonsense"}});
}

void with_switches(const char *switches)
{
    need_simulation();
    std::vector<std::string> arguments = some_cases;
    arguments.emplace_back("--scarce");
    self_succeeds(arguments, {{"HEDDLE_SIM", switches}});
    self_succeeds(arguments, {{"HEDDLE_SIM", switches}, {"HEDDLE_CHUNK", "1000"}});
}

void no_pinned_memory() { with_switches("pinned_memory=0"); }
void little_pinned_memory() { with_switches("pinned_memory=100000"); }
void no_device_memory() { with_switches("device_memory=0"); }
void little_device_memory() { with_switches("device_memory=100000"); }
void no_memory_at_all() { with_switches("device_memory=0 pinned_memory=0"); }

/* Room for a slab but not for an image, for a source's image but not for its target's, etc. */
void a_little_memory()
{
    for (const char *switches :
         {"device_memory=20000 pinned_memory=0", "device_memory=5000 pinned_memory=5000",
          "device_memory=0 pinned_memory=20000", "device_memory=50000 pinned_memory=20000",
          "reorder=1 device_memory=200000 pinned_memory=60000",
          "device_memory=100000 pinned_memory=8000"})
        with_switches(switches);
}

/* Run by the next test, where a description finds room, and not the list of all its runs. */
void inside_without_room_for_a_list()
{
    need_devices();
    if (!getenv("NO_ROOM"))
        throw Skip("a test runs it");
    const oracle::Type block = irregular(1, 500);
    std::vector<int64_t> displacements; /* a regular list would need one block's runs alone */
    for (int64_t i = 0; i < 2000; ++i)
        displacements.push_back(i * 8000 + i * i % 7);
    const oracle::Type type =
        oracle::Type::from(
            [&](auto **t) {
                return heddle_type_hindexed_block(static_cast<int64_t>(displacements.size()), 1,
                                                  displacements.data(), block.get(), t);
            },
            "hindexed_block")
            .commit();
    const int64_t bytes = type.info().size;
    int64_t description = 0;
    succeeds(heddle_type_device_memory(type.get(), &description), "heddle_type_device_memory");
    if (description < 24 * type.info().runs)
        fail("the description is said to take ", description, " bytes for ", type.info().runs,
             " runs");
    const Place device{Kind::device, 0};
    const Buffer from(device, static_cast<size_t>(type.info().true_extent), 1);
    Buffer to(device, std::vector<std::byte>(static_cast<size_t>(bytes)));
    const int64_t before = counted("kernels_any"), held = counted("images_bytes");
    transfer_all(Way::blocking, {{side_of(from.at(), 1, type), bytes_at(to.at(), bytes), bytes,
                                  HEDDLE_OP_REPLACE}});
    int64_t actual = 0;
    heddle_pack(from.expected.data(), 1, type.get(), 0, to.expected.data(), bytes, &actual);
    to.check("packed without a list of runs");
    same(counted("kernels_any") - before, int64_t{1}, "kernels_any");
    const int64_t taken = counted("images_bytes") - held;
    if (taken <= 0 || taken > 100000)
        fail("the image takes ", taken, " bytes");
}

void no_room_for_a_list()
{
    need_simulation();
    self_succeeds({"--only-named", "--named", "inside: without room for a list"},
                  {{"HEDDLE_SIM", "device_memory=600000 pinned_memory=100000"}, {"NO_ROOM", "1"}});
}

/* There is no memory for completion objects. */
void no_memory_for_ends()
{
    need_simulation();
    self_succeeds(some_cases, {{"HEDDLE_SIM", "dones=0"}});
    self_succeeds({"--only-named", "--named", "absolute"}, {{"HEDDLE_SIM", "dones=0"}});
}

void no_peer_access()
{
    need_simulation();
    self_succeeds(some_cases, {{"HEDDLE_SIM_PEER", "0"}});
    self_succeeds(some_cases,
                  {{"HEDDLE_SIM_PEER", "0"}, {"HEDDLE_SIM_DEVICES", "5"}, {"HEDDLE_CHUNK", "500"}});
    self_succeeds({"--only-named", "--named", "between devices"}, {{"HEDDLE_SIM_PEER", "0"}});
    self_succeeds({"--only-named", "--named", "absolute"}, {{"HEDDLE_SIM_PEER", "0"}});
}

/* Memory that peer access does not open, among other. */
void pools()
{
    need_simulation();
    self_succeeds(some_cases, {{"HEDDLE_SIM_PEER", "3"}});
    self_succeeds(some_cases,
                  {{"HEDDLE_SIM_PEER", "3"}, {"HEDDLE_SIM_DEVICES", "5"}, {"HEDDLE_CHUNK", "500"}});
    self_succeeds({"--only-named", "--named", "between devices"}, {{"HEDDLE_SIM_PEER", "3"}});
    self_succeeds({"--only-named", "--named", "absolute"}, {{"HEDDLE_SIM_PEER", "3"}});
    std::vector<std::string> scarce = some_cases;
    scarce.emplace_back("--scarce");
    self_succeeds(scarce,
                  {{"HEDDLE_SIM_PEER", "3"}, {"HEDDLE_SIM", "device_memory=0 pinned_memory=0"}});
}

/* Run by the next test, in a process that is told how to move. */
void inside_as_forced()
{
    need_devices();
    if (!getenv("EXPECTED_COUNTER"))
        throw Skip("a test runs it");
    const int other = getenv("TO_ANOTHER_DEVICE") ? 1 : 0;
    const Buffer from({Kind::device, 0}, 1000, 1);
    Buffer to({Kind::device, other}, 1000, 2);
    const int64_t before = counted(getenv("EXPECTED_COUNTER"));
    const Way way = getenv("ON_A_STREAM") ? Way::on_stream : Way::blocking;
    transfer_all(way,
                 {{bytes_at(from.at(), 1000), bytes_at(to.at(), 1000), 1000, HEDDLE_OP_REPLACE}});
    to.expected = from.expected;
    to.check("a forced copy");
    same(counted(getenv("EXPECTED_COUNTER")) - before, int64_t{1}, getenv("EXPECTED_COUNTER"));
}

/* Between two devices a copy goes by the method that a table has as the sooner for that link. */
void links_as_measured()
{
    need_simulation();
    if (Machine::get().devices() != 2)
        throw Skip("not two devices");
    const auto takes = [](const char *devices, const char *kernel_us, const char *expected) {
        char name[] = "/tmp/heddle-links-XXXXXX";
        const int file = mkstemp(name);
        const auto link = [](const char *method, const char *us) {
            return text(R"({"from": 0, "to": 1, "bytes": [1000], "method": ")", method,
                        R"(", "us": [)", us, "]}");
        };
        const std::string table =
            text(R"({"heddle_tuning": 2, "device": "simulated device", "devices": )", devices,
                 R"(, "grids": [{"method": "kernel", "pattern": "dense", "path": "pack",)",
                 R"( "bytes": [1000], "blocks": [1], "us": [[1]]}], "peers": [)",
                 link("kernel", kernel_us), ", ", link("copy_engine", "5"), "]}");
        if (file < 0 || write(file, table.data(), table.size()) < 0)
            fail("no file for a table");
        close(file);
        const Ended ended = run_self(
            {"--only-named", "--named", "inside: as forced"},
            {{"HEDDLE_TUNING", name}, {"TO_ANOTHER_DEVICE", "1"}, {"EXPECTED_COUNTER", expected}});
        unlink(name);
        if (occurrences("without nlohmann-json", ended.output) > 0)
            throw Skip("no table can be read");
        same(ended.status, 0, expected, ": ", ended.output);
    };
    takes("2", "4", "methods_kernel");
    takes("2", "6", "methods_copy_engine");
    takes("3", "4", "methods_copy_engine"); /* it numbers other devices */
}

/* Run by the next test, in a process whose table has stages as the soonest from the host. */
void inside_timed_stages()
{
    if (!getenv("STAGES_ARE_SOONEST"))
        throw Skip("a test runs it");
    constexpr int64_t blocks = 12800; /* 100 KiB */
    const oracle::Type type = hvector(blocks, 24, bytes_of(8));
    const Buffer from({Kind::pinned, 0}, blocks * 8, 1);
    Buffer to({Kind::device, 0}, blocks * 24, 2);
    for (const Way way : {Way::blocking, Way::begun}) {
        const int64_t before = counted("methods_staged");
        transfer_all(way, {{bytes_at(from.at(), blocks * 8), side_of(to.at(), 1, type), blocks * 8,
                            HEDDLE_OP_REPLACE}});
        same(counted("methods_staged") - before, int64_t{way == Way::blocking}, to_text(way));
    }
}

/* Stages whose steps are to be timed are taken where the caller waits, and can time them. */
void timed_stages()
{
    need_simulation();
    char name[] = "/tmp/heddle-stages-XXXXXX";
    const int file = mkstemp(name);
    const auto grid = [](const char *method, const char *us) {
        return text(R"({"method": ")", method, R"(", "pattern": "strided", "path": "from_host",)",
                    R"( "bytes": [1000], "blocks": [8], "us": [[)", us, "]]}");
    };
    const std::string table =
        text(R"({"heddle_tuning": 2, "device": "simulated device", "grids": [)",
             grid("kernel", "10"), ", ", grid("staged", "1"), "]}");
    if (file < 0 || write(file, table.data(), table.size()) < 0)
        fail("no file for a table");
    close(file);
    const Ended ended = run_self({"--only-named", "--named", "inside: timed stages"},
                                 {{"HEDDLE_TUNING", name}, {"STAGES_ARE_SOONEST", "1"}});
    unlink(name);
    if (occurrences("without nlohmann-json", ended.output) > 0)
        throw Skip("no table can be read");
    same(ended.status, 0, ended.output);
}

/* Does the same with kernels. */
void inside_kernel_as_forced()
{
    need_devices();
    const char *const layout = getenv("LAYOUT"), *const kernel = getenv("EXPECTED_KERNEL");
    if (!layout)
        throw Skip("a test runs it");
    const auto transposed = [](int64_t n) { return hvector(n, 8, hvector(n, n * 8, bytes_of(8))); };
    const std::string name(layout);
    const oracle::Type type = name == "strided"            ? hvector(500, 24, bytes_of(8))
                              : name == "transposed"       ? transposed(96)
                              : name == "a few transposed" ? transposed(20)
                              : name == "records"          ? irregular(1, 10)
                              : name == "many records"     ? irregular(1, 10)
                              : name == "strided records"  ? hvector(1'500'000, 5, bytes_of(3))
                              : name == "even runs"        ? irregular(1, 3000, 1)
                              : name == "few runs"         ? irregular(1, 100, 200)
                              : name == "many runs"        ? irregular(1, 30000)
                                                           : irregular(1, 3000);
    const int64_t count = name == "records"        ? 500
                          : name == "many records" ? 20000
                                                   : 1,
                  bytes = count * type.info().size;
    const Place device{Kind::device, 0};
    const Buffer from(device, static_cast<size_t>(count * type.info().extent), 1);
    Buffer to(device, std::vector<std::byte>(static_cast<size_t>(bytes)));
    const std::string counter = std::string("kernels_") + kernel;
    const int64_t before = counted(counter);
    transfer_all(Way::blocking, {{side_of(from.at(), count, type), bytes_at(to.at(), bytes), bytes,
                                  HEDDLE_OP_REPLACE}});
    int64_t actual = 0;
    heddle_pack(from.expected.data(), count, type.get(), 0, to.expected.data(), bytes, &actual);
    to.check("packed by kernel ", kernel);
    same(counted(counter) - before, int64_t{1}, counter, " for ", layout);
}

/* Blocks far apart, to the host and back: as records, for the gaps cost less than the link. No byte
 * of a gap is written. */
void inside_sparse_records()
{
    need_devices();
    if (!getenv("HEDDLE_METHOD"))
        throw Skip("a test runs it");
    constexpr int64_t bytes_about = 400'000, start = 3; /* aligned to nothing */
    int64_t expected = counted("kernels_records");
    for (const auto &[block, stride] :
         {std::pair<int64_t, int64_t>{7, 35}, {7, 217}, {29, 319}, {111, 777}}) {
        const int64_t count = bytes_about / block, bytes = count * block;
        const oracle::Type type = hvector(count, stride, bytes_of(block));
        Buffer layout(Place{Kind::device, 0}, static_cast<size_t>(start + count * stride), 1);
        const Buffer packed(Place{Kind::pinned, 0}, static_cast<size_t>(bytes), 2);
        const Buffer back(Place{Kind::pinned, 0}, std::vector<std::byte>(packed.size()));
        const heddle_side there = side_of(layout.at() + start, 1, type);
        for (int64_t i = 0; i < count; ++i)
            std::memcpy(layout.expected.data() + start + i * stride,
                        packed.expected.data() + i * block, static_cast<size_t>(block));
        transfer_all(Way::blocking,
                     {{bytes_at(packed.at(), bytes), there, bytes, HEDDLE_OP_REPLACE}});
        layout.check("unpacked, ", block, " bytes in ", stride);
        transfer_all(Way::blocking,
                     {{there, bytes_at(back.at(), bytes), bytes, HEDDLE_OP_REPLACE}});
        same(back.bytes() == packed.expected, true, "packed, ", block, " bytes in ", stride);
        expected += 2;
    }
    same(counted("kernels_records"), expected, "kernels for records");
}

void sparse_records()
{
    need_devices();
    self_succeeds({"--only-named", "--named", "inside: sparse records"},
                  {{"HEDDLE_METHOD", "kernel"}});
}

void forced_kernels()
{
    need_devices();
    takes_long();
    const auto takes = [](const char *forced, const char *layout, const char *expected) {
        self_succeeds(
            {"--only-named", "--named", "inside: kernel as forced"},
            {{"HEDDLE_KERNEL", forced}, {"LAYOUT", layout}, {"EXPECTED_KERNEL", expected}});
    };
    for (const char *layout : {"strided", "a few transposed"})
        takes("", layout, "strided");
    takes("", "transposed", "transpose");
    takes("", "many records", "records");
    takes("", "records", "short_runs"); /* of little each run is moved by itself */
    takes("", "runs", "short_runs");
    takes("", "even runs", "even_runs");
    takes("", "few runs", "few_runs");
    takes("", "many runs", "runs");
    takes("transpose", "a few transposed", "transpose");
    takes("strided", "transposed", "strided");
    takes("", "strided records", "records");
    takes("records", "strided records", "records");
    takes("strided", "strided records", "strided");
    takes("records", "strided", "strided"); /* it is none for words of so many bytes */
    takes("runs", "records", "short_runs");
    takes("runs", "many records", "runs");
    for (const char *layout : {"strided", "transposed", "records", "runs"})
        takes("any", layout, "any");
    for (const char *impossible : {"transpose", "runs", "reduce"}) /* of what has neither */
        takes(impossible, "strided", "strided");
    for (const char *kernel : {"strided", "transpose", "records", "runs", "any", "reduce"})
        self_succeeds(some_cases, {{"HEDDLE_KERNEL", kernel}});
}

/* What makes no sense counts for nothing, and is said once. */
void settings_without_sense()
{
    need_devices();
    for (const auto &[name, value] :
         std::vector<std::pair<std::string, std::string>>{{"HEDDLE_METHOD", "kernels"},
                                                          {"HEDDLE_KERNEL", "stride"},
                                                          {"HEDDLE_CHUNK", "2m"},
                                                          {"HEDDLE_CHUNK", "-5"},
                                                          {"HEDDLE_CHUNK", "99999999999G"},
                                                          {"HEDDLE_COPY_ENGINE", "yes"},
                                                          {"HEDDLE_SLAB_LIMIT", "-1"},
                                                          {"HEDDLE_PEER", "foo"},
                                                          {"HEDDLE_AFFINITY", "2"},
                                                          {"HEDDLE_LOG", "policy,foo"}}) {
        const Ended ended =
            run_self({"--cases", "3", "--seed", "1", "--no-named"}, {{name, value}});
        same(ended.status, 0, name, "=", value);
        same(occurrences("heddle: " + name + "=" + value + " is ignored: it should be ",
                         ended.output),
             size_t{1}, name, "=", value, ": ", ended.output);
    }
    const Ended ended = run_self({"--cases", "3", "--seed", "1", "--no-named"},
                                 {{"HEDDLE_CHUNKS", "1"}, {"HEDDLE_SIMULATED", "1"}});
    same(occurrences("heddle: HEDDLE_CHUNKS is ignored: ", ended.output), size_t{1},
         "a name that is none: ", ended.output);
    same(occurrences("is ignored", ended.output), size_t{1}, "a name that is none: ", ended.output);
}

/* A process that is bound far from the first device that it uses says so, once. */
void far_from_the_device()
{
    need_simulation();
    const auto lines = [](const char *nodes, const char *set, const char *what) {
        const Ended ended =
            run_self({"--cases", "100", "--seed", "1", "--no-named"},
                     {{"HEDDLE_SIM_NODES", nodes}, {"HEDDLE_AFFINITY", set}, {"PMI_RANK", "7"}});
        same(ended.status, 0, "HEDDLE_SIM_NODES=", nodes);
        return occurrences(what, ended.output);
    };
    same(lines("11", "1", "heddle warning [rank 7, pid "), size_t{1}, "warnings of a far process");
    same(lines("11", "1",
               " hangs on NUMA node 1 (CPUs 4-7): data take a detour between the host and it. "),
         size_t{1}, "what it says");
    same(lines("11", "0", "warning"), size_t{0}, "warnings that are switched off");
    same(lines("00", "1", "warning"), size_t{0}, "warnings of a near process");
    same(lines("", "1", "warning"), size_t{0}, "warnings where nothing is known");
}

/* Lines begin with their topic, and are there only where it was asked for. */
void log_of_what_was_opened()
{
    need_devices();
    for (const auto &[topics, lines] : std::vector<std::pair<std::string, bool>>{
             {"", false}, {"info", true}, {"memory,info", true}, {"message", false}}) {
        const Ended ended =
            run_self({"--cases", "3", "--seed", "1", "--no-named"},
                     {{"HEDDLE_LOG", topics}, {"PMI_RANK", "7"}, {"PMIX_RANK", "8"}});
        same(ended.status, 0, "HEDDLE_LOG=", topics);
        same(occurrences("heddle info [rank 7, pid ", ended.output) > 0, lines,
             "HEDDLE_LOG=", topics, ": ", ended.output);
        same(occurrences("]: device 0: ", ended.output), size_t{lines}, "HEDDLE_LOG=", topics, ": ",
             ended.output);
    }
}

/* One line for each transfer, with its ends, its method and kernel, and why. */
void log_of_choices()
{
    need_devices();
    const auto logged = [](const char *topics, const char *method, const char *counter) {
        return run_self({"--only-named", "--named", "inside: as forced"},
                        {{"HEDDLE_LOG", topics},
                         {"HEDDLE_METHOD", method},
                         {"EXPECTED_COUNTER", counter}})
            .output;
    };
    const auto expect = [](const std::string &output, const char *line) {
        same(occurrences(line, output), size_t{1}, line, ": ", output);
    };
    const char *const ends =
        "]: transfer of 1000 bytes from device 0 (dense) to device 0 (dense): ";
    const auto with = [&](const char *end) { return std::string(ends) + end + "\n"; };
    expect(logged("policy", "", "methods_kernel"),
           with("method kernel, kernel strided: contiguous: the model expects a kernel to be "
                "sooner")
               .c_str());
    expect(logged("policy", "copy_engine", "methods_copy_engine"),
           with("method copy_engine: HEDDLE_METHOD").c_str());
    expect(logged("policy", "bounced", "methods_bounced"),
           with("method bounced: HEDDLE_METHOD").c_str());
    const std::string memory = logged("memory", "bounced", "methods_bounced");
    same(occurrences("heddle policy ", memory), size_t{0}, "a topic that is off: ", memory);
    if (occurrences(" bytes of pinned memory: allocated\n", memory) == 0)
        fail("HEDDLE_LOG=memory tells of no pinned memory: ", memory);
}

void forced_methods()
{
    need_devices();
    takes_long();
    for (const char *method :
         {"host", "copy_engine", "blocks", "kernel", "staged", "bounced", "combined"})
        self_succeeds(some_cases, {{"HEDDLE_METHOD", method}, {"HEDDLE_CHUNK", "3000"}});
    self_succeeds(some_cases, {{"HEDDLE_COPY_ENGINE", "1"}});
    const auto is_heard = [](const char *name, const char *value, const char *counter) {
        self_succeeds({"--only-named", "--named", "inside: as forced"},
                      {{name, value}, {"EXPECTED_COUNTER", counter}});
    };
    is_heard("HEDDLE_METHOD", "kernel", "methods_kernel");
    is_heard("HEDDLE_METHOD", "copy_engine", "methods_copy_engine");
    is_heard("HEDDLE_METHOD", "bounced", "methods_bounced");
    is_heard("HEDDLE_COPY_ENGINE", "1", "methods_copy_engine");
    is_heard("HEDDLE_COPY_ENGINE", "0", "methods_kernel");
    for (const std::string method : {"kernel", "copy_engine"})
        self_succeeds({"--only-named", "--named", "inside: as forced"},
                      {{"HEDDLE_METHOD", method},
                       {"EXPECTED_COUNTER", "methods_" + method},
                       {"ON_A_STREAM", "1"}});
}

const AddTests tests{{"information", info},
                     {"inside: without a device", inside_without_a_device},
                     {"without a device", without_a_device},
                     {"no pinned memory", no_pinned_memory},
                     {"little pinned memory", little_pinned_memory},
                     {"no device memory", no_device_memory},
                     {"little device memory", little_device_memory},
                     {"no memory at all", no_memory_at_all},
                     {"a little memory", a_little_memory},
                     {"inside: without room for a list", inside_without_room_for_a_list},
                     {"no room for a list", no_room_for_a_list},
                     {"no memory for ends", no_memory_for_ends},
                     {"no peer access", no_peer_access},
                     {"pools", pools},
                     {"inside: as forced", inside_as_forced},
                     {"forced methods", forced_methods},
                     {"links as measured", links_as_measured},
                     {"inside: timed stages", inside_timed_stages},
                     {"timed stages", timed_stages},
                     {"inside: kernel as forced", inside_kernel_as_forced},
                     {"inside: sparse records", inside_sparse_records},
                     {"sparse records cross the host's link", sparse_records},
                     {"forced kernels", forced_kernels},
                     {"settings without sense", settings_without_sense},
                     {"far from the device", far_from_the_device},
                     {"log of what was opened", log_of_what_was_opened},
                     {"log of choices", log_of_choices}};

} // namespace
} // namespace gpu
