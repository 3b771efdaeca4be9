/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulated device's streams, late and in any order.
 */
#include "sim_plugin.hpp"

#include <atomic>
#include <thread>

namespace sim_test {
namespace {

/* Two streams, late and in any order: each alone in order. */
void order_of_streams()
{
    OK(sim.configure("reset delay_us=300 reorder=1 seed=4"));
    constexpr int n = 20;
    Backend &device = *sim.backend;
    Stream streams[2];
    std::vector<char> bytes(size_t{2} * (n + 1)); /* of either stream, its first one set */
    bytes[0] = bytes[n + 1] = 42;
    const DeviceBytes cells(bytes);
    Done *dones[2][n];
    for (Stream &stream : streams)
        OK(device.stream_create(0, false, &stream));
    for (int i = 0; i < n; ++i) /* each hands on the byte of its stream */
        for (int s = 0; s < 2; ++s) {
            char *const at = cells.at() + s * (n + 1);
            OK(device.done_acquire(0, &dones[s][i]));
            OK(device.copy(0, streams[s], contiguous_copy(at + i + 1, at + i, 1), dones[s][i]));
        }
    for (int s = 0; s < 2; ++s) {
        Done *const last = dones[s][n - 1];
        bool reached = false;
        OK(device.done_wait(last));
        OK(device.done_test(last, &reached));
        same(reached, true, "done after waiting");
        for (Done *done : dones[s])
            device.done_release(done);
        OK(device.stream_synchronize(0, streams[s]));
    }
    same(cells.bytes() == std::vector<char>(bytes.size(), 42), true, "handed on");
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
    same(sim.backend->stream_device(&device, &device).code(), int{HEDDLE_ERR_STREAM}, "no stream");
    const DeviceBytes a(pattern(8)), b(size_t{8});
    same(sim.backend->copy(0, stream, contiguous_copy(b.at(), a.at(), 8), nullptr).code(),
         int{HEDDLE_ERR_DEVICE}, "another device's");
    OK(sim.backend->copy(0, nullptr, contiguous_copy(b.at(), a.at(), 8), nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    same(b.bytes() == pattern(8), true, "copied on the default stream");
    OK(sim.stream_destroy(stream));
    same(sim.stream_destroy(stream), int{HEDDLE_ERR_ARG}, "destroyed twice");
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
