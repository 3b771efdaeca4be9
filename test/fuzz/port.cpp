/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libFuzzer target: two ports that send each other messages, in an order, with losses, repetitions
 * and changes that the input chooses: of envelopes, headers, and the words in shared memory.
 * Whatever comes, nothing is touched that is nobody's to touch, and each message ends once.
 */
#include "../pipeline/calls.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/peer_memory/slots.hpp"
#include "pipeline/wire.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <memory>
#include <vector>

namespace {

namespace wire = heddle::pipeline;

constexpr int64_t most = 1 << 16; /* bytes of a message */

[[noreturn]] void fail(const char *what)
{
    fprintf(stderr, "port fuzzer: %s\n", what);
    abort();
}

/* The input, read from its front; zeros behind its end. */
class Input {
public:
    Input(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}
    bool over() const { return at_ == end_; }
    uint8_t byte() { return over() ? 0 : *at_++; }
    bool flag() { return byte() & 1; }
    size_t below(size_t n) { return n ? byte() % n : 0; }
    uint64_t word()
    {
        uint64_t value = 0;
        for (int i = 0; i < 8; ++i)
            value = value << 8 | byte();
        return value;
    }
    /* A number as they occur, or any. */
    int64_t number()
    {
        static constexpr int64_t likely[] = {0,    1,     64,   4095,     4096,      4097,
                                             8192, 20000, most, most + 1, INT64_MAX, -1};
        const size_t which = below(std::size(likely) + 1);
        return which < std::size(likely) ? likely[which] : static_cast<int64_t>(word());
    }

private:
    const uint8_t *at_, *const end_;
};

/* Buffers in all memories, which stay as long as the process. */
struct Buffers {
    Buffers()
    {
        heddle_type_vector(1 << 14, 1, 2, heddle_type_predefined(HEDDLE_INT32), &gaps);
        heddle_type_commit(gaps);
        if (void *const sim = dlopen(getenv("HEDDLE_DEVICE"), RTLD_NOW)) {
            allocate =
                reinterpret_cast<int (*)(int, size_t, void **)>(dlsym(sim, "heddle_sim_malloc"));
            configure = reinterpret_cast<int (*)(const char *)>(dlsym(sim, "heddle_sim_configure"));
        }
        if (!allocate || !configure)
            fail("HEDDLE_DEVICE names no simulated device");
        for (int device = 0; device < 2; ++device)
            for (int i = 0; i < 2; ++i)
                if (allocate(device, size_t{2} * most, &on_devices[2 * device + i]))
                    fail("no device memory");
    }
    heddle_side side(Input &input)
    {
        const size_t which = input.below(5);
        void *const at = which < 4 ? on_devices[which] : host.data();
        return input.flag() ? heddle_side{at, 1, gaps, 0}
                            : heddle_side{at, most, heddle_type_predefined(HEDDLE_BYTE), 0};
    }

    heddle_type *gaps = nullptr;
    void *on_devices[4];
    std::vector<char> host = std::vector<char>(size_t{2} * most);
    int (*allocate)(int, size_t, void **) = nullptr;
    int (*configure)(const char *) = nullptr;
};

Buffers &buffers()
{
    static Buffers &all = *std::make_unique<Buffers>().release();
    return all;
}

using Bytes = std::vector<unsigned char>;

/* What is on its way to a port. */
struct Parcel {
    size_t to;
    Bytes header, data;
};
struct Token {
    size_t of;
    void *token;
    bool places; /* bytes that came */
    Bytes data;
    void *where;
};

class Game {
public:
    explicit Game(Input &input) : input_(input)
    {
        static constexpr int peers[] = {HEDDLE_PEER_AUTO, HEDDLE_PEER_VALUE, HEDDLE_PEER_SHARED,
                                        HEDDLE_PEER_REFERENCE};
        buffers().configure("reset");
        for (size_t i = 0; i < 2; ++i) {
            ends_[i] = {this, i};
            const heddle_transport transport{sizeof(heddle_transport), &ends_[i], send};
            const heddle_port_options options = pipeline_test::port_options(
                4096, 3, 32768, peers[input.below(4)], static_cast<uint32_t>(i), 1);
            if (heddle_port_create(&transport, &options, &ports_[i]))
                fail("no port");
        }
    }
    Game(const Game &) = delete;
    ~Game()
    {
        forget_rtrs(); /* nobody is to be waited for */
        over_ = true;
        for (const Token &token : tokens_)
            report(token, HEDDLE_ERR_PEER);
        for (heddle_port *const port : ports_)
            heddle_port_lost(port, nullptr, HEDDLE_ERR_PEER);
        for (heddle_port *const port : ports_)
            heddle_port_destroy(port);
        for (const int calls : ends_of_messages_)
            if (calls != 1)
                fail("a message ended more than once, or never");
    }

    void step()
    {
        const size_t end = input_.below(2);
        heddle_port *const port = ports_[end];
        switch (input_.below(14)) {
        case 0:
            return begin(end);
        case 1:
        case 2:
            return receive(end);
        case 3:
        case 4:
            return deliver();
        case 5:
            return deliver_changed(end);
        case 6:
            return deliver_any(end);
        case 7:
            return report_one();
        case 8:
            heddle_message_abandon(port, name(), HEDDLE_ERR_PEER);
            return;
        case 9:
            return heddle_port_lost(port, peer(end),
                                    input_.flag() ? HEDDLE_ERR_LOST : HEDDLE_ERR_PEER);
        case 10:
            return refuse(end);
        case 11:
            return rtrs(end);
        case 12:
            return scribble();
        default:
            heddle_port_progress(port, nullptr);
        }
    }

private:
    struct End {
        Game *game = nullptr;
        size_t number = 0;
    };

    void *peer(size_t end) { return &ends_[1 - end]; }

    static int send(void *context, void *, const void *header, size_t header_bytes,
                    const void *data, size_t bytes, void *token, int *done)
    {
        const End &from = *static_cast<End *>(context);
        Game &game = *from.game;
        if (game.over_ || game.input_.below(16) == 15)
            return HEDDLE_ERR_PEER;
        const auto *const h = static_cast<const unsigned char *>(header),
                          *const d = static_cast<const unsigned char *>(data);
        game.parcels_.push_back({1 - from.number, {h, h + header_bytes}, {d, d + bytes}});
        wire::Header known;
        if (wire::read_header(header, header_bytes, known))
            fail("a port sends what it would not understand");
        game.names_.push_back(known.from);
        *done = game.input_.flag();
        if (!*done)
            game.tokens_.push_back({from.number, token, false, {}, nullptr});
        return HEDDLE_SUCCESS;
    }

    static void ended(void *argument, int, int64_t) { ++*static_cast<int *>(argument); }
    /* The end of a message that begins. It is taken back if the message does not begin. */
    int *new_end()
    {
        ends_of_messages_.push_back(0);
        return &ends_of_messages_.back();
    }
    uint64_t name()
    {
        return names_.empty() || input_.below(8) == 7 ? input_.word()
                                                      : names_[input_.below(names_.size())];
    }

    void begin(size_t end)
    {
        Bytes envelope(HEDDLE_ENVELOPE_BYTES);
        const heddle_side from = buffers().side(input_);
        const int64_t bytes = std::clamp<int64_t>(input_.number(), 0, most);
        uint64_t message = 0;
        int begun = 1;
        int *const calls = new_end();
        int e = 0;
        switch (input_.below(4)) {
        case 0:
            e = pipeline_test::get_message(ports_[end], peer(end), input_.below(4) == 3, &from,
                                           bytes, 1, input_.flag(), envelope.data(), ended, calls,
                                           &message, &begun);
            break;
        case 1:
            e = pipeline_test::put_message(ports_[end], peer(end), name(), &from, bytes, 1,
                                           envelope.data(), ended, calls, &message, &begun);
            break;
        default:
            e = pipeline_test::send_message(ports_[end], peer(end), &from, bytes, 1, input_.flag(),
                                            envelope.data(), ended, calls, &message);
        }
        if (e || !begun)
            return ends_of_messages_.pop_back();
        names_.push_back(message);
        envelopes_.push_back(std::move(envelope));
    }

    /* One that was sent, as it is or with something changed. */
    Bytes envelope()
    {
        wire::Envelope e;
        Bytes bytes(HEDDLE_ENVELOPE_BYTES);
        if (!envelopes_.empty())
            bytes = envelopes_[input_.below(envelopes_.size())];
        if (wire::read_envelope(bytes.data(), e)) {
            e = wire::Envelope();
            e.chunk_log2 = 12;
            e.node = wire::process_id().node;
            e.process = wire::process_id().process;
        }
        switch (input_.below(10)) {
        case 0:
            e.message = name();
            break;
        case 1:
            e.bytes = input_.number();
            break;
        case 2:
            e.chunk_log2 = static_cast<uint8_t>(input_.below(63));
            break;
        case 3:
            e.process ^= uint64_t{1 + input_.below(3)} << 40;
            break;
        case 4:
            e.slot = static_cast<uint16_t>(input_.below(200));
            break;
        case 5:
            e.kind = static_cast<wire::EnvelopeKind>(input_.below(4));
            break;
        case 6:
            e.exports = !e.exports, e.shares = input_.flag();
            break;
        case 7:
            e.at.at = static_cast<uint64_t>(input_.number());
            break;
        case 8:
            e.at.allocation = name();
            break;
        default:
            return bytes;
        }
        wire::write_envelope(e, bytes.data());
        return bytes;
    }

    void receive(size_t end)
    {
        const Bytes met = envelope();
        const heddle_side to = buffers().side(input_);
        const int64_t capacity = std::clamp<int64_t>(input_.number(), 0, most);
        int *const calls = new_end();
        heddle_rtr rtr{};
        if (!rtrs_.empty())
            rtr = rtrs_[input_.below(rtrs_.size())];
        if (pipeline_test::receive_message(ports_[end], peer(end), met.data(), &to, capacity,
                                           !rtrs_.empty() && input_.flag() ? &rtr : nullptr, ended,
                                           calls))
            ends_of_messages_.pop_back();
    }

    void refuse(size_t end)
    {
        const Bytes met = envelope();
        heddle_message_refuse(ports_[end], peer(end), met.data(),
                              input_.flag() ? HEDDLE_ERR_BUFFER : 0);
    }

    /* ---- headers */

    Parcel parcel()
    {
        const size_t which = input_.below(parcels_.size());
        const Parcel chosen = parcels_[which];
        if (input_.below(8) != 7) /* else it comes again */
            parcels_.erase(parcels_.begin() + static_cast<std::ptrdiff_t>(which));
        return chosen;
    }

    void hand_over(const Parcel &parcel)
    {
        heddle_port *const port = ports_[parcel.to];
        if (parcel.data.empty() || input_.flag()) {
            heddle_port_arrived(port, parcel.header.data(), parcel.header.size(),
                                parcel.data.data(), parcel.data.size());
            return;
        }
        void *where = nullptr, *token = nullptr;
        if (heddle_port_place(port, parcel.header.data(), parcel.header.size(), parcel.data.size(),
                              &where, &token) == HEDDLE_SUCCESS &&
            where)
            tokens_.push_back({parcel.to, token, true, parcel.data, where});
    }

    void deliver()
    {
        if (!parcels_.empty())
            hand_over(parcel());
    }

    void deliver_changed(size_t end)
    {
        if (parcels_.empty())
            return;
        Parcel chosen = parcel();
        if (input_.below(4) == 3)
            chosen.to = end;
        wire::Header h;
        if (wire::read_header(chosen.header.data(), chosen.header.size(), h))
            fail("a port sent what cannot be read");
        change(h);
        if (input_.below(4) == 3)
            chosen.data.resize(std::min<size_t>(static_cast<size_t>(h.bytes), most));
        const wire::HeaderBytes changed = wire::write_header(h);
        chosen.header.assign(changed.bytes, changed.bytes + changed.size);
        if (input_.below(8) == 7)
            chosen.header[input_.below(chosen.header.size())] ^= input_.byte();
        hand_over(chosen);
    }

    void change(wire::Header &h)
    {
        switch (input_.below(12)) {
        case 0:
            h.kind = static_cast<wire::Kind>(input_.below(11));
            break;
        case 1:
            h.mode = static_cast<wire::Mode>(input_.below(4));
            break;
        case 2:
            h.round = static_cast<uint16_t>(input_.number());
            break;
        case 3:
            h.to = name();
            break;
        case 4:
            h.from = name();
            break;
        case 5:
            h.offset = input_.number();
            break;
        case 6:
            h.bytes = input_.number();
            break;
        case 7:
            h.chunk = input_.number();
            break;
        case 8:
            h.granted = input_.number();
            break;
        case 9:
            h.error = static_cast<int>(input_.byte());
            break;
        case 10:
            h.memory.place.allocation = static_cast<uint64_t>(input_.number());
            break;
        default:
            h.memory.place.at = static_cast<uint64_t>(input_.number());
        }
    }

    void deliver_any(size_t end)
    {
        wire::Header h;
        h.to = name();
        h.kind = static_cast<wire::Kind>(1 + input_.below(9));
        for (size_t changes = input_.below(6); changes > 0; --changes)
            change(h);
        const wire::HeaderBytes made = wire::write_header(h);
        Parcel any{end, {made.bytes, made.bytes + made.size}, {}};
        if (input_.flag() && h.bytes > 0)
            any.data.resize(std::min<size_t>(static_cast<size_t>(h.bytes), most));
        hand_over(any);
    }

    void report(const Token &token, int error)
    {
        if (token.places && !error)
            std::memcpy(token.where, token.data.data(), token.data.size());
        if (token.places)
            heddle_port_done(ports_[token.of], token.token, error);
        else
            heddle_port_done(ports_[token.of], token.token, error);
    }
    void report_one()
    {
        if (tokens_.empty())
            return;
        const size_t which = input_.below(tokens_.size());
        const Token chosen = tokens_[which];
        tokens_.erase(tokens_.begin() + static_cast<std::ptrdiff_t>(which));
        report(chosen, input_.below(8) == 7 ? HEDDLE_ERR_PEER : 0);
    }

    /* ---- shared memory */

    void rtrs(size_t end)
    {
        if (input_.flag()) {
            const heddle_rtr rtr{
                wire::process_id().process ^ (input_.flag() ? 0 : uint64_t{1} << 40), name()};
            const heddle_side to = buffers().side(input_);
            int given = 0;
            pipeline_test::post_rtr(ports_[end], &rtr, &to,
                                    std::clamp<int64_t>(input_.number(), 0, most), &given);
            rtrs_.push_back(rtr);
        } else if (!rtrs_.empty()) {
            int claimed;
            heddle_rtr_withdraw(&rtrs_[input_.below(rtrs_.size())], &claimed);
        }
    }

    void scribble()
    {
        wire::Slots *const slots = wire::own_slots();
        if (!slots)
            return;
        if (input_.flag()) {
            wire::shared_word(slots->get[input_.below(100)]).store(name() << 3 | input_.below(8));
            return;
        }
        const uint64_t message = name();
        wire::RtrRecord &record = slots->rtr[message % wire::Slots::rtrs];
        record.process = wire::process_id().process ^ (input_.flag() ? 0 : uint64_t{1} << 41);
        record.capacity = input_.number();
        record.at.place.at = static_cast<uint64_t>(input_.number());
        wire::shared_word(record.word).store(message << 3 | input_.below(8));
    }

    static void forget_rtrs()
    {
        if (wire::Slots *const slots = wire::own_slots())
            for (wire::RtrRecord &record : slots->rtr)
                wire::shared_word(record.word).store(0);
    }

    Input &input_;
    End ends_[2];
    heddle_port *ports_[2] = {};
    std::vector<Parcel> parcels_;
    std::vector<Token> tokens_;
    std::vector<Bytes> envelopes_;
    std::vector<uint64_t> names_;
    std::vector<heddle_rtr> rtrs_;
    std::list<int> ends_of_messages_; /* how often each was told */
    bool over_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input(data, size);
    Game game(input);
    for (int steps = 0; !input.over() && steps < 400; ++steps)
        game.step();
    return 0;
}
