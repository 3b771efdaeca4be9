/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device as slow as its switches say.
 */
#include "sim_plugin.hpp"

#include <algorithm>
#include <chrono>

namespace sim_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t all = 100'000; /* bytes */

struct Pinned {
    explicit Pinned(size_t bytes) { OK(sim.malloc_host(bytes, &at)); }
    Pinned(const Pinned &) = delete;
    ~Pinned() { sim.free(at); }
    void *at = nullptr;
};

/* The least milliseconds of five. Other programs may make some of them longer. */
template <class Call> double milliseconds(Call call)
{
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        call();
        least = std::min(least,
                         std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
    return least;
}

void about(double measured, double expected, const char *what)
{
    if (measured < expected || measured > 1.05 * expected + 0.5)
        fail(what, ": ", measured, " ms, not ", expected);
}

/* As many copies as ends, each on a stream of its own, from their begin to the last one's end. */
void copy_to(const std::vector<void *> &ends, const void *from, size_t rows)
{
    std::vector<Stream> streams(ends.size());
    for (size_t i = 0; i < ends.size(); ++i) {
        OK(sim.backend->stream_create(0, false, &streams[i]));
        const size_t width = static_cast<size_t>(all) / rows;
        OK(sim.backend->copy(0, streams[i],
                             {ends[i], width, rows, from, width, rows, width, rows, 1, false},
                             nullptr));
    }
    for (const Stream stream : streams) {
        OK(sim.backend->stream_synchronize(0, stream));
        sim.stream_destroy(stream);
    }
}

void slow_copies()
{
    const DeviceBytes from(static_cast<size_t>(all));
    Pinned one(static_cast<size_t>(all)), other(static_cast<size_t>(all));
    OK(sim.configure("reset copy_ns=2000000 link_mb=20 row_ns=10000"));
    about(milliseconds([&] { copy_to({one.at}, from.at(), 1); }), 2 + 5, "a copy over the link");
    about(milliseconds([&] { copy_to({one.at}, from.at(), 500); }), 2 + 5 + 5,
          "a copy of 500 rows");
    about(milliseconds([&] { copy_to({from.at()}, one.at, 500); }), 2 + 5 + 20,
          "500 rows that are read, of four lines each");
    about(milliseconds([&] {
              copy_to({one.at, other.at}, from.at(), 1);
          }),
          2 + 5 + 5, "two copies that share the link");
    OK(sim.configure("reset copy_ns=2000000 memory_mb=20"));
    about(milliseconds([&] { copy_to({one.at}, from.at(), 1); }), 2 + 5, "a copy's read");
    OK(sim.configure("reset"));
}

void slow_kernels()
{
    const DeviceBytes from(std::vector<char>(static_cast<size_t>(4 * all)));
    const DeviceBytes within(static_cast<size_t>(all));
    const Pinned host(static_cast<size_t>(all));
    Work work;
    work.from = strided(from.at(), 100, 400, 4);
    work.to = dense(host.at, 4);
    work.bytes = all;
    work.far = false;
    OK(sim.configure("reset launch_ns=3000000 link_mb=20 memory_mb=50 block_ns=2000"));
    const auto once = [&] { OK(run(Kernel::strided, work)); };
    about(milliseconds(once), 3 + 5 + 2, "a kernel that writes over the link");
    work.to = dense(within.at(), 4);
    work.remote = false;
    about(milliseconds(once), 3 + 4 + 2, "a kernel within the device");
    OK(sim.configure("link_mb=0 memory_mb=0 block_ns=0"));
    about(milliseconds(once), 3, "a launch alone");
    OK(sim.configure("reset"));
    if (milliseconds(once) > 3)
        fail("the device is still slow after a reset");
}

/* Other devices' memory has a rate of its own, or that of the link. */
void slow_peers()
{
    const DeviceBytes from(static_cast<size_t>(all)), to(static_cast<size_t>(all), 1);
    const Pinned host(static_cast<size_t>(all));
    Stream stream = nullptr;
    OK(sim.backend->stream_create(0, false, &stream));
    same(sim.backend->reaches(0, 1), true, "peer access");
    const auto copy = [&](void *end) {
        OK(sim.backend->copy(0, stream, contiguous_copy(end, from.at(), size_t{all}), nullptr));
        OK(sim.backend->stream_synchronize(0, stream));
    };
    OK(sim.configure("reset copy_ns=2000000 link_mb=50 peer_mb=20 peer_ns=1000000"));
    about(milliseconds([&] { copy(to.at()); }), 2 + 1 + 5, "a copy to another device");
    about(milliseconds([&] { copy(host.at); }), 2 + 2, "a copy to the host");
    OK(sim.configure("peer_mb=0 peer_ns=0"));
    about(milliseconds([&] { copy(to.at()); }), 2 + 2, "a copy to another device, as the link");
    Work work;
    work.from = dense(from.at(), 16);
    work.to = dense(to.at(), 16);
    work.bytes = all;
    work.far = false;
    OK(sim.configure("launch_ns=3000000 peer_mb=20 peer_ns=1000000"));
    about(milliseconds([&] { OK(run(Kernel::strided, work)); }), 3 + 1 + 5,
          "a kernel that writes to another device");
    OK(sim.configure("reset"));
    sim.stream_destroy(stream);
}

void switches_without_sense()
{
    for (const char *bad : {"link_mb=-1", "launch_ns=", "row_ns=x", "slow=1"})
        same(sim.configure(bad), int{HEDDLE_ERR_ARG}, "switches that make no sense: ", bad);
}

const ::gpu::AddTests tests{{"slow copies", slow_copies},
                            {"slow kernels", slow_kernels},
                            {"slow peers", slow_peers},
                            {"slowness without sense", switches_without_sense}};

} // namespace
} // namespace sim_test
