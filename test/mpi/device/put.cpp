/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their senders write to where a receive has posted an RTR: contiguous ones, and
 * those of persistent requests. Whatever else is sent and received in between, each must come to
 * the receive that MPI says.
 */
#include "../../unit/oracle/rng.hpp"
#include "device_test.hpp"

#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>

using namespace device_test;

static int below(oracle::Rng &rng, int n) { return static_cast<int>(rng.in(0, n - 1)); }

/* Checks that some of `n` messages were written to their place. Rank 0 sends them, and all their
 * receives were posted before. The others may have come too early, or found memory that was not
 * open: on a busy machine, most of them. */
class Delivered {
public:
    explicit Delivered(int n) : n_(n), before_(counted("messages_delivered")) {}
    ~Delivered()
    {
        const int64_t now = counted("messages_delivered") - before_;
        if (rank == 0 && !std::getenv("HEDDLE_PEER"))
            check(now > 0, std::to_string(now) + " of " + std::to_string(n_) +
                               " messages were written to their place");
    }

private:
    int n_;
    int64_t before_;
};

/* Posts a receive, and lets rank 0 know. */
struct Posted {
    Posted(Buffer &to, int source, int tag, MPI_Comm comm = MPI_COMM_WORLD)
    {
        if (rank == 1)
            MPI_Irecv(to.at(), 1, to.type(), source, tag, comm, &request);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    void wait(const Buffer &to, const std::string &what, int64_t elements)
    {
        MPI_Status status;
        int count = -1;
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        check(count == elements, what + ": the count");
        check(status.MPI_SOURCE == 0, what + ": the source");
        to.verify(what);
    }
    MPI_Request request = MPI_REQUEST_NULL;
};

/* Every size, and messages shorter than their receive. */
static void in_time(MPI_Comm comm, int peer)
{
    for (const int n : {8, 9, 1000, 20000, 200000}) {
        const Layout layout = contiguous(n), shorter = contiguous(n - n / 3);
        Buffer from(gpu::Kind::device, layout), less(gpu::Kind::device, shorter),
            to(gpu::Kind::device, layout);
        /* Nothing is exported, and no RTR posted, before 64 KiB were sent out of a buffer, or would
         * have been to it; each counts for 4 at least. */
        const int rounds = n < 9000 ? 80 : 12;
        const Delivered delivered(n < 9000 ? 30 : rounds);
        for (int round = 0; round < rounds; ++round) {
            const bool is_less = round % 4 == 3;
            Posted posted(to, peer, 3, comm);
            if (rank == 0) {
                Buffer &sent = is_less ? less : from;
                sent.fill(round);
                MPI_Send(sent.at(), 1, sent.type(), peer, 3, comm);
                sent.fill(-1);
                continue;
            }
            to.expect(round, 0, is_less ? shorter.elements() : n);
            posted.wait(to, "in time, " + std::to_string(n), is_less ? shorter.elements() : n);
        }
    }
}

/* Both ends go on at the same time. */
static void back_and_forth()
{
    const Layout layout = contiguous(3000);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    for (int round = 0; round < 300; ++round) {
        const bool checks = round % 10 == 0;
        if (checks)
            from.fill(2 * round + rank);
        if (rank == 0)
            MPI_Send(from.at(), 1, from.type(), 1, 1, MPI_COMM_WORLD);
        MPI_Recv(to.at(), 1, to.type(), other(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(from.at(), 1, from.type(), 0, 1, MPI_COMM_WORLD);
        if (checks) {
            to.expect(2 * round + other(), 0, 3000);
            to.verify("back and forth");
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
}

static void truncated()
{
    const Layout layout = contiguous(5000), less = contiguous(1000);
    Buffer buffer(gpu::Kind::device, rank == 0 ? layout : less);
    const bool reads_devices = !std::getenv("HEDDLE_PEER");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 20; ++round) {
        Posted posted(buffer, 0, 4);
        const int n = round % 2 ? 1 : 5;
        if (rank == 0) {
            buffer.fill(round);
            check(MPI_Send(buffer.at(), n * 1000, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD) == MPI_SUCCESS,
                  "what is truncated was sent");
            continue;
        }
        int error_class = MPI_SUCCESS;
        MPI_Error_class(MPI_Wait(&posted.request, MPI_STATUS_IGNORE), &error_class);
        check(error_class == (n == 1 ? MPI_SUCCESS : MPI_ERR_TRUNCATE), "truncation");
        if (n > 1 && !reads_devices) /* MPI says nothing of what a truncated message leaves */
            continue;
        buffer.expect(round, 0, 1000);
        buffer.verify("truncated");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* The receive is cancelled, or its message comes, and then it is not. */
static void cancelled()
{
    const Layout layout = contiguous(2000);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    oracle::Rng rng(5);
    int times[2] = {0, 0};
    for (int round = 0; round < 200; ++round) {
        const int pause = below(rng, 60);
        Posted posted(to, 0, 5);
        if (rank == 0) {
            from.fill(round);
            MPI_Send(from.at(), 1, from.type(), 1, 5, MPI_COMM_WORLD);
            continue;
        }
        for (const double until = MPI_Wtime() + pause * 1e-6; MPI_Wtime() < until;)
            continue;
        MPI_Status status;
        int is_cancelled = 0;
        MPI_Cancel(&posted.request);
        MPI_Wait(&posted.request, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        ++times[is_cancelled];
        if (is_cancelled) {
            to.verify("a cancelled receive"); /* nobody wrote there */
            MPI_Recv(to.at(), 1, to.type(), 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        to.expect(round, 0, 2000);
        to.verify("a receive that is cancelled or not");
    }
    if (rank == 1 && std::getenv("HEDDLE_TEST_VERBOSE"))
        std::printf("cancelled %d, not %d\n", times[1], times[0]);
}

/* It was matched by a probe: nothing of it is UCX's to cancel, or of an RTR's. The request may be
 * one that had an RTR. */
static void matched()
{
    for (const gpu::Kind kind : every_kind)
        for (const int n : {100, 500000}) {
            const Layout layout = contiguous(n);
            Buffer buffer(kind, layout);
            if (rank == 0) {
                buffer.fill(n);
                MPI_Send(buffer.at(), 1, buffer.type(), 1, 8, MPI_COMM_WORLD);
                continue;
            }
            MPI_Message message;
            MPI_Request request;
            MPI_Status status;
            int is_cancelled = 1;
            MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Imrecv(buffer.at(), 1, buffer.type(), &message, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &is_cancelled);
            check(!is_cancelled, "a matched receive is not cancelled");
            buffer.expect(n, 0, n);
            buffer.verify("a matched receive");
        }
}

/* ---- anything in between --------------------------------------------------------------------- */

struct Message {
    int tag, n;
    gpu::Kind kind;
    enum { send, isend, ssend, start } how;
    bool spaced;
};
struct Receive {
    int source, tag;
    gpu::Kind kind;
    bool spaced, late;
    int message; /* that it matches; -1: none */
};

static constexpr int most = 3000;
static std::deque<Layout> layouts; /* until MPI's end */
static const Layout &layout_of(bool spaced, int n)
{
    for (const Layout &each : layouts)
        if (each.elements() == n && (each.name == "strided") == spaced)
            return each;
    layouts.push_back(spaced ? strided(n) : contiguous(n));
    return layouts.back();
}

/* Messages sent in an order and receives posted in an order match in one way,
 * whichever come first. */
static void plan(oracle::Rng &rng, std::vector<Message> &messages, std::vector<Receive> &receives)
{
    const int n = 1 + below(rng, 8);
    for (int i = 0; i < n; ++i) {
        static constexpr int sizes[] = {4, 8, 700, 2500, most};
        messages.push_back({1 + below(rng, 2), sizes[below(rng, 5)],
                            below(rng, 4) ? gpu::Kind::device : gpu::Kind::pageable,
                            below(rng, 2)   ? Message::send
                            : below(rng, 2) ? Message::start
                            : below(rng, 2) ? Message::isend
                                            : Message::ssend,
                            below(rng, 3) == 0});
    }
    std::vector<bool> taken(messages.size());
    const auto add = [&](Receive receive) {
        for (size_t m = 0; m < messages.size() && receive.message < 0; ++m)
            if (!taken[m] && (receive.tag == MPI_ANY_TAG || receive.tag == messages[m].tag)) {
                receive.message = static_cast<int>(m);
                taken[m] = true;
            }
        receives.push_back(receive);
    };
    for (int i = 0; i < n; ++i)
        add({below(rng, 6) ? 0 : MPI_ANY_SOURCE, below(rng, 6) ? 1 + below(rng, 2) : MPI_ANY_TAG,
             below(rng, 5) ? gpu::Kind::device : gpu::Kind::pageable, below(rng, 3) == 0,
             below(rng, 3) == 0, -1});
    for (const bool is_taken : std::vector<bool>(taken))
        if (!is_taken)
            add({0, MPI_ANY_TAG, gpu::Kind::device, false, true, -1});
}

using Buffers = std::vector<std::unique_ptr<Buffer>>;

static void send_all(const std::vector<Message> &messages, const Buffers &buffers,
                     std::vector<MPI_Request> &requests, MPI_Comm comm)
{
    for (size_t i = 0; i < messages.size(); ++i) {
        const auto send = messages[i].how == Message::ssend ? MPI_Ssend : MPI_Send;
        const auto begin = messages[i].how == Message::start ? MPI_Send_init : MPI_Isend;
        if (messages[i].how == Message::isend || messages[i].how == Message::start)
            begin(buffers[i]->at(), 1, buffers[i]->type(), 1, messages[i].tag, comm, &requests[i]);
        else
            send(buffers[i]->at(), 1, buffers[i]->type(), 1, messages[i].tag, comm);
        if (messages[i].how == Message::start)
            MPI_Start(&requests[i]);
    }
    wait_all(requests);
    for (MPI_Request &each : requests) /* that was started */
        if (each != MPI_REQUEST_NULL)
            MPI_Request_free(&each);
}

static void cancel(MPI_Request &request, const std::string &name)
{
    MPI_Status status;
    int is_cancelled = 0;
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    check(is_cancelled, name + ": what nothing matched is cancelled");
}

static void anything(MPI_Comm comm, uint64_t seed)
{
    oracle::Rng rng(seed);
    std::vector<Message> messages;
    std::vector<Receive> receives;
    plan(rng, messages, receives);
    Buffers buffers;
    std::vector<MPI_Request> requests(rank == 0 ? messages.size() : receives.size(),
                                      MPI_REQUEST_NULL);
    if (rank == 0)
        for (size_t i = 0; i < messages.size(); ++i) {
            buffers.push_back(std::make_unique<Buffer>(
                messages[i].kind, layout_of(messages[i].spaced, messages[i].n)));
            buffers.back()->fill(static_cast<int>(i));
        }
    else
        for (const Receive &each : receives)
            buffers.push_back(std::make_unique<Buffer>(each.kind, layout_of(each.spaced, most)));
    bool waited = false;
    for (size_t i = 0; rank == 1 && i < receives.size(); ++i) {
        if (receives[i].late && !waited) { /* and all behind it */
            waited = true;
            MPI_Barrier(comm);
        }
        MPI_Irecv(buffers[i]->at(), 1, buffers[i]->type(), receives[i].source, receives[i].tag,
                  comm, &requests[i]);
    }
    if (rank == 0 || !waited)
        MPI_Barrier(comm);
    if (rank == 0)
        return send_all(messages, buffers, requests, comm);
    const std::string name = "anything, seed " + std::to_string(seed);
    for (size_t i = 0; i < receives.size(); ++i) {
        MPI_Status status;
        if (receives[i].message < 0)
            continue;
        const Message &message = messages[static_cast<size_t>(receives[i].message)];
        int count = -1;
        MPI_Wait(&requests[i], &status);
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        check(status.MPI_TAG == message.tag && count == message.n,
              name + ": receive " + std::to_string(i) + " got another message");
        buffers[i]->expect(receives[i].message, 0, message.n);
    }
    for (size_t i = 0; i < receives.size(); ++i)
        if (receives[i].message < 0)
            cancel(requests[i], name);
    for (size_t i = 0; i < receives.size(); ++i)
        buffers[i]->verify(name + ", receive " + std::to_string(i));
}

/* ---- communicators, memory, threads ---- */

/* One after the other has the same number, and ranks of another order. */
static void communicators()
{
    for (int round = 0; round < 6; ++round) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? -rank : rank, &comm);
        int here;
        MPI_Comm_rank(comm, &here);
        const Layout layout = contiguous(4000);
        Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
        for (int i = 0; i < 6; ++i) {
            from.fill(100 * round + 10 * i + here);
            MPI_Request r;
            MPI_Irecv(to.at(), 1, to.type(), 1 - here, 1, comm, &r);
            MPI_Barrier(comm);
            MPI_Send(from.at(), 1, from.type(), 1 - here, 1, comm);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            to.expect(100 * round + 10 * i + 1 - here, 0, 4000);
            to.verify("through one communicator after the other");
        }
        MPI_Comm_free(&comm);
    }
    MPI_Comm own, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other(), 5, &inter);
    in_time(inter, 0);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&own);
}

/* What the last RTR said is another allocation's now, often at the same address. */
static void other_memory()
{
    const Layout layout = contiguous(20000);
    for (int round = 0; round < 30; ++round) {
        Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
        const std::unique_ptr<Buffer> between =
            round % 3 ? std::make_unique<Buffer>(gpu::Kind::device, layout) : nullptr;
        for (int i = 0; i < 2; ++i) {
            Posted posted(to, 0, 6);
            if (rank == 0) {
                from.fill(2 * round + i);
                MPI_Send(from.at(), 1, from.type(), 1, 6, MPI_COMM_WORLD);
                continue;
            }
            to.expect(2 * round + i, 0, 20000);
            posted.wait(to, "in memory that was another's", 20000);
        }
    }
}

static void persistent()
{
    const Layout layout = contiguous(6000);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    MPI_Request receive = MPI_REQUEST_NULL;
    if (rank == 1)
        MPI_Recv_init(to.at(), 1, to.type(), 0, 7, MPI_COMM_WORLD, &receive);
    const Delivered delivered(20);
    for (int round = 0; round < 20; ++round) {
        if (rank == 1)
            MPI_Start(&receive);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            from.fill(round);
            MPI_Send(from.at(), 1, from.type(), 1, 7, MPI_COMM_WORLD);
            continue;
        }
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        to.expect(round, 0, 6000);
        to.verify("a persistent receive");
    }
    if (rank == 1)
        MPI_Request_free(&receive);
}

/* The same exchange again and again, of every layout, in any order of the requests. Data change
 * each time; so does what lies between them. */
static void standing()
{
    for (const MakeLayout &make : every_layout)
        for (const MakeLayout &receives_as : {MakeLayout(contiguous), make})
            for (const int n : {1, 6, 100, 3000, 200000}) {
                const Layout out = make(n), in = receives_as(n);
                Buffer from(gpu::Kind::device, out), to(gpu::Kind::device, in);
                MPI_Request requests[2];
                MPI_Send_init(from.at(), 1, from.type(), other(), 21, MPI_COMM_WORLD,
                              &requests[n % 2]);
                MPI_Recv_init(to.at(), 1, to.type(), other(), 21, MPI_COMM_WORLD,
                              &requests[1 - n % 2]);
                for (int round = 0; round < 12; ++round) {
                    from.fill(2 * round + rank);
                    MPI_Startall(2, requests);
                    MPI_Status statuses[2];
                    MPI_Waitall(2, requests, statuses);
                    int count = -1;
                    MPI_Get_count(&statuses[1 - n % 2], MPI_DOUBLE, &count);
                    check(count == n, "a standing exchange: the count");
                    to.expect(2 * round + other(), 0, n);
                    to.verify("a standing exchange, " + out.name + " to " + in.name + ", " +
                              std::to_string(n) + ", round " + std::to_string(round));
                }
                for (MPI_Request &each : requests)
                    MPI_Request_free(&each);
            }
}

/* The receive is posted first: so all but the first are written to their place, whatever lies
 * between their bytes. */
static void standing_in_time(const MakeLayout &sends_as, const MakeLayout &receives_as)
{
    const Layout out = sends_as(500), in = receives_as(500);
    Buffer from(gpu::Kind::device, out), to(gpu::Kind::device, in);
    MPI_Request request;
    if (rank == 0)
        MPI_Send_init(from.at(), 1, from.type(), 1, 22, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(to.at(), 1, to.type(), 0, 22, MPI_COMM_WORLD, &request);
    const int rounds = 80; /* as in_time() has them */
    const Delivered delivered(rounds);
    for (int round = 0; round < rounds; ++round) {
        if (rank == 1)
            MPI_Start(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            from.fill(round);
            MPI_Start(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1) {
            to.expect(round, 0, 500);
            to.verify("a standing receive");
        }
    }
    MPI_Request_free(&request);
}

/* Many at a time, as a halo has them. The first is packed; others are written to their place all
 * the same. */
static void standing_halo()
{
    constexpr int n = 26;
    std::vector<Layout> layouts;
    std::vector<std::unique_ptr<Buffer>> from, to;
    std::vector<MPI_Request> requests(2 * n);
    for (int i = 0; i < n; ++i)
        layouts.push_back(every_layout[i % 4](1 + 37 * i));
    for (int i = 0; i < n; ++i) {
        const Layout &layout = layouts[static_cast<size_t>(i)];
        from.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
        to.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
        MPI_Send_init(from.back()->at(), 1, from.back()->type(), other(), 30 + i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(i)]);
        MPI_Recv_init(to.back()->at(), 1, to.back()->type(), other(), 30 + i, MPI_COMM_WORLD,
                      &requests[static_cast<size_t>(n + i)]);
    }
    const Delivered delivered(10 * n);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < n; ++i)
            from[static_cast<size_t>(i)]->fill(100 * round + 2 * i + rank);
        MPI_Startall(n, requests.data() + n);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Startall(n, requests.data());
        wait_all(requests);
        for (int i = 0; i < n; ++i) {
            Buffer &its = *to[static_cast<size_t>(i)];
            its.expect(100 * round + 2 * i + other(), 0, its.elements());
            its.verify("a standing halo");
        }
    }
    for (MPI_Request &each : requests)
        MPI_Request_free(&each);
}

static void threads()
{
    constexpr int n = 4;
    const Layout layout = contiguous(3000);
    std::vector<std::unique_ptr<Buffer>> from, to;
    for (int i = 0; i < n; ++i) {
        from.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
        to.push_back(std::make_unique<Buffer>(gpu::Kind::device, layout));
        from.back()->fill(2 * i + rank);
        to.back()->expect(2 * i + other(), 0, 3000);
    }
    std::vector<std::thread> all;
    for (int i = 0; i < n; ++i)
        all.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round) {
                MPI_Request r;
                Buffer &mine = *from[static_cast<size_t>(i)], &its = *to[static_cast<size_t>(i)];
                MPI_Irecv(its.at(), 1, its.type(), other(), 10 + i, MPI_COMM_WORLD, &r);
                if (round % 2 == rank) /* one of them finds an RTR as a rule */
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
                MPI_Send(mine.at(), 1, mine.type(), other(), 10 + i, MPI_COMM_WORLD);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
            }
        });
    for (std::thread &each : all)
        each.join();
    for (int i = 0; i < n; ++i)
        to[static_cast<size_t>(i)]->verify("threads");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        in_time(MPI_COMM_WORLD, other());
        back_and_forth();
        truncated();
        cancelled();
        matched();
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (uint64_t seed = 1; seed <= 300; ++seed)
            anything(comm, seed);
        MPI_Comm_free(&comm);
        layouts.clear();
        communicators();
        other_memory();
        persistent();
        standing();
        for (const MakeLayout &sends_as : {MakeLayout(contiguous), MakeLayout(strided)})
            for (const MakeLayout &receives_as : {MakeLayout(contiguous), MakeLayout(strided)})
                standing_in_time(sends_as, receives_as);
        standing_halo();
        threads();
    });
}
