/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct windows: operations on device memory within a node go straight to the target's memory. The
 * target need not be in MPI; locks exclude, accumulates are atomic; memory comes and goes. Where
 * devices do not reach each other the same results come another way.
 *
 * An argument selects the tests whose name contains it.
 */
#include "device_test.hpp"

#include <chrono>
#include <functional>
#include <unistd.h>

using namespace device_test;

static int error_class(int error)
{
    int of = MPI_SUCCESS;
    MPI_Error_class(error, &of);
    return of;
}

/* A window of n doubles in each rank, with a buffer as long as it. */
struct Shared {
    Shared(int n, gpu::Kind kind = gpu::Kind::device, gpu::Kind origin_kind = gpu::Kind::device)
        : layout(contiguous(n)), memory(kind, layout), buffer(origin_kind, layout)
    {
        MPI_Win_create(memory.at(), layout.bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    Shared(const Shared &) = delete;
    ~Shared() { MPI_Win_free(&win); }

    const Layout layout;
    Buffer memory, buffer;
    MPI_Win win;
};

/* ---- the way -----------------------------------------------------------------------------------
 */

static void counts_operations()
{
    Shared s(100);
    s.memory.fill(rank);
    s.buffer.fill(9);
    const int next = (rank + 1) % size;
    const auto gone = [] {
        return expects_direct() ? counted("windows_direct")
                                : counted("windows_by_message") + counted("windows_in_chunks");
    };
    const int64_t before = gone();
    MPI_Win_fence(0, s.win);
    MPI_Put(s.buffer.at(), 50, MPI_DOUBLE, next, 0, 50, MPI_DOUBLE, s.win);
    MPI_Put(s.buffer.at(), 10, MPI_DOUBLE, next, 60, 10, MPI_DOUBLE, s.win);
    MPI_Win_fence(0, s.win);
    MPI_Accumulate(s.buffer.at(), 50, MPI_DOUBLE, next, 0, 50, MPI_DOUBLE, MPI_REPLACE, s.win);
    MPI_Win_fence(0, s.win);
    check(is_interposed || gone() >= before + 3, "operations did not go the way that they should");
    s.memory.expect(9, 0, 50);
    s.memory.expect(9, 60, 70);
    s.memory.verify("Put");
}

static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/* Whether the one rank's time is before the other's; all others have none (0). */
static bool comes_before(int64_t first, int64_t later)
{
    int64_t times[2] = {first, later};
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return times[0] < times[1];
}

/* The target sleeps for a second, and the origin is done before. */
static void asks_no_target()
{
    const int n = 3000;
    Shared s(n);
    const Layout gaps = strided(n / 3), one = contiguous(1);
    Buffer result(gpu::Kind::device, one);
    s.memory.fill(rank);
    s.buffer.fill(50);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t end = 0, awakening = 0; /* the origin's, the target's */
    if (rank == 0) {
        usleep(100000);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, s.win);
        MPI_Put(s.buffer.at(), 1, gaps.type, 1, 0, 1, gaps.type, s.win);
        MPI_Win_unlock(1, s.win);
        MPI_Win_lock_all(0, s.win);
        MPI_Get(s.buffer.at(), n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, s.win);
        MPI_Win_flush(1, s.win);
        MPI_Accumulate(s.buffer.at(), n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, MPI_SUM, s.win);
        MPI_Fetch_and_op(s.buffer.at(), result.at(), MPI_DOUBLE, 1, 0, MPI_SUM, s.win);
        MPI_Win_unlock_all(s.win);
        end = now();
    } else if (rank == 1) {
        sleep(1);
        awakening = now();
    }
    const bool is_first = comes_before(end, awakening);
    if (expects_direct())
        check(is_first, "a target that was not in MPI delayed its origin");
    if (rank != 1)
        return;
    for (int i = 0; i < n; ++i)
        s.memory.put(i, 2 * Buffer::value(i % 3 == 0 ? 50 : 1, i));
    s.memory.put(0, 3 * Buffer::value(50, 0));
    s.memory.verify("a target that was not in MPI");
}

/* ---- locks -------------------------------------------------------------------------------------
 */

static double first_of(const Buffer &buffer)
{
    double value;
    gpu::Machine::get().copy(&value, buffer.at(), sizeof value);
    return value;
}

/* The target sleeps when it is given its lock back. */
static void unlocks_at_once()
{
    Shared s(4);
    s.memory.fill(rank);
    s.buffer.fill(9);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t end = 0, awakening = 0; /* the origin's, the target's */
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, s.win);
        MPI_Put(s.buffer.at(), 4, MPI_DOUBLE, 1, 0, 4, MPI_DOUBLE, s.win);
        MPI_Win_flush(1, s.win);
        MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        usleep(100000);
        MPI_Win_unlock(1, s.win);
        end = now();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, s.win); /* which comes behind the unlock */
        MPI_Win_unlock(1, s.win);
    } else if (rank == 1) {
        MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sleep(1);
        awakening = now();
    }
    const bool is_first = comes_before(end, awakening);
    check(is_interposed || is_first, "an unlock waited for a target that was not in MPI");
    if (rank == 1)
        s.memory.expect(9, 0, 4);
    s.memory.verify("Put before an unlock");
}

/* Read, add, write: only a lock keeps the others out. */
static void excludes()
{
    const int turns = 30;
    Shared s(4);
    s.memory.put(0, 0);
    s.memory.store();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < turns; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, s.win);
        MPI_Get(s.buffer.at(), 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, s.win);
        MPI_Win_flush(0, s.win);
        s.buffer.put(0, first_of(s.buffer) + 1);
        s.buffer.store();
        MPI_Put(s.buffer.at(), 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, s.win);
        MPI_Win_unlock(0, s.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        check(first_of(s.memory) == turns * size, "an exclusive lock did not exclude");
}

/* All ranks share a lock at the same time; and an exclusive one gets its turn among sharers that
 * come again and again. */
static void shares()
{
    Shared s(4);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, s.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock(0, s.win);
    int go_on = 1;
    while (rank > 0 && go_on) {
        MPI_Win_lock_all(0, s.win);
        MPI_Get(s.buffer.at(), 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, s.win);
        MPI_Win_unlock_all(s.win);
        int is_there = 0;
        MPI_Iprobe(0, 3, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        go_on = !is_there;
    }
    if (rank > 0)
        MPI_Recv(nullptr, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 0 && i < 20; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, s.win);
        MPI_Win_unlock(0, s.win);
    }
    for (int to = 1; rank == 0 && to < size; ++to)
        MPI_Send(nullptr, 0, MPI_INT, to, 3, MPI_COMM_WORLD);
}

/* What MPI forbids is told, and changes nothing. */
static void refuses()
{
    if (is_interposed) /* it is the MPI below that finds errors */
        return;
    Shared s(10);
    const int next = (rank + 1) % size;
    s.memory.fill(rank);
    s.buffer.fill(5);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto put = [&](MPI_Aint disp, int n) {
        return MPI_Put(s.buffer.at(), n, MPI_DOUBLE, next, disp, n, MPI_DOUBLE, s.win);
    };
    check(error_class(put(0, 1)) == MPI_ERR_RMA_SYNC, "Put outside of an epoch");
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, s.win);
    check(error_class(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, s.win)) == MPI_ERR_RMA_SYNC,
          "a second lock of the same target");
    if (expects_direct())
        check(error_class(put(5, 6)) == MPI_ERR_RMA_RANGE, "Put beyond the window");
    check(put(2, 3) == MPI_SUCCESS, "Put after errors");
    MPI_Win win = s.win;
    check(error_class(MPI_Win_free(&win)) == MPI_ERR_RMA_SYNC,
          "a window is freed with operations outstanding");
    check(MPI_Win_unlock(next, s.win) == MPI_SUCCESS, "unlock after errors");
    check(error_class(MPI_Win_unlock(next, s.win)) == MPI_ERR_RMA_SYNC, "a second unlock");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i)
        s.memory.put(2 + i, Buffer::value(5, i));
    s.memory.verify("after errors");
}

/* ---- accumulates -------------------------------------------------------------------------------
 */

/* All to all targets at the same time, from memory of any kind; one of them by gaps. */
static void is_atomic(gpu::Kind origin_kind)
{
    const int n = 300, turns = 20;
    Shared s(n);
    const Layout layout = rank % 2 ? contiguous(n) : strided(n);
    Buffer origin(rank == 2 ? gpu::Kind::pageable : origin_kind, layout);
    for (int i = 0; i < n; ++i) {
        s.memory.put(i, 0);
        origin.put(i, i + 1);
    }
    s.memory.store(), origin.store();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, s.win);
    for (int turn = 0; turn < turns; ++turn)
        for (int to = 0; to < size; ++to)
            MPI_Accumulate(origin.at(), 1, origin.type(), to, 0, n, MPI_DOUBLE, MPI_SUM, s.win);
    MPI_Win_unlock_all(s.win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i)
        s.memory.put(i, double(turns) * size * (i + 1));
    s.memory.verify("Accumulate of all ranks");
}

/* Open MPI 4.1 crashes if a process swaps in its own window, in host memory, too. */
static bool swaps(int who)
{
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
    return who != 1;
#else
    return who >= 0;
#endif
}

/* Numbers that nobody draws twice, and a word that all change. */
static void draws()
{
    const int turns = 20;
    const Layout one = contiguous(1);
    Shared s(2, gpu::Kind::device, rank % 2 ? gpu::Kind::pageable : gpu::Kind::device);
    Buffer result(gpu::Kind::device, one), compare(gpu::Kind::pageable, one);
    s.memory.put(0, 0), s.memory.put(1, 0);
    s.memory.store();
    s.buffer.put(0, 1);
    s.buffer.store();
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<double> mine;
    MPI_Win_lock_all(0, s.win);
    for (int i = 0; i < turns; ++i) {
        MPI_Fetch_and_op(s.buffer.at(), result.at(), MPI_DOUBLE, 1, 0, MPI_SUM, s.win);
        MPI_Win_flush(1, s.win);
        mine.push_back(first_of(result));
    }
    int64_t held = 0;
    for (int i = 0; i < turns && swaps(rank);) {
        const int64_t next = held + 1;
        gpu::Machine::get().copy(compare.at(), &held, sizeof held);
        gpu::Machine::get().copy(s.buffer.at(), &next, sizeof next);
        MPI_Compare_and_swap(s.buffer.at(), compare.at(), result.at(), MPI_INT64_T, 1, 1, s.win);
        MPI_Win_flush(1, s.win);
        int64_t found;
        gpu::Machine::get().copy(&found, result.at(), sizeof found);
        i += found == held;
        held = found == held ? next : found;
    }
    MPI_Win_unlock_all(s.win);
    std::vector<double> all(static_cast<size_t>(turns * size));
    MPI_Allgather(mine.data(), turns, MPI_DOUBLE, all.data(), turns, MPI_DOUBLE, MPI_COMM_WORLD);
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i)
        check(all[i] == static_cast<double>(i), "Fetch_and_op: a number was drawn twice");
    int64_t counted_to = 0;
    gpu::Machine::get().copy(&counted_to, static_cast<char *>(s.memory.at()) + 8, 8);
    int swapping = 0;
    for (int i = 0; i < size; ++i)
        swapping += swaps(i);
    if (rank == 1)
        check(counted_to == int64_t{turns} * swapping, "Compare_and_swap of all ranks");
}

/* Later ones of one origin find what earlier ones left. */
static void keeps_order()
{
    const int n = 40;
    Shared s(n);
    Buffer result(gpu::Kind::device, s.layout);
    s.memory.fill(rank);
    const int next = (rank + 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, s.win);
    for (int turn = 0; turn < 10; ++turn) {
        s.buffer.fill(100 + turn);
        MPI_Get_accumulate(s.buffer.at(), n, MPI_DOUBLE, result.at(), n, MPI_DOUBLE, next, 0, n,
                           MPI_DOUBLE, MPI_REPLACE, s.win);
        MPI_Win_flush(next, s.win);
        result.expect(turn ? 99 + turn : next, 0, n);
        result.verify("Get_accumulate in order");
    }
    MPI_Win_unlock(next, s.win);
}

/* ---- memory that comes and goes ----------------------------------------------------------------
 */

static MPI_Aint address_of(const Buffer &buffer)
{
    MPI_Aint address;
    MPI_Get_address(buffer.at(), &address);
    return address;
}

/* What the next rank says. */
static MPI_Aint of_next(MPI_Aint mine)
{
    MPI_Aint theirs;
    MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + size - 1) % size, 0, &theirs, 1, MPI_AINT,
                 (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

/* Open MPI refuses a displacement that is not in the memory itself, in host memory, too. */
#ifdef OMPI_MAJOR_VERSION
constexpr bool takes_absolute_types = false;
#else
constexpr bool takes_absolute_types = true;
#endif

/* Regions in memory of two kinds; a target type of absolute addresses, in one of them or in both;
 * memory that is detached, freed, and attached again. */
static void attaches()
{
    if (!has_dynamic_windows())
        return;
    const int n = 500, next = (rank + 1) % size;
    const Layout layout = contiguous(n), two = contiguous(2 * n);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    Buffer origin(gpu::Kind::device, two), on_host(gpu::Kind::pageable, layout);
    origin.fill(7);
    MPI_Win_attach(win, on_host.at(), layout.bytes);
    for (int turn = 0; turn < 5; ++turn) {
        const std::string what = "dynamic window, turn " + std::to_string(turn);
        Buffer memory(gpu::Kind::device, layout);
        memory.fill(rank);
        on_host.fill(rank);
        MPI_Win_attach(win, memory.at(), layout.bytes);
        const MPI_Aint device = of_next(address_of(memory)), host = of_next(address_of(on_host));
        const int lengths[] = {n / 2, n};
        const MPI_Aint inside[] = {device + 8 * (n / 2), device}, across[] = {device, host};
        MPI_Datatype within, both;
        MPI_Type_create_hindexed(1, lengths, inside, MPI_DOUBLE, &within);
        MPI_Type_create_hindexed(2, lengths, across, MPI_DOUBLE, &both);
        MPI_Type_commit(&within), MPI_Type_commit(&both);
        MPI_Win_lock_all(0, win);
        MPI_Put(origin.at(), n / 2, MPI_DOUBLE, next, device, n / 2, MPI_DOUBLE, win);
        if (takes_absolute_types)
            MPI_Put(origin.at(), n / 2, MPI_DOUBLE, next, 0, 1, within, win);
        else
            MPI_Put(origin.at(), n / 2, MPI_DOUBLE, next, inside[0], n / 2, MPI_DOUBLE, win);
        MPI_Put(origin.at(), n, MPI_DOUBLE, next, host, n, MPI_DOUBLE, win);
        MPI_Win_flush(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        memory.expect(7, 0, n / 2), memory.expect(7, n / 2, n), on_host.expect(7, 0, n);
        memory.verify(what), on_host.verify(what + ", on the host");
        MPI_Barrier(MPI_COMM_WORLD);
        if (takes_absolute_types) {
            MPI_Accumulate(origin.at(), n / 2 + n, MPI_DOUBLE, next, 0, 1, both, MPI_REPLACE, win);
            on_host.expect(7, 0, n, n / 2);
        }
        MPI_Win_flush(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        memory.verify(what + ", across"), on_host.verify(what + ", across, on the host");
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, memory.at());
        MPI_Type_free(&within), MPI_Type_free(&both);
    }
    MPI_Win_detach(win, on_host.at());
    MPI_Win_free(&win);
}

/* More regions than are told the others. */
static void attaches_many()
{
    if (!has_dynamic_windows())
        return;
    const int regions = 300, next = (rank + 1) % size;
    const Layout layout = contiguous(regions);
    Buffer memory(gpu::Kind::device, layout), origin(gpu::Kind::device, layout);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memory.fill(rank);
    origin.fill(20 + rank);
    for (int i = 0; i < regions; ++i)
        MPI_Win_attach(win, static_cast<char *>(memory.at()) + 8 * i, 8);
    const MPI_Aint theirs = of_next(address_of(memory));
    MPI_Win_fence(0, win);
    for (int i = 0; i < regions; ++i)
        MPI_Put(static_cast<char *>(origin.at()) + 8 * i, 1, MPI_DOUBLE, next, theirs + 8 * i, 1,
                MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    memory.expect(20 + (rank + size - 1) % size, 0, regions);
    memory.verify("many regions");
    for (int i = 0; i < regions; ++i)
        MPI_Win_detach(win, static_cast<char *>(memory.at()) + 8 * i);
    MPI_Win_free(&win);
}

/* Windows on memory that is freed: later memory at the same addresses is another. */
static void outlives_memory()
{
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int turn = 0; turn < 20; ++turn) {
        const int n = 1000 + 5000 * (turn % 3);
        Shared s(n);
        s.memory.fill(rank);
        s.buffer.fill(30 * turn + rank);
        MPI_Win_fence(0, s.win);
        MPI_Put(s.buffer.at(), n, MPI_DOUBLE, next, 0, n, MPI_DOUBLE, s.win);
        MPI_Win_fence(0, s.win);
        s.memory.expect(30 * turn + previous, 0, n);
        s.memory.verify("memory that was freed, turn " + std::to_string(turn));
    }
}

/* Some members have device memory in the window, some the host's, one none at all. */
static void mixes()
{
    const int n = 2000;
    const Layout layout = contiguous(n);
    Buffer memory(rank % 2 ? gpu::Kind::pageable : gpu::Kind::device, layout),
        origin(gpu::Kind::device, layout), result(gpu::Kind::pageable, layout);
    const int last = size - 1;
    memory.fill(rank);
    origin.fill(40 + rank);
    MPI_Win win;
    MPI_Win_create(rank == last ? nullptr : memory.at(), rank == last ? 0 : layout.bytes, 8,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int to = 0; to < last; ++to) { /* each writes a part of each */
        const int part = n / size;
        MPI_Win_lock(rank % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win);
        MPI_Put(origin.at(), part, MPI_DOUBLE, to, MPI_Aint{part} * rank, part, MPI_DOUBLE, win);
        MPI_Win_flush(to, win);
        MPI_Get(result.at(), part, MPI_DOUBLE, to, MPI_Aint{part} * rank, part, MPI_DOUBLE, win);
        MPI_Win_unlock(to, win);
        result.expect(40 + rank, 0, part);
        result.verify("Get from a window of several kinds");
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        MPI_Accumulate(origin.at(), part, MPI_DOUBLE, to, MPI_Aint{part} * rank, part, MPI_DOUBLE,
                       MPI_SUM, win);
        MPI_Win_unlock(to, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int by = 0; rank != last && by < size; ++by)
        for (int i = 0; i < n / size; ++i)
            memory.put(by * (n / size) + i, 2 * Buffer::value(40 + by, i));
    memory.verify("a window of several kinds");
    MPI_Win_free(&win);
}

/* Requests are over by themselves, and in any order. */
static void requests()
{
    const int n = 300000, parts = 8;
    Shared s(n);
    s.memory.fill(rank);
    s.buffer.fill(60 + rank);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, s.win);
    std::vector<MPI_Request> all(parts);
    const int part = n / parts;
    for (int i = 0; i < parts; ++i)
        MPI_Rput(static_cast<char *>(s.buffer.at()) + 8 * part * i, part, MPI_DOUBLE, next,
                 MPI_Aint{part} * i, part, MPI_DOUBLE, s.win, &all[static_cast<size_t>(i)]);
    MPI_Datatype type; /* may be freed at once */
    MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    const Layout ten = contiguous(10);
    Buffer result(gpu::Kind::device, ten);
    MPI_Win_flush(next, s.win);
    MPI_Request last;
    if (ends_requests_early) {
        MPI_Get(result.at(), 10, MPI_DOUBLE, next, 0, 1, type, s.win);
        last = MPI_REQUEST_NULL;
    } else {
        MPI_Rget(result.at(), 10, MPI_DOUBLE, next, 0, 1, type, s.win, &last);
    }
    MPI_Type_free(&type);
    all.push_back(last);
    std::reverse(all.begin(), all.end());
    for (MPI_Request &each : all)
        check(MPI_Wait(&each, MPI_STATUS_IGNORE) == MPI_SUCCESS, "a request fails");
    MPI_Win_unlock_all(s.win);
    MPI_Barrier(MPI_COMM_WORLD);
    s.memory.expect(60 + previous, 0, n);
    s.memory.verify("Rput");
    for (int i = 0; i < 10; ++i)
        result.put(i, Buffer::value(60 + rank, 2 * i));
    result.verify("Rget");
}

/* ---- failures ----------------------------------------------------------------------------------
 */

/* What cannot be opened is reached by messages: the last test, for that is remembered. */
static void opens_nothing()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    gpu::Machine::get().configure("reset fail=import_memory:1+");
    MPI_Barrier(MPI_COMM_WORLD);
    Shared s(600);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    s.memory.fill(0);
    s.buffer.fill(80 + rank);
    MPI_Win_fence(0, s.win);
    MPI_Put(s.buffer.at(), 600, MPI_DOUBLE, next, 0, 600, MPI_DOUBLE, s.win);
    MPI_Win_fence(0, s.win);
    MPI_Accumulate(s.buffer.at(), 300, MPI_DOUBLE, next, 0, 300, MPI_DOUBLE, MPI_SUM, s.win);
    MPI_Win_fence(0, s.win);
    s.memory.expect(80 + previous, 0, 600);
    for (int i = 0; i < 300; ++i)
        s.memory.put(i, 2 * Buffer::value(80 + previous, i));
    s.memory.verify("memory that cannot be opened");
    gpu::Machine::get().reset();
}

int main(int argc, char **argv)
{
    const char *const selected = argc > 1 ? argv[1] : "";
    return run(argc, argv, [&] {
        const std::pair<const char *, std::function<void()>> tests[] = {
            {"counts operations", counts_operations},
            {"asks no target", asks_no_target},
            {"unlocks at once", unlocks_at_once},
            {"excludes", excludes},
            {"shares", shares},
            {"refuses", refuses},
            {"is atomic", [] { is_atomic(gpu::Kind::device); }},
            {"is atomic, from managed memory", [] { is_atomic(gpu::Kind::managed); }},
            {"draws", draws},
            {"keeps order", keeps_order},
            {"attaches", attaches},
            {"attaches many", attaches_many},
            {"outlives memory", outlives_memory},
            {"mixes", mixes},
            {"requests", requests},
            {"opens nothing", opens_nothing},
        };
        for (const auto &[name, test] : tests)
            if (std::strstr(name, selected))
                test();
    });
}
