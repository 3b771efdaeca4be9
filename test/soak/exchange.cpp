/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between random pairs of ranks, sent and received in every way that MPI has.
 */
#include "soak.hpp"

#include <algorithm>

namespace soak {
namespace {

enum class Sending { send, ssend, isend, issend, persistent };
enum class Receiving { irecv, persistent, recv, probe, mprobe, improbe };

struct Message {
    int from, to, tag, seed;
    int64_t elements;
    bool is_late;  /* its receive is posted after its receiver has sent all that it sends */
    bool is_short; /* the receive has room for less */
    Sending sending;
    Receiving receiving;
    uint64_t pieces; /* seed of what its buffers are */
};

MPI_Comm comm = MPI_COMM_NULL;

/* Where sends may block, receives were posted before; late ones are begun without waiting. Messages
 * of one tag are all late, or all not, so that they are received in their order. */
std::vector<Message> random_messages(Rng &rng)
{
    std::vector<Message> messages(static_cast<size_t>(rng.scaled(24)));
    for (Message &m : messages) {
        m.from = static_cast<int>(rng.in(0, size - 1));
        m.to = rng.percent(10) ? m.from : static_cast<int>(rng.in(0, size - 1));
        m.is_late = rng.percent(50);
        m.tag = static_cast<int>(rng.in(0, 2)) * 2 + m.is_late;
        m.seed = static_cast<int>(rng.in(1, 1000));
        m.elements = random_elements(rng);
        m.is_short = m.elements > 1 && !m.is_late && rng.percent(3);
        const bool may_block = !m.is_late && m.from != m.to;
        m.sending = static_cast<Sending>(may_block ? rng.in(0, 4) : rng.in(2, 4));
        m.receiving = static_cast<Receiving>(m.is_late ? rng.in(2, 5) : rng.in(0, 1));
        m.pieces = rng.next();
    }
    return messages;
}

std::string to_text(const Message &m)
{
    return "message of " + std::to_string(m.elements) + " from " + std::to_string(m.from) + " to " +
           std::to_string(m.to) + ", tag " + std::to_string(m.tag) + ", sent by " +
           std::to_string(static_cast<int>(m.sending)) + ", received by " +
           std::to_string(static_cast<int>(m.receiving));
}

struct Side {
    const Message &message;
    PiecePtr piece;
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS; /* of what began it */
    int count() const { return message.elements > 0 ? 1 : 0; }
    void *at() const { return piece->buffer.at(); }
    MPI_Datatype type() const { return piece->buffer.type(); }
};

Side sending_side(const Message &m)
{
    Rng rng(m.pieces);
    Side side{m, random_piece(rng, m.elements)};
    side.piece->buffer.fill(m.seed);
    return side;
}

Side receiving_side(const Message &m)
{
    Rng rng(m.pieces + 1);
    return {m, random_piece(rng, m.is_short ? m.elements / 2 : m.elements)};
}

void start(Side &s)
{
    const Message &m = s.message;
    switch (m.sending) {
    case Sending::send:
        succeeded(MPI_Send(s.at(), s.count(), s.type(), m.to, m.tag, comm), "MPI_Send");
        break;
    case Sending::ssend:
        succeeded(MPI_Ssend(s.at(), s.count(), s.type(), m.to, m.tag, comm), "MPI_Ssend");
        break;
    case Sending::isend:
        succeeded(MPI_Isend(s.at(), s.count(), s.type(), m.to, m.tag, comm, &s.request),
                  "MPI_Isend");
        break;
    case Sending::issend:
        succeeded(MPI_Issend(s.at(), s.count(), s.type(), m.to, m.tag, comm, &s.request),
                  "MPI_Issend");
        break;
    case Sending::persistent:
        MPI_Send_init(s.at(), s.count(), s.type(), m.to, m.tag, comm, &s.request);
        succeeded(MPI_Start(&s.request), "MPI_Start of a send");
        break;
    }
}

void finish_send(Side &s)
{
    if (s.request == MPI_REQUEST_NULL)
        return;
    succeeded(MPI_Wait(&s.request, MPI_STATUS_IGNORE), "MPI_Wait of a send");
    if (s.request != MPI_REQUEST_NULL)
        MPI_Request_free(&s.request);
}

void post(Side &s)
{
    const Message &m = s.message;
    if (m.receiving == Receiving::persistent) {
        MPI_Recv_init(s.at(), s.count(), s.type(), m.from, m.tag, comm, &s.request);
        s.error = MPI_Start(&s.request);
    } else {
        s.error = MPI_Irecv(s.at(), s.count(), s.type(), m.from, m.tag, comm, &s.request);
    }
}

void judge(Side &s, int error, const MPI_Status &status)
{
    const Message &m = s.message;
    if (m.is_short) {
        int found = MPI_SUCCESS;
        MPI_Error_class(error, &found);
        device_test::check(found == MPI_ERR_TRUNCATE || (options.may_fail && found != MPI_SUCCESS),
                           to_text(m) + ": truncation was not told");
        return;
    }
    if (!succeeded(error, to_text(m).c_str()))
        return;
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    device_test::check(status.MPI_SOURCE == m.from && status.MPI_TAG == m.tag &&
                           bytes == m.elements * 8,
                       to_text(m) + ": its status says " + std::to_string(bytes) + " bytes from " +
                           std::to_string(status.MPI_SOURCE));
    s.piece->buffer.expect(m.seed, 0, m.elements);
    verify(s.piece->buffer, to_text(m));
}

void finish_receive(Side &s)
{
    MPI_Status status{};
    if (s.error == MPI_SUCCESS)
        s.error = MPI_Wait(&s.request, &status);
    judge(s, s.error, status);
    if (s.request != MPI_REQUEST_NULL)
        MPI_Request_free(&s.request);
}

void receive_late(Side &s, int source)
{
    const Message &m = s.message;
    MPI_Status status{};
    MPI_Message message = MPI_MESSAGE_NULL;
    int error = MPI_SUCCESS, flag = 0;
    switch (m.receiving) {
    case Receiving::probe:
        MPI_Probe(source, m.tag, comm, &status);
        error = MPI_Recv(s.at(), s.count(), s.type(), m.from, m.tag, comm, &status);
        break;
    case Receiving::mprobe:
        MPI_Mprobe(source, m.tag, comm, &message, &status);
        error = MPI_Mrecv(s.at(), s.count(), s.type(), &message, &status);
        break;
    case Receiving::improbe:
        while (!flag)
            MPI_Improbe(source, m.tag, comm, &flag, &message, &status);
        error = MPI_Imrecv(s.at(), s.count(), s.type(), &message, &s.request);
        if (error == MPI_SUCCESS)
            error = MPI_Wait(&s.request, &status);
        break;
    default:
        error = MPI_Recv(s.at(), s.count(), s.type(), source, m.tag, comm, &status);
    }
    judge(s, error, status);
}

/* Late messages of one tag, whoever sent them: a probe says which comes next. */
void receive_wild(std::vector<Side> &late)
{
    std::vector<Side *> left;
    for (Side &s : late)
        left.push_back(&s);
    while (!left.empty()) {
        MPI_Status status{};
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
        const auto next = std::find_if(left.begin(), left.end(), [&](const Side *s) {
            return s->message.from == status.MPI_SOURCE && s->message.tag == status.MPI_TAG;
        });
        if (next == left.end())
            throw std::runtime_error("a message came that nobody sent");
        Side &s = **next;
        const int error = MPI_Mrecv(s.at(), s.count(), s.type(), &message, &status);
        judge(s, error, status);
        left.erase(next);
    }
}

} // namespace

void exchange(Rng &rng)
{
    if (comm == MPI_COMM_NULL) {
        MPI_Comm_dup(world, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    }
    const std::vector<Message> messages = random_messages(rng);
    const bool is_wild = rng.percent(20);
    std::vector<Side> sends, early, late;
    for (const Message &m : messages) {
        if (m.from == rank)
            sends.push_back(sending_side(m));
        if (m.to == rank)
            (m.is_late ? late : early).push_back(receiving_side(m));
    }
    for (Side &s : early)
        post(s);
    /* A probe of any message must meet no early one whose receive is still to come. */
    if (is_wild)
        MPI_Barrier(comm);
    for (Side &s : sends)
        start(s);
    if (is_wild)
        receive_wild(late);
    else
        for (Side &s : late)
            receive_late(s, s.message.from);
    for (Side &s : early)
        finish_receive(s);
    for (Side &s : sends)
        finish_send(s);
    if (is_wild)
        MPI_Barrier(comm);
}

} // namespace soak
