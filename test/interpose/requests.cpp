/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of device memory among the MPI's own: every call that waits or tests, persistent ones,
 * inactive and null ones, cancelled and freed ones, and the order of messages. Pairs of ranks; one
 * without a partner talks to itself.
 */
#include "completion_table.hpp"

#include <dlfcn.h>
#include <iterator>

using namespace device_test;

static const MPI_Comm world = MPI_COMM_WORLD;
static int peer; /* of this rank */

static int peer_of(int r) { return (r ^ 1) < size ? r ^ 1 : r; }

constexpr int elements[] = {3, 4000, 150000};
constexpr gpu::Kind kinds[] = {gpu::Kind::pageable, gpu::Kind::device};

/* Receives, then sends, of every length and kind, with null requests in between. */
class Exchange {
public:
    Exchange()
    {
        for (const int n : elements)
            layouts_.push_back(strided(n));
        for (const Layout &layout : layouts_)
            for (const gpu::Kind kind : kinds) {
                from_.emplace_back(kind, layout);
                to_.emplace_back(kind, layout);
            }
        n_ = static_cast<int>(from_.size());
    }

    int size() const { return 3 * n_; }

    template <class Send, class Receive> void post(Send send, Receive receive, int seed)
    {
        requests.assign(static_cast<size_t>(size()), MPI_REQUEST_NULL);
        for (int i = 0; i < n_; ++i) {
            Buffer &to = to_[static_cast<size_t>(i)], &from = from_[static_cast<size_t>(i)];
            to.fill(5000);
            from.fill(seed + 10 * i + rank);
            receive(to.at(), 1, to.type(), peer, i, world, &requests[static_cast<size_t>(i)]);
            send(from.at(), 1, from.type(), peer, i, world,
                 &requests[static_cast<size_t>(2 * n_ + i)]);
        }
    }
    void refill(int seed)
    {
        for (int i = 0; i < n_; ++i) {
            to_[static_cast<size_t>(i)].fill(5000);
            from_[static_cast<size_t>(i)].fill(seed + 10 * i + rank);
        }
    }
    void verify(const std::string &what, int seed)
    {
        for (int i = 0; i < n_; ++i) {
            Buffer &to = to_[static_cast<size_t>(i)];
            to.expect(seed + 10 * i + peer, 0, to.elements());
            to.verify(what);
        }
    }
    void verify_status(const std::string &what, int i, const MPI_Status &status) const
    {
        int count = -1, cancelled = 1;
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        MPI_Test_cancelled(&status, &cancelled);
        check(!cancelled, what + ": cancelled");
        if (i < n_)
            check(status.MPI_SOURCE == peer && status.MPI_TAG == i &&
                      count == to_[static_cast<size_t>(i)].elements(),
                  what + ": the status of receive " + std::to_string(i));
    }
    void all_null(const std::string &what) const
    {
        check(std::ranges::count(requests, MPI_REQUEST_NULL) == size(), what + " leaves some");
    }

    std::vector<MPI_Request> requests;

private:
    std::vector<Layout> layouts_;
    std::vector<Buffer> from_, to_;
    int n_;
};

static void complete(const Completion &completion, Exchange &exchange, int seed)
{
    std::vector<MPI_Status> statuses(exchange.requests.size());
    completion.call(exchange.size(), exchange.requests.data(), statuses.data());
    exchange.verify(completion.name, seed);
    for (int i = 0; i < exchange.size(); ++i)
        exchange.verify_status(completion.name, i, statuses[static_cast<size_t>(i)]);
}

/* MPI 4.1's, which the mpi.h at hand may not know, though the MPI has them. */
template <class Function> static Function newer(const char *name)
{
    const bool is_there = dlsym(RTLD_DEFAULT, (std::string("P") + name).c_str());
    return is_there ? reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name)) : nullptr;
}
static const auto get_status_all =
    newer<int (*)(int, const MPI_Request *, int *, MPI_Status *)>("MPI_Request_get_status_all");
static const auto get_status_any =
    newer<int (*)(int, const MPI_Request *, int *, int *, MPI_Status *)>(
        "MPI_Request_get_status_any");
static const auto get_status_some =
    newer<int (*)(int, const MPI_Request *, int *, int *, MPI_Status *)>(
        "MPI_Request_get_status_some");

/* Nothing else is called until they say that the requests are complete. */
static const Completion polled_alone[] = {
    {"Request_get_status_all",
     [](int n, MPI_Request *r, MPI_Status *s) {
         for (int flag = 0; !flag;)
             get_status_all(n, r, &flag, s);
         MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
     }},
    {"Request_get_status_any",
     [](int n, MPI_Request *r, MPI_Status *s) {
         MPI_Status status;
         for (int i, flag; get_status_any(n, r, &i, &flag, &status), !flag || i != MPI_UNDEFINED;)
             if (flag) {
                 s[i] = status;
                 MPI_Wait(&r[i], MPI_STATUS_IGNORE);
             }
     }},
    {"Request_get_status_some",
     [](int n, MPI_Request *r, MPI_Status *s) {
         std::vector<int> which(static_cast<size_t>(n));
         std::vector<MPI_Status> found(which.size());
         int done = 0;
         while (get_status_some(n, r, &done, which.data(), found.data()), done != MPI_UNDEFINED)
             for (size_t i = 0; i < static_cast<size_t>(done); ++i) {
                 s[which[i]] = found[i];
                 MPI_Wait(&r[which[i]], MPI_STATUS_IGNORE);
             }
     }},
};

static std::vector<Completion> all_completions()
{
    std::vector<Completion> all(std::begin(completions), std::end(completions));
    if (get_status_all && get_status_any && get_status_some)
        all.insert(all.end(), std::begin(polled_alone), std::end(polled_alone));
    else if (rank == 0)
        std::printf("requests: this MPI has no MPI_Request_get_status_all, _any and _some\n");
    return all;
}

static void nonblocking()
{
    Exchange exchange;
    for (int seed = 1; const Completion &completion : all_completions())
        for (const auto send : {MPI_Isend, MPI_Issend}) {
            exchange.post(send, MPI_Irecv, ++seed);
            complete(completion, exchange, seed);
            exchange.all_null(completion.name);
        }
}

/* Each is started twice, by MPI_Start and by MPI_Startall. Between, all are inactive, and waiting
 * for them does nothing. */
static void persistent()
{
    Exchange exchange;
    for (int seed = 50; const Completion &completion : all_completions()) {
        exchange.post(MPI_Send_init, MPI_Recv_init, 0);
        const std::vector<MPI_Request> handles = exchange.requests;
        std::vector<MPI_Request> active;
        for (const MPI_Request each : handles)
            if (each != MPI_REQUEST_NULL)
                active.push_back(each);
        for (const bool at_once : {false, true}) {
            exchange.refill(++seed);
            if (at_once)
                MPI_Startall(static_cast<int>(active.size()), active.data());
            else
                for (MPI_Request &each : active)
                    MPI_Start(&each);
            check(active.size() * 3 == handles.size() * 2, "some persistent requests are null");
            complete(completion, exchange, seed);
            check(exchange.requests == handles,
                  std::string(completion.name) + " changes persistent handles");
            int flag = 0, index = 0;
            MPI_Testall(exchange.size(), exchange.requests.data(), &flag, MPI_STATUSES_IGNORE);
            check(flag, "inactive requests are not complete");
            MPI_Waitany(exchange.size(), exchange.requests.data(), &index, MPI_STATUS_IGNORE);
            check(index == MPI_UNDEFINED, "an inactive request was waited for");
        }
        for (MPI_Request &each : active)
            MPI_Request_free(&each);
    }
}

/* What is sent first arrives first, from whatever memory, while long messages are being packed. */
static void order()
{
    const Layout large = indexed(200000), small = contiguous(1);
    for (int turn = 0; turn < 10; ++turn) {
        Buffer device(gpu::Kind::device, large), host(gpu::Kind::pageable, small),
            short_one(gpu::Kind::device, small);
        Buffer first(gpu::Kind::device, large), second(gpu::Kind::pageable, small),
            third(gpu::Kind::device, small), fourth(gpu::Kind::pageable, large);
        MPI_Request r[4];
        device.fill(turn + rank), host.fill(100 + rank), short_one.fill(200 + rank);
        MPI_Isend(device.at(), 1, device.type(), peer, 3, world, &r[0]);
        MPI_Isend(host.at(), 1, host.type(), peer, 3, world, &r[1]);
        MPI_Isend(short_one.at(), 1, short_one.type(), peer, 3, world, &r[2]);
        MPI_Isend(device.at(), 1, device.type(), peer, 3, world, &r[3]);
        for (Buffer *each : {&first, &second, &third, &fourth})
            MPI_Recv(each->at(), 1, each->type(), peer, 3, world, MPI_STATUS_IGNORE);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        first.expect(turn + peer, 0, first.elements());
        second.expect(100 + peer, 0, 1), third.expect(200 + peer, 0, 1);
        fourth.expect(turn + peer, 0, fourth.elements());
        first.verify("the first"), second.verify("the second"), third.verify("the third");
        fourth.verify("the fourth");
    }
}

/* A rank that waits in a call without requests of its own lets go what it has begun to send. */
static void waits_elsewhere()
{
    const Layout layout = indexed(100000);
    for (int turn = 0; turn < 10; ++turn) {
        Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
        MPI_Request r;
        int told = 0;
        from.fill(turn + rank);
        MPI_Isend(from.at(), 1, from.type(), peer, 4, world, &r);
        if (peer != rank && rank % 2 == 0) { /* is told only when it has arrived */
            MPI_Recv(&told, 1, MPI_INT, peer, 5, world, MPI_STATUS_IGNORE);
            MPI_Recv(to.at(), 1, to.type(), peer, 4, world, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(to.at(), 1, to.type(), peer, 4, world, MPI_STATUS_IGNORE);
            if (peer != rank)
                MPI_Send(&told, 1, MPI_INT, peer, 5, world);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        to.expect(turn + peer, 0, to.elements());
        to.verify("from a rank that waited elsewhere");
    }
}

static void cancelled_and_freed()
{
    const Layout layout = strided(3000);
    Buffer to(gpu::Kind::device, layout), from(gpu::Kind::device, layout);
    MPI_Request receive, send;
    MPI_Status status;
    int flag = 0;
    to.fill(1);
    for (const bool is_persistent : {false, true}) {
        (is_persistent ? MPI_Recv_init : MPI_Irecv)(to.at(), 1, to.type(), peer, 77, world,
                                                    &receive);
        if (is_persistent)
            MPI_Start(&receive);
        MPI_Cancel(&receive);
        MPI_Wait(&receive, &status);
        MPI_Test_cancelled(&status, &flag);
        check(flag, "a receive was not cancelled");
        check((receive == MPI_REQUEST_NULL) != is_persistent, "the handle of a cancelled receive");
        if (is_persistent)
            MPI_Request_free(&receive);
        to.verify("cancelled");
    }
    from.fill(3 + rank);
    MPI_Irecv(to.at(), 1, to.type(), peer, 78, world, &receive);
    MPI_Send_init(from.at(), 1, from.type(), peer, 78, world, &send);
    MPI_Start(&send);
    MPI_Request_free(&send); /* while it is active */
    check(send == MPI_REQUEST_NULL, "the handle of a freed request");
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    to.expect(3 + peer, 0, to.elements());
    to.verify("of a persistent request that was freed");
}

/* One that fails among others, and a receive with more room than was sent. */
static void failing_and_short()
{
    const Layout sent = strided(2000), less = strided(10), more = strided(2500);
    Buffer from(gpu::Kind::device, sent), small(gpu::Kind::device, less),
        large(gpu::Kind::device, more);
    MPI_Request r[4];
    MPI_Status statuses[4];
    from.fill(rank);
    MPI_Irecv(small.at(), 1, small.type(), peer, 1, world, &r[0]);
    MPI_Irecv(large.at(), 1, large.type(), peer, 2, world, &r[1]);
    MPI_Isend(from.at(), 1, from.type(), peer, 1, world, &r[2]);
    MPI_Isend(from.at(), 1, from.type(), peer, 2, world, &r[3]);
    const int error = MPI_Waitall(4, r, statuses);
    int classes[2] = {0, 0}, count = 0;
    check(error == MPI_ERR_IN_STATUS, "Waitall returns " + std::to_string(error));
    if (error != MPI_ERR_IN_STATUS)
        return;
    MPI_Error_class(statuses[0].MPI_ERROR, &classes[0]);
    MPI_Error_class(statuses[1].MPI_ERROR, &classes[1]);
    check(classes[0] == MPI_ERR_TRUNCATE, "truncated: class " + std::to_string(classes[0]));
    check(classes[1] == MPI_SUCCESS, "beside it: class " + std::to_string(classes[1]));
    MPI_Get_count(&statuses[1], MPI_DOUBLE, &count);
    check(count == 2000, "a short message has " + std::to_string(count) + " elements");
    large.expect(peer, 0, 2000);
    large.verify("a short message");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        peer = peer_of(rank);
        nonblocking();
        persistent();
        order();
        if (peer != rank)
            waits_elsewhere();
        cancelled_and_freed();
        if (peer != rank) /* Open MPI 4.1 writes behind the buffer of a receive from oneself */
            failing_and_short();
    });
}
