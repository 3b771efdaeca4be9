/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device fails amid one-sided or partitioned communication, at either end. The origin at least
 * gets an error, from the call, its request or the synchronization. There is never a hang, never
 * wrong data, and what comes afterwards succeeds. On simulated devices alone.
 */
#include "device_test.hpp"

using namespace device_test;

static const char *const broken[] = {"fail=launch:1+ fail=copy:1+ fail=copy_2d:1+ fail=copy_3d:1+",
                                     "fail=execute:1+", "fail=launch:2", "fail=launch:3+"};

enum class Access {
    put,
    get,
    accumulate,
    get_accumulate,
    rput,
    rget,
    raccumulate,
    rget_accumulate
};
static const char *const access_names[] = {"Put",  "Get",  "Accumulate",  "Get_accumulate",
                                           "Rput", "Rget", "Raccumulate", "Rget_accumulate"};
enum class Sync { fence, lock, lock_all, start, flush };
static const char *const sync_names[] = {"fences", "lock", "lock_all", "start", "flush"};

static bool fetches(Access access) { return access == Access::get || access == Access::rget; }
static bool requests(Access access) { return access >= Access::rput; }

/* From `from` to rank 1's window, whose part is a `target`; or back. */
static int begin(Access access, const Buffer &from, const Buffer &result, MPI_Datatype target,
                 MPI_Win window, MPI_Request *request)
{
    void *const at = from.at();
    const MPI_Datatype type = from.type();
    switch (access) {
    case Access::put:
        return MPI_Put(at, 1, type, 1, 0, 1, target, window);
    case Access::get:
        return MPI_Get(at, 1, type, 1, 0, 1, target, window);
    case Access::accumulate:
        return MPI_Accumulate(at, 1, type, 1, 0, 1, target, MPI_REPLACE, window);
    case Access::get_accumulate:
        return MPI_Get_accumulate(at, 1, type, result.at(), 1, type, 1, 0, 1, target, MPI_REPLACE,
                                  window);
    case Access::rput:
        return MPI_Rput(at, 1, type, 1, 0, 1, target, window, request);
    case Access::rget:
        return MPI_Rget(at, 1, type, 1, 0, 1, target, window, request);
    case Access::raccumulate:
        return MPI_Raccumulate(at, 1, type, 1, 0, 1, target, MPI_REPLACE, window, request);
    case Access::rget_accumulate:
        return MPI_Rget_accumulate(at, 1, type, result.at(), 1, type, 1, 0, 1, target, MPI_REPLACE,
                                   window, request);
    }
    return MPI_ERR_OTHER;
}

/* An epoch with one operation of rank 0's; the first error that this rank was told. */
template <class Operate> static int epoch(Sync sync, MPI_Comm comm, MPI_Win window, Operate operate)
{
    int error = MPI_SUCCESS;
    const auto told = [&](int code) { error = error == MPI_SUCCESS ? code : error; };
    MPI_Group all, others;
    const int their_rank = other();
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 1, &their_rank, &others);
    if (sync == Sync::fence) {
        told(MPI_Win_fence(0, window));
        if (rank == 0)
            operate(told);
        told(MPI_Win_fence(0, window));
    } else if (sync == Sync::start && rank == 1) {
        told(MPI_Win_post(others, 0, window));
        told(MPI_Win_wait(window));
    } else if (sync == Sync::start) {
        told(MPI_Win_start(others, 0, window));
        operate(told);
        told(MPI_Win_complete(window));
    } else if (rank == 0) {
        told(sync == Sync::lock ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window)
                                : MPI_Win_lock_all(0, window));
        operate(told);
        if (sync == Sync::flush)
            told(MPI_Win_flush(1, window));
        told(sync == Sync::lock ? MPI_Win_unlock(1, window) : MPI_Win_unlock_all(window));
    }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Barrier(comm);
    return error;
}

static int theirs(int error)
{
    int others_error = 0;
    MPI_Sendrecv(&error, 1, MPI_INT, 1 - rank, 2, &others_error, 1, MPI_INT, 1 - rank, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return others_error;
}

/* From here on the device of rank `who` fails as `how` says; all know. */
static void break_device(MPI_Comm comm, int who, const char *how)
{
    MPI_Barrier(comm);
    if (rank == who)
        gpu::Machine::get().configure((std::string("reset ") + how).c_str());
    MPI_Barrier(comm);
}

/* A window that has a public copy tells in its next call of what failed beside it, in a barrier
 * for example, and makes good what was missed. */
static void catch_up(Sync sync, MPI_Win window)
{
    if (!is_interposed)
        return;
    if (sync == Sync::fence) {
        MPI_Win_fence(0, window);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
        MPI_Win_unlock(rank, window);
    }
}

static bool is_over_too_early(Access access)
{
    return ends_requests_early && (access == Access::rput || access == Access::rget);
}

static MPI_Win window_on(const Buffer &memory, const Layout &layout, MPI_Comm comm)
{
    MPI_Win window;
    MPI_Win_create(memory.at(), layout.bytes, 1, MPI_INFO_NULL, comm, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    return window;
}

/* Whether rank `who`'s device takes part in what rank 0 does to rank 1's memory: a direct window
 * asks the origin's alone, and so does a public copy. */
static bool takes_part(int who) { return who == 0 || (!expects_direct() && !is_interposed); }

/* `whole`: nothing works, so that some error has to come, and nothing is written. */
static void failing(MPI_Comm comm, Access access, Sync sync, int who, int n, const char *how,
                    bool whole)
{
    const std::string what = std::string(access_names[static_cast<int>(access)]) + " of " +
                             std::to_string(n) + " doubles under " +
                             sync_names[static_cast<int>(sync)] + ", rank " + std::to_string(who) +
                             "'s device: " + how;
    const Layout near = strided(n), far = indexed(n);
    Buffer origin(gpu::Kind::device, near), result(gpu::Kind::device, near),
        target(gpu::Kind::device, far);
    origin.fill(1);
    result.fill(3);
    target.fill(2);
    MPI_Win window = window_on(target, far, comm);

    const auto operate = [&](auto told) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int error = begin(access, origin, result, far.type, window, &request);
        told(error);
        if (requests(access) && error == MPI_SUCCESS)
            told(MPI_Wait(&request, MPI_STATUS_IGNORE));
    };
    /* What should be there once it is done. */
    const auto done = [&] {
        if (rank == 0 && fetches(access))
            origin.expect(2, 0, n);
        if (rank == 1 && !fetches(access))
            target.expect(1, 0, n);
        if (rank == 0 && (access == Access::get_accumulate || access == Access::rget_accumulate))
            result.expect(2, 0, n);
    };
    break_device(comm, who, how);
    const int error = epoch(sync, comm, window, operate);
    gpu::Machine::get().reset();
    const int other_error = theirs(error);
    if (rank == 0 && takes_part(who))
        check(!whole || error != MPI_SUCCESS, what + ": no error at the origin");
    if (rank == 0 && !takes_part(who))
        check(error == MPI_SUCCESS, what + ": an error of a device that has no part in it");
    if (rank == 0 && (takes_part(who) || !is_interposed)) /* a public copy is the target's own */
        check(other_error == MPI_SUCCESS || error != MPI_SUCCESS,
              what + ": an error at the target alone");
    catch_up(sync, window);
    const bool is_done =
        (error == MPI_SUCCESS && other_error == MPI_SUCCESS) || (is_interposed && !takes_part(who));
    if (is_done)
        done();
    if (whole || is_done) {
        origin.verify(what + ", origin");
        result.verify(what + ", result");
        target.verify(what + ", target");
    }

    if (sync == Sync::lock) { /* it was told where it belongs, and once */
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
        check(MPI_Win_unlock(rank, window) == MPI_SUCCESS, what + ": an epoch of another's fails");
    }
    origin.fill(1);
    result.fill(3);
    target.fill(2);
    MPI_Barrier(comm);
    const int next = epoch(sync, comm, window, operate);
    check(next == MPI_SUCCESS, what + ": the next one fails");
    done();
    origin.verify(what + ", the next one's origin");
    result.verify(what + ", the next one's result");
    target.verify(what + ", the next one's target");
    MPI_Win_free(&window);
}

/* Single values: whoever's device fails, the origin is told, and no value changes. */
static void failing_atomics(MPI_Comm comm, int who)
{
    const Layout one = contiguous(1);
    for (const bool swaps : {false, true}) {
        const std::string what = std::string(swaps ? "Compare_and_swap" : "Fetch_and_op") +
                                 ", rank " + std::to_string(who) + "'s device fails";
        Buffer origin(gpu::Kind::device, one), compared(gpu::Kind::device, one),
            result(gpu::Kind::device, one), target(gpu::Kind::device, one);
        origin.fill(1);
        compared.fill(2);
        result.fill(3);
        target.fill(2);
        MPI_Win window = window_on(target, one, comm);
        const auto operate = [&](auto told) {
            told(swaps ? MPI_Compare_and_swap(origin.at(), compared.at(), result.at(), MPI_INT64_T,
                                              1, 0, window)
                       : MPI_Fetch_and_op(origin.at(), result.at(), MPI_DOUBLE, 1, 0, MPI_REPLACE,
                                          window));
        };
        for (const Sync sync : {Sync::fence, Sync::lock}) {
            if (!takes_part(who))
                continue;
            break_device(comm, who, broken[0]);
            const int error = epoch(sync, comm, window, operate);
            gpu::Machine::get().reset();
            if (rank == 0)
                check(error != MPI_SUCCESS, what + ": no error");
            MPI_Barrier(comm);
            catch_up(sync, window);
            result.verify(what + ", result");
            target.verify(what + ", target");
        }
        MPI_Barrier(comm);
        check(epoch(Sync::lock, comm, window, operate) == MPI_SUCCESS,
              what + ": the next one fails");
        if (rank == 0)
            result.expect(2, 0, 1);
        else
            target.expect(1, 0, 1);
        result.verify(what + ", the next one's result");
        target.verify(what + ", the next one's target");
        MPI_Win_free(&window);
    }
}

static void failing_partitions(MPI_Comm comm, int who, int n, const char *how, bool whole)
{
    constexpr int parts = 3;
    const std::string what = "partitions of " + std::to_string(n) + " doubles, rank " +
                             std::to_string(who) + "'s device: " + how;
    const Layout layout = rank == 0 ? strided(n) : indexed(n);
    Buffer buffer(gpu::Kind::device, layout, parts);
    buffer.fill(rank);
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(buffer.at(), parts, 1, buffer.type(), 1, 1, comm, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(buffer.at(), parts, 1, buffer.type(), 0, 1, comm, MPI_INFO_NULL, &request);
    for (const bool fails : {true, false}) {
        if (fails)
            break_device(comm, who, how);
        int error = MPI_Start(&request);
        for (int i = 0; rank == 0 && i < parts && error == MPI_SUCCESS; ++i)
            error = MPI_Pready(i, request);
        const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        error = error == MPI_SUCCESS ? waited : error;
        check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              what + ": an inactive request fails again");
        MPI_Barrier(comm);
        gpu::Machine::get().reset();
        const int other_error = theirs(error);
        if (!fails)
            check(error == MPI_SUCCESS, what + ": the next start fails");
        else if (whole && rank == 1)
            check(error != MPI_SUCCESS, what + ": no error at the receiver");
        else if (whole && who == 0)
            check(error != MPI_SUCCESS, what + ": no error at the sender");
        if (rank == 1 && error == MPI_SUCCESS) {
            check(other_error == MPI_SUCCESS, what + ": an error at the sender alone");
            buffer.expect(0, 0, buffer.elements());
        }
        if (whole || error == MPI_SUCCESS)
            buffer.verify(what);
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (!gpu::Machine::get().is_simulated())
            return;
        MPI_Comm comm;
        /* It also serves requests of windows. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (const int who : {0, 1}) {
            /* A type of 30 000 is described in 2 messages: it is too long for a header. */
            for (const int n : {1000, 30000}) {
                for (const char *how : broken) {
                    const bool whole = how == broken[0] || how == broken[1];
                    for (int access = 0; access <= static_cast<int>(Access::rget_accumulate);
                         ++access)
                        for (const Sync sync :
                             {Sync::fence, Sync::lock, Sync::lock_all, Sync::start, Sync::flush})
                            if (!is_over_too_early(static_cast<Access>(access)) &&
                                (!requests(static_cast<Access>(access)) ||
                                 (sync != Sync::fence && sync != Sync::start)))
                                failing(comm, static_cast<Access>(access), sync, who, n, how,
                                        whole);
                    if (who == 1 || !is_interposed) /* there the receiver waits */
                        failing_partitions(comm, who, n, how, whole);
                }
            }
            failing_atomics(comm, who);
        }
        MPI_Comm_free(&comm);
    });
}
