/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks are killed amid their messages. Their messages that rank 0 waits for end with an error
 * within a second. Rank 0's messages with rank 1 go on, and MPI_Finalize ends. Each of the others
 * is a victim in a way of its own. The launcher is told to leave the others alone (run-endings),
 * and counts two lines "survived".
 */
#include "../device/device_test.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <unistd.h>

using namespace device_test;

namespace {

constexpr int long_one = 400000, survivor = 0, bystander = 1, first_victim = 2, tag = 7;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then)
{
    return std::chrono::duration<double>(Clock::now() - then).count();
}

/* What a victim does before it is killed, and what rank 0 has with it. */
struct Way {
    const char *name;
    bool victim_sends;
    bool dense;
    gpu::Kind at_survivor;
    int tests;     /* the victim's, before it is killed; -1: it does not even begin */
    bool is_late;  /* rank 0 begins once it is dead */
    bool may_pass; /* the message may be over before */
};
constexpr gpu::Kind device = gpu::Kind::device, host = gpu::Kind::pageable;
constexpr Way ways[] = {
    {"its envelope has come", true, false, device, 0, true, false},
    {"its envelope has come, dense", true, true, device, 0, true, false},
    {"its envelope has come, to host memory", true, false, host, 0, true, false},
    {"it sends, and has begun", true, false, device, 20, false, true},
    {"it sends, and is further", true, true, device, 300, false, true},
    {"it sends nothing", true, false, device, -1, false, false},
    {"it receives nothing", false, false, device, -1, false, false},
    {"it receives, and has begun", false, false, device, 20, false, true},
    {"it receives, and is further", false, true, device, 300, false, true},
    {"it receives nothing any more", false, true, device, -1, true, false},
};
constexpr int victims = sizeof ways / sizeof *ways;

[[noreturn]] void die(const Way &way)
{
    const Layout layout = way.dense ? contiguous(long_one) : strided(long_one);
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    if (way.tests >= 0 && way.victim_sends)
        MPI_Isend(buffer.at(), 1, buffer.type(), survivor, tag, MPI_COMM_WORLD, &request);
    else if (way.tests >= 0)
        MPI_Irecv(buffer.at(), 1, buffer.type(), survivor, tag, MPI_COMM_WORLD, &request);
    int done = 0;
    for (int i = 0; i < way.tests; ++i)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Rank 0's end of it. */
struct Wait {
    Wait(const Way &way, int victim)
        : way(way),
          victim(victim),
          layout(way.dense ? contiguous(long_one) : strided(long_one)),
          buffer(way.at_survivor, layout)
    {
    }
    void begin()
    {
        if (way.victim_sends)
            MPI_Irecv(buffer.at(), 1, buffer.type(), victim, tag, MPI_COMM_WORLD, &request);
        else
            MPI_Isend(buffer.at(), 1, buffer.type(), victim, tag, MPI_COMM_WORLD, &request);
    }
    void end()
    {
        const auto began = Clock::now();
        int done = 0, error = MPI_SUCCESS, of = 0;
        while (!done && error == MPI_SUCCESS && seconds_since(began) < 10)
            error = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS)
            return check(done && way.may_pass,
                         std::string(way.name) + (done ? ": success" : ": nothing ends"));
        MPI_Error_class(error, &of);
        check(of == MPIX_ERR_PROC_FAILED,
              std::string(way.name) + ": an error of class " + std::to_string(of));
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(error, text, &length);
        check(std::strstr(text, ("rank " + std::to_string(victim)).c_str()),
              std::string("the error does not name its rank: ") + text);
        check(seconds_since(began) < 1.5, std::string(way.name) + ": takes long");
    }

    const Way &way;
    const int victim;
    const Layout layout;
    Buffer buffer;
    MPI_Request request = MPI_REQUEST_NULL;
};

/* As before. */
void go_on()
{
    for (const MakeLayout &make : every_layout)
        for (const int n : {100, 3000, long_one}) {
            const Layout layout = make(n);
            Buffer buffer(gpu::Kind::device, layout);
            if (rank == bystander)
                buffer.fill(n);
            if (rank == bystander)
                MPI_Send(buffer.at(), 1, buffer.type(), survivor, tag, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer.at(), 1, buffer.type(), bystander, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            buffer.expect(n, 0, buffer.elements());
            buffer.verify("after they died");
        }
}

void survive()
{
    const Layout layout = strided(long_one);
    Buffer from_anybody(gpu::Kind::device, layout);
    MPI_Request any;
    MPI_Irecv(from_anybody.at(), 1, from_anybody.type(), MPI_ANY_SOURCE, tag + 1, MPI_COMM_WORLD,
              &any);
    std::vector<std::unique_ptr<Wait>> waits;
    for (int i = 0; i < victims && first_victim + i < size; ++i)
        waits.push_back(std::make_unique<Wait>(ways[i], first_victim + i));
    for (const auto &wait : waits)
        if (!wait->way.is_late)
            wait->begin();
    int done = 0;
    for (const auto began = Clock::now(); seconds_since(began) < 0.5;)
        MPI_Test(&any, &done, MPI_STATUS_IGNORE);
    for (const auto &wait : waits)
        if (wait->way.is_late)
            wait->begin();
    for (const auto &wait : waits)
        wait->end();
    MPI_Test(&any, &done, MPI_STATUS_IGNORE);
    check(!done, "a receive from anybody has ended");
    go_on();
    MPI_Send(nullptr, 0, MPI_BYTE, bystander, tag + 2, MPI_COMM_WORLD);
    MPI_Wait(&any, MPI_STATUS_IGNORE);
    from_anybody.expect(1, 0, from_anybody.elements());
    from_anybody.verify("from anybody");
    for (const char *counter : {"slabs_pinned_used", "slabs_device_used"})
        check(counted(counter) == 0,
              std::string(counter) + " is " + std::to_string(counted(counter)));
}

void stand_by()
{
    go_on();
    const Layout layout = strided(long_one);
    Buffer buffer(gpu::Kind::device, layout);
    buffer.fill(1);
    MPI_Recv(nullptr, 0, MPI_BYTE, survivor, tag + 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer.at(), 1, buffer.type(), survivor, tag + 1, MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1) { /* nobody has to do with them; there may be no device */
        if (rank >= first_victim)
            kill(getpid(), SIGKILL);
    } else if (rank == survivor) {
        survive();
    } else if (rank == bystander) {
        stand_by();
    } else {
        die(ways[rank - first_victim]);
    }
    const auto began = Clock::now();
    MPI_Finalize();
    check(seconds_since(began) < 5, "MPI_Finalize takes long");
    if (failures == 0)
        std::printf("survived\n");
    return failures != 0;
}
