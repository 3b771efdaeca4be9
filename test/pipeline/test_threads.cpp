/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports of several threads, which share devices, slabs and what is exported.
 */
#include "exchange.hpp"

#include <catch2/catch.hpp>

#include <mutex>
#include <thread>

using namespace pipeline_test;

namespace {

void exchange_some(uint64_t seed)
{
    oracle::Rng rng(seed);
    Network network(rng.next());
    const int64_t chunk = int64_t{4096} << rng.in(0, 2), window = rng.scaled(8);
    const heddle_port_options options = port_options(chunk, window, rng.percent(50) ? 1 : 65536, 0);
    const size_t a = network.add(options), b = network.add(options);
    std::vector<std::unique_ptr<Exchange>> all;
    for (int i = 0; i < 6; ++i) {
        const auto places = gpu::Machine::get().places();
        const int64_t bytes = rng.scaled(300000);
        all.push_back(std::make_unique<Exchange>(
            network, a, b,
            plan(blocks(rng.pick(places), bytes), blocks(rng.pick(places), bytes), bytes),
            rng.next()));
        all.back()->begin();
    }
    run_all(network, all);
    for (const auto &exchange : all)
        exchange->check();
}

} // namespace

TEST_CASE("ports of several threads", "[threads]")
{
    const Switched on("reset reorder=1");
    std::mutex mutex;
    std::string wrong;
    {
        std::vector<std::jthread> crowd;
        for (uint64_t t = 0; t < 4; ++t)
            crowd.emplace_back([&, t] {
                for (uint64_t i = 0; i < 6; ++i)
                    try {
                        exchange_some(oracle::Rng::mix(t, i));
                    } catch (const std::exception &failure) {
                        const std::lock_guard lock(mutex);
                        wrong = failure.what();
                    }
            });
    }
    CHECK(wrong == "");
}
