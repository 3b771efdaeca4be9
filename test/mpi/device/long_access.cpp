/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Long one-sided operations whose target takes part: their data go in chunks, as a long message's
 * do. Every operation under every synchronization, of sizes about the limit, many at a time, from
 * several threads; accumulates in their order. Where devices reach each other the same results come
 * another way.
 *
 * An argument selects the tests whose name contains it.
 */
#include "device_test.hpp"

#include <functional>
#include <thread>

using namespace device_test;

static int next() { return (rank + 1) % size; }
static int previous() { return (rank + size - 1) % size; }

/* A window of each rank. */
struct Window {
    Window(const Buffer &memory, const Layout &layout)
    {
        MPI_Win_create(memory.at(), layout.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    Window(const Window &) = delete;
    ~Window() { MPI_Win_free(&win); }
    MPI_Win win;
};

/* ---- synchronizations --------------------------------------------------------------------------
 */

enum class Sync { fence, lock, lock_all, flush, flush_local, start };
static constexpr Sync every_sync[] = {Sync::fence, Sync::lock,        Sync::lock_all,
                                      Sync::flush, Sync::flush_local, Sync::start};
static const char *const sync_names[] = {"fences", "lock",        "lock_all",
                                         "flush",  "flush_local", "start"};

/* All ranks operate on their next one; it is over at all of them when this returns. */
template <class Operate> static void epoch(Sync sync, MPI_Win win, Operate operate)
{
    MPI_Group all, to, from;
    const int one = next(), other = previous();
    MPI_Barrier(MPI_COMM_WORLD);
    switch (sync) {
    case Sync::fence:
        MPI_Win_fence(0, win);
        operate();
        MPI_Win_fence(0, win);
        break;
    case Sync::lock:
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, one, 0, win);
        operate();
        MPI_Win_unlock(one, win);
        break;
    case Sync::start:
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, 1, &one, &to);
        MPI_Group_incl(all, 1, &other, &from);
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        operate();
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        MPI_Group_free(&to), MPI_Group_free(&from), MPI_Group_free(&all);
        break;
    default:
        MPI_Win_lock_all(0, win);
        operate();
        if (sync == Sync::flush)
            MPI_Win_flush(one, win);
        if (sync == Sync::flush_local)
            MPI_Win_flush_local_all(win);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- all of them -------------------------------------------------------------------------------
 */

struct Case {
    gpu::Kind window_kind, origin_kind;
    MakeLayout near, far;
    int n; /* doubles */
};

static std::string name_of(const Case &c, Sync sync)
{
    return std::to_string(c.n) + " doubles from " + gpu::to_text({c.origin_kind, 0}) + " to " +
           gpu::to_text({c.window_kind, 0}) + " under " + sync_names[static_cast<int>(sync)];
}

static void operates(const Case &c, Sync sync)
{
    const Layout near = c.near(c.n), far = c.far(c.n);
    Buffer window(c.window_kind, far), origin(c.origin_kind, near), result(c.origin_kind, near);
    const std::string what = name_of(c, sync);
    Window w(window, far);
    window.fill(rank);
    origin.fill(50 + rank);
    epoch(sync, w.win, [&] { MPI_Get(result.at(), 1, near.type, next(), 0, 1, far.type, w.win); });
    result.expect(next(), 0, c.n);
    result.verify("Get, " + what);
    epoch(sync, w.win, [&] { MPI_Put(origin.at(), 1, near.type, next(), 0, 1, far.type, w.win); });
    window.expect(50 + previous(), 0, c.n);
    window.verify("Put, " + what);
    epoch(sync, w.win, [&] {
        MPI_Accumulate(origin.at(), 1, near.type, next(), 0, 1, far.type, MPI_SUM, w.win);
    });
    for (int i = 0; i < c.n; ++i)
        window.put(i, 2 * Buffer::value(50 + previous(), i));
    window.verify("Accumulate, " + what);
    epoch(sync, w.win, [&] {
        MPI_Get_accumulate(origin.at(), 1, near.type, result.at(), 1, near.type, next(), 0, 1,
                           far.type, MPI_REPLACE, w.win);
    });
    for (int i = 0; i < c.n; ++i)
        result.put(i, 2 * Buffer::value(50 + rank, i));
    result.verify("Get_accumulate's result, " + what);
    window.expect(50 + previous(), 0, c.n);
    window.verify("Get_accumulate, " + what);
    epoch(sync, w.win, [&] {
        MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, result.at(), 1, near.type, next(), 0, 1,
                           far.type, MPI_NO_OP, w.win);
    });
    result.expect(50 + rank, 0, c.n);
    result.verify("Get_accumulate without an operator, " + what);
    window.verify("what it left, " + what);
}

static void every_operation()
{
    using enum gpu::Kind;
    for (const Sync sync : every_sync) {
        operates({device, device, strided, indexed, 30000}, sync);
        operates({device, pageable, contiguous, contiguous, 9000}, sync);
        operates({pageable, device, structs, contiguous, 9000}, sync);
    }
    for (const gpu::Kind window : every_kind)
        for (const gpu::Kind origin : every_kind)
            operates({window, origin, indexed, strided, 5000}, Sync::fence);
}

/* About the limits of short messages within a node and beyond it, of chunks, and longer ones. */
static void sizes()
{
    for (const int n : {1, 8, 9, 1023, 1024, 1025, 2047, 2048, 2049, 131072, 131073})
        operates({gpu::Kind::device, gpu::Kind::device, contiguous, contiguous, n}, Sync::fence);
    const int n = 2 << 20; /* 16 MiB */
    const Layout layout = contiguous(n);
    Buffer window(gpu::Kind::device, layout), buffer(gpu::Kind::device, layout);
    Window w(window, layout);
    buffer.fill(rank);
    epoch(Sync::lock, w.win, [&] {
        MPI_Put(buffer.at(), n, MPI_DOUBLE, next(), 0, n, MPI_DOUBLE, w.win);
        MPI_Put(buffer.at(), 0, MPI_DOUBLE, next(), 0, 0, MPI_DOUBLE, w.win);
    });
    window.expect(previous(), 0, n);
    window.verify("Put of 16 MiB");
    buffer.fill(20);
    epoch(Sync::lock, w.win,
          [&] { MPI_Get(buffer.at(), n, MPI_DOUBLE, next(), 0, n, MPI_DOUBLE, w.win); });
    buffer.expect(rank, 0, n);
    buffer.verify("Get of 16 MiB");
}

/* ---- the way -----------------------------------------------------------------------------------
 */

static int64_t chunked() { return counted("windows_in_chunks"); }

/* Whether the next rank's device memory can be opened here, where not all of it can. */
static bool opens_next()
{
    const char *const peer = std::getenv("HEDDLE_PEER");
    const bool is_ruled_out = peer && (!std::strcmp(peer, "value") || !std::strcmp(peer, "shared"));
    return !is_ruled_out && own_device().device == next() % gpu::Machine::get().devices();
}

/* Only where a device has part in it. */
static void is_counted()
{
    const int n = 40000;
    const Layout layout = contiguous(n);
    if (!gpu::Machine::get().is_simulated() || expects_direct() || is_interposed)
        return;
    using enum gpu::Kind;
    const std::pair<gpu::Kind, gpu::Kind> all[] = {
        {device, device}, {device, pageable}, {pageable, device}, {pageable, pageable}};
    for (const auto &[window_kind, origin_kind] : all) {
        Buffer window(window_kind, layout), origin(origin_kind, layout);
        Window w(window, layout);
        const int64_t before = chunked(), bytes = counted("windows_bytes_in_chunks"),
                      whole = counted("messages_received_whole");
        epoch(Sync::fence, w.win, [&] {
            MPI_Put(origin.at(), n, MPI_DOUBLE, next(), 0, n, MPI_DOUBLE, w.win);
            MPI_Get(origin.at(), 1, MPI_DOUBLE, next(), 0, 1, MPI_DOUBLE, w.win);
        });
        const bool has_device = window_kind == device || origin_kind == device;
        const int expected = has_device && !(window_kind == device && opens_next());
        check(chunked() == before + expected, "an operation did not go in chunks, or one too many");
        check(counted("windows_bytes_in_chunks") == bytes + 8 * expected * n, "bytes in chunks");
        // A short one goes as the one before it that is under way, but whole.
        const int after_it = expected && window_kind == device;
        check(counted("messages_received_whole") == whole + after_it,
              "the short one did not come whole, or another one did");
    }
}

/* ---- many at a time ----------------------------------------------------------------------------
 */

static void many()
{
    const int parts = 150, part = 5000;
    const Layout layout = contiguous(parts * part);
    Buffer window(gpu::Kind::device, layout), origin(gpu::Kind::device, layout),
        result(gpu::Kind::device, layout);
    Window w(window, layout);
    origin.fill(rank);
    const auto at = [&](const Buffer &buffer, int i) {
        return static_cast<char *>(buffer.at()) + MPI_Aint{8} * part * i;
    };
    epoch(Sync::lock_all, w.win, [&] {
        for (int i = 0; i < parts; ++i)
            MPI_Put(at(origin, i), part, MPI_DOUBLE, next(), MPI_Aint{8} * part * i, part,
                    MPI_DOUBLE, w.win);
        MPI_Win_flush(next(), w.win);
        for (int i = 0; i < parts; ++i)
            MPI_Get(at(result, i), part, MPI_DOUBLE, next(), MPI_Aint{8} * part * i, part,
                    MPI_DOUBLE, w.win);
    });
    window.expect(previous(), 0, parts * part);
    window.verify("many puts");
    result.expect(rank, 0, parts * part);
    result.verify("many gets");
}

/* Requests are over by themselves, and in any order; types may be freed at once. */
static void requests()
{
    const int parts = 6, part = 20000;
#if defined(HEDDLE_TEST_INTERPOSED) && defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    const int step = 1; /* with gaps, MPI_Rget of MPICH 4.0 is over too early (docs/upstream.md) */
#else
    const int step = 2;
#endif
    const Layout layout = contiguous(parts * part);
    Buffer window(gpu::Kind::device, layout), origin(gpu::Kind::device, layout),
        result(gpu::Kind::device, layout);
    Window w(window, layout);
    origin.fill(rank);
    window.fill(70 + rank);
    std::vector<MPI_Request> all;
    epoch(Sync::lock_all, w.win, [&] {
        for (int i = 0; i < parts; ++i) {
            MPI_Datatype type;
            MPI_Type_vector(part / step, 1, step, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
            char *const at = static_cast<char *>(result.at()) + MPI_Aint{8} * part * i;
            all.push_back(MPI_REQUEST_NULL);
            MPI_Rget(at, 1, type, next(), MPI_Aint{8} * part * i, 1, type, w.win, &all.back());
            MPI_Type_free(&type);
        }
        std::reverse(all.begin(), all.end());
        for (MPI_Request &each : all)
            check(MPI_Wait(&each, MPI_STATUS_IGNORE) == MPI_SUCCESS, "an Rget fails");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Rput(origin.at(), parts * part, MPI_DOUBLE, next(), 0, parts * part, MPI_DOUBLE, w.win,
                 &all.front());
        int flag = 0;
        while (!flag)
            check(MPI_Test(&all.front(), &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS, "Rput fails");
    });
    for (int i = 0; i < parts * part; i += step)
        result.put(i, Buffer::value(70 + next(), i));
    result.verify("Rget");
    window.expect(previous(), 0, parts * part);
    window.verify("Rput");
}

/* Each thread of a rank has its part of the window. */
static void threads()
{
    const int parts = 3, part = 6000, turns = 10;
    const Layout layout = contiguous(parts * part), one = contiguous(part);
    Buffer window(gpu::Kind::device, layout);
    Window w(window, layout);
    std::vector<char> right(parts, 1);
    const auto work = [&](int which) {
        Buffer origin(gpu::Kind::device, one), result(gpu::Kind::device, one);
        for (int turn = 0; turn < turns; ++turn) {
            const MPI_Aint disp = MPI_Aint{8} * part * which;
            origin.fill(turn + which + rank);
            MPI_Put(origin.at(), part, MPI_DOUBLE, next(), disp, part, MPI_DOUBLE, w.win);
            MPI_Win_flush(next(), w.win);
            MPI_Get(result.at(), part, MPI_DOUBLE, next(), disp, part, MPI_DOUBLE, w.win);
            MPI_Win_flush(next(), w.win);
            result.expect(turn + which + rank, 0, part);
            if (!result.holds())
                right[static_cast<size_t>(which)] = 0;
        }
    };
    epoch(Sync::lock_all, w.win, [&] {
        std::vector<std::thread> all;
        for (int i = 0; i < parts; ++i)
            all.emplace_back(work, i);
        for (std::thread &each : all)
            each.join();
    });
    for (const char each : right)
        check(each, "a thread did not get what it had put");
}

/* ---- accumulates -------------------------------------------------------------------------------
 */

/* Long ones and short ones of one origin, one on the other: the last of each element stays. */
static void keeps_order()
{
    const int n = 20000, turns = 6;
    const Layout layout = contiguous(n), gaps = strided(n / 3);
    Buffer window(gpu::Kind::device, layout), origin(gpu::Kind::device, layout),
        few(gpu::Kind::device, layout), result(gpu::Kind::device, layout);
    Window w(window, layout);
    origin.fill(rank);
    few.fill(90 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, w.win);
    for (int turn = 0; turn < turns; ++turn) {
        MPI_Accumulate(few.at(), 20, MPI_DOUBLE, next(), 0, 20, MPI_DOUBLE, MPI_REPLACE, w.win);
        MPI_Accumulate(origin.at(), n, MPI_DOUBLE, next(), 0, n, MPI_DOUBLE, MPI_REPLACE, w.win);
        MPI_Accumulate(few.at(), 20, MPI_DOUBLE, next(), 0, 20, MPI_DOUBLE, MPI_SUM, w.win);
        MPI_Accumulate(few.at(), 1, gaps.type, next(), 0, 1, gaps.type, MPI_REPLACE, w.win);
        MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, result.at(), n, MPI_DOUBLE, next(), 0, n,
                           MPI_DOUBLE, MPI_NO_OP, w.win);
    }
    MPI_Win_unlock(next(), w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto expect = [&](Buffer &buffer, int whose) {
        for (int i = 0; i < n; ++i)
            buffer.put(i, Buffer::value(i % 3 == 0 && i / 3 < n / 3 ? 90 + whose : whose, i));
        for (int i = 0; i < 20; ++i)
            if (i % 3)
                buffer.put(i, Buffer::value(whose, i) + Buffer::value(90 + whose, i));
    };
    expect(result, rank);
    result.verify("what accumulates in order left, as it was fetched");
    expect(window, previous());
    window.verify("accumulates in order");
}

/* A short one whose type at the target takes more bytes than a header holds, and a long one
 * that fetches. */
static void keeps_order_behind_long_types(gpu::Kind kind)
{
    const int n = 40000, few = 4000;
    std::vector<int> at;
    for (int i = 0; i < few; ++i)
        at.push_back(3 * i + i * 7 % 5 % 2);
    MPI_Datatype type;
    MPI_Type_create_indexed_block(few, 1, at.data(), MPI_BYTE, &type);
    const Layout layout = contiguous(n, in_bytes),
                 scattered("scattered", {at.begin(), at.end()}, type, in_bytes);
    Buffer window(kind, layout), origin(gpu::Kind::device, layout),
        result(gpu::Kind::device, layout);
    Window w(window, layout);
    origin.fill(rank);
    window.fill(90);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, w.win);
    MPI_Accumulate(origin.at(), few, MPI_BYTE, next(), 0, 1, type, MPI_REPLACE, w.win);
    MPI_Get_accumulate(nullptr, 0, MPI_BYTE, result.at(), n, MPI_BYTE, next(), 0, n, MPI_BYTE,
                       MPI_NO_OP, w.win);
    MPI_Win_unlock(next(), w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    result.expect(90, 0, n);
    for (int i = 0; i < few; ++i)
        result.put(at[static_cast<size_t>(i)], Buffer::value(rank, i));
    result.verify("what a short accumulate of a long type left");
}

/* All to all targets at the same time, long ones and short ones. */
static void is_atomic()
{
    const int n = 12000, turns = 5;
    const Layout layout = contiguous(n), gaps = strided(n);
    Buffer window(gpu::Kind::device, layout),
        origin(rank % 2 ? gpu::Kind::device : gpu::Kind::pageable, rank ? layout : gaps);
    for (int i = 0; i < n; ++i) {
        window.put(i, 0);
        origin.put(i, i + 1);
    }
    window.store(), origin.store();
    Window w(window, layout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, w.win);
    for (int turn = 0; turn < turns; ++turn)
        for (int to = 0; to < size; ++to) {
            MPI_Accumulate(origin.at(), 1, origin.type(), to, 0, n, MPI_DOUBLE, MPI_SUM, w.win);
            if (rank)
                MPI_Accumulate(origin.at(), 100, MPI_DOUBLE, to, 0, 100, MPI_DOUBLE, MPI_SUM,
                               w.win);
        }
    MPI_Win_unlock_all(w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i)
        window.put(i, double(turns) * (size + (i < 100 ? size - 1 : 0)) * (i + 1));
    window.verify("Accumulate of all ranks");
}

/* Of types that no device adds, and of pairs with gaps. */
static void other_elements()
{
    struct Pair {
        double value;
        int index;
    };
    const int n = 6000;
    std::vector<Pair> pairs(n), found(n);
    for (int i = 0; i < n; ++i)
        pairs[static_cast<size_t>(i)] = {rank * 10.0 + i, i};
    const size_t bytes = n * sizeof(Pair);
    gpu::Memory window(own_device(), bytes), origin(own_device(), bytes);
    std::vector<Pair> zeros(n, Pair{-1, -1});
    window.write(0, reinterpret_cast<std::byte *>(zeros.data()), bytes);
    origin.write(0, reinterpret_cast<std::byte *>(pairs.data()), bytes);
    MPI_Win win;
    MPI_Win_create(window.at(), static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    MPI_Win_fence(0, win);
    for (int to = 0; to < size; ++to)
        MPI_Accumulate(origin.at(), n, MPI_DOUBLE_INT, to, 0, n, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    window.read(0, reinterpret_cast<std::byte *>(found.data()), bytes);
    for (int i = 0; i < n; ++i) {
        const Pair &each = found[static_cast<size_t>(i)];
        check(each.value == (size - 1) * 10.0 + i && each.index == i, "MPI_MAXLOC of a window");
    }
    MPI_Win_free(&win);
}

/* ---- memory that is attached, and what is beyond a window --------------------------------------
 */

static MPI_Aint of_next(MPI_Aint mine)
{
    MPI_Aint theirs;
    MPI_Sendrecv(&mine, 1, MPI_AINT, previous(), 0, &theirs, 1, MPI_AINT, next(), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return theirs;
}

static void attaches()
{
    if (!has_dynamic_windows())
        return;
    const int n = 25000;
    const Layout layout = contiguous(n);
    Buffer memory(gpu::Kind::device, layout), on_host(gpu::Kind::pageable, layout),
        origin(gpu::Kind::pageable, layout);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Aint addresses[2];
    MPI_Get_address(memory.at(), &addresses[0]);
    MPI_Get_address(on_host.at(), &addresses[1]);
    MPI_Win_attach(win, memory.at(), layout.bytes);
    MPI_Win_attach(win, on_host.at(), layout.bytes);
    const MPI_Aint device = of_next(addresses[0]), host = of_next(addresses[1]);
    origin.fill(rank);
    epoch(Sync::fence, win, [&] {
        MPI_Put(origin.at(), n, MPI_DOUBLE, next(), device, n, MPI_DOUBLE, win);
        MPI_Put(origin.at(), n, MPI_DOUBLE, next(), host, n, MPI_DOUBLE, win);
    });
    memory.expect(previous(), 0, n), on_host.expect(previous(), 0, n);
    memory.verify("attached device memory"), on_host.verify("attached host memory");
    MPI_Win_detach(win, memory.at()), MPI_Win_detach(win, on_host.at());
    MPI_Win_free(&win);
}

/* An operation that the target refuses is told, and changes nothing. */
static void refuses()
{
    const int n = 10000;
    const Layout layout = contiguous(n);
    Buffer window(gpu::Kind::device, layout), origin(gpu::Kind::device, layout);
    if (!gpu::Machine::get().is_simulated() || is_interposed) /* who is below may check no range */
        return;
    Window w(window, layout);
    origin.fill(rank);
    for (const bool is_get : {false, true}) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, w.win);
        const int error =
            is_get ? MPI_Get(origin.at(), n, MPI_DOUBLE, next(), 8, n, MPI_DOUBLE, w.win)
                   : MPI_Put(origin.at(), n, MPI_DOUBLE, next(), 8, n, MPI_DOUBLE, w.win);
        const int later = MPI_Win_unlock(next(), w.win);
        check(error != MPI_SUCCESS || later != MPI_SUCCESS, "no error of what lies beyond");
    }
    epoch(Sync::lock, w.win,
          [&] { MPI_Put(origin.at(), n, MPI_DOUBLE, next(), 0, n, MPI_DOUBLE, w.win); });
    window.expect(previous(), 0, n);
    window.verify("what lies beyond the window");
}

int main(int argc, char **argv)
{
    const char *const selected = argc > 1 ? argv[1] : "";
    return run(argc, argv, [&] {
        const std::pair<const char *, std::function<void()>> tests[] = {
            {"every operation", every_operation},
            {"sizes", sizes},
            {"is counted", is_counted},
            {"many", many},
            {"requests", requests},
            {"threads", threads},
            {"keeps order", keeps_order},
            {"keeps order behind long types",
             [] {
                 for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable})
                     for (int turn = 0; turn < 10; ++turn)
                         keeps_order_behind_long_types(kind);
             }},
            {"is atomic", is_atomic},
            {"other elements", other_elements},
            {"attaches", attaches},
            {"refuses", refuses},
        };
        for (const auto &[name, test] : tests)
            if (std::strstr(name, selected))
                test();
    });
}
