/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes from elsewhere: whatever they are, they give an error or mean something, and break nothing.
 */
#include "exchange.hpp"

#include "pipeline/wire.hpp"

#include <catch2/catch.hpp>

#include <cstring>

using namespace pipeline_test;
namespace wire = heddle::pipeline;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1};
constexpr int64_t chunk = 4096, bytes = 10 * chunk;
constexpr int64_t enough = 100000; /* out of one allocation for it to be exported */

using Bytes = std::vector<unsigned char>;

bool is_refused(int error) { return error == HEDDLE_ERR_FORMAT || error == HEDDLE_ERR_VERSION; }

int receive(Network &network, size_t end, const void *envelope)
{
    static char memory[64];
    const heddle_side side{memory, 64, heddle_type_predefined(HEDDLE_BYTE), 0};
    return receive_message(
        network.port(end), network.peer(end), envelope, &side, 64, nullptr,
        [](void *, int, int64_t) {}, nullptr);
}

} // namespace

TEST_CASE("envelopes of random bytes, and with any bit changed, are refused", "[wire]")
{
    Network network(1);
    const size_t a = network.add();
    oracle::Rng rng(2);
    Bytes envelope(HEDDLE_ENVELOPE_BYTES);
    heddle_envelope_info info{sizeof info, 0, 0, {}};
    for (int i = 0; i < 10000; ++i) {
        for (unsigned char &byte : envelope)
            byte = static_cast<unsigned char>(rng.next());
        CHECK(is_refused(receive(network, a, envelope.data())));
    }
    Exchange exchange(network, a, a, plan(dense(device0, bytes), dense(device1, bytes), bytes), 1);
    exchange.send();
    for (size_t bit = 0; bit < envelope.size() * 8; ++bit) {
        std::memcpy(envelope.data(), exchange.envelope(), envelope.size());
        envelope[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
        INFO("bit " << bit);
        CHECK(is_refused(receive(network, a, envelope.data())));
        CHECK(is_refused(heddle_envelope_read(envelope.data(), &info)));
    }
    std::memcpy(envelope.data(), exchange.envelope(), envelope.size());
    envelope[4] ^= 0x40;
    CHECK(heddle_envelope_read(envelope.data(), &info) == HEDDLE_ERR_VERSION);
    CHECK(network.quiet());
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    exchange.check();
}

TEST_CASE("headers with any bit changed, or too short, are refused and change nothing", "[wire]")
{
    for (const int peer : all_peers) {
        Network network(3, {true, 100, 50});
        const heddle_port_options options = port_options(chunk, 4, 0, peer, 0, 0);
        const size_t a = network.add(options), b = network.add(options);
        Exchange exchange(network, a, b,
                          plan(blocks(device0, bytes), blocks(device1, bytes), bytes), 1);
        const std::vector<char> junk(chunk, 'x');
        network.loses = [&](size_t to, const Bytes &header) {
            for (size_t bit = 0; bit < header.size() * 8; ++bit) {
                Bytes changed = header;
                changed[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
                if (!is_refused(heddle_port_arrived(network.port(to), changed.data(),
                                                    changed.size(), junk.data(), junk.size())))
                    FAIL("bit " << bit);
            }
            for (size_t size = 0; size < header.size(); ++size) {
                const Bytes cut(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(size));
                if (!is_refused(
                        heddle_port_arrived(network.port(to), cut.data(), cut.size(), nullptr, 0)))
                    FAIL("size " << size);
            }
            return false;
        };
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        CHECK(exchange.sent.error == HEDDLE_SUCCESS);
        exchange.check();
    }
}

/* Headers that are whole but say what cannot be: their message ends with an error, at both ends,
 * and the memory around its buffer stays what it was. */
TEST_CASE("headers that contradict the message end it", "[wire]")
{
    struct Wrong {
        const char *what;
        std::function<void(wire::Header &, size_t &bytes)> change;
    };
    const Wrong wrongs[] = {
        {"an offset within a chunk", [](wire::Header &h, size_t &) { h.offset += 8; }},
        {"an offset beyond the end", [](wire::Header &h, size_t &) { h.offset = bytes; }},
        {"too many bytes",
         [](wire::Header &h, size_t &n) { n = static_cast<size_t>(h.bytes += 8); }},
        {"too few bytes",
         [](wire::Header &h, size_t &n) { n = static_cast<size_t>(h.bytes -= 8); }},
        {"fewer bytes than told", [](wire::Header &, size_t &n) { n -= 8; }},
        {"a kind that is not the receiver's",
         [](wire::Header &h, size_t &) { h.kind = wire::Kind::answer, h.chunk = 4096; }},
        {"by reference, out of turn",
         [](wire::Header &h, size_t &n) { h.mode = wire::Mode::reference, n = 0; }},
    };
    const Switched on("reset");
    for (const Wrong &wrong : wrongs) {
        Network network(4, {true, 100, 50});
        const heddle_port_options options = port_options(chunk, 4, 0, HEDDLE_PEER_VALUE, 0, 0);
        const size_t a = network.add(options), b = network.add(options);
        Exchange exchange(network, a, b,
                          plan(blocks(device0, bytes), blocks(device1, bytes), bytes), 1);
        INFO(wrong.what);
        int chunks = 0;
        network.loses = [&](size_t to, const Bytes &raw) {
            wire::Header header;
            REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
            if (header.kind != wire::Kind::chunk || ++chunks != 3)
                return false;
            auto size = static_cast<size_t>(header.bytes);
            wrong.change(header, size);
            const std::vector<char> junk(size, 'x');
            const wire::HeaderBytes changed = wire::write_header(header);
            CHECK(heddle_port_arrived(network.port(to), changed.bytes, changed.size, junk.data(),
                                      junk.size()) == HEDDLE_ERR_FORMAT);
            return true;
        };
        exchange.begin();
        run(network, [&] { return exchange.over(); });
        CHECK(exchange.received.error == HEDDLE_ERR_FORMAT);
        CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
    }
}

TEST_CASE("a chunk that comes twice ends its message", "[wire]")
{
    const Switched on("reset");
    Network network(5, {true, 100, 50});
    const heddle_port_options options = port_options(chunk, 4, 0, HEDDLE_PEER_VALUE, 0, 0);
    const size_t a = network.add(options), b = network.add(options);
    Exchange exchange(network, a, b, plan(blocks(device0, bytes), blocks(device1, bytes), bytes),
                      1);
    const std::vector<char> junk(chunk, 'x');
    bool twice = false;
    network.loses = [&](size_t to, const Bytes &raw) {
        wire::Header header;
        REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
        if (header.kind == wire::Kind::chunk && !std::exchange(twice, true)) {
            heddle_port_arrived(network.port(to), raw.data(), raw.size(), junk.data(), junk.size());
            CHECK(heddle_port_arrived(network.port(to), raw.data(), raw.size(), junk.data(),
                                      junk.size()) == HEDDLE_ERR_FORMAT);
        }
        return false;
    };
    exchange.begin();
    run(network, [&] { return exchange.over(); });
    CHECK(exchange.received.error == HEDDLE_ERR_FORMAT);
    CHECK(exchange.sent.error == HEDDLE_ERR_PEER);
}

/* Its receiver has no device, and is told where device memory lies. */
TEST_CASE("where it lies is told to nobody who cannot read there", "[wire][get]")
{
    const Switched on("reset");
    Network network(7);
    const heddle_port_options options = port_options(chunk, 4, 0, HEDDLE_PEER_AUTO, 0, 100000000);
    const size_t a = network.add(options), b = network.add(options);
    Exchange exchange(network, a, b,
                      plan(dense(device0, enough), dense(gpu::Place{}, enough), enough), 1);
    bool told = false;
    network.loses = [&](size_t to, const Bytes &raw) {
        wire::Header header;
        REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
        if (to != a || header.kind != wire::Kind::answer || std::exchange(told, true))
            return false;
        wire::Header where;
        where.kind = wire::Kind::chunk;
        where.mode = wire::Mode::reference;
        where.to = header.from;
        where.bytes = enough;
        where.memory.place.allocation = 1;
        const wire::HeaderBytes changed = wire::write_header(where);
        CHECK(heddle_port_arrived(network.port(b), changed.bytes, changed.size, nullptr, 0) ==
              HEDDLE_ERR_FORMAT);
        return false;
    };
    REQUIRE(exchange.get());
    exchange.receive();
    run(network, [&] { return exchange.over(); });
    CHECK(told);
    CHECK(exchange.received.error == HEDDLE_ERR_FORMAT);
}

/* Anything at all that passes the check, at ports with running messages. */
TEST_CASE("random headers break nothing", "[wire]")
{
    const Switched on("reset reorder=1");
    const uint64_t seed = seed_of_run();
    oracle::Rng rng(seed);
    for (int round = 0; round < 200; ++round) {
        INFO("HEDDLE_TEST_SEED=" << seed << ", round " << round);
        Network network(rng.next());
        network.forgives = true;
        const bool by_get = round % 2;
        const heddle_port_options options =
            port_options(chunk, 4, 0, by_get ? HEDDLE_PEER_AUTO : all_peers[round % 3], 0, 200);
        const size_t a = network.add(options), b = network.add(options);
        const int64_t all = by_get ? enough : bytes;
        const gpu::Place to = round % 4 == 1 ? gpu::Place{} : device1;
        Exchange exchange(
            network, a, b,
            plan(by_get ? dense(device0, all) : blocks(device0, all), blocks(to, all), all), 1);
        uint64_t names[2] = {0, 0};
        const auto pick = [&](int64_t usual) {
            return rng.percent(50)   ? usual
                   : rng.percent(50) ? rng.in(0, 20) * chunk
                                     : rng.in(0, INT64_MAX / 2);
        };
        network.loses = [&](size_t to, const Bytes &raw) {
            wire::Header header;
            REQUIRE(wire::read_header(raw.data(), raw.size(), header) == HEDDLE_SUCCESS);
            names[to == b] = header.to;
            if (header.from)
                names[to != b] = header.from;
            return false;
        };
        if (by_get)
            REQUIRE(exchange.get());
        else
            exchange.send();
        exchange.receive();
        for (int i = 0; i < 100 && !exchange.over(); ++i) {
            network.step();
            network.progress(a);
            network.progress(b);
            wire::Header header;
            header.kind =
                static_cast<wire::Kind>(rng.in(1, static_cast<int64_t>(wire::Kind::pushed)));
            header.mode = static_cast<wire::Mode>(rng.in(0, 2));
            header.round = static_cast<uint16_t>(rng.in(0, 2));
            const bool to_b = rng.percent(50);
            header.to = names[to_b];
            header.from = names[!to_b];
            header.offset = pick(by_get ? 0 : chunk);
            header.bytes = pick(by_get ? all : chunk);
            header.chunk = rng.percent(80) ? int64_t{1} << rng.in(10, 20) : rng.in(0, 100000);
            header.granted = pick(3);
            header.memory.place.allocation = static_cast<uint64_t>(rng.in(0, 3));
            header.memory.place.at = static_cast<uint64_t>(pick(chunk));
            const wire::HeaderBytes raw = wire::write_header(header);
            const std::vector<char> junk(
                static_cast<size_t>(rng.percent(50) ? chunk : rng.in(0, 9000)));
            heddle_port *const port = network.port(to_b ? b : a);
            if (rng.percent(70)) {
                heddle_port_arrived(port, raw.bytes, raw.size, junk.data(), junk.size());
                continue;
            }
            void *where = nullptr, *token = nullptr;
            if (heddle_port_place(port, raw.bytes, raw.size, junk.size(), &where, &token) ==
                    HEDDLE_SUCCESS &&
                where) {
                std::memcpy(where, junk.data(), junk.size());
                heddle_port_done(port, token, 0);
            }
        }
    }
}

TEST_CASE("the envelope of a put says whose RTR it uses", "[wire][put]")
{
    wire::Envelope sent;
    sent.message = 1000;
    sent.bytes = bytes;
    sent.node = 7;
    sent.process = 8;
    sent.number = 9;
    sent.kind = wire::EnvelopeKind::put;
    sent.at.allocation = 999;
    unsigned char raw[HEDDLE_ENVELOPE_BYTES];
    for (const bool waits : {true, false}) {
        sent.waits = waits;
        wire::write_envelope(sent, raw);
        wire::Envelope got;
        REQUIRE(wire::read_envelope(raw, got) == HEDDLE_SUCCESS);
        CHECK(got.kind == wire::EnvelopeKind::put);
        CHECK(got.after() == 999);
        CHECK(got.waits == waits);
        CHECK(got.message == 1000);
        CHECK(got.bytes == bytes);
        CHECK(got.process == 8);
        CHECK(!got.in_place());
        CHECK(!(got.exports || got.shares || got.slot));
    }
    /* What waits may be anything else, too. */
    wire::Envelope exported = sent;
    exported.kind = wire::EnvelopeKind::rendezvous;
    exported.exports = exported.waits = true;
    exported.at.allocation = 5 | wire::callers_own;
    exported.at.at = 8;
    wire::write_envelope(exported, raw);
    wire::Envelope got;
    REQUIRE(wire::read_envelope(raw, got) == HEDDLE_SUCCESS);
    CHECK(got.waits);
    CHECK(got.at.allocation == exported.at.allocation);

    const std::function<void(wire::Envelope &)> senseless[] = {
        [](wire::Envelope &e) { e.exports = true; }, [](wire::Envelope &e) { e.shares = true; },
        [](wire::Envelope &e) { e.slot = 3; }, [](wire::Envelope &e) { e.at.allocation = 0; },
        [](wire::Envelope &e) { e.kind = wire::EnvelopeKind::get; }};
    for (const auto &make : senseless) {
        wire::Envelope wrong = sent;
        make(wrong);
        wire::write_envelope(wrong, raw);
        CHECK(wire::read_envelope(raw, got) == HEDDLE_ERR_FORMAT);
    }
}
