/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that the receiver reads out of the sender's device memory (HEDDLE_INTERPOSE_PEER=1, as
 * test/interpose/run sets it for this program): every way to send one meets every way to receive,
 * to probe for and to cut off. With HEDDLE_PEER=value, or HEDDLE_TEST_NODES set by a test that
 * makes each process a node: the same in chunks. HEDDLE_INTERPOSE_PEER unset: by the MPI alone.
 */
#include "send_forms.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>

using namespace device_test;

enum { tag = 5, first_tag = 3, envelope_bytes = 51, most_slots = 1024 };

static MPI_Comm comm;

/* Whether no process reads another's memory, though all take envelopes. */
static bool between_nodes()
{
    const char *const peer = std::getenv("HEDDLE_PEER");
    return std::getenv("HEDDLE_TEST_NODES") || (peer && std::string(peer) == "value");
}

/* How rank 0 sends, and rank 1 receives. Both return MPI's result. */
using Send = std::function<int(Buffer &)>;
using Receive = std::function<int(Buffer &, MPI_Status &)>;

static const std::pair<const char *, Send> sends[] = {
    {"Send", [](Buffer &b) { return MPI_Send(b.at(), 1, b.type(), 1, tag, comm); }},
    {"Ssend", [](Buffer &b) { return MPI_Ssend(b.at(), 1, b.type(), 1, tag, comm); }},
    {"Isend", [](Buffer &b) { return send_forms::by_isend(b, tag, comm); }},
    {"Send_init", [](Buffer &b) { return send_forms::by_start(b, tag, comm); }},
    {"Sendrecv", [](Buffer &b) { return send_forms::by_exchange(b, tag, comm); }}};

static int into_recv(Buffer &b, MPI_Status &status)
{
    return MPI_Recv(b.at(), 1, b.type(), MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
}
static int into_irecv(Buffer &b, MPI_Status &status)
{
    MPI_Request request;
    MPI_Irecv(b.at(), 1, b.type(), 0, MPI_ANY_TAG, comm, &request);
    return MPI_Wait(&request, &status);
}
static int into_start(Buffer &b, MPI_Status &status)
{
    MPI_Request request;
    MPI_Recv_init(b.at(), 1, b.type(), MPI_ANY_SOURCE, tag, comm, &request);
    MPI_Start(&request);
    const int error = MPI_Wait(&request, &status);
    MPI_Request_free(&request);
    return error;
}
static int into_exchange(Buffer &b, MPI_Status &status)
{
    return MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, b.at(), 1, b.type(), 0, tag, comm,
                        &status);
}
static int into_replaced(Buffer &b, MPI_Status &status)
{
    return MPI_Sendrecv_replace(b.at(), 1, b.type(), MPI_PROC_NULL, 0, 0, tag, comm, &status);
}
static int into_mrecv(Buffer &b, MPI_Status &status)
{
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status);
    check(send_forms::count_of(status) == b.elements(),
          "Mprobe tells of " + std::to_string(send_forms::count_of(status)));
    return MPI_Mrecv(b.at(), 1, b.type(), &message, &status);
}
static int into_imrecv(Buffer &b, MPI_Status &status)
{
    MPI_Message message;
    MPI_Request request;
    int found = 0;
    while (!found)
        MPI_Improbe(0, MPI_ANY_TAG, comm, &found, &message, &status);
    check(send_forms::count_of(status) == b.elements(),
          "Improbe tells of " + std::to_string(send_forms::count_of(status)));
    MPI_Imrecv(b.at(), 1, b.type(), &message, &request);
    return MPI_Wait(&request, &status);
}
/* A probe, and then what another way does. */
static Receive probed(Receive then)
{
    return [then](Buffer &b, MPI_Status &status) {
        MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status);
        check(send_forms::count_of(status) == b.elements() && status.MPI_SOURCE == 0 &&
                  status.MPI_TAG == tag,
              "Probe tells of " + std::to_string(send_forms::count_of(status)));
        return then(b, status);
    };
}

static const std::pair<const char *, Receive> receives[] = {
    {"Recv", into_recv},
    {"Irecv", into_irecv},
    {"Recv_init", into_start},
    {"Sendrecv", into_exchange},
    {"Sendrecv_replace", into_replaced},
    {"Mrecv", into_mrecv},
    {"Imrecv", into_imrecv},
    {"Probe and Recv", probed(into_recv)},
    {"Probe and Irecv", probed(into_irecv)},
    {"Probe and Recv_init", probed(into_start)},
    {"Probe and Sendrecv", probed(into_exchange)},
    {"Probe and Sendrecv_replace", probed(into_replaced)},
    {"Probe and Mrecv", probed(into_mrecv)},
    {"Probe and Imrecv", probed(into_imrecv)}};

static void every_way(const Layout &layout, gpu::Kind kind)
{
    for (const auto &[sent, send] : sends)
        for (const auto &[received, receive] : receives) {
            Buffer buffer(rank == 0 ? gpu::Kind::device : kind, layout);
            const std::string what = std::string(sent) + " and " + received;
            buffer.fill(rank);
            if (rank == 0) {
                check(send(buffer) == MPI_SUCCESS, what);
                buffer.fill(99); /* it is the program's again */
                MPI_Barrier(comm);
                continue;
            }
            MPI_Status status;
            if (rank == 1) {
                check(receive(buffer, status) == MPI_SUCCESS, what);
                check(status.MPI_SOURCE == 0 && status.MPI_TAG == tag &&
                          send_forms::count_of(status) == layout.elements(),
                      what + ": the status tells " + std::to_string(send_forms::count_of(status)) +
                          " elements of rank " + std::to_string(status.MPI_SOURCE));
                buffer.expect(0, 0, layout.elements());
                buffer.verify(what);
            }
            MPI_Barrier(comm);
        }
}

/* Neither end waits for the other but as the MPI makes it wait. */
static void no_progress(const Layout &layout)
{
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    buffer.fill(rank);
    if (rank == 1)
        MPI_Irecv(buffer.at(), 1, buffer.type(), 0, tag, comm, &request);
    if (rank == 0)
        MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, tag, comm, &request);
    MPI_Barrier(comm);
    if (rank == 1)
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    buffer.expect(rank == 1 ? 0 : rank, 0, layout.elements());
    buffer.verify("beside a barrier");
}

/* What a probe takes out of the MPI's queue must not overtake what came before. Between the others
 * come messages that are as long as an envelope, and shorter. */
static void order(const Layout &layout)
{
    std::vector<char> bytes(envelope_bytes), other(envelope_bytes);
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Status status;
    std::vector<MPI_Request> sends(2, MPI_REQUEST_NULL);
    int number = 7;
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(i * 3 + 1);
    buffer.fill(rank);
    if (rank == 0) {
        MPI_Send(&number, 1, MPI_INT, 1, first_tag, comm);
        MPI_Send(bytes.data(), envelope_bytes, MPI_BYTE, 1, first_tag, comm);
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, tag, comm, &sends[0]);
        MPI_Isend(buffer.at(), 1, buffer.type(), 1, first_tag, comm, &sends[1]);
        MPI_Send(bytes.data(), envelope_bytes, MPI_BYTE, 1, tag, comm);
        MPI_Waitall(2, sends.data(), MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Probe(0, tag, comm, &status);
        check(send_forms::count_of(status) == layout.elements(), "a probe behind others");
        MPI_Request request;
        number = 0;
        MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
        MPI_Wait(&request, &status);
        check(number == 7 && status.MPI_TAG == first_tag, "the first message was overtaken");
        MPI_Recv(other.data(), envelope_bytes, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
        int n = 0;
        MPI_Get_count(&status, MPI_BYTE, &n);
        check(status.MPI_TAG == first_tag && status.MPI_SOURCE == 0 && n == envelope_bytes &&
                  other == bytes,
              "a message as long as an envelope");
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, first_tag, comm, &status);
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, MPI_ANY_TAG, comm, &status);
        check(status.MPI_TAG == tag, "what was probed for was overtaken");
        MPI_Message message;
        std::fill(other.begin(), other.end(), 0);
        MPI_Mprobe(0, MPI_ANY_TAG, comm, &message, &status);
        MPI_Mrecv(other.data(), envelope_bytes, MPI_BYTE, &message, &status);
        check(other == bytes && status.MPI_SOURCE == 0, "a matched message of that length");
        buffer.expect(0, 0, layout.elements());
        buffer.verify("in order");
    }
    MPI_Barrier(comm);
}

/* Receives that are too short, of any length. The next message finds its way nevertheless. */
static void truncated(const Layout &layout)
{
    for (const int n : {1, 6, 7, 500})
        for (const bool waits : {false, true})
            for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
                const std::string what = "a receive of " + std::to_string(n);
                const Layout less = contiguous(n);
                Buffer buffer(gpu::Kind::device, layout), cut(kind, less);
                buffer.fill(rank);
                if (rank == 0) {
                    MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
                    MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
                } else if (rank == 1) {
                    MPI_Request request;
                    MPI_Status status;
                    int error = MPI_SUCCESS, error_class = 0;
                    if (waits) {
                        MPI_Irecv(cut.at(), 1, cut.type(), 0, tag, comm, &request);
                        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
                    } else {
                        error = MPI_Recv(cut.at(), 1, cut.type(), 0, tag, comm, &status);
                    }
                    MPI_Error_class(error, &error_class);
                    check(error_class == MPI_ERR_TRUNCATE,
                          what + ": class " + std::to_string(error_class));
                    MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
                    buffer.expect(0, 0, layout.elements());
                    buffer.verify("behind " + what);
                }
                MPI_Barrier(comm);
            }
}

/* The same behind probes, which had to look into the message: `comm` still has the error. The third
 * receive has room. */
static void truncated_behind_probe(const Layout &layout)
{
    const Layout less = contiguous(1);
    for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
        Buffer buffer(gpu::Kind::device, layout), cut(kind, less);
        buffer.fill(rank);
        for (int turn = 0; turn < 3; ++turn) {
            if (rank == 0)
                MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
            if (rank != 1)
                continue;
            MPI_Request request;
            MPI_Status status;
            int error = MPI_SUCCESS, error_class = 0;
            MPI_Probe(0, tag, comm, &status);
            if (turn == 0) {
                error = MPI_Recv(cut.at(), 1, cut.type(), 0, tag, comm, &status);
            } else if (turn == 1) {
                MPI_Irecv(cut.at(), 1, cut.type(), 0, tag, comm, &request);
                error = MPI_Wait(&request, &status);
            } else {
                MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, &status);
                buffer.expect(0, 0, layout.elements());
                buffer.verify("behind truncated ones");
                continue;
            }
            MPI_Error_class(error, &error_class);
            check(error_class == MPI_ERR_TRUNCATE,
                  "behind a probe: class " + std::to_string(error_class));
        }
        MPI_Barrier(comm);
    }
}

/* What was probed for and never received must not come to a later communicator of that handle. The
 * MPI alone would wait for the receiver of a long message. */
static void freed_communicator(const Layout &layout)
{
    if (!std::getenv("HEDDLE_INTERPOSE_PEER"))
        return;
    Buffer buffer(gpu::Kind::device, layout);
    for (int turn = 0; turn < 2; ++turn) {
        MPI_Comm other;
        MPI_Status status;
        MPI_Comm_dup(comm, &other);
        buffer.fill(10 * turn + rank);
        if (rank == 0)
            MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, other);
        if (rank == 1) {
            MPI_Probe(0, tag, other, &status);
            if (turn == 1) {
                MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, other, &status);
                buffer.expect(10, 0, layout.elements());
                buffer.verify("in a later communicator");
            }
        }
        MPI_Barrier(other);
        MPI_Comm_free(&other);
    }
}

/* What the MPI refuses to receive must not leave this process waiting with its send. */
static void refused_exchange(const Layout &layout)
{
    Buffer sent(gpu::Kind::device, layout), received(gpu::Kind::device, layout);
    sent.fill(rank);
    const int nobody = 1000, to = (rank + 1) % size;
    int error_class = 0;
    MPI_Error_class(MPI_Sendrecv(sent.at(), 1, sent.type(), to, tag, received.at(), 1,
                                 received.type(), nobody, tag, comm, MPI_STATUS_IGNORE),
                    &error_class);
    check(error_class == MPI_ERR_RANK, "a wrong source: class " + std::to_string(error_class));
    MPI_Error_class(MPI_Sendrecv(sent.at(), 1, sent.type(), nobody, tag, received.at(), 1,
                                 received.type(), to, tag, comm, MPI_STATUS_IGNORE),
                    &error_class);
    check(error_class == MPI_ERR_RANK, "a wrong receiver: class " + std::to_string(error_class));
    MPI_Barrier(comm);
}

/* A synchronous send does not end by a probe alone. It ends by a receive that nobody waits for. */
static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void synchronous(Buffer &buffer, bool starts)
{
    double ended = 0, received = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    buffer.fill(rank);
    if (rank == 0) {
        if (starts) {
            MPI_Ssend_init(buffer.at(), 1, buffer.type(), 1, tag, comm, &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            ended = now();
            MPI_Request_free(&request);
        } else {
            MPI_Ssend(buffer.at(), 1, buffer.type(), 1, tag, comm);
            ended = now();
        }
        MPI_Barrier(comm);
        MPI_Recv(&received, 1, MPI_DOUBLE, 1, first_tag, comm, MPI_STATUS_IGNORE);
        check(ended >= received, "a synchronous send ended by a probe");
    } else if (rank == 1) {
        MPI_Probe(0, tag, comm, &status);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        received = now();
        MPI_Irecv(buffer.at(), 1, buffer.type(), 0, tag, comm, &request);
        MPI_Barrier(comm); /* the sender comes here, too */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&received, 1, MPI_DOUBLE, 0, first_tag, comm);
        buffer.expect(0, 0, buffer.elements());
        buffer.verify("sent synchronously");
    } else {
        MPI_Barrier(comm);
    }
    MPI_Barrier(comm);
}

static void synchronous_sends(const Layout &layout)
{
    const Layout short_one = contiguous(envelope_bytes, in_bytes);
    for (const bool starts : {false, true}) {
        for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
            Buffer bytes(kind, short_one);
            if (!between_nodes()) /* where a probe may end them (docs/design.md, section 8) */
                synchronous(bytes, starts);
        }
        Buffer buffer(gpu::Kind::device, layout);
        synchronous(buffer, starts);
    }
}

/* One that a probe has ended for the MPI cannot be cancelled any more. */
static void cancelled_too_late(const Layout &layout)
{
    if (!std::getenv("HEDDLE_INTERPOSE_PEER") || between_nodes())
        return;
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;
    buffer.fill(rank);
    if (rank == 0)
        MPI_Issend(buffer.at(), 1, buffer.type(), 1, tag, comm, &request);
    if (rank == 1)
        MPI_Probe(0, tag, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    if (rank == 0) {
        for (int i = 0; i < 100; ++i)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        check(!flag && MPI_Cancel(&request) == MPI_SUCCESS, "a probe has ended an Issend");
    }
    MPI_Barrier(comm);
    if (rank == 1) {
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
        buffer.expect(0, 0, buffer.elements());
        buffer.verify("cancelled too late");
    }
    if (rank == 0) {
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        check(!flag, "an Issend was cancelled too late");
    }
}

/* Several at once, again and again; then all are freed while they are active. */
static void started_at_once(const Layout &layout)
{
    constexpr int n = 4, starts = 20;
    std::vector<Buffer> buffers;
    std::vector<MPI_Request> requests(n, MPI_REQUEST_NULL);
    for (int i = 0; i < n && rank < 2; ++i) {
        Buffer &b = buffers.emplace_back(gpu::Kind::device, layout);
        if (rank == 0)
            (i % 2 ? MPI_Ssend_init : MPI_Send_init)(b.at(), 1, b.type(), 1, tag, comm,
                                                     &requests[static_cast<size_t>(i)]);
        else
            MPI_Recv_init(b.at(), 1, b.type(), 0, tag, comm, &requests[static_cast<size_t>(i)]);
    }
    for (int turn = 0; turn < starts && rank < 2; ++turn) {
        for (int i = 0; i < n; ++i)
            buffers[static_cast<size_t>(i)].fill(rank == 0 ? n * turn + i : 9000);
        MPI_Startall(n, requests.data());
        if (turn == starts - 1 && rank == 0)
            for (MPI_Request &each : requests)
                MPI_Request_free(&each);
        MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < n && rank == 1; ++i) {
            Buffer &b = buffers[static_cast<size_t>(i)];
            b.expect(n * turn + i, 0, b.elements());
            b.verify("of several that were started at once");
        }
    }
    MPI_Barrier(comm); /* until then the freed ones need their buffers */
    for (MPI_Request &each : requests)
        if (each != MPI_REQUEST_NULL)
            MPI_Request_free(&each);
}

/* Errors of held messages are told to the handler of the communicator that they came by. */
static int heard_by_first, heard_by_second;
static void hear_first(MPI_Comm *, int *, ...) { ++heard_by_first; }
static void hear_second(MPI_Comm *, int *, ...) { ++heard_by_second; }

static MPI_Comm comm_with(void (*hear)(MPI_Comm *, int *, ...))
{
    MPI_Comm copy;
    MPI_Errhandler handler;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Errhandler_free(&handler);
    return copy;
}

static void handlers_of_held(const Layout &layout)
{
    if (!std::getenv("HEDDLE_INTERPOSE_PEER")) /* MPI_COMM_WORLD's, stock */
        return;
    MPI_Comm first = comm_with(hear_first), second = comm_with(hear_second);
    Buffer buffer(gpu::Kind::device, layout);
    const Layout less = contiguous(1);
    for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable})
        for (const bool matched : {false, true}) {
            Buffer cut(kind, less);
            heard_by_first = heard_by_second = 0;
            if (rank == 0) {
                MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, first);
                MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, second);
            } else if (rank == 1) {
                MPI_Request request;
                MPI_Message message;
                if (matched) {
                    MPI_Mprobe(0, tag, first, &message, MPI_STATUS_IGNORE);
                    MPI_Imrecv(cut.at(), 1, cut.type(), &message, &request);
                } else {
                    MPI_Probe(0, tag, first, MPI_STATUS_IGNORE);
                    MPI_Irecv(cut.at(), 1, cut.type(), 0, tag, first, &request);
                }
                MPI_Probe(0, tag, second, MPI_STATUS_IGNORE);
                MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, second, MPI_STATUS_IGNORE);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
                check(heard_by_first == 1 && heard_by_second == 0,
                      "the handlers heard " + std::to_string(heard_by_first) + " and " +
                          std::to_string(heard_by_second) + " errors");
            }
            MPI_Barrier(comm);
        }
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
}

/* A handler that probes and receives itself, from host memory and a device's. MPICH 4 with threads
 * calls handlers with its lock held, and ends a job whose handler calls MPI. */
static Buffer *received_by_handler;
static void receive_in_handler(MPI_Comm *, int *, ...)
{
    Buffer &b = *received_by_handler;
    MPI_Request request;
    int number = 0;
    MPI_Probe(0, first_tag, comm, MPI_STATUS_IGNORE);
    MPI_Recv(&number, 1, MPI_INT, 0, first_tag, comm, MPI_STATUS_IGNORE);
    MPI_Irecv(b.at(), 1, b.type(), 0, first_tag, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ++heard_by_first;
}

static void receiving_handler(const Layout &layout)
{
#if defined(MPICH_VERSION)
    const bool calls_mpi = false;
#else
    const bool calls_mpi = true;
#endif
    if (!calls_mpi || !std::getenv("HEDDLE_INTERPOSE_PEER"))
        return;
    MPI_Comm other = comm_with(receive_in_handler);
    Buffer buffer(gpu::Kind::device, layout);
    const Layout less = contiguous(1);
    received_by_handler = &buffer;
    /* The MPI refuses a receive, of both kinds; a held message does not fit. */
    for (const int turn : {0, 1, 2}) {
        heard_by_first = 0;
        buffer.fill(rank);
        if (rank == 0) {
            MPI_Send(&rank, 1, MPI_INT, 1, first_tag, comm);
            MPI_Send(buffer.at(), 1, buffer.type(), 1, first_tag, comm);
            if (turn == 2)
                MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, other);
        } else if (rank == 1) {
            const int from = turn == 2 ? 0 : 1000;
            Buffer cut(turn == 1 ? gpu::Kind::device : gpu::Kind::pageable, less);
            MPI_Request request = MPI_REQUEST_NULL;
            if (turn == 2)
                MPI_Probe(0, tag, other, MPI_STATUS_IGNORE);
            if (MPI_Irecv(cut.at(), 1, cut.type(), from, tag, other, &request) == MPI_SUCCESS)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            check(heard_by_first == 1,
                  "the receiving handler was called " + std::to_string(heard_by_first) + " times");
            buffer.expect(0, 0, buffer.elements());
            buffer.verify("received by a handler");
        }
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&other);
}

/* A copy of MPI_COMM_SELF would have a copy of this, and delete it, too. */
static int deleted = 0;
static int count_deleted(MPI_Comm, int, void *, void *)
{
    ++deleted;
    return MPI_SUCCESS;
}
static int copied = 0;
static int count_copied(MPI_Comm, int, void *, void *in, void *out, int *flag)
{
    ++copied;
    *static_cast<void **>(out) = in;
    *flag = 1;
    return MPI_SUCCESS;
}

/* Ranks of other communicators are other processes. */
static void other_ranks(MPI_Comm other, int to, int from, const Layout &layout)
{
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Status status;
    buffer.fill(rank);
    if (rank == 0) {
        MPI_Send(buffer.at(), 1, buffer.type(), to, tag, other);
    } else if (rank == 1) {
        MPI_Recv(buffer.at(), 1, buffer.type(), MPI_ANY_SOURCE, tag, other, &status);
        check(status.MPI_SOURCE == from, "the source is " + std::to_string(status.MPI_SOURCE));
        buffer.expect(0, 0, layout.elements());
        buffer.verify("in another communicator");
    }
}

static void other_communicators(const Layout &layout)
{
    MPI_Comm reversed, local, inter;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    other_ranks(reversed, size - 2, size - 1, layout);
    MPI_Comm_free(&reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : 1, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 9, &inter);
    other_ranks(inter, 0, 0, layout);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
}

/* More than there is room for: nobody has received any when the last is sent. */
static void many(const Layout &layout)
{
    Buffer buffer(gpu::Kind::device, layout);
    std::vector<MPI_Request> requests(most_slots + 50, MPI_REQUEST_NULL);
    buffer.fill(rank);
    if (rank == 0)
        for (MPI_Request &each : requests)
            MPI_Isend(buffer.at(), 1, buffer.type(), 1, tag, comm, &each);
    MPI_Barrier(comm);
    if (rank == 1) {
        for (size_t i = 0; i < requests.size(); ++i) {
            buffer.fill(1);
            MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
            buffer.expect(0, 0, layout.elements());
            if (i % 100 == 0 || i + 60 > requests.size())
                buffer.verify("message " + std::to_string(i));
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(comm);
}

/* One thread probes, another one receives what that takes. */
static void two_threads(const Layout &layout)
{
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || rank > 1)
        return;
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(rank);
    for (int i = 0; i < 40; ++i) {
        if (rank == 0) {
            MPI_Send(buffer.at(), 1, buffer.type(), 1, tag, comm);
            continue;
        }
        std::thread other([] {
            int found = 0;
            for (int k = 0; k < 200; ++k)
                MPI_Iprobe(0, MPI_ANY_TAG, comm, &found, MPI_STATUS_IGNORE);
        });
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
        other.join();
    }
    buffer.expect(0, 0, layout.elements());
    buffer.verify("beside a thread that probes");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        int key = MPI_KEYVAL_INVALID;
        MPI_Comm_create_keyval(count_copied, count_deleted, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
        for (const MakeLayout make : every_layout)
            for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable})
                every_way(make(6000), kind);
        for (const int n : {1500, 200000}) {
            const Layout layout = strided(n);
            no_progress(layout);
            other_communicators(layout);
            order(layout);
            truncated(layout);
            freed_communicator(layout);
            refused_exchange(layout);
            synchronous_sends(layout);
            cancelled_too_late(layout);
            started_at_once(layout);
            handlers_of_held(layout);
            receiving_handler(layout);
            two_threads(layout);
        }
        /* Behind a probe Intel MPI 2021.17 misses truncations of 24 KB now and then, above 32 KiB
         * nearly always, of host memory, too. */
        truncated_behind_probe(strided(1500));
        many(strided(1100));
        check(copied == 0 && deleted == 0, "MPI_COMM_SELF was copied");
        MPI_Comm_delete_attr(MPI_COMM_SELF, key);
        MPI_Comm_free_keyval(&key);
        MPI_Comm_free(&comm);
    });
}
