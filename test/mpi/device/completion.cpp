/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How messages of device buffers end: by every call that tests or waits, cancelled, truncated, of
 * types that are gone already, or not before all else has ended.
 */
#include "completion_table.hpp"

#include <iterator>

using namespace device_test;

static const MPI_Comm world = MPI_COMM_WORLD;

/* A short one, two at thresholds (8 KiB, 16 KiB), and 1 MiB, which waits for its receiver. */
constexpr int sizes[] = {50, 1024, 2049, 131072};
constexpr MakeLayout layouts[] = {contiguous, strided};

static std::string to_text(const char *what, int n, const Layout &layout)
{
    return std::string(what) + ", " + std::to_string(n) + " doubles, " + layout.name;
}

/* Long messages and short ones, both ways, that nobody receives until all else is done: the rest
 * must pass them. */
class Unreceived {
public:
    Unreceived()
    {
        for (const int n : {131072, 50})
            for (const MakeLayout make : layouts)
                layouts_.push_back(make(n));
        for (const Layout &layout : layouts_) {
            const int tag = first_tag + static_cast<int>(from_.size());
            Buffer &from = from_.emplace_back(gpu::Kind::device, layout);
            from.fill(tag + rank);
            MPI_Isend(from.at(), 1, from.type(), other(), tag, world, &requests_.emplace_back());
        }
    }
    void receive()
    {
        for (size_t i = layouts_.size(); i-- > 0;) {
            const int tag = first_tag + static_cast<int>(i);
            Buffer to(gpu::Kind::device, layouts_[i]);
            MPI_Recv(to.at(), 1, to.type(), other(), tag, world, MPI_STATUS_IGNORE);
            to.expect(tag + other(), 0, to.elements());
            to.verify("received at the very end");
        }
        wait_all(requests_);
    }

private:
    static constexpr int first_tag = 900;
    std::vector<Layout> layouts_;
    std::vector<Buffer> from_; /* they move, their memory does not */
    std::vector<MPI_Request> requests_;
};

static void check_status(const std::string &what, const MPI_Status &status, int tag, int elements)
{
    int count;
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    check(status.MPI_SOURCE == other() && status.MPI_TAG == tag,
          what + ": the status tells of another message");
    check(count == elements, what + ": the status tells of " + std::to_string(count) + ", not " +
                                 std::to_string(elements));
}

/* Both ranks send the other all sizes; the sends and the receives are completed together. */
static void exchange(const Completion &completion, MakeLayout make)
{
    constexpr int n = std::size(sizes);
    MPI_Request requests[2 * n];
    MPI_Status statuses[2 * n];
    std::vector<Layout> all;
    std::vector<Buffer> from, to;
    for (const int size : sizes)
        all.push_back(make(size));
    for (int i = 0; const Layout &layout : all) {
        from.emplace_back(gpu::Kind::device, layout).fill(10 * i + rank);
        to.emplace_back(gpu::Kind::device, layout);
        MPI_Irecv(to.back().at(), 1, layout.type, other(), i, world, &requests[i]);
        MPI_Isend(from.back().at(), 1, layout.type, other(), i, world, &requests[n + i]);
        ++i;
    }
    completion.call(2 * n, requests, statuses);
    check(std::count(requests, requests + 2 * n, MPI_REQUEST_NULL) == 2 * n,
          completion.name + std::string(" leaves some"));
    for (int i = 0; Buffer & target : to) {
        check_status(completion.name, statuses[i], i, sizes[i]);
        target.expect(10 * i + other(), 0, target.elements());
        target.verify(completion.name);
        ++i;
    }
}

/* Nothing is received before a probe has told of it. */
static void probe(const Layout &layout, bool matched)
{
    const int n = static_cast<int>(layout.elements());
    const std::string what = to_text(matched ? "Improbe" : "Iprobe", n, layout);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    MPI_Request r[2];
    MPI_Message message;
    MPI_Status status;
    from.fill(n + rank);
    MPI_Isend(from.at(), 1, from.type(), other(), 1, world, &r[0]);
    for (int found = 0; !found;)
        if (matched)
            MPI_Improbe(MPI_ANY_SOURCE, 1, world, &found, &message, &status);
        else
            MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &found, &status);
    check_status(what, status, 1, n);
    if (matched)
        MPI_Imrecv(to.at(), 1, to.type(), &message, &r[1]);
    else
        MPI_Irecv(to.at(), 1, to.type(), other(), 1, world, &r[1]);
    for (int done = 0; !done;)
        MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
    to.expect(n + other(), 0, n);
    to.verify(what);
}

/* Neither call waits for the other end's, nor needs its type once it has returned. The barrier is
 * between them, and other types may take the types' place before the message moves. */
static void returns_at_once(const Layout &layout, bool send_first)
{
    const int n = static_cast<int>(layout.elements());
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    MPI_Request r[2];
    MPI_Datatype another;
    from.fill(n + rank);
    for (const bool sends : {send_first, !send_first}) {
        MPI_Datatype own;
        MPI_Type_dup(layout.type, &own);
        if (sends)
            MPI_Isend(from.at(), 1, own, other(), 7, world, &r[0]);
        else
            MPI_Irecv(to.at(), 1, own, other(), 7, world, &r[1]);
        MPI_Type_free(&own);
        MPI_Barrier(world);
    }
    MPI_Type_vector(3, 1, 2, MPI_CHAR, &another);
    MPI_Type_commit(&another);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Type_free(&another);
    to.expect(n + other(), 0, n);
    to.verify(
        to_text(send_first ? "types freed, sent first" : "types freed, received first", n, layout));
}

/* Either it is cancelled, and nobody ever sees it, or it is not, and arrives. Rank 1 looks for it
 * until it is told. (MPI lets MPI_Wait return without it; MPICH, where UCX moves messages, cancels
 * none and waits for the receiver.) */
static void cancelled_send(const char *name, decltype(&MPI_Isend) send, const Layout &layout)
{
    constexpr int tag = 4, verdict_tag = 5;
    const int n = static_cast<int>(layout.elements());
    const std::string what = to_text(name, n, layout) + ", MPI_Cancel";
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Status status;
    int cancelled = 0;
    if (rank == 0) {
        MPI_Request r;
        buffer.fill(n);
        send(buffer.at(), 1, buffer.type(), 1, tag, world, &r);
        MPI_Cancel(&r);
        MPI_Wait(&r, &status);
        MPI_Test_cancelled(&status, &cancelled);
        MPI_Ssend(&cancelled, 1, MPI_INT, 1, verdict_tag, world);
        return;
    }
    MPI_Message message;
    int arrived = 0;
    for (int found, told = 0; !told; arrived += found) {
        MPI_Iprobe(0, verdict_tag, world, &told, MPI_STATUS_IGNORE); /* first: what was sent before
                                                                        it is there then */
        MPI_Improbe(0, tag, world, &found, &message, &status);
        if (found)
            MPI_Mrecv(buffer.at(), 1, buffer.type(), &message, &status);
    }
    MPI_Recv(&cancelled, 1, MPI_INT, 0, verdict_tag, world, MPI_STATUS_IGNORE);
    check(arrived == !cancelled, what + ": cancelled " + std::to_string(cancelled) + ", arrived " +
                                     std::to_string(arrived));
    if (arrived)
        buffer.expect(n, 0, n);
    buffer.verify(what);
}

/* A message of n doubles for a receive of `room`: an error there, the end of the send, and nothing
 * written behind. */
struct Truncation {
    gpu::Kind kind; /* of the receiver's memory */
    MakeLayout sent, received;
    int n, room;
};
constexpr Truncation truncations[] = {
    {gpu::Kind::pageable, strided, strided, 100, 30},
    {gpu::Kind::pageable, strided, contiguous, 150000, 2000},
    {gpu::Kind::pageable, contiguous, contiguous, 100, 30},
    {gpu::Kind::pageable, contiguous, contiguous, 150000, 30},
    {gpu::Kind::pageable, contiguous, strided, 150000, 149999},
    {gpu::Kind::pageable, strided, contiguous, 2049, 2048},
    {gpu::Kind::device, strided, contiguous, 100, 99},
    {gpu::Kind::device, strided, strided, 100, 1},
    {gpu::Kind::device, strided, strided, 150000, 100000},
    {gpu::Kind::managed, indexed, structs, 1025, 1024},
};

static void truncated(const Truncation &t, decltype(&MPI_Isend) send, bool matched)
{
    const Layout layout = rank == 0 ? t.sent(t.n) : t.received(t.room);
    const std::string what = to_text(matched ? "truncated, Mrecv" : "truncated, Recv", t.n, layout);
    Buffer buffer(rank == 0 ? gpu::Kind::device : t.kind, layout, 2); /* one for the message, one
                                                                         behind it */
    MPI_Request r;
    MPI_Message message;
    if (rank == 0) {
        buffer.fill(1);
        send(buffer.at(), 1, buffer.type(), 1, 6, world, &r);
        check(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS, what + ": the send failed");
        return;
    }
    if (matched)
        MPI_Mprobe(0, 6, world, &message, MPI_STATUS_IGNORE);
    const int error = matched
                          ? MPI_Mrecv(buffer.at(), 1, buffer.type(), &message, MPI_STATUS_IGNORE)
                          : MPI_Recv(buffer.at(), 1, buffer.type(), 0, 6, world, MPI_STATUS_IGNORE);
    int error_class;
    MPI_Error_class(error, &error_class);
    check(error_class == MPI_ERR_TRUNCATE, what + ": error class " + std::to_string(error_class));
    MPI_Aint lb, extent;
    MPI_Type_get_extent(layout.type, &lb, &extent);
    std::vector<std::byte> behind(static_cast<size_t>(layout.bytes));
    gpu::Machine::get().copy(behind.data(), static_cast<std::byte *>(buffer.at()) + extent,
                             behind.size());
    check(std::ranges::count(behind, std::byte{0xa5}) == layout.bytes,
          what + ": what lies behind is written to");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        Unreceived unreceived;
        for (const Completion &completion : completions)
            for (const MakeLayout make : layouts)
                exchange(completion, make);
        for (const int n : sizes)
            for (const MakeLayout make : layouts) {
                const Layout layout = make(n);
                for (const bool either : {false, true}) {
                    returns_at_once(layout, either);
                    probe(layout, either);
                }
                cancelled_send("Isend", MPI_Isend, layout);
                cancelled_send("Issend", MPI_Issend, layout);
            }
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN); /* MPI_Mrecv uses this one alone */
        for (const Truncation &each : truncations)
            for (const auto send : {MPI_Isend, MPI_Issend})
                for (const bool matched : {false, true})
                    truncated(each, send, matched);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
        unreceived.receive();
    });
}
