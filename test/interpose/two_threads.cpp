/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two threads of rank 0: one is in a call of the MPI's own that waits for rank 1, which waits for
 * what the other one has begun to send. That one calls MPI no more until then.
 */
#include "send_forms.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

using namespace device_test;

static MPI_Comm comm;

enum { tag = 1, back_tag = 2 };

static void hear(MPI_Comm *, int *, ...) { fail("an error"); }

/* Begins to send to rank 1. Returns what is to be waited for. */
using Begin = std::function<MPI_Request(const Buffer &)>;

static MPI_Request started(const Buffer &b)
{
    MPI_Request request;
    MPI_Send_init(b.at(), 1, b.type(), 1, tag, comm, &request);
    MPI_Start(&request);
    return request;
}
template <class Call> static Begin begun(Call call)
{
    return [call](const Buffer &b) {
        MPI_Request request;
        call(b.at(), 1, b.type(), 1, tag, comm, &request);
        return request;
    };
}
static const std::pair<const char *, Begin> sends[] = {
    {"Isend", begun(MPI_Isend)}, {"Issend", begun(MPI_Issend)}, {"Send_init", started}};

/* Returns when rank 1 has answered. */
static const std::pair<const char *, std::function<void(int &)>> waits[] = {
    {"Recv", [](int &back) { MPI_Recv(&back, 1, MPI_INT, 1, back_tag, comm, MPI_STATUS_IGNORE); }},
    {"Wait",
     [](int &back) {
         MPI_Request request;
         MPI_Irecv(&back, 1, MPI_INT, 1, back_tag, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
     }},
    {"Probe", [](int &back) {
         MPI_Probe(1, back_tag, comm, MPI_STATUS_IGNORE);
         MPI_Recv(&back, 1, MPI_INT, 1, back_tag, comm, MPI_STATUS_IGNORE);
     }}};

static void send_beside(const Begin &begin, const Buffer &buffer,
                        const std::function<void(int &)> &wait, const std::string &what)
{
    using namespace std::chrono_literals;
    std::atomic<bool> has_come{false};
    int back = 0;
    std::thread other([&] {
        wait(back);
        has_come.store(true);
    });
    std::this_thread::sleep_for(20ms); /* it is in that call */
    MPI_Request request = begin(buffer);
    for (int i = 0; i < 1000 && !has_come.load(); ++i)
        std::this_thread::sleep_for(5ms);
    check(has_come.load(), what + ": it is not sent");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    other.join();
    check(back == 1, what + ": the answer is wrong");
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
}

static void message(size_t send, size_t wait, const Layout &layout)
{
    const std::string what = std::string(sends[send].first) + " beside " + waits[wait].first;
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(rank == 0 ? 3 : 9000);
    MPI_Barrier(comm);
    if (rank == 0) {
        gpu::Machine::get().configure("delay_us=2000"); /* packing has not ended at once */
        send_beside(sends[send].second, buffer, waits[wait].second, what);
        gpu::Machine::get().reset();
    } else {
        MPI_Recv(buffer.at(), 1, buffer.type(), 0, tag, comm, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, back_tag, comm);
        buffer.expect(3, 0, layout.elements());
        buffer.verify(what);
    }
}

int main(int argc, char **argv)
{
    return send_forms::run_of_two(argc, argv, comm, hear, [] {
        int level = 0;
        MPI_Query_thread(&level);
        for (const int n : {300, 5000, 60000})
            for (size_t send = 0; send < std::size(sends); ++send)
                for (size_t wait = 0; wait < std::size(waits); ++wait)
                    if (level == MPI_THREAD_MULTIPLE)
                        message(send, wait, strided(n));
    });
}
