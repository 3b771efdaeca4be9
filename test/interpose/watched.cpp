/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of host memory that stay the MPI's own, though an envelope or a notice may come, or a
 * member of a collective may fail. Each call there is completes them. Some are cancelled or freed,
 * some are of a communicator that is freed, and there are more than the interposer has room for.
 * Under HEDDLE_INTERPOSE_PEER=1, as test/interpose/run sets it: otherwise nothing comes in place of
 * data.
 */
#include "completion_table.hpp"
#include "send_forms.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <sys/mman.h>

using namespace device_test;

static MPI_Comm comm;
static int heard; /* calls of the communicator's error handler */
static void hear(MPI_Comm *, int *, ...) { ++heard; }

enum { freed_tag = 100, last_tag };

static bool between_nodes()
{
    const char *const peer = std::getenv("HEDDLE_PEER");
    return peer && std::string(peer) == "value";
}

/* They live as long as the buffers that have them. */
static std::map<int, Layout> layouts;
static const Layout &doubles(int n)
{
    const auto found = layouts.find(n);
    return found != layouts.end() ? found->second : layouts.emplace(n, contiguous(n)).first->second;
}

/* Messages of these many doubles, from device and from host memory: by envelopes and as they are.
 * The tag tells which it is. */
constexpr int lengths[] = {3, 7, 200, 20000, 90000};
constexpr gpu::Kind senders[] = {gpu::Kind::device, gpu::Kind::pageable};

static std::vector<Buffer> buffers_of(int seed)
{
    std::vector<Buffer> all;
    for (const int n : lengths)
        for (const gpu::Kind kind : senders) {
            all.emplace_back(rank == 0 ? kind : gpu::Kind::pageable, doubles(n));
            all.back().fill(rank == 0 ? seed : 9000);
            ++seed;
        }
    return all;
}

static void send_all(std::vector<Buffer> &all, bool comes_first)
{
    std::vector<MPI_Request> requests(all.size());
    for (size_t i = 0; i < all.size(); ++i)
        MPI_Isend(all[i].at(), 1, all[i].type(), 1, static_cast<int>(i), comm, &requests[i]);
    if (comes_first)
        MPI_Barrier(comm);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

/* Among null requests, and one that is cancelled. */
static void receive_all(std::vector<Buffer> &all, const Completion &completion, int seed)
{
    const std::string what = completion.name;
    std::vector<MPI_Request> requests(2 * all.size() + 1, MPI_REQUEST_NULL);
    std::vector<MPI_Status> statuses(requests.size());
    Buffer never(gpu::Kind::pageable, doubles(100));
    int cancelled = 0;
    for (size_t i = 0; i < all.size(); ++i)
        MPI_Irecv(all[i].at(), 1, all[i].type(), MPI_ANY_SOURCE, static_cast<int>(i), comm,
                  &requests[2 * i]);
    MPI_Irecv(never.at(), 1, never.type(), 0, last_tag, comm, &requests.back());
    MPI_Cancel(&requests.back());
    completion.call(static_cast<int>(requests.size()), requests.data(), statuses.data());
    check(std::ranges::count(requests, MPI_REQUEST_NULL) == std::ssize(requests),
          what + " leaves some");
    MPI_Test_cancelled(&statuses.back(), &cancelled);
    check(cancelled, what + ": not cancelled");
    for (size_t i = 0; i < all.size(); ++i) {
        const MPI_Status &status = statuses[2 * i];
        all[i].expect(seed + static_cast<int>(i), 0, all[i].elements());
        all[i].verify(what);
        check(status.MPI_SOURCE == 0 && status.MPI_TAG == static_cast<int>(i) &&
                  send_forms::count_of(status) == all[i].elements(),
              what + ": the status tells " + std::to_string(send_forms::count_of(status)));
    }
}

static void every_completion()
{
    int seed = 0;
    for (const Completion &completion : completions)
        for (const bool comes_first : {false, true}) {
            std::vector<Buffer> all = buffers_of(seed += 100);
            if (rank == 0)
                send_all(all, comes_first);
            else if (comes_first)
                MPI_Barrier(comm);
            if (rank == 1)
                receive_all(all, completion, seed);
            MPI_Barrier(comm);
        }
}

/* A receive that the program frees goes on, before and behind the message. */
static void freed(bool is_late, const Layout &layout)
{
    using Clock = std::chrono::steady_clock;
    Buffer buffer(rank == 0 ? gpu::Kind::device : gpu::Kind::pageable, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;
    buffer.fill(rank);
    if (rank == 1) {
        MPI_Irecv(buffer.at(), 1, buffer.type(), 0, freed_tag, comm, &request);
        if (!is_late)
            MPI_Request_free(&request);
    }
    MPI_Barrier(comm);
    if (rank == 0)
        MPI_Send(buffer.at(), 1, buffer.type(), 1, freed_tag, comm);
    MPI_Barrier(comm);
    if (rank == 1 && is_late) {
        for (int i = 0; i < 3; ++i)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    check(request == MPI_REQUEST_NULL, "the handle of a freed receive");
    buffer.expect(0, 0, layout.elements());
    for (const auto end = Clock::now() + std::chrono::seconds(20);
         !buffer.holds() && Clock::now() < end;)
        MPI_Iprobe(0, last_tag, comm, &flag, MPI_STATUS_IGNORE);
    buffer.verify(is_late ? "freed when the message had come" : "freed before the message");
    MPI_Barrier(comm);
}

/* More than are watched. */
static void many()
{
    constexpr int n = 5000;
    const Layout &layout = doubles(8);
    std::vector<MPI_Request> requests(n);
    std::vector<Buffer> buffers;
    for (int i = 0; i < n; ++i)
        buffers.emplace_back(gpu::Kind::pageable, layout).fill(rank == 0 ? i : 9000);
    for (size_t i = 0; i < n; ++i)
        if (rank == 1)
            MPI_Irecv(buffers[i].at(), 1, layout.type, 0, static_cast<int>(i), comm, &requests[i]);
    MPI_Barrier(comm);
    for (size_t i = 0; i < n; ++i)
        if (rank == 0)
            MPI_Isend(buffers[i].at(), 1, layout.type, 1, static_cast<int>(i), comm, &requests[i]);
    MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i) {
        buffers[static_cast<size_t>(i)].expect(i, 0, 8);
        buffers[static_cast<size_t>(i)].verify("many");
    }
}

/* The end of a page behind which there is nothing. */
static double *before_a_hole(size_t n)
{
    constexpr size_t page = 65536;
    static char *const pages = static_cast<char *>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + page, page, PROT_NONE);
    return reinterpret_cast<double *>(pages + page) - n;
}

/* The MPI's own error, told once or, by some MPIs, not at all. */
static void truncated(const Completion &completion)
{
    const std::string what = std::string(completion.name) + " of what is too long";
    Buffer sent(gpu::Kind::pageable, doubles(300));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    heard = 0;
    MPI_Barrier(comm);
    if (rank == 0) {
        MPI_Send(sent.at(), 1, sent.type(), 1, 1, comm);
    } else {
        MPI_Irecv(before_a_hole(100), 100, MPI_DOUBLE, 0, 1, comm, &request);
        completion.call(1, &request, &status);
        check(request == MPI_REQUEST_NULL, what + ": the handle");
    }
    check(heard <= 1, what + ": the handler heard " + std::to_string(heard) + " errors");
}

/* A notice comes into memory with room for it. */
static void notice(const Completion &completion)
{
    const std::string what = std::string(completion.name) + " of a notice";
    Buffer sent(gpu::Kind::device, doubles(300)), to(gpu::Kind::pageable, doubles(300), 20);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    heard = 0;
    MPI_Barrier(comm);
    if (rank == 0) {
        send_forms::fail_launches();
        MPI_Send(sent.at(), 1, sent.type(), 1, 1, comm);
        gpu::Machine::get().reset();
    } else {
        MPI_Irecv(to.at(), 20, to.type(), 0, 1, comm, &request);
        completion.call(1, &request, &status);
        check(request == MPI_REQUEST_NULL, what + ": the handle");
    }
    check(heard == 1, what + ": the handler heard " + std::to_string(heard) + " errors");
}

/* The program frees the communicator: its handler hears nothing. */
static void notice_behind_communicator()
{
    Buffer sent(gpu::Kind::device, doubles(300)), to(gpu::Kind::pageable, doubles(300), 20);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm own;
    MPI_Comm_dup(comm, &own);
    heard = 0;
    if (rank == 1)
        MPI_Irecv(to.at(), 20, to.type(), 0, 1, own, &request);
    MPI_Barrier(comm);
    if (rank == 0) {
        send_forms::fail_launches();
        MPI_Send(sent.at(), 1, sent.type(), 1, 1, own);
        gpu::Machine::get().reset();
        check(heard == 1, "a failing send: heard " + std::to_string(heard));
    }
    MPI_Comm_free(&own);
    if (rank == 1)
        check(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS && heard == 0,
              "a notice behind its communicator: heard " + std::to_string(heard));
}

/* Rank 0's device fails; rank 1 takes part with host memory. */
static void collective(const Completion &completion, bool fails)
{
    const std::string what = std::string(completion.name) + " of a collective";
    const gpu::Kind kind = rank == 0 ? gpu::Kind::device : gpu::Kind::pageable;
    Buffer from(kind, doubles(300)), to(kind, doubles(300));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    from.fill(0), to.fill(9000);
    heard = 0;
    MPI_Barrier(comm);
    if (rank == 0 && fails)
        send_forms::fail_launches();
    MPI_Iallreduce(from.at(), to.at(), 300, MPI_DOUBLE, MPI_MAX, comm, &request);
    completion.call(1, &request, &status);
    gpu::Machine::get().reset();
    check(request == MPI_REQUEST_NULL, what + ": the handle");
    check(heard == fails, what + ": the handler heard " + std::to_string(heard) + " errors");
    if (!fails) {
        to.expect(0, 0, 300);
        to.verify(what);
    }
}

static void run_all()
{
    every_completion();
    for (const int n : {20, 3000, 60000})
        for (const bool is_late : {false, true})
            freed(is_late, doubles(n));
    many();
    for (const Completion &completion : completions)
        truncated(completion);
    if (!gpu::Machine::get().is_simulated())
        return;
    for (const Completion &completion : completions) {
        notice(completion);
        for (const bool fails : {true, false})
            if (!between_nodes())
                collective(completion, fails);
    }
    notice_behind_communicator();
}

int main(int argc, char **argv)
{
    return send_forms::run_of_two(argc, argv, comm, hear, [] {
        if (std::getenv("HEDDLE_INTERPOSE_PEER"))
            run_all();
        layouts.clear();
    });
}
