// SPDX-License-Identifier: BSD-3-Clause
// The C API of messages: arguments are checked, exceptions end here.
#include "awaiting.hpp"
#include "board.hpp"
#include "borrowing.hpp"
#include "counters.hpp"
#include "delivering.hpp"
#include "exports.hpp"
#include "offered.hpp"
#include "port.hpp"
#include "processes.hpp"
#include "receiving.hpp"
#include "sending.hpp"
#include "taking.hpp"

using namespace heddle;
using namespace heddle::pipeline;

struct heddle_port {
    heddle_port(const heddle_transport &transport, const Limits &limits) : port(transport, limits)
    {
    }
    Port port;
};

namespace {

template <class F> int with(heddle_port *port, F &&what)
{
    if (!port)
        return HEDDLE_ERR_ARG;
    const int e = guard([&] { return what(port->port); });
    port->port.update_active();
    return e;
}

// Whether its sender can write there.
bool give_ticket(const Limits &limits, const heddle_ticket &ticket, const heddle_side &to,
                 int64_t capacity)
{
    const Buffer buffer(to, capacity);
    if (!ticket.sender || !ticket.after || !buffer.on_device() || !buffer.dense() ||
        !allows(limits, Mode::reference))
        return false;
    const auto at =
        export_own(*buffer.device(), buffer.memory(), buffer.address(0), capacity, limits.in_place);
    if (!at)
        return false;
    Ticket given(ticket.sender, ticket.after, *at, capacity);
    if (!given)
        return false;
    count(Counter::tickets);
    given.let_be();
    return true;
}

} // namespace

int heddle_port_create(const heddle_transport *transport, const heddle_port_options *options,
                       heddle_port **port)
{
    if (!transport || !transport->send || !port)
        return HEDDLE_ERR_ARG;
    Limits limits;
    if (const int e = guard([&] { return find_limits(options, limits); }))
        return e;
    return guard([&] {
        *port = std::make_unique<heddle_port>(*transport, limits).release();
        return HEDDLE_SUCCESS;
    });
}

void heddle_port_destroy(heddle_port *port)
{
    guard([&] {
        const std::unique_ptr<heddle_port> owned(port);
        return HEDDLE_SUCCESS;
    });
}

int heddle_port_progress(heddle_port *port, int *events)
{
    return with(port, [&](Port &p) {
        const int taken = p.progress();
        if (events)
            *events = taken;
        return HEDDLE_SUCCESS;
    });
}

const int *heddle_port_active(const heddle_port *port) { return port->port.active(); }

void heddle_port_sent(heddle_port *port, void *token, int error)
{
    if (token)
        with(port, [&](Port &p) { return p.sent(token, error), HEDDLE_SUCCESS; });
}

int heddle_port_arrived(heddle_port *port, const void *header, size_t header_bytes,
                        const void *data, size_t bytes)
{
    Header h;
    if (bytes && !data)
        return HEDDLE_ERR_ARG;
    if (const int e = read_header(header, header_bytes, h))
        return e;
    return with(port, [&](Port &p) { return p.arrived(h, data, bytes); });
}

int heddle_port_place(heddle_port *port, const void *header, size_t header_bytes, size_t bytes,
                      void **where, void **token)
{
    Header h;
    if (!where || !token)
        return HEDDLE_ERR_ARG;
    if (const int e = read_header(header, header_bytes, h))
        return e;
    return with(port, [&](Port &p) { return p.place(h, bytes, where, token); });
}

void heddle_port_placed(heddle_port *port, void *token, int error)
{
    heddle_port_sent(port, token, error);
}

void heddle_port_confirm(heddle_port *port)
{
    with(port, [](Port &p) { return p.confirm(), HEDDLE_SUCCESS; });
}

int heddle_port_dropped(heddle_port *port, const void *peer, uint64_t key, int error)
{
    return with(port, [&](Port &p) { return p.dropped(peer, key, error); });
}

void heddle_port_lost(heddle_port *port, const void *peer, int error)
{
    with(port, [&](Port &p) { return p.lost(peer, error), HEDDLE_SUCCESS; });
}

void heddle_process_self(heddle_process *self)
{
    const Whereabouts here = whereabouts();
    *self = {here.node, here.process};
}

int heddle_process_ended(const heddle_process *process, int *ended)
{
    if (!process || !ended)
        return HEDDLE_ERR_ARG;
    *ended = 0;
    return guard([&] {
        *ended = process->node && process->node == whereabouts().node && has_ended(process->name);
        if (*ended)
            close_borrowed(process->name);
        return HEDDLE_SUCCESS;
    });
}

int heddle_port_unmatched(heddle_port *port, heddle_unmatched *oldest)
{
    if (!oldest)
        return HEDDLE_ERR_ARG;
    return with(port, [&](Port &p) {
        const Outgoing *const found = p.unmatched();
        if (!found)
            return int{HEDDLE_ERR_RANGE};
        *oldest = {found->id(), found->peer(), found->key(), found->bytes()};
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_message_send(heddle_port *port, void *peer, const heddle_side *from, int64_t bytes,
                        uint64_t key, int waits, void *envelope, heddle_message_ended ended,
                        void *argument, uint64_t *message)
{
    if (!from || !envelope || !ended)
        return HEDDLE_ERR_ARG;
    return with(port, [&](Port &p) {
        if (const int e = Buffer::check(*from, bytes))
            return e;
        Sending &made =
            p.add(std::make_unique<Sending>(p, peer, *from, bytes, key, ended, argument));
        made.pack_early();
        Envelope its = made.envelope();
        its.waits = waits && own_board(); // which is looked for once, and must be there then
        write_envelope(its, envelope);
        if (its.offer)
            p.watch(made);
        if (message)
            *message = made.id();
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_message_offer(heddle_port *port, void *peer, int within, const heddle_side *from,
                         int64_t bytes, uint64_t key, int waits, void *envelope,
                         heddle_message_ended ended, void *argument, uint64_t *message,
                         int *offered)
{
    if (!from || !envelope || !ended || !offered)
        return HEDDLE_ERR_ARG;
    *offered = 0;
    return with(port, [&](Port &p) {
        if (const int e = Buffer::check(*from, bytes))
            return e;
        if (bytes == 0 || (!within && !p.is_worth_an_offer(peer)))
            return int{HEDDLE_SUCCESS};
        auto made =
            std::make_unique<Offered>(p, peer, within != 0, *from, bytes, key, ended, argument);
        if (!made->can_be())
            return int{HEDDLE_SUCCESS};
        Envelope its = made->envelope();
        its.waits = waits && own_board(); // which is looked for once, and must be there then
        write_envelope(its, envelope);
        if (message)
            *message = made->id();
        p.watch(p.add(std::move(made)));
        *offered = 1;
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_message_deliver(heddle_port *port, void *peer, uint64_t after, const heddle_side *from,
                           int64_t bytes, uint64_t key, void *envelope, heddle_message_ended ended,
                           void *argument, uint64_t *message, int *delivers)
{
    if (!from || !envelope || !ended || !delivers)
        return HEDDLE_ERR_ARG;
    *delivers = 0;
    return with(port, [&](Port &p) {
        fetch_ticket(after);
        if (const int e = Buffer::check(*from, bytes))
            return e;
        if (bytes == 0 || !p.peers().is_worth_a_ticket(peer, after))
            return int{HEDDLE_SUCCESS};
        // The ticket may come while it is made.
        auto made =
            std::make_unique<Delivering>(p, peer, after, *from, bytes, key, ended, argument);
        p.make_room_to_watch();
        if (!made->begin())
            return int{HEDDLE_SUCCESS};
        write_envelope(made->envelope(), envelope);
        if (message)
            *message = made->id();
        p.watch(p.add(std::move(made)));
        *delivers = 1;
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_message_abandon(heddle_port *port, uint64_t message, int error)
{
    return with(port, [&](Port &p) { return p.abandon(message, error); });
}

int heddle_envelope_read(const void *envelope, heddle_envelope_info *info)
{
    Envelope e;
    if (!envelope || !info)
        return HEDDLE_ERR_ARG;
    if (const int error = read_envelope(envelope, e))
        return error;
    const bool next = e.waits && e.node && e.node == whereabouts().node;
    *info = {e.bytes, e.number, {next ? e.process : 0, next ? e.message : 0}};
    return HEDDLE_SUCCESS;
}

int heddle_ticket_give(heddle_port *port, const heddle_ticket *ticket, const heddle_side *to,
                       int64_t capacity, int *given)
{
    if (!ticket || !to || !given)
        return HEDDLE_ERR_ARG;
    *given = 0;
    return with(port, [&](Port &p) {
        if (const int e = Buffer::check(*to, capacity))
            return e;
        *given = give_ticket(p.limits(), *ticket, *to, capacity);
        return int{HEDDLE_SUCCESS};
    });
}

int heddle_ticket_withdraw(const heddle_ticket *ticket, int *claimed)
{
    if (!ticket || !claimed)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        *claimed = !Ticket::find(ticket->sender, ticket->after).withdraw();
        return HEDDLE_SUCCESS;
    });
}

int heddle_ticket_end(const heddle_ticket *ticket)
{
    if (!ticket)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        Ticket its = Ticket::find(ticket->sender, ticket->after);
        if (has_ended(ticket->sender))
            its.end();
        else
            its.end_unwritten();
        return HEDDLE_SUCCESS;
    });
}

int heddle_message_receive(heddle_port *port, void *peer, const void *envelope,
                           const heddle_side *to, int64_t capacity, const heddle_ticket *ticket,
                           heddle_message_ended ended, void *argument)
{
    if (!envelope || !to || !ended)
        return HEDDLE_ERR_ARG;
    Envelope e;
    if (const int error = read_envelope(envelope, e))
        return error;
    return with(port, [&](Port &p) {
        if (const int error = Buffer::check(*to, capacity))
            return error;
        Ticket its = ticket ? Ticket::find(ticket->sender, ticket->after) : Ticket();
        const Standing standing = its ? its.standing() : Standing::none;
        // While a ticket is claimed no other message comes first (heddle_ticket_give); after it has
        // failed, its own may never.
        const bool fits = e.after ? its && standing != Standing::open && e.after == ticket->after &&
                                        e.process == ticket->sender && e.bytes <= capacity
                                  : standing != Standing::claimed;
        if (!fits) {
            if (standing != Standing::open)
                its.let_be();
            return int{HEDDLE_ERR_FORMAT};
        }
        if (e.after)
            p.begin(p.add(std::make_unique<Awaiting>(p, peer, e, *to, capacity, std::move(its),
                                                     ended, argument)));
        else if (e.withdraws)
            p.begin(p.add(std::make_unique<Taking>(p, peer, e, *to, capacity, ended, argument)));
        else
            p.begin(p.add(std::make_unique<Receiving>(p, peer, e, *to, capacity, ended, argument)));
        return int{HEDDLE_SUCCESS};
    });
}

void heddle_message_count_whole(int received, int64_t bytes)
{
    count(received ? Counter::received_whole : Counter::sent_whole);
    count(Counter::bytes_whole, received ? bytes : 0);
}

int heddle_message_probed(heddle_port *port, void *peer, const void *envelope)
{
    Envelope e;
    if (!envelope)
        return HEDDLE_ERR_ARG;
    if (const int wrong = read_envelope(envelope, e))
        return wrong;
    return with(port, [&](Port &p) {
        Header header;
        header.kind = Kind::matched;
        header.to = e.message;
        return p.send_alone(peer, header);
    });
}

int heddle_message_refuse(heddle_port *port, void *peer, const void *envelope, int error)
{
    Envelope e;
    if (!envelope)
        return HEDDLE_ERR_ARG;
    if (const int wrong = read_envelope(envelope, e))
        return wrong;
    return with(port, [&](Port &p) {
        if (e.withdraws)
            p.drop_pushed(e.message);
        if (e.after)
            Ticket::find(e.process, e.after).end();
        Header header;
        header.kind = Kind::refused;
        header.to = e.message;
        header.error = error;
        return p.send_alone(peer, header);
    });
}
