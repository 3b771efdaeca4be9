/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random messages between random kinds of memory, over a transport that reorders and delays, with
 * chunks, windows and pools of all sizes: every byte is where the oracle says.
 */
#include "exchange.hpp"

#include "../gpu/named.hpp"
#include "pipeline/counters.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>

using namespace pipeline_test;
using oracle::Rng;

namespace {

heddle_port_options random_options(Rng &rng, int peer)
{
    heddle_port_options options = port_options(0, 0, 0, 0);
    options.chunk = int64_t{4096} << rng.in(0, 6);
    options.window = rng.scaled(10);
    options.staging = rng.percent(30) ? 1 : rng.percent(50) ? 2 * options.chunk : int64_t{8} << 20;
    options.peer = peer;
    return options;
}

void one_case(uint64_t seed, int peer)
{
    Rng rng(seed);
    Behaviour behaviour;
    behaviour.reorder = rng.percent(80);
    behaviour.eager = static_cast<int>(rng.in(0, 2)) * 50;
    behaviour.at_once = static_cast<int>(rng.in(0, 2)) * 50;
    Network network(rng.next(), behaviour);
    const int64_t ports = rng.in(2, 3);
    for (int64_t i = 0; i < ports; ++i)
        network.add(random_options(rng, peer));
    std::vector<std::unique_ptr<Exchange>> exchanges;
    std::string text;
    for (int64_t n = rng.percent(50) ? 1 : rng.scaled(12); n > 0; --n) {
        const auto made = random_plan(rng.next());
        if (!made)
            continue;
        text += to_text(*made) + "\n";
        const auto from = static_cast<size_t>(rng.in(0, ports - 1));
        const auto to = static_cast<size_t>(rng.in(0, ports - 1)); /* itself at times */
        exchanges.push_back(std::make_unique<Exchange>(network, from, to, *made, rng.next()));
    }
    INFO(text);
    /* Some at once, the others when those are over: by then the ports know each other. */
    const auto first = static_cast<size_t>(rng.in(0, static_cast<int64_t>(exchanges.size())));
    for (size_t i = 0; i < exchanges.size(); ++i) {
        exchanges[i]->begin();
        if (i + 1 == first)
            run(network, [&] {
                return std::all_of(exchanges.begin(),
                                   exchanges.begin() + static_cast<std::ptrdiff_t>(first),
                                   [](const auto &exchange) { return exchange->over(); });
            });
    }
    run_all(network, exchanges);
    run(network, [&] { return network.quiet(); });
    for (const auto &exchange : exchanges) {
        exchange->check();
        CHECK(exchange->sent.error == HEDDLE_SUCCESS);
        CHECK((exchange->received.error == HEDDLE_SUCCESS ||
               exchange->received.error == HEDDLE_ERR_TRUNCATE));
        CHECK(exchange->sent.calls == 1);
        CHECK(exchange->received.calls == 1);
        CHECK(exchange->sent.bytes == exchange->received.bytes);
    }
}

void many_cases(int peer)
{
    const uint64_t run_seed = seed_of_run();
    const char *const given = std::getenv("HEDDLE_TEST_CASES");
    const int cases = given ? std::atoi(given) : 150;
    const Switched on("reset reorder=1");
    for (int i = 0; i < cases; ++i) {
        const uint64_t seed =
            given && cases == 1 ? run_seed : Rng::mix(run_seed, static_cast<uint64_t>(i));
        INFO("again: HEDDLE_TEST_CASES=1 HEDDLE_TEST_SEED=" << seed);
        try {
            one_case(seed, peer);
        } catch (const std::exception &failure) {
            FAIL(failure.what());
        }
    }
}

} // namespace

TEST_CASE("random messages by value", "[random]") { many_cases(HEDDLE_PEER_VALUE); }

TEST_CASE("random messages through memory that both ends map where they can", "[random][shared]")
{
    const int64_t before = heddle::pipeline::counted(heddle::pipeline::Counter::sent_shared);
    many_cases(HEDDLE_PEER_SHARED);
    if (!std::getenv("HEDDLE_TEST_CASES"))
        CHECK(heddle::pipeline::counted(heddle::pipeline::Counter::sent_shared) > before);
}

TEST_CASE("random messages by reference where they can", "[random][reference]")
{
    many_cases(HEDDLE_PEER_REFERENCE);
}
