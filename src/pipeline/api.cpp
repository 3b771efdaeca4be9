// SPDX-License-Identifier: BSD-3-Clause
// The C API of messages: arguments are checked, exceptions end here.
#include "engine/sized.hpp"
#include "gpu/api/transfer.hpp"
#include "gpu/core/arena.hpp"
#include "gpu/core/error_detail.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"
#include "pipeline/protocol/port.hpp"
#include "pipeline/protocol/rtr.hpp"
#include "pipeline/protocol/select.hpp"

#include <heddle_message.h>

#include <algorithm>
#include <cstring>
#include <utility>

using namespace heddle;
using namespace heddle::pipeline;

struct heddle_port : Port {
    using Port::Port;
};

namespace {

// What `f` does, if the arguments are right.
template <class F> int checked(bool are_right, F &&f)
{
    return are_right ? guard(std::forward<F>(f)) : HEDDLE_ERR_ARG;
}

// What it does to a port, which may be null.
template <class F> int with(heddle_port *port, bool are_right, F &&f)
{
    const int e = checked(port && are_right, [&] { return f(*port); });
    if (port)
        port->update_active();
    return e;
}
template <class F> int with(heddle_port *port, F &&f)
{
    return with(port, true, std::forward<F>(f));
}

// What it does with the contents of an envelope, or of a header for a port.
template <class F> int with_envelope(const void *bytes, bool are_right, F &&f)
{
    Envelope envelope;
    if (!bytes || !are_right)
        return HEDDLE_ERR_ARG;
    const Error e = read_envelope(bytes, envelope);
    return e ? e.code() : f(envelope);
}
template <class F>
int with_header(heddle_port *port, const void *bytes, size_t size, bool are_right, F &&f)
{
    Header header;
    if (!are_right)
        return HEDDLE_ERR_ARG;
    const Error e = read_header(bytes, size, header);
    return e ? e.code() : with(port, [&](Port &p) { return f(p, header); });
}

// Two ends of a pack, and whose memory they are.
struct Packing {
    Buffer buffer;
    gpu::Memory memory;
};

Error read_packing(const heddle_packing &from, Packing &to, heddle_move &move, gpu::Known &known)
{
    if (!read_buffer(from.buffer, to.buffer) || from.bytes < 0 ||
        (!from.side && from.bytes > to.buffer.bytes()))
        return HEDDLE_ERR_ARG;
    Data source = to.buffer.data(0), target{from.remote};
    if (from.side)
        source.side = *from.side;
    if (from.staging) {
        to.memory = gpu::staging_memory(from.staging, from.bytes);
        target = packed(to.memory.base, from.bytes, &to.memory);
    } else if (from.import) {
        target.memory = from.import->memory;
    }
    if (from.unpacks)
        std::swap(source, target);
    move = {source.side, target.side, from.bytes, HEDDLE_OP_REPLACE};
    known = {source.memory, target.memory};
    return HEDDLE_SUCCESS;
}

// Its sender may be writing: unless that is gone, it is waited for.
void end_rtr(uint64_t sender, uint64_t after)
{
    const Slot its = find_rtr(sender, after);
    if (has_ended(sender))
        end_rtr(its);
    else
        end_rtr_unwritten(its);
}

// ---- sending ----

// A sender of what was chosen; null where there is none.
Sender *begin(Port &port, heddle_message_path path, uint64_t previous, bool is_batched,
              const Request &request)
{
    switch (path) {
    case HEDDLE_PATH_PUT:
        return send_put(port, request, previous, is_batched);
    case HEDDLE_PATH_GET:
        return send_get(port, request);
    case HEDDLE_PATH_SELF:
        return send_self(port, request);
    case HEDDLE_PATH_RENDEZVOUS:
        return send_rndv(port, request);
    default:
        return nullptr;
    }
}

Error start(Port &port, const heddle_message_description &asked, const Request &request,
            heddle_message_result &result)
{
    const bool is_persistent = asked.flags & HEDDLE_MESSAGE_PERSISTENT;
    if (asked.previous)
        fetch_rtr(asked.previous);
    Peer &peer = port.peer(asked.peer);
    Facts facts{request.buffer, asked.flags, asked.eager_limit, false, port.get_runs()};
    if (asked.previous && can_put(facts, port.limits()))
        facts.has_rtr = wait_for_rtr(port, asked.peer, asked.previous, is_persistent);
    Choice choice;
    const Sender *sender = nullptr;
    do { // a put may turn out to be impossible: the RTR is as good as none then
        choice = select(facts, port.limits(), peer);
        sender = begin(port, choice.path, asked.previous, is_persistent, request);
    } while (!sender && std::exchange(facts.has_rtr, false));
    if (!sender && choice.path > HEDDLE_PATH_NATIVE)
        choice = {HEDDLE_PATH_PACK, "short, and its allocation is not exported"};
    if (choice.for_misses)
        --peer.gets.skipped;
    result.path = choice.path;
    result.reason = choice.reason;
    log_choice(facts, choice, sender ? sender->id() : 0);
    if (!sender)
        return HEDDLE_SUCCESS;
    Envelope envelope = sender->envelope();
    // The slots are looked for once, and must be there then.
    envelope.waits = (is_persistent || asked.flags & HEDDLE_MESSAGE_BLOCKING) && own_slots();
    write_envelope(envelope, result.envelope);
    result.message = sender->id();
    return HEDDLE_SUCCESS;
}

// ---- receiving ----

// While an RTR is in use no other message comes first (heddle_rtr_post); after it has failed, its
// own may never.
bool fits(const Envelope &envelope, const heddle_rtr *rtr, SlotState state, int64_t capacity)
{
    if (envelope.kind != EnvelopeKind::put)
        return state != SlotState::busy;
    return state != SlotState::none && state != SlotState::open && envelope.after() == rtr->after &&
           envelope.process == rtr->sender && envelope.bytes <= capacity;
}

// Its receiver; `rtr`: the one that is of use to a put, or to nobody any more.
std::unique_ptr<Receiver> make_receiver(Port &port, const Envelope &envelope,
                                        const Request &request, const Slot &rtr)
{
    if (envelope.kind == EnvelopeKind::put)
        return receive_put(port, envelope, request, rtr);
    end_rtr(rtr);
    Sender *const own = port.find_own(envelope.message, envelope.process);
    if (own && own->can_give())
        return receive_self(port, envelope, request, *own);
    return envelope.kind == EnvelopeKind::get ? receive_get(port, envelope, request)
                                              : receive_rndv(port, envelope, request);
}

Error receive(Port &port, const Envelope &envelope, const heddle_rtr *rtr, const Request &request)
{
    const Slot its = rtr ? find_rtr(rtr->sender, rtr->after) : Slot();
    const SlotState state = its.state();
    if (!fits(envelope, rtr, state, request.buffer.bytes())) {
        if (state == SlotState::open)
            end_rtr(its);
        return HEDDLE_ERR_FORMAT;
    }
    port.begin(make_receiver(port, envelope, request, its));
    return HEDDLE_SUCCESS;
}

} // namespace

// ---- ports ----

int heddle_port_create(const heddle_transport *transport, const heddle_port_options *options,
                       heddle_port **port)
{
    heddle_transport its{};
    heddle_port_options wanted{};
    if (!read_sized(transport, its) || !its.send || !port ||
        (options && !read_sized(options, wanted)))
        return HEDDLE_ERR_ARG;
    return guard([&] {
        Limits limits;
        const Error e = find_limits(wanted, limits);
        if (!e)
            *port = new heddle_port(its, limits);
        return e;
    });
}

void heddle_port_destroy(heddle_port *port)
{
    guard([&] { delete port; });
}

int heddle_port_progress(heddle_port *port, int *events)
{
    int unwanted;
    return with(port, [&](Port &p) { return p.progress(events ? *events : unwanted); });
}

const int *heddle_port_active(const heddle_port *port) { return port->active(); }

int heddle_port_peer_mode(const heddle_port *port) { return port->limits().peer; }

void heddle_port_done(heddle_port *port, void *token, int error)
{
    if (token)
        with(port, [&](Port &p) { p.sent(token, Error::of(error)); });
}

int heddle_port_arrived(heddle_port *port, const void *header, size_t header_bytes,
                        const void *data, size_t bytes)
{
    return with_header(port, header, header_bytes, !bytes || data,
                       [&](Port &p, const Header &h) { return p.arrived(h, data, bytes); });
}

int heddle_port_place(heddle_port *port, const void *header, size_t header_bytes, size_t bytes,
                      void **where, void **token)
{
    return with_header(port, header, header_bytes, where && token,
                       [&](Port &p, const Header &h) { return p.place(h, bytes, where, token); });
}

const void *heddle_port_peer(heddle_port *port, const void *token)
{
    const void *peer = nullptr;
    if (token)
        with(port, [&](const Port &p) { peer = p.peer_of(token); });
    return peer;
}

void heddle_port_lost(heddle_port *port, const void *peer, int error)
{
    with(port, [&](Port &p) { p.lost(peer, Error::of(error)); });
}

int heddle_port_unmatched(heddle_port *port, heddle_unmatched *oldest)
{
    return with(port, is_sized(oldest, sizeof *oldest), [&](Port &p) {
        const Sender *const found = p.unmatched();
        if (!found)
            return HEDDLE_ERR_RANGE;
        write_sized({0, found->id(), found->peer(), found->key(), found->bytes()}, oldest);
        return HEDDLE_SUCCESS;
    });
}

// ---- processes ----

void heddle_process_self(heddle_process *self)
{
    const ProcessId here = process_id();
    *self = {here.node, here.process};
}

int heddle_process_ended(const heddle_process *process, int *ended)
{
    return checked(process && ended, [&] {
        *ended = 0;
        *ended = process->node && process->node == process_id().node && has_ended(process->name);
        if (*ended) {
            close_imports(process->name);
            end_rtrs_of(process->name);
        }
    });
}

// ---- messages ----

int heddle_buffer_describe(const heddle_side *side, int64_t bytes, heddle_buffer *buffer)
{
    return checked(side && buffer, [&]() -> Error {
        Buffer made;
        if (const Error e = Buffer::make(*side, bytes, made))
            return e;
        *buffer = {sizeof *buffer,
                   bytes,
                   static_cast<int>(made.memory().kind),
                   made.memory().device,
                   made.dense(),
                   0,
                   {}};
        std::memcpy(buffer->internal, static_cast<const void *>(&made), sizeof made);
        return HEDDLE_SUCCESS;
    });
}

int heddle_buffer_stage(const heddle_buffer *buffer, int64_t bytes, void **staging)
{
    Buffer near;
    if (bytes < 0 || !staging || (buffer && !read_buffer(buffer, near)))
        return HEDDLE_ERR_ARG;
    return gpu::answer([&] { return gpu::allocate_staging(bytes, near.device(), staging); });
}

int heddle_packing_begin(const heddle_packing *packings, int64_t n, heddle_request **request)
{
    if (n < 0 || (n > 0 && !packings) || !request)
        return HEDDLE_ERR_ARG;
    return gpu::answer([&]() -> Error {
        gpu::Arena<4096> arena;
        const auto count = static_cast<size_t>(n);
        std::pmr::vector<Packing> read(count, arena.memory());
        std::pmr::vector<heddle_move> moves(count, arena.memory());
        std::pmr::vector<gpu::Known> known(count, arena.memory());
        for (size_t i = 0; i < count; ++i)
            if (const Error e = read_packing(packings[i], read[i], moves[i], known[i]))
                return e;
        return gpu::begin_transfer(moves, known, request);
    });
}

int heddle_message_start(heddle_port *port, const heddle_message_description *description,
                         heddle_message_result *result)
{
    heddle_message_description asked{};
    heddle_message_result its{};
    if (!read_sized(description, asked) || !asked.ended || !is_sized(result, sizeof its))
        return HEDDLE_ERR_ARG;
    Request request{asked.peer, {}, asked.key, asked.ended, asked.argument};
    const int e = with(port, read_buffer(asked.from, request.buffer),
                       [&](Port &p) { return start(p, asked, request, its); });
    if (!e)
        write_sized(its, result);
    return e;
}

int heddle_message_abandon(heddle_port *port, uint64_t message, int error)
{
    return with(port, [&](Port &p) { return p.abandon(message, Error::of(error)); });
}

int heddle_envelope_read(const void *envelope, heddle_envelope_info *info)
{
    return with_envelope(envelope, is_sized(info, sizeof *info), [&](const Envelope &e) {
        const bool next = e.waits && e.node && e.node == process_id().node;
        const heddle_rtr rtr{next ? e.process : 0, next ? e.message : 0};
        write_sized({0, e.bytes, e.number, rtr}, info);
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_message_receive(heddle_port *port, void *peer, const void *envelope,
                           const heddle_buffer *to, const heddle_rtr *rtr,
                           heddle_message_ended ended, void *argument)
{
    Request request{peer, {}, 0, ended, argument};
    const bool are_right = ended && read_buffer(to, request.buffer);
    return with_envelope(envelope, are_right, [&](const Envelope &e) {
        return with(port, [&](Port &p) { return receive(p, e, rtr, request); });
    });
}

int64_t heddle_message_chunk(int64_t bytes)
{
    Limits limits;
    int64_t chunk = bytes;
    guard([&] {
        if (!find_limits({}, limits))
            chunk = chunk_of(Mode::value, bytes, limits.chunk_between_nodes);
    });
    return chunk;
}

int64_t heddle_message_whole(void)
{
    int64_t most = 0;
    guard([&] { most = most_as_a_whole(); });
    return most;
}

void heddle_message_count_whole(int received, int64_t bytes)
{
    count(received ? Counter::received_whole : Counter::sent_whole);
    count(Counter::bytes_whole, received ? bytes : 0);
}

int heddle_message_refuse(heddle_port *port, void *peer, const void *envelope, int error)
{
    return with(port, envelope, [&](Port &p) {
        Envelope e;
        const bool is_readable = !read_envelope(envelope, e);
        if (e.kind == EnvelopeKind::get)
            p.unexpected().drop(e.message); // nobody asks for what came of it, or comes
        if (e.kind == EnvelopeKind::put && is_readable)
            end_rtr(e.process, e.after());
        Header header;
        header.kind = Kind::refused;
        header.to = e.message;
        header.error = error;
        return p.send(peer, 0, header);
    });
}

// ---- RTRs ----

int heddle_rtr_post(heddle_port *port, const heddle_rtr *rtr, const heddle_buffer *to, int *posted)
{
    Buffer buffer;
    return with(port, rtr && posted && read_buffer(to, buffer), [&](Port &p) {
        *posted = 0;
        *posted = post_rtr(p.limits(), *rtr, buffer);
    });
}

int heddle_rtr_withdraw(const heddle_rtr *rtr, int *in_use)
{
    return checked(rtr && in_use, [&] {
        const Slot its = find_rtr(rtr->sender, rtr->after);
        *in_use = its && !its.change(SlotState::open, SlotState::none);
    });
}

int heddle_rtr_end(const heddle_rtr *rtr)
{
    return checked(rtr, [&] { end_rtr(rtr->sender, rtr->after); });
}
