/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ports with ways of their own, messages that pass between them, and what the library counted
 * meanwhile.
 */
#pragma once

#include "exchange.hpp"

#include "pipeline/counters.hpp"
#include "pipeline/wire.hpp"

#include <catch2/catch.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace pipeline_test {

using heddle::pipeline::Counter;
namespace wire = heddle::pipeline;

struct Two : Network {
    static constexpr int64_t chunk = 4096, exported = 16 * chunk; /* bytes of a chunk, most of one
                                                                 by reference */

    explicit Two(int peer = HEDDLE_PEER_AUTO, int64_t chunk_bytes = chunk,
                 int at_receiver = HEDDLE_PEER_DEFAULT, int64_t staging = 0, int64_t timeout = 0)
        : Network(1),
          a(add(port_options(chunk_bytes, 4, staging, peer, 0, timeout))),
          b(add(
              port_options(chunk_bytes, 4, staging, at_receiver ? at_receiver : peer, 0, timeout)))
    {
    }
    /* One end works, the other is busy with other things. */
    void run_sender(const std::function<bool()> &done)
    {
        while (!done())
            progress(a);
    }
    void run_receiver(const std::function<bool()> &done, size_t end)
    {
        while (!done()) {
            step();
            progress(end);
        }
    }

    size_t a, b;
};

/* The kinds of headers that pass, in order; of a network in which they do not overtake each other.
 */
struct Heard {
    explicit Heard(Network &network)
    {
        network.loses = [this](size_t, const std::vector<unsigned char> &raw) {
            wire::Header header;
            CHECK(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
            kinds.push_back(header.kind);
            return false;
        };
    }
    std::vector<wire::Kind> kinds;
};

/* What a counter counted since. */
class Since {
public:
    explicit Since(Counter counter) : counter_(counter), then_(heddle::pipeline::counted(counter))
    {
    }
    int64_t now() const { return heddle::pipeline::counted(counter_) - then_; }

private:
    Counter counter_;
    int64_t then_;
};

inline void pass(Two &network, const Plan &made)
{
    Exchange exchange(network, network.a, network.b, made, 1);
    exchange.begin();
    run(network, [&] { return exchange.over(); });
    exchange.check();
    CHECK(exchange.sent.error == HEDDLE_SUCCESS);
    CHECK(exchange.received.error == HEDDLE_SUCCESS);
    CHECK(exchange.sent.bytes == made.bytes);
}

/* Blocks with gaps as long, at both ends. */
inline Plan spaced(gpu::Place from, gpu::Place to, int64_t bytes)
{
    return plan(blocks(from, bytes), blocks(to, bytes), bytes);
}

inline int64_t launches() { return gpu::Machine::get().count("launch"); }

/* None of it stays in memory that both ends reach. */
inline void travels(Two &&network, const Plan &made)
{
    const Since sent(Counter::sent_by_value);
    pass(network, made);
    CHECK(network.bytes_sent() == made.bytes);
    CHECK(sent.now() == 1);
}

/* Messages of `of(i)`, all under way at once. */
inline std::vector<std::unique_ptr<Exchange>> begin_many(Network &network, size_t from, size_t to,
                                                         int n, const std::function<Plan(int)> &of)
{
    std::vector<std::unique_ptr<Exchange>> all;
    for (int i = 0; i < n; ++i) {
        all.push_back(std::make_unique<Exchange>(network, from, to, of(i), i));
        all.back()->begin();
    }
    return all;
}

inline void end_many(Network &network, const std::vector<std::unique_ptr<Exchange>> &all)
{
    run_all(network, all);
    for (const auto &exchange : all)
        exchange->check();
}

} // namespace pipeline_test
