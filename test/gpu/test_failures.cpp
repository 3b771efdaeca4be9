/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices that fail, on the simulated one: each error comes back with its words, nothing hangs,
 * nothing runs on afterwards, and the next transfer works.
 */
#include "buffer.hpp"
#include "case.hpp"
#include "types.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace gpu {
namespace {

/* More than a chunk of what goes through the host. */
constexpr int64_t large = (int64_t{2} << 20) + 65536;

/* A pack of `bytes` bytes, every second double of `layers` layers with a gap between them,
 * and its result. */
struct Pack {
    Pack(Place from_place, Place to_place, int64_t bytes, int64_t layers = 1)
        : from(from_place, static_cast<size_t>(bytes * 2 + layers * gap), 1),
          to(to_place, static_cast<size_t>(bytes), 2)
    {
        const int64_t rows = bytes / 8 / layers;
        const oracle::Type layer = oracle::Type::from(
            [&](auto **t) {
                return heddle_type_vector(rows, 1, 2, heddle_type_predefined(HEDDLE_DOUBLE), t);
            },
            "vector");
        type = oracle::Type::from(
            [&](auto **t) {
                return heddle_type_hvector(layers, 1, rows * 16 + gap, layer.get(), t);
            },
            "hvector");
        type.commit();
        for (size_t i = 0; i < to.expected.size(); ++i)
            to.expected[i] =
                from.expected[i / 8 * 16 + i % 8 + i / static_cast<size_t>(8 * rows) * gap];
        move = {side_of(from.at(), 1, type), bytes_at(to.at(), bytes), bytes, HEDDLE_OP_REPLACE};
    }

    /* Memory is uploaded once; this makes the target something else again. */
    void spoil()
    {
        const std::vector<std::byte> junk(to.size(), std::byte{0x5a});
        Machine::get().copy(to.at(), junk.data(), junk.size());
    }

    /* Bytes: a whole number of rows, as the copy engines want it. */
    static constexpr int64_t gap = 32;

    Buffer from, to;
    oracle::Type type;
    heddle_move move{};
};

constexpr const char *calls[] = {"allocate",
                                 "free",
                                 "allocate_pinned",
                                 "free_pinned",
                                 "stream_create",
                                 "stream_device",
                                 "stream_synchronize",
                                 "launch",
                                 "copy",
                                 "copy_2d",
                                 "copy_3d",
                                 "done_acquire",
                                 "done_test",
                                 "done_wait"};
constexpr const char *call_for_streams = "done_after_all"; /* once enough types were released */

/* Right, or an error of the device's with its words; never wrong. Whether it failed. */
bool right_or_failed(Pack &pack, Way way, const std::string &where)
{
    pack.spoil();
    const int error = transfer(way, {pack.move});
    if (error == HEDDLE_SUCCESS) {
        pack.to.check(where);
        return false;
    }
    same(error, int{HEDDLE_ERR_DEVICE}, where, ": ", heddle_strerror(error));
    if (!strstr(heddle_error_detail(), "asked to fail"))
        fail(where, ": the detail is \"", heddle_error_detail(), "\"");
    pack.from.check(where);
    return true;
}

/* Each call fails at its first, second and third time, on each kind of path. */
void each_call_fails_once()
{
    need_simulation();
    struct Path {
        Place from, to;
        int64_t bytes, layers = 1;
    };
    const Place device{Kind::device, 0}, pinned{Kind::pinned, 0}, pageable{};
    const Path paths[] = {{device, device, 4096},    {device, pinned, 4096},
                          {device, pageable, 4096},  {pageable, device, 100000},
                          {device, pinned, large},   {pinned, device, large},
                          {device, pageable, large}, {device, pinned, 4096, 4}};
    int failures = 0;
    for (const Path &path : paths) {
        Pack pack(path.from, path.to, path.bytes, path.layers);
        const int64_t layered = Machine::get().count("copy_3d");
        transfer_all(Way::blocking, {pack.move});
        same(Machine::get().count("copy_3d") - layered, int64_t{path.layers > 1},
             "copies of layers");
        for (const char *call : calls)
            for (int when = 1; when <= 3; ++when)
                for (const Way way : all_ways) {
                    if (way == Way::on_stream &&
                        (path.from.kind == Kind::pageable || path.to.kind == Kind::pageable))
                        continue;
                    const std::string where =
                        text(call, " fails at time ", when, ", ", to_text(way), " of ", path.bytes,
                             " bytes from ", to_text(path.from), " to ", to_text(path.to));
                    {
                        const Switched on("reset delay_us=50 fail=" + std::string(call) + ":" +
                                          std::to_string(when));
                        failures += right_or_failed(pack, way, where);
                    }
                    pack.spoil();
                    transfer_all(Way::blocking, {pack.move});
                    pack.to.check("after ", where);
                }
    }
    same(failures > 0, true, "some failed");
}

/* A kernel or copy fails while it runs: waiting for it says so, and so does all that follows on
 * that device.
 */
void a_device_fails()
{
    need_simulation();
    const Place device{Kind::device, 0};
    for (const int64_t bytes : {int64_t{4096}, large})
        for (const Kind kind : {Kind::device, Kind::pinned, Kind::pageable})
            for (const Way way : {Way::blocking, Way::begun}) {
                Pack pack(device, {kind, 0}, bytes);
                const std::string where =
                    text(bytes, " bytes to ", to_text(Place{kind, 0}), ", ", to_text(way));
                {
                    const Switched on("reset fail=execute:1");
                    same(transfer(way, {pack.move}), int{HEDDLE_ERR_DEVICE},
                         "a device that fails, ", where);
                    if (!strstr(heddle_error_detail(), "execute"))
                        fail("a device that fails, ", where, ": the detail is \"",
                             heddle_error_detail(), "\"");
                    same(transfer(way, {pack.move}), int{HEDDLE_ERR_DEVICE},
                         "a device that has failed, ", where);
                }
                transfer_all(way, {pack.move});
                pack.to.check("once it is mended, ", where);
            }
}

void detail_is_empty_without_an_error()
{
    same(heddle_transfer(nullptr, -1), int{HEDDLE_ERR_ARG}, "a negative number");
    same(std::string(heddle_error_detail()), std::string(),
         "the detail of an error of the caller's");
    need_simulation();
    {
        Pack pack({Kind::device, 0}, {Kind::device, 0}, 4096);
        const Switched on("reset fail=launch:1");
        same(transfer(Way::blocking, {pack.move}), int{HEDDLE_ERR_DEVICE}, "a launch that fails");
        same(*heddle_error_detail() != '\0', true, "it has a detail");
        std::thread([] {
            same(std::string(heddle_error_detail()), std::string(), "another thread's detail");
        }).join();
        transfer_all(Way::blocking, {pack.move});
    }
    same(std::string(heddle_error_detail()), std::string(), "the detail after success");
    for (const Way way : {Way::blocking, Way::begun}) {
        Pack pack({Kind::device, 0}, {}, large);
        const Switched on("reset device_memory=0 pinned_memory=0 dones=0");
        transfer_all(way, {pack.move});
        same(std::string(heddle_error_detail()), std::string(),
             "the detail after success with less, ", to_text(way));
    }
    Pack pack({Kind::device, 0}, {}, 3 * large);
    {
        const Switched on("reset delay_us=2000 exhaust=done_acquire:2"); /* there is room for one
                                                                            chunk at a time */
        heddle_request *request = nullptr;
        same(heddle_transfer_begin(&pack.move, 1, &request), int{HEDDLE_SUCCESS}, "begun");
        for (int done = 0; !done;) {
            same(heddle_test(&request, &done), int{HEDDLE_SUCCESS}, "a test");
            same(std::string(heddle_error_detail()), std::string(), "the detail after a test");
        }
    }
    const Switched on("reset exhaust=allocate_pinned:1+ exhaust=allocate:1+");
    void *staging = nullptr, *scratch = nullptr;
    constexpr int64_t much = int64_t{100} << 20;
    same(heddle_staging_alloc(much, pack.from.at(), &staging), int{HEDDLE_SUCCESS},
         "ordinary memory");
    same(std::string(heddle_error_detail()), std::string(), "the detail after staging");
    heddle_staging_free(staging);
    same(heddle_scratch_alloc(much, pack.from.at(), &scratch), int{HEDDLE_SUCCESS},
         "ordinary scratch");
    same(std::string(heddle_error_detail()), std::string(), "the detail after scratch");
    heddle_scratch_free(scratch);
}

/* One step of several finds no memory. What was combined before is not combined again. */
void nothing_is_combined_twice()
{
    need_simulation();
    constexpr int64_t doubles = 9 << 16;
    oracle::Type type = oracle::Type::from(
        [](auto **t) {
            return heddle_type_vector(doubles, 1, 2, heddle_type_predefined(HEDDLE_INT64), t);
        },
        "vector");
    type.commit();
    int failed = 0;
    for (const Kind kind : {Kind::pinned, Kind::pageable})
        for (const char *call : {"launch", "copy"})
            for (int when = 1; when <= 4; ++when) {
                const Buffer from({kind, 0}, doubles * 8, 1);
                Buffer to({Kind::device, 0}, doubles * 16, 2);
                const std::string where =
                    text(call, " ", when, " out of ", to_text(Place{kind, 0}), " memory");
                int error;
                {
                    const Switched on(text("reset exhaust=", call, ":", when));
                    heddle_move move{bytes_at(from.at(), doubles * 8), side_of(to.at(), 1, type),
                                     doubles * 8, HEDDLE_OP_SUM};
                    error = heddle_transfer(&move, 1);
                }
                if (error) {
                    same(error, int{HEDDLE_ERR_NO_MEMORY}, where);
                    ++failed;
                    continue;
                }
                for (size_t i = 0; i < doubles; ++i) {
                    uint64_t ours, theirs;
                    std::memcpy(&ours, to.expected.data() + 16 * i, 8);
                    std::memcpy(&theirs, from.expected.data() + 8 * i, 8);
                    ours += theirs;
                    std::memcpy(to.expected.data() + 16 * i, &ours, 8);
                }
                to.check(where);
            }
    same(failed > 0, true, "some cannot be ended");
}

/* Random transfers in several threads while something fails now and then. Each is right or says
 * what failed; what else it says, such as that the device still used memory that was freed, is
 * wrong. */
void fail_at_random(const std::string &switches, uint64_t seed, std::atomic<int> &passed,
                    std::atomic<int> &failed)
{
    const Switched on("reset reorder=1 delay_us=20 " + switches);
    std::mutex mutex;
    std::string wrong;
    {
        std::vector<std::jthread> crowd;
        for (uint64_t t = 0; t < 4; ++t)
            crowd.emplace_back([&, t] {
                for (uint64_t i = 0; i < 25; ++i)
                    try {
                        passed += run_case(random_case(oracle::Rng::mix(seed + t, i)));
                    } catch (const std::exception &failure) {
                        ++failed;
                        const std::lock_guard lock(mutex);
                        if (!strstr(failure.what(), "asked to fail") &&
                            !strstr(failure.what(), "the simulated device failed"))
                            wrong = text(switches, ", case ", oracle::Rng::mix(seed + t, i), ": ",
                                         failure.what());
                    }
            });
    }
    if (!wrong.empty())
        fail(wrong);
}

void random_failures()
{
    need_simulation();
    std::atomic<int> passed{0}, failed{0};
    uint64_t seed = 0;
    for (const char *call : calls)
        for (const char *often : {":3%", ":30%"})
            fail_at_random(std::string("fail=") + call + often, ++seed, passed, failed);
    fail_at_random("fail=execute:1%", ++seed, passed, failed);
    fail_at_random("fail=any:1%", ++seed, passed, failed);
    same(passed > 0 && failed > 0, true, "some pass, some fail");
}

/* Run by the next test: where nothing is warm, the first call of one kind fails. That ends one
 * transfer at most, and all others are right. */
void inside_a_call_fails()
{
    need_simulation();
    const char *call = getenv("FAILING_CALL");
    if (!call)
        throw Skip("a test runs it");
    const Switched on(text("reset fail=", call, ":1"));
    const Place device{Kind::device, 0}, pinned{Kind::pinned, 0};
    int failed = 0;
    bool called = false;
    const auto attempt = [&](const auto &transfers) {
        try {
            transfers();
            called |= Machine::get().count(call) > 0;
        } catch (const std::exception &failure) {
            if (!strstr(failure.what(), "asked to fail") &&
                !strstr(failure.what(), "the simulated device failed"))
                throw;
            ++failed;
            called = true;
            Machine::get().reset(); /* a device that could not be waited for has failed for good */
        }
    };
    for (const int64_t layers : {1, 4})
        attempt([&] {
            Pack pack(device, pinned, 4096, layers);
            transfer_all(Way::blocking, {pack.move});
            pack.to.check("in blocks");
        });
    for (int64_t seed = 1; seed <= 100; ++seed)
        attempt([&] {
            const oracle::Type type = irregular(seed);
            const int64_t bytes = type.info().size;
            const Buffer from(device, static_cast<size_t>(type.info().true_extent), 1);
            Buffer to(device, std::vector<std::byte>(static_cast<size_t>(bytes)));
            transfer_all(Way::on_stream, {{side_of(from.at(), 1, type), bytes_at(to.at(), bytes),
                                           bytes, HEDDLE_OP_REPLACE}});
            int64_t actual = 0;
            heddle_pack(from.expected.data(), 1, type.get(), 0, to.expected.data(), bytes, &actual);
            to.check("on a stream");
        });
    for (uint64_t seed = 1; seed <= 150; ++seed)
        attempt([&] { run_case(random_case(seed)); });
    same(failed <= 1, true, call, " fails once, and more than one transfer");
    same(called, true, call, " is called");
}

void each_call_fails_in_a_new_process()
{
    takes_long();
    need_simulation();
    std::vector<std::string> all(std::begin(calls), std::end(calls));
    all.emplace_back(call_for_streams);
    for (const std::string &call : all)
        self_succeeds({"--only-named", "--named", "inside: a call fails"},
                      {{"FAILING_CALL", call}, {"HEDDLE_SLAB_LIMIT", "64K"}});
}

const AddTests tests{{"inside: a call fails", inside_a_call_fails},
                     {"each call fails in a new process", each_call_fails_in_a_new_process},
                     {"each call fails once", each_call_fails_once},
                     {"a device fails", a_device_fails},
                     {"the detail is empty without an error", detail_is_empty_without_an_error},
                     {"nothing is combined twice", nothing_is_combined_twice},
                     {"random failures", random_failures}};

} // namespace
} // namespace gpu
