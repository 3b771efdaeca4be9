/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every way to send and to receive, and the rules that they share, on device memory.
 */
#include "device_test.hpp"

using namespace device_test;

/* Sends by `send`, received plainly; and the other way round. */
template <class Send> static void by(const std::string &what, Send send)
{
    for (const int n : {5, 3000, 200000})
        for (const MakeLayout make : every_layout) {
            const Layout layout = make(n);
            Buffer buffer(gpu::Kind::device, layout);
            if (rank == 0) {
                buffer.fill(n);
                send(buffer);
            } else {
                MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                buffer.expect(n, 0, n);
                buffer.verify(what);
            }
        }
}

static void wait(MPI_Request &request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void sends()
{
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request r;
    by("Send", [&](Buffer &b) { MPI_Send(b.at(), 1, b.type(), 1, 1, world); });
    by("Ssend", [&](Buffer &b) { MPI_Ssend(b.at(), 1, b.type(), 1, 1, world); });
    by("Isend", [&](Buffer &b) { MPI_Isend(b.at(), 1, b.type(), 1, 1, world, &r), wait(r); });
    by("Issend", [&](Buffer &b) { MPI_Issend(b.at(), 1, b.type(), 1, 1, world, &r), wait(r); });
    by("Bsend", [&](Buffer &b) {
        std::vector<char> space(2000000 + MPI_BSEND_OVERHEAD);
        void *at;
        int bytes;
        MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
        MPI_Bsend(b.at(), 1, b.type(), 1, 1, world);
        MPI_Buffer_detach(&at, &bytes);
    });
    by("persistent", [&](Buffer &b) {
        MPI_Send_init(b.at(), 1, b.type(), 1, 1, world, &r);
        MPI_Start(&r), wait(r);
        MPI_Request_free(&r);
    });
    by("type freed early", [&](Buffer &b) {
        MPI_Datatype own;
        MPI_Type_dup(b.type(), &own);
        MPI_Isend(b.at(), 1, own, 1, 1, world, &r);
        MPI_Type_free(&own);
        wait(r);
    });
}

static void receives()
{
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = indexed(n);
        Buffer buffer(gpu::Kind::device, layout);
        MPI_Status status;
        if (rank == 0) {
            buffer.fill(3);
            for (int i = 0; i < 6; ++i)
                MPI_Send(buffer.at(), 1, buffer.type(), 1, 10 + i, MPI_COMM_WORLD);
            continue;
        }
        const auto verify = [&](const char *what) {
            buffer.expect(3, 0, n);
            buffer.verify(what);
            buffer.fill(4);
        };
        int bytes, flag = 0;
        MPI_Recv(buffer.at(), 1, buffer.type(), MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &status);
        check(status.MPI_SOURCE == 0 && status.MPI_TAG == 10, "status of a wildcard");
        verify("any source");
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(status.MPI_SOURCE == 0 && status.MPI_TAG == 11, "status of any tag");
        verify("any tag");
        MPI_Probe(0, 12, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        check(bytes == 8 * n,
              "a probe tells " + std::to_string(bytes) + " of " + std::to_string(8 * n) + " bytes");
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, 12, MPI_COMM_WORLD, &status);
        verify("after a probe");
        MPI_Message message;
        MPI_Mprobe(0, 13, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        check(bytes == 8 * n, "a matched probe tells the size");
        MPI_Mrecv(buffer.at(), 1, buffer.type(), &message, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &bytes);
        check(bytes == n, "a matched receive tells the count");
        verify("matched");
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Request r;
        MPI_Imrecv(buffer.at(), 1, buffer.type(), &message, &r);
        wait(r);
        verify("matched, nonblocking");
        MPI_Recv_init(buffer.at(), 1, buffer.type(), 0, 15, MPI_COMM_WORLD, &r);
        MPI_Start(&r), wait(r);
        MPI_Request_free(&r);
        verify("persistent");
    }
}

/* Small ones and large ones, posted in one order and met in the same. */
static void order()
{
    static const int sizes[] = {200000, 3, 50000, 1, 1, 100000, 9000, 2};
    std::vector<Layout> layouts;
    for (const int n : sizes)
        layouts.push_back(strided(n));
    std::vector<Buffer> buffers;
    std::vector<MPI_Request> requests(layouts.size());
    for (const Layout &layout : layouts)
        buffers.emplace_back(gpu::Kind::device, layout);
    for (size_t i = 0; i < buffers.size(); ++i) {
        if (rank == 0) {
            buffers[i].fill(static_cast<int>(i));
            MPI_Isend(buffers[i].at(), 1, buffers[i].type(), 1, 7, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(buffers[i].at(), 1, buffers[i].type(), MPI_ANY_SOURCE, MPI_ANY_TAG,
                      MPI_COMM_WORLD, &requests[i]);
        }
    }
    wait_all(requests);
    if (rank == 1)
        for (size_t i = 0; i < buffers.size(); ++i) {
            buffers[i].expect(static_cast<int>(i), 0, sizes[i]);
            buffers[i].verify("order, message " + std::to_string(i));
        }
}

static void exchanges()
{
    for (const int n : {5, 3000, 200000}) {
        const Layout layout = structs(n);
        Buffer buffer(gpu::Kind::device, layout), target(gpu::Kind::device, layout);
        buffer.fill(rank);
        MPI_Sendrecv_replace(buffer.at(), 1, buffer.type(), other(), 1, other(), 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        buffer.expect(other(), 0, n);
        buffer.verify("Sendrecv_replace");
        MPI_Request r;
        MPI_Isendrecv_replace(buffer.at(), 1, buffer.type(), other(), 2, other(), 2, MPI_COMM_WORLD,
                              &r);
        wait(r);
        buffer.expect(rank, 0, n);
        buffer.verify("Isendrecv_replace");
        MPI_Sendrecv(buffer.at(), 1, buffer.type(), rank, 3, target.at(), 1, target.type(), rank, 3,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        target.expect(rank, 0, n);
        target.verify("to oneself");
        target.fill(9);
        MPI_Sendrecv(buffer.at(), 1, buffer.type(), 0, 3, target.at(), 1, target.type(), 0, 3,
                     MPI_COMM_SELF, MPI_STATUS_IGNORE);
        target.expect(rank, 0, n);
        target.verify("in MPI_COMM_SELF");
    }
}

/* A receive too short: an error of its class at the receiver, an end at the sender. */
static void truncation()
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (const int room : {1, 5, 2000})
        for (const int n : {2500, 200000}) {
            const Layout layout = strided(n), shorter = strided(room);
            Buffer buffer(gpu::Kind::device, rank == 0 ? layout : shorter);
            buffer.fill(1);
            if (rank == 0) {
                MPI_Send(buffer.at(), 1, buffer.type(), 1, 1, comm);
                MPI_Ssend(buffer.at(), 1, buffer.type(), 1, 1, comm);
            } else
                for (int i = 0; i < 2; ++i) {
                    const int error =
                        MPI_Recv(buffer.at(), 1, buffer.type(), 0, 1, comm, MPI_STATUS_IGNORE);
                    int error_class;
                    MPI_Error_class(error, &error_class);
                    check(error_class == MPI_ERR_TRUNCATE,
                          "truncation is error class " + std::to_string(error_class));
                }
        }
    MPI_Comm_free(&comm);
}

/* While one message is read out of its sender's buffer, another of its tag and communicator meets a
 * receive too short for an envelope. The sender must know which of the two that was. */
static void truncation_beside_a_read()
{
    const Layout layout = contiguous(200000);
    Buffer first(gpu::Kind::device, layout), second(gpu::Kind::device, layout);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int turn = 1; turn <= 4; ++turn) { /* the first opens the sender's buffer */
        MPI_Request r[2];
        double little = 0;
        if (rank == 0) {
            first.fill(turn);
            second.fill(turn + 100);
            MPI_Barrier(comm);
            MPI_Isend(first.at(), 1, first.type(), 1, 1, comm, &r[0]);
            MPI_Isend(second.at(), 1, second.type(), 1, 1, comm, &r[1]);
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        } else {
            first.fill(0);
            MPI_Irecv(first.at(), 1, first.type(), 0, 1, comm, &r[0]);
            MPI_Irecv(&little, 1, MPI_DOUBLE, 0, 1, comm, &r[1]);
            MPI_Barrier(comm);
            check(MPI_Wait(&r[0], MPI_STATUS_IGNORE) == MPI_SUCCESS,
                  "a whole message beside a truncated one");
            int error_class;
            MPI_Error_class(MPI_Wait(&r[1], MPI_STATUS_IGNORE), &error_class);
            check(error_class == MPI_ERR_TRUNCATE,
                  "truncation is error class " + std::to_string(error_class));
            first.expect(turn, 0, layout.elements());
            first.verify("a whole message beside a truncated one");
        }
    }
    MPI_Comm_free(&comm);
}

/* A message of that tag was matched by a probe, and is not received yet,
 * while another one is truncated. */
static void truncation_beside_a_probe()
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (const int n : {1000, 200000}) { /* one that is eager, one that waits for its receiver */
        const Layout layout = contiguous(n), longer = contiguous(200000);
        Buffer first(gpu::Kind::device, layout), second(gpu::Kind::device, longer);
        MPI_Request r[2];
        if (rank == 0) {
            first.fill(1);
            second.fill(2);
            MPI_Isend(first.at(), 1, first.type(), 1, 1, comm, &r[0]);
            MPI_Isend(second.at(), 1, second.type(), 1, 1, comm, &r[1]);
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
            continue;
        }
        MPI_Message probed;
        double little = 0;
        int error_class;
        first.fill(0);
        MPI_Mprobe(0, 1, comm, &probed, MPI_STATUS_IGNORE);
        MPI_Error_class(MPI_Recv(&little, 1, MPI_DOUBLE, 0, 1, comm, MPI_STATUS_IGNORE),
                        &error_class);
        check(error_class == MPI_ERR_TRUNCATE,
              "truncation is error class " + std::to_string(error_class));
        check(MPI_Mrecv(first.at(), 1, first.type(), &probed, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "what a probe has matched");
        first.expect(1, 0, n);
        first.verify("what a probe has matched, beside a truncated one");
    }
    MPI_Comm_free(&comm);
}

static void cancel()
{
    const Layout layout = strided(5000);
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(1);
    MPI_Request r;
    MPI_Status status;
    int cancelled;
    MPI_Irecv(buffer.at(), 1, buffer.type(), other(), 99, MPI_COMM_WORLD, &r);
    MPI_Cancel(&r);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &cancelled);
    check(cancelled, "a receive that nothing meets can be cancelled");
    buffer.verify("cancelled");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (rank < 2) {
            sends();
            receives();
            order();
            exchanges();
            cancel();
        }
        truncation();
        truncation_beside_a_read();
        truncation_beside_a_probe();
    });
}
