/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows in device memory, for which the MPI has a public copy in host memory: random epochs that
 * store, put, get and accumulate; windows that are locked by others alone; the attributes; a device
 * that fails. Dynamic windows, with --peer (argument: dynamic). Bytes have few values, so changed
 * ones and others lie close. A failure prints its seed, which an argument gives again.
 */
#include "device_test.hpp"

#include <chrono>
#include <random>
#include <thread>

using namespace device_test;

using Bytes = std::vector<unsigned char>;

static int class_of(int error)
{
    int found = 0;
    MPI_Error_class(error, &found);
    return found;
}

/* The addresses that all processes give. */
static std::vector<MPI_Aint> addresses_of(const void *at)
{
    MPI_Aint own = 0;
    std::vector<MPI_Aint> all(static_cast<size_t>(size));
    MPI_Get_address(at, &own);
    MPI_Allgather(&own, 1, MPI_AINT, all.data(), 1, MPI_AINT, MPI_COMM_WORLD);
    return all;
}

/* A window of device memory, from `offset` on in its allocation. */
class DeviceWindow {
public:
    DeviceWindow(int bytes, int offset, bool is_dynamic = false)
        : memory({gpu::Kind::device, rank % gpu::Machine::get().devices()},
                 static_cast<size_t>(bytes + offset)),
          base(memory.at() + offset),
          begins(static_cast<size_t>(size), 0)
    {
        if (is_dynamic) {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
            MPI_Win_attach(win, base, bytes);
            begins = addresses_of(base);
        } else {
            MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    DeviceWindow(const DeviceWindow &) = delete;
    ~DeviceWindow() { MPI_Win_free(&win); }

    /* Of byte `at` at a target. */
    MPI_Aint displacement(int target, int at) const
    {
        return MPI_Aint_add(begins[static_cast<size_t>(target)], at);
    }

    void store(int at, const Bytes &bytes) const
    {
        memory.write(static_cast<size_t>(base - memory.at() + at), bytes.data(), bytes.size());
    }
    Bytes load(int bytes) const
    {
        Bytes found(static_cast<size_t>(bytes));
        memory.read(static_cast<size_t>(base - memory.at()), found.data(), found.size());
        return found;
    }

    const gpu::Memory memory;
    std::byte *const base;
    std::vector<MPI_Aint> begins;
    MPI_Win win = MPI_WIN_NULL;
};

/* ---- random epochs ---- */

/* What one piece of one process's window meets in an epoch. */
struct Step {
    enum What { nothing, store, put, add, get, count } what;
    int owner, at, other; /* `other` puts or adds, or is read from there by the owner */
    Bytes bytes;          /* stored, put or added */
};

/* MPICH 4.0.2 loses gets beside long accumulates, in windows of host memory, too
 * (docs/notes/left.md). */
static bool loses_gets(int bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    const std::string all(version), number = "4.0";
    const size_t at = all.find_first_of("0123456789");
    return bytes > 1 << 20 && all.find("MPICH") == 0 && at != std::string::npos &&
           all.compare(at, number.size(), number) == 0;
}

enum class By { fence, hinted_fence, post, lock_all, locks, count };

static Bytes some_bytes(std::mt19937 &random, int n)
{
    Bytes bytes(static_cast<size_t>(n));
    for (unsigned char &each : bytes)
        each = static_cast<unsigned char>(random() % 3);
    return bytes;
}

/* The same in all processes. */
static std::vector<Step> random_steps(std::mt19937 &random, int bytes, int longest)
{
    std::vector<Step> steps;
    for (int owner = 0; owner < size; ++owner)
        for (int at = 0, n = 0; at < bytes; at += n) {
            n = std::min(bytes - at,
                         1 + static_cast<int>(random() % static_cast<unsigned>(longest)));
            steps.push_back({static_cast<Step::What>(random() % Step::count), owner, at,
                             static_cast<int>(random() % static_cast<unsigned>(size)),
                             some_bytes(random, n)});
        }
    return steps;
}

/* Gets read what was there when the epoch began, where nobody writes meanwhile. */
static bool is_quiet(const std::vector<Step> &steps, int owner, int at, int n)
{
    return std::all_of(steps.begin(), steps.end(), [&](const Step &step) {
        return step.what == Step::nothing || step.owner != owner || step.at >= at + n ||
               step.at + static_cast<int>(step.bytes.size()) <= at;
    });
}

static void carry_out(const std::vector<Step> &steps, std::vector<Bytes> &windows)
{
    const std::vector<Bytes> before = windows;
    for (const Step &step : steps) {
        unsigned char *const to =
            &windows[static_cast<size_t>(step.owner)][static_cast<size_t>(step.at)];
        const unsigned char *const from =
            &before[static_cast<size_t>(step.other)][static_cast<size_t>(step.at)];
        for (size_t i = 0; i < step.bytes.size(); ++i)
            if (step.what == Step::store || step.what == Step::put)
                to[i] = step.bytes[i];
            else if (step.what == Step::add)
                to[i] = static_cast<unsigned char>(to[i] + step.bytes[i]);
            else if (step.what == Step::get)
                to[i] = from[i];
    }
}

static void begin(By by, const DeviceWindow &window, MPI_Group all)
{
    if (by == By::post) {
        MPI_Win_post(all, 0, window.win);
        MPI_Win_start(all, 0, window.win);
    } else if (by == By::lock_all || by == By::locks) {
        if (by == By::lock_all)
            MPI_Win_lock_all(0, window.win);
        for (int i = 0; by == By::locks && i < size; ++i)
            MPI_Win_lock(MPI_LOCK_SHARED, i, 0, window.win);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Win_fence(by == By::hinted_fence ? MPI_MODE_NOPRECEDE : 0, window.win);
    }
}

/* A barrier by messages. */
static void meet_by_messages()
{
    std::vector<MPI_Request> requests;
    for (int i = 0; i < size; ++i) {
        MPI_Request request;
        MPI_Irecv(nullptr, 0, MPI_INT, i, 1, MPI_COMM_WORLD, &request);
        requests.push_back(request);
        MPI_Isend(nullptr, 0, MPI_INT, i, 1, MPI_COMM_WORLD, &request);
        requests.push_back(request);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

static void end(By by, const DeviceWindow &window)
{
    if (by == By::post) {
        MPI_Win_complete(window.win);
        int flag = 0;
        while (rank % 2 && !flag)
            MPI_Win_test(window.win, &flag);
        if (!flag)
            MPI_Win_wait(window.win);
    } else if (by == By::lock_all) {
        MPI_Win_unlock_all(window.win);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (by == By::locks) {
        for (int i = 0; i < size; ++i)
            MPI_Win_unlock(i, window.win);
        meet_by_messages();
    } else {
        MPI_Win_fence(by == By::hinted_fence ? MPI_MODE_NOSUCCEED : 0, window.win);
    }
}

static void take(const Step &step, const DeviceWindow &window, std::vector<gpu::Memory> &origins)
{
    const int n = static_cast<int>(step.bytes.size());
    if (step.what == Step::store && step.owner == rank)
        window.store(step.at, step.bytes);
    else if (step.what == Step::get && step.owner == rank) {
        window.store(step.at, step.bytes); /* older than what is fetched */
        MPI_Get(window.base + step.at, n, MPI_BYTE, step.other,
                window.displacement(step.other, step.at), n, MPI_BYTE, window.win);
    }
    const MPI_Aint there = window.displacement(step.owner, step.at);
    if ((step.what != Step::put && step.what != Step::add) || step.other != rank)
        return;
    origins.emplace_back(gpu::Place{gpu::Kind::device, 0}, step.bytes.size());
    origins.back().write(0, step.bytes.data(), step.bytes.size());
    if (step.what == Step::put)
        MPI_Put(origins.back().at(), n, MPI_BYTE, step.owner, there, n, MPI_BYTE, window.win);
    else
        MPI_Accumulate(origins.back().at(), n, MPI_UINT8_T, step.owner, there, n, MPI_UINT8_T,
                       MPI_SUM, window.win);
}

static void random_epochs(unsigned seed, int bytes, int offset, int longest, int epochs,
                          bool is_dynamic = false)
{
    std::mt19937 random(seed);
    const std::string what = std::to_string(bytes) + " bytes from " + std::to_string(offset) +
                             " on, seed " + std::to_string(seed);
    const DeviceWindow window(bytes, offset, is_dynamic);
    std::vector<Bytes> windows;
    for (int i = 0; i < size; ++i)
        windows.push_back(some_bytes(random, bytes));
    window.store(0, windows[static_cast<size_t>(rank)]);
    const bool separates = loses_gets(bytes);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int epoch = 0; epoch < epochs; ++epoch) {
        const By by = static_cast<By>(random() % static_cast<unsigned>(By::count));
        std::vector<Step> steps = random_steps(random, bytes, longest);
        for (Step &step : steps)
            if (step.what == Step::get &&
                (step.other == step.owner ||
                 !is_quiet(steps, step.other, step.at, static_cast<int>(step.bytes.size()))))
                step.what = Step::nothing;
        if (separates) /* an epoch has one or the other */
            for (Step &step : steps)
                if (step.what == (epoch % 2 ? Step::add : Step::get))
                    step.what = Step::nothing;
        std::vector<gpu::Memory> origins; /* until the epoch ends */
        begin(by, window, all);
        for (const Step &step : steps)
            take(step, window, origins);
        end(by, window);
        carry_out(steps, windows);
        check(window.load(bytes) == windows[static_cast<size_t>(rank)],
              what + ", epoch " + std::to_string(epoch) + " by " +
                  std::to_string(static_cast<int>(by)));
    }
    MPI_Group_free(&all);
}

/* ---- the rest ---- */

static void attributes()
{
    const DeviceWindow window(80, 0);
    void *base = nullptr;
    int *model = nullptr, flag = 0;
    MPI_Aint *bytes = nullptr;
    MPI_Win_get_attr(window.win, MPI_WIN_BASE, &base, &flag);
    check(flag && base == window.base, "MPI_WIN_BASE is not the program's memory");
    MPI_Win_get_attr(window.win, MPI_WIN_MODEL, &model, &flag);
    check(flag && *model == MPI_WIN_SEPARATE, "MPI_WIN_MODEL is not MPI_WIN_SEPARATE");
    MPI_Win_get_attr(window.win, MPI_WIN_SIZE, &bytes, &flag);
    check(flag && *bytes == 80, "MPI_WIN_SIZE is wrong");
}

static void refused()
{
    const gpu::Memory memory({gpu::Kind::device, 0}, 8);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check(class_of(MPI_Win_attach(win, memory.at(), 8)) == MPI_ERR_OTHER,
          "MPI_Win_attach is not refused");
    MPI_Win_free(&win);
}

/* ---- dynamic windows ---- */

/* Memory that is detached, and attached again otherwise, with a neighbour whose copy lies
 * elsewhere: origins must not take the one for the other. */
static void attached_again()
{
    const int n = 1000, next = (rank + 1) % size, parts[][2] = {{1, 1}, {3, 1}, {1, 3}, {2, 2}};
    const gpu::Memory memory({gpu::Kind::device, 0}, static_cast<size_t>(n));
    const std::vector<MPI_Aint> begins = addresses_of(memory.at());
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 12; ++turn) {
        const auto &[left, right] = parts[turn % 4];
        const int first = n * left / (left + right);
        MPI_Win_attach(win, memory.at(), first);
        MPI_Win_attach(win, memory.at() + first, n - first);
        check(class_of(MPI_Win_attach(win, memory.at() + first - 1, 2)) == MPI_ERR_RMA_ATTACH,
              "what is attached is attached again");
        const Bytes put(static_cast<size_t>(n), static_cast<unsigned char>(10 * turn + rank));
        Bytes got(put.size()), fetched(put.size());
        MPI_Barrier(MPI_COMM_WORLD);
        const MPI_Aint at = begins[static_cast<size_t>(next)];
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(put.data(), first, MPI_BYTE, next, at, first, MPI_BYTE, win);
        MPI_Put(put.data(), n - first, MPI_BYTE, next, MPI_Aint_add(at, first), n - first, MPI_BYTE,
                win);
        MPI_Win_flush(next, win);
        MPI_Get(fetched.data(), first, MPI_BYTE, next, at, first, MPI_BYTE, win);
        MPI_Get(fetched.data() + first, n - first, MPI_BYTE, next, MPI_Aint_add(at, first),
                n - first, MPI_BYTE, win);
        MPI_Win_unlock(next, win);
        check(fetched == put, "MPI_Get of what is attached again, turn " + std::to_string(turn));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, memory.at());
        MPI_Win_detach(win, memory.at() + first);
        memory.read(0, got.data(), got.size());
        check(got == Bytes(put.size(),
                           static_cast<unsigned char>(10 * turn + (rank + size - 1) % size)),
              "MPI_Put to what is attached again, turn " + std::to_string(turn));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
}

/* What one rank attaches, others may have in host memory. */
static void attached_by_some()
{
    const int n = 400, next = (rank + 1) % size;
    const gpu::Kind kind = rank == 0 ? gpu::Kind::device : gpu::Kind::pageable;
    const gpu::Memory memory({kind, 0}, n);
    const Bytes put(n, static_cast<unsigned char>(rank + 1));
    Bytes got(n);
    MPI_Win win;
    int *model = nullptr, flag = 0;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory.at(), n);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    check(rank != 0 || (flag && *model == MPI_WIN_SEPARATE),
          "MPI_WIN_MODEL of a dynamic window is not MPI_WIN_SEPARATE");
    const std::vector<MPI_Aint> begins = addresses_of(memory.at());
    MPI_Win_fence(0, win);
    MPI_Put(put.data(), n, MPI_BYTE, next, begins[static_cast<size_t>(next)], n, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    memory.read(0, got.data(), got.size());
    check(got == Bytes(n, static_cast<unsigned char>((rank + size - 1) % size + 1)),
          "MPI_Put to what some have in device memory");
    MPI_Win_detach(win, memory.at());
    MPI_Win_free(&win);
}

/* Threads put and get, each in its part, while another one attaches and detaches. */
static void attached_by_threads()
{
    const int part = 500, parts = 2, next = (rank + 1) % size;
    const DeviceWindow window(part * parts, 0, true);
    const gpu::Memory other({gpu::Kind::device, 0}, part);
    std::vector<char> right(parts, 1);
    MPI_Win_lock_all(0, window.win);
    std::vector<std::thread> threads;
    for (int which = 0; which < parts; ++which)
        threads.emplace_back([&, which] {
            for (int turn = 0; turn < 50; ++turn) {
                const MPI_Aint there = window.displacement(next, part * which);
                const Bytes put(part, static_cast<unsigned char>(turn + which + rank));
                Bytes got(part);
                MPI_Put(put.data(), part, MPI_BYTE, next, there, part, MPI_BYTE, window.win);
                MPI_Win_flush(next, window.win);
                MPI_Get(got.data(), part, MPI_BYTE, next, there, part, MPI_BYTE, window.win);
                MPI_Win_flush(next, window.win);
                if (got != put)
                    right[static_cast<size_t>(which)] = 0;
            }
        });
    for (int turn = 0; turn < 50; ++turn) {
        MPI_Win_attach(window.win, other.at(), part);
        MPI_Win_detach(window.win, other.at());
    }
    for (std::thread &each : threads)
        each.join();
    MPI_Win_unlock_all(window.win);
    for (int which = 0; which < parts; ++which)
        check(right[static_cast<size_t>(which)],
              "MPI_Put and MPI_Get by a thread, in a dynamic window");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void dynamic_windows(unsigned seed)
{
    for (const int offset : {0, 4, 24})
        random_epochs(seed, 1000, offset, 20, 40, true);
    random_epochs(seed, 30000, 8, 3000, 20, true);
    random_epochs(seed, (9 << 20) + 5, 0, 3 << 20, 5, true);
    attached_again();
    attached_by_some();
    attached_by_threads();
}

/* Under locks of rank 1's window. */
static void get_then_put(MPI_Win win, const Bytes &stored, const Bytes &put, const char *where)
{
    Bytes got(stored.size());
    const int n = static_cast<int>(got.size()), puts = static_cast<int>(put.size());
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Get(got.data(), n, MPI_BYTE, 1, 0, n, MPI_BYTE, win);
    MPI_Win_unlock(1, win);
    check(got == stored, std::string("MPI_Get under a lock") + where);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(put.data(), puts, MPI_BYTE, 1, 0, puts, MPI_BYTE, win);
    MPI_Win_unlock(1, win);
}

/* Rank 0 locks windows whose owners do not. */
static void locked_by_another()
{
    const int n = 200;
    const gpu::Memory memory({gpu::Kind::device, 0}, n);
    const Bytes stored(n, 5), put(n / 2, 9);
    Bytes got(n);
    MPI_Win win;
    MPI_Win_create(memory.at(), rank ? n : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memory.write(0, stored.data(), n);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        get_then_put(win, stored, put, "");
        MPI_Send(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        Bytes expected = stored;
        std::copy(put.begin(), put.end(), expected.begin());
        memory.read(0, got.data(), n);
        check(got == expected, "MPI_Put under a lock");
    }
    MPI_Win_free(&win);
}

/* The stores before a fence are public behind it, also where no fences' epoch follows; and what
 * another puts then is seen by an owner who never locks. */
static void locked_behind_fences()
{
    const int n = 200;
    const gpu::Memory memory({gpu::Kind::device, 0}, n);
    const Bytes stored(n, 6), put(n, 8);
    Bytes got(n);
    MPI_Win win;
    MPI_Win_create(memory.at(), rank ? n : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    memory.write(0, stored.data(), n);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        get_then_put(win, stored, put, ", behind fences");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        memory.read(0, got.data(), n);
        check(got == put, "MPI_Put under a lock, behind fences");
    }
    MPI_Win_free(&win);
}

/* Calls that synchronize another window, in host memory, make stores public and show what others
 * put, too. */
static void locked_beside_another()
{
    const int n = 200;
    const DeviceWindow window(n, 0);
    const Bytes stored(n, 4), put(n, 5);
    Bytes got(n);
    int number = 0;
    MPI_Win other;
    MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    window.store(0, stored);
    MPI_Win_fence(0, other);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.win);
        MPI_Get(got.data(), n, MPI_BYTE, 1, 0, n, MPI_BYTE, window.win);
        MPI_Win_flush(1, window.win);
        MPI_Put(put.data(), n, MPI_BYTE, 1, 0, n, MPI_BYTE, window.win);
        MPI_Win_unlock(1, window.win);
        check(got == stored, "MPI_Get under a lock, behind a fence of another window");
    }
    MPI_Win_fence(0, other);
    check(rank != 1 || window.load(n) == put,
          "MPI_Put under a lock, before a fence of another window");
    MPI_Win_free(&other);
}

/* An owner that calls MPI_Win_sync alone sees what comes; so does one that waits for a request. */
static void awaited()
{
    const int n = 20000, next = (rank + 1) % size;
    const DeviceWindow window(2 * n, 0);
    const Bytes put(n, static_cast<unsigned char>(1 + rank)), old(n, 99);
    const unsigned char other = static_cast<unsigned char>(1 + (rank + size - 1) % size);
    window.store(0, old);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window.win);
    MPI_Request request;
    MPI_Rput(put.data(), n, MPI_BYTE, next, 0, n, MPI_BYTE, window.win, &request);
    const double begin = MPI_Wtime();
    while (window.load(n) != Bytes(n, other) && MPI_Wtime() < begin + 20)
        MPI_Win_sync(window.win);
    check(window.load(n) == Bytes(n, other), "MPI_Win_sync does not show what others put");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    window.store(n, old);
    MPI_Rget(window.base + n, n, MPI_BYTE, next, 0, n, MPI_BYTE, window.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    Bytes both(n, other);
    both.insert(both.end(), put.begin(), put.end());
    check(window.load(2 * n) == both, "MPI_Rget into the own window");
    MPI_Win_unlock_all(window.win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI_Win_free waits for the others, and shows what they put. */
static void freed()
{
    const int n = 200;
    const gpu::Memory memory({gpu::Kind::device, 0}, n);
    const Bytes put(n, 7);
    Bytes got(n);
    MPI_Win win;
    MPI_Win_create(memory.at(), n, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const int next = (rank + 1) % size;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Put(put.data(), n, MPI_BYTE, next, 0, n, MPI_BYTE, win);
    MPI_Win_unlock(next, win);
    MPI_Win_free(&win);
    memory.read(0, got.data(), n);
    check(got == put, "MPI_Win_free behind MPI_Put");
}

/* A fence of a failing device is an error and ends; the next one makes good what it missed. */
static void failing_device()
{
    const DeviceWindow window(1000, 0);
    const Bytes stored(500, static_cast<unsigned char>(rank + 1)), put(500, 7);
    const int next = (rank + 1) % size;
    MPI_Win_fence(0, window.win);
    window.store(0, stored);
    MPI_Put(put.data(), 500, MPI_BYTE, next, 500, 500, MPI_BYTE, window.win);
    if (rank == 0)
        gpu::Machine::get().configure("reset fail=any:1+");
    const int error = MPI_Win_fence(0, window.win);
    gpu::Machine::get().configure("reset");
    check((error != MPI_SUCCESS) == (rank == 0), "a failing device: a fence returns otherwise");
    check(MPI_Win_fence(0, window.win) == MPI_SUCCESS, "the fence behind it fails");
    Bytes expected = stored, got(500);
    expected.insert(expected.end(), put.begin(), put.end());
    check(window.load(1000) == expected, "what a failing device missed is lost");
    MPI_Get(got.data(), 500, MPI_BYTE, next, 0, 500, MPI_BYTE, window.win);
    MPI_Win_fence(0, window.win);
    check(got == Bytes(500, static_cast<unsigned char>(next + 1)),
          "what a failing device did not publish is lost");
}

/* A lock is held though the owner's device fails, as an epoch of MPI_Win_post is exposed: their
 * ends are the errors. */
static void failing_beginnings()
{
    const DeviceWindow window(1000, 0);
    const Bytes put(1000, 3);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (rank == 1)
        gpu::Machine::get().configure("reset fail=any:1+");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window.win);
        MPI_Put(put.data(), 1000, MPI_BYTE, 1, 0, 1000, MPI_BYTE, window.win);
        MPI_Win_unlock(1, window.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (const bool locks : {true, false}) {
        const std::string what = locks ? "MPI_Win_lock_all" : "MPI_Win_post";
        if (rank == 1)
            gpu::Machine::get().configure("reset fail=any:1+");
        check((locks ? MPI_Win_lock_all(0, window.win) : MPI_Win_post(all, 0, window.win)) ==
                  MPI_SUCCESS,
              "a failing device: " + what + " begins and fails");
        gpu::Machine::get().configure("reset");
        int ended = MPI_SUCCESS;
        if (locks) {
            ended = MPI_Win_unlock_all(window.win);
        } else {
            MPI_Win_start(all, 0, window.win);
            const int complete = MPI_Win_complete(window.win), waited = MPI_Win_wait(window.win);
            ended = complete != MPI_SUCCESS ? complete : waited;
        }
        check((ended != MPI_SUCCESS) == (rank == 1),
              "a failing device: what ends " + what + " returns " + std::to_string(ended));
    }
    MPI_Group_free(&all);
    check(rank != 1 || window.load(1000) == put, "what was put while a device failed is lost");
}

int main(int argc, char **argv)
{
    return run(argc, argv, [=]() mutable {
        const bool is_dynamic = argc > 1 && std::string(argv[1]) == "dynamic";
        if (is_dynamic) /* the seed may follow */
            --argc, ++argv;
        unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoll(argv[1]))
                                 : static_cast<unsigned>(
                                       std::chrono::system_clock::now().time_since_epoch().count());
        MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
        if (is_dynamic)
            return dynamic_windows(seed);
        for (const int offset : {0, 4, 24})
            random_epochs(seed, 1000, offset, 20, 40);
        random_epochs(seed, 30000, 8, 3000, 20);
        random_epochs(seed, (9 << 20) + 5, 0, 3 << 20, 5); /* more than is moved at a time */
        attributes();
        refused();
        locked_by_another();
        locked_behind_fences();
        locked_beside_another();
        awaited();
        freed();
        if (gpu::Machine::get().is_simulated())
            failing_device(), failing_beginnings();
    });
}
