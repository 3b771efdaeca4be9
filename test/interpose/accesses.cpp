/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations from and into device memory, on windows in host memory: every operation,
 * with every synchronization that ends it; and threads that flush the same window.
 */
#include "device_test.hpp"

#include <chrono>
#include <functional>
#include <thread>

using namespace device_test;

static int right() { return (rank + 1) % size; }
static int left() { return (rank + size - 1) % size; }

/* A window of `n` doubles, which hold those of a seed. */
class Window {
public:
    Window(int n, int seed) : n_(n)
    {
        void *base = nullptr;
        MPI_Win_allocate(n * MPI_Aint{8}, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        memory_ = static_cast<double *>(base);
        for (int i = 0; i < n; ++i)
            memory_[i] = Buffer::value(seed, i);
    }
    ~Window() { MPI_Win_free(&win); }
    /* Whether each element is `factor` times those of `seed`, plus those of another. */
    void verify(const std::string &what, int seed, int more = -1) const
    {
        for (int i = 0; i < n_; ++i) {
            const double expected =
                Buffer::value(seed, i) + (more < 0 ? 0 : Buffer::value(more, i));
            if (memory_[i] != expected)
                return fail(what + ": element " + std::to_string(i) + " of the window is " +
                            std::to_string(memory_[i]) + ", not " + std::to_string(expected));
        }
    }
    double &first() { return memory_[0]; }

    MPI_Win win = MPI_WIN_NULL;

private:
    int n_;
    double *memory_ = nullptr;
};

/* What begins an epoch and what ends it. */
struct Epoch {
    const char *name;
    std::function<void(MPI_Win)> begin, end;
};

static void start(MPI_Win win)
{
    MPI_Group all, to, from;
    const int target = right(), origin = left();
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &target, &to);
    MPI_Group_incl(all, 1, &origin, &from);
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    for (MPI_Group *each : {&all, &to, &from})
        MPI_Group_free(each);
}

static void no_more(MPI_Win) { MPI_Barrier(MPI_COMM_WORLD); }

static const Epoch epochs[] = {
    {"fence", [](MPI_Win win) { MPI_Win_fence(0, win); },
     [](MPI_Win win) { MPI_Win_fence(0, win); }},
    {"complete", start,
     [](MPI_Win win) {
         MPI_Win_complete(win);
         MPI_Win_wait(win);
     }},
    {"unlock", [](MPI_Win win) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right(), 0, win); },
     [](MPI_Win win) { MPI_Win_unlock(right(), win); }},
    {"flush", [](MPI_Win win) { MPI_Win_lock_all(0, win); },
     [](MPI_Win win) { MPI_Win_flush(right(), win); }},
    {"unlock_all", [](MPI_Win win) { MPI_Win_lock_all(0, win); },
     [](MPI_Win win) { MPI_Win_unlock_all(win); }}};

static void end_flushed(const Epoch &epoch, MPI_Win win)
{
    if (std::string(epoch.name) == "flush")
        MPI_Win_unlock_all(win);
    no_more(win);
}

static bool has_requests(const Epoch &epoch)
{
    return std::string(epoch.name) != "fence" && std::string(epoch.name) != "complete";
}

/* The data are dense at the target. */
static void one(const Epoch &epoch, const Layout &layout, bool by_request)
{
    const int n = static_cast<int>(layout.elements());
    const std::string what = std::string(epoch.name) + ", " + std::to_string(n) + " " +
                             layout.name + (by_request ? ", by request" : "");
    Buffer buffer(gpu::Kind::device, layout), result(gpu::Kind::device, layout);
    MPI_Request request = MPI_REQUEST_NULL;
    const auto complete = [&] {
        if (by_request)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    {
        Window window(n, 40);
        buffer.fill(rank);
        MPI_Barrier(MPI_COMM_WORLD);
        epoch.begin(window.win);
        if (by_request)
            MPI_Rput(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, window.win,
                     &request);
        else
            MPI_Put(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, window.win);
        complete();
        epoch.end(window.win);
        end_flushed(epoch, window.win);
        window.verify("Put, " + what, left());
        buffer.verify("Put, " + what);
    }
    {
        Window window(n, rank + 10);
        buffer.fill(70);
        MPI_Barrier(MPI_COMM_WORLD);
        epoch.begin(window.win);
        if (by_request)
            MPI_Rget(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, window.win,
                     &request);
        else
            MPI_Get(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, window.win);
        epoch.end(window.win);
        buffer.expect(right() + 10, 0, n);
        buffer.verify("Get, " + what); /* whether or not its request was waited for */
        complete();
        end_flushed(epoch, window.win);
    }
    {
        Window window(n, 2);
        buffer.fill(rank);
        MPI_Barrier(MPI_COMM_WORLD);
        epoch.begin(window.win);
        if (by_request)
            MPI_Raccumulate(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, MPI_SUM,
                            window.win, &request);
        else
            MPI_Accumulate(buffer.at(), 1, buffer.type(), right(), 0, n, MPI_DOUBLE, MPI_SUM,
                           window.win);
        complete();
        epoch.end(window.win);
        end_flushed(epoch, window.win);
        window.verify("Accumulate, " + what, 2, left());
    }
    {
        Window window(n, 3);
        buffer.fill(rank);
        result.fill(90);
        MPI_Barrier(MPI_COMM_WORLD);
        epoch.begin(window.win);
        if (by_request)
            MPI_Rget_accumulate(buffer.at(), 1, buffer.type(), result.at(), 1, result.type(),
                                right(), 0, n, MPI_DOUBLE, MPI_SUM, window.win, &request);
        else
            MPI_Get_accumulate(buffer.at(), 1, buffer.type(), result.at(), 1, result.type(),
                               right(), 0, n, MPI_DOUBLE, MPI_SUM, window.win);
        complete();
        epoch.end(window.win);
        end_flushed(epoch, window.win);
        window.verify("Get_accumulate, " + what, 3, left());
        result.expect(3, 0, n);
        result.verify("Get_accumulate, its result, " + what);
    }
}

static void single_elements()
{
    const Layout layout = contiguous(1);
    Buffer mine(gpu::Kind::device, layout), result(gpu::Kind::device, layout);
    constexpr int enough = 10000; /* MPICH 4.0.2 takes one short window for another */
    Window window(enough, 5), words(enough, 0);
    mine.fill(rank);
    result.fill(90);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, window.win);
    MPI_Fetch_and_op(mine.at(), result.at(), MPI_DOUBLE, right(), 0, MPI_SUM, window.win);
    MPI_Win_unlock(right(), window.win);
    MPI_Barrier(MPI_COMM_WORLD);
    check(window.first() == Buffer::value(5, 0) + Buffer::value(left(), 0), "Fetch_and_op");
    result.expect(5, 0, 1);
    result.verify("Fetch_and_op, its result");

    const int64_t old = 17, next = 18 + rank;
    int64_t found = 0;
    gpu::Memory compared({gpu::Kind::device, own_device().device}, 8),
        put({gpu::Kind::device, own_device().device}, 8),
        got({gpu::Kind::device, own_device().device}, 8);
    std::memcpy(&words.first(), &old, sizeof old);
    compared.write(0, &old, sizeof old);
    put.write(0, &next, sizeof next);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, right(), 0, words.win);
    MPI_Compare_and_swap(put.at(), compared.at(), got.at(), MPI_INT64_T, right(), 0, words.win);
    MPI_Win_unlock(right(), words.win);
    MPI_Barrier(MPI_COMM_WORLD);
    got.read(0, &found, sizeof found);
    check(found == old, "Compare_and_swap fetches " + std::to_string(found));
    std::memcpy(&found, &words.first(), sizeof found);
    check(found == 18 + left(), "Compare_and_swap leaves " + std::to_string(found));
}

/* MPI's operators take pairs with their gaps. */
static void pairs()
{
    struct Pair {
        double value;
        int index;
    };
    const int n = 700;
    const size_t bytes = n * sizeof(Pair);
    const gpu::Memory origin(own_device(), bytes), result(own_device(), bytes);
    std::vector<Pair> all(n);
    for (int i = 0; i < n; ++i)
        all[static_cast<size_t>(i)] = {i % 2 ? rank + 0.5 : -1.0, i};
    origin.write(0, all.data(), bytes);
    void *base = nullptr;
    MPI_Win win;
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int i = 0; i < n; ++i)
        static_cast<Pair *>(base)[i] = {0, 1000 + rank};
    MPI_Win_fence(0, win);
    MPI_Accumulate(origin.at(), n, MPI_DOUBLE_INT, right(), 0, n, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE_INT, result.at(), n, MPI_DOUBLE_INT, right(), 0, n,
                       MPI_DOUBLE_INT, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    result.read(0, all.data(), bytes);
    for (int i = 0; i < n; ++i) {
        const Pair mine = static_cast<Pair *>(base)[i], theirs = all[static_cast<size_t>(i)];
        check(mine.value == (i % 2 ? left() + 0.5 : 0) && mine.index == (i % 2 ? i : 1000 + rank),
              "MPI_MAXLOC into a window");
        check(theirs.value == (i % 2 ? rank + 0.5 : 0) &&
                  theirs.index == (i % 2 ? i : 1000 + right()),
              "pairs fetched from a window");
    }
    MPI_Win_free(&win);
}

/* What one thread fetched may come in by another thread's flush: its own waits for that. */
static void threads()
{
    using namespace std::chrono_literals;
    const int n = 300, turns = 60, parts = 3;
    Window window(parts * n, rank);
    std::vector<int> wrong(parts, 0);
    const auto work = [&](int part) {
        const Layout layout = strided(n);
        Buffer result(gpu::Kind::device, layout);
        for (int turn = 0; turn < turns; ++turn) {
            result.fill(90);
            MPI_Get(result.at(), 1, layout.type, right(), part * n, n, MPI_DOUBLE, window.win);
            std::this_thread::sleep_for(100us); /* for another's flush to take it along */
            MPI_Win_flush(right(), window.win);
            for (int i = 0; i < n; ++i)
                result.put(i, Buffer::value(right(), part * n + i));
            wrong[static_cast<size_t>(part)] += !result.holds();
        }
    };
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window.win);
    gpu::Machine::get().configure("delay_us=300"); /* unpacking takes a while */
    std::vector<std::thread> all;
    for (int part = 0; part < parts; ++part)
        all.emplace_back(work, part);
    for (std::thread &each : all)
        each.join();
    gpu::Machine::get().reset();
    MPI_Win_unlock_all(window.win);
    for (const int each : wrong)
        check(each == 0, std::to_string(each) + " of " + std::to_string(turns) +
                             " results of a thread had not come when its flush returned");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const int n : {6, 3000})
            for (const MakeLayout make : every_layout) {
                const Layout layout = make(n);
                for (const Epoch &epoch : epochs) {
                    one(epoch, layout, false);
                    if (has_requests(epoch))
                        one(epoch, layout, true);
                }
            }
        single_elements();
        pairs();
        int level = 0;
        MPI_Query_thread(&level);
        if (level == MPI_THREAD_MULTIPLE)
            threads();
    });
}
