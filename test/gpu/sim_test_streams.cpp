/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device's streams, late and in any order.
 */
#include "sim_plugin.hpp"

#include <atomic>
#include <thread>

namespace sim_test {
namespace {

/* Two streams, late and in any order: each alone in order, one after the other where told. */
void order_of_streams()
{
    OK(sim.configure("reset delay_us=300 reorder=1 seed=4"));
    constexpr int n = 40;
    const DeviceBytes cells(std::vector<char>(n + 1));
    Backend &device = *sim.backend;
    Stream streams[2];
    for (Stream &stream : streams)
        OK(device.stream_create(0, false, &stream));
    std::vector<char> seed{42};
    const DeviceBytes first(seed);
    OK(device.copy(0, streams[0], cells.at(), first.at(), 1, nullptr));
    Done *dones[n];
    for (int i = 0; i < n; ++i) { /* each hands on the byte, from stream to stream */
        OK(device.done_acquire(0, &dones[i]));
        if (i > 0)
            OK(device.stream_wait(0, streams[i % 2], dones[i - 1]));
        OK(device.copy(0, streams[i % 2], cells.at() + i + 1, cells.at() + i, 1, dones[i]));
    }
    bool reached = true;
    OK(device.done_test(dones[n - 1], &reached));
    OK(device.done_wait(dones[n - 1]));
    OK(device.done_test(dones[n - 1], &reached));
    same(reached, true, "done after waiting");
    same(cells.bytes() == std::vector<char>(n + 1, 42), true, "handed on");
    for (Done *done : dones)
        device.done_release(done);
    for (const Stream stream : streams) {
        OK(device.stream_synchronize(0, stream));
        OK(device.stream_destroy(0, stream));
    }
    same(device.stream_destroy(0, streams[0]), int{HEDDLE_ERR_DEVICE}, "destroyed twice");
    OK(sim.configure("reset"));
}

void streams_of_users()
{
    void *stream = nullptr;
    OK(sim.stream_create(1, &stream));
    int device = -1;
    OK(sim.backend->stream_device(stream, &device));
    same(device, 1, "device of a stream");
    OK(sim.set_device(1));
    OK(sim.backend->stream_device(nullptr, &device));
    same(device, 1, "device of the default stream");
    OK(sim.set_device(0));
    same(sim.backend->stream_device(&device, &device), int{HEDDLE_ERR_STREAM}, "no stream");
    const DeviceBytes a(pattern(8)), b(size_t{8});
    same(sim.backend->copy(0, stream, b.at(), a.at(), 8, nullptr), int{HEDDLE_ERR_DEVICE},
         "another device's");
    OK(sim.backend->copy(0, nullptr, b.at(), a.at(), 8, nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    same(b.bytes() == pattern(8), true, "copied on the default stream");
    OK(sim.stream_destroy(stream));
}

void many_threads()
{
    OK(sim.configure("reset delay_us=20 reorder=1"));
    std::atomic<int> wrong{0};
    {
        std::vector<std::jthread> crowd;
        for (int t = 0; t < 8; ++t)
            crowd.emplace_back([&, t] {
                try {
                    for (int i = 0; i < 20; ++i) {
                        const DeviceBytes from(pattern(400), t % 2), to(size_t{100}, t % 2);
                        Work work;
                        work.from = strided(from.at(), 1, 4, 1);
                        work.to = dense(to.at());
                        work.bytes = 100;
                        OK(run(Kernel::strided, work, t % 2));
                        std::vector<char> expected;
                        for (size_t j = 0; j < 100; ++j)
                            expected.push_back(pattern(400)[4 * j]);
                        wrong += to.bytes() != expected;
                    }
                } catch (const std::exception &) {
                    ++wrong;
                }
            });
    }
    same(wrong.load(), 0, "wrong results");
    OK(sim.configure("reset"));
}

const ::gpu::AddTests tests{{"order of streams", order_of_streams},
                            {"streams of users", streams_of_users},
                            {"many threads", many_threads}};

} // namespace
} // namespace sim_test
