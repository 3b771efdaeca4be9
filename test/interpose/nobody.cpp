/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where there is nobody nothing is written: neighbours beyond the edge of a grid, and targets that
 * are MPI_PROC_NULL. Also what an origin has room for beyond what its target has, blocks of nothing
 * that have no type, and calls that wait while a message of this process is being packed.
 */
#include "device_test.hpp"

#include <functional>

using namespace device_test;

static constexpr int n = 300;

/* ---- neighbours ----------------------------------------------------------------------------- */

/* A line, whose ends do not meet. */
struct Line {
    Line()
    {
        const int is_periodic = 0;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &is_periodic, 0, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Cart_shift(comm, 0, 1, &left, &right);
    }
    Line(const Line &) = delete;
    ~Line() { MPI_Comm_free(&comm); }
    MPI_Comm comm = MPI_COMM_NULL;
    int left = 0, right = 0;
};

/* A call whose blocks stand one behind the other: of which each neighbour gets one of two, or all
 * the same. */
struct Call {
    const char *name;
    bool is_one_for_all;
    std::function<void(const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *request)>
        call;
};

static const int ones[] = {1, 1}, in_a_row[] = {0, 1};

static const Call calls[] = {
    {"MPI_Neighbor_alltoall", false,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *) {
         MPI_Neighbor_alltoall(out.at(), 1, out.type(), in.at(), 1, in.type(), comm);
     }},
    {"MPI_Ineighbor_alltoall", false,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *request) {
         MPI_Ineighbor_alltoall(out.at(), 1, out.type(), in.at(), 1, in.type(), comm, request);
     }},
    {"MPI_Neighbor_alltoallv", false,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *) {
         MPI_Neighbor_alltoallv(out.at(), ones, in_a_row, out.type(), in.at(), ones, in_a_row,
                                in.type(), comm);
     }},
    {"MPI_Neighbor_allgather", true,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *) {
         MPI_Neighbor_allgather(out.at(), 1, out.type(), in.at(), 1, in.type(), comm);
     }},
    {"MPI_Neighbor_allgatherv", true,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *) {
         MPI_Neighbor_allgatherv(out.at(), 1, out.type(), in.at(), ones, in_a_row, in.type(), comm);
     }},
#if !defined(OPEN_MPI) /* 5.0.10 crashes there, without the interposer, too */
    {"MPI_Neighbor_alltoallw", false,
     [](const Buffer &out, const Buffer &in, MPI_Comm comm, MPI_Request *) {
         MPI_Aint lb, extent;
         MPI_Type_get_extent(out.type(), &lb, &extent);
         const MPI_Aint places[] = {0, extent};
         const MPI_Datatype types[] = {out.type(), out.type()};
         MPI_Neighbor_alltoallw(out.at(), ones, places, types, in.at(), ones, places, types, comm);
     }},
#endif
};

static void neighbours()
{
    const Line line;
    const Layout layout = strided(n);
    for (const Call &each : calls)
        for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable}) {
            Buffer out(gpu::Kind::device, layout, each.is_one_for_all ? 1 : 2), in(kind, layout, 2);
            MPI_Request request = MPI_REQUEST_NULL;
            out.fill(rank);
            in.fill(50);
            each.call(out, in, line.comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (line.left != MPI_PROC_NULL)
                in.expect(line.left, 0, n, each.is_one_for_all ? 0 : n);
            if (line.right != MPI_PROC_NULL)
                in.expect(line.right, n, 2 * n);
            in.verify(each.name);
        }
}

#if !defined(OPEN_MPI) /* it asks for types */
static void types_of_nothing()
{
    const Layout layout = strided(n);
    Buffer out(gpu::Kind::device, layout), in(gpu::Kind::device, layout);
    const int other = (rank + 1) % size, before = (rank + size - 1) % size;
    std::vector<int> sent(static_cast<size_t>(size)), received(sent), places(sent);
    std::vector<MPI_Datatype> out_types(sent.size(), MPI_DATATYPE_NULL), in_types(out_types);
    sent[static_cast<size_t>(other)] = received[static_cast<size_t>(before)] = 1;
    out_types[static_cast<size_t>(other)] = in_types[static_cast<size_t>(before)] = layout.type;
    out.fill(rank);
    MPI_Alltoallw(out.at(), sent.data(), places.data(), out_types.data(), in.at(), received.data(),
                  places.data(), in_types.data(), MPI_COMM_WORLD);
    in.expect(before, 0, n);
    in.verify("MPI_Alltoallw, blocks of nothing without a type");
}
#endif

/* ---- one-sided ------------------------------------------------------------------------------ */

struct Window {
    Window()
    {
        void *base = nullptr;
        MPI_Win_allocate(n * MPI_Aint{8}, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        for (int i = 0; i < n; ++i)
            static_cast<double *>(base)[i] = Buffer::value(rank, i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    Window(const Window &) = delete;
    ~Window() { MPI_Win_free(&win); }
    MPI_Win win = MPI_WIN_NULL;
};

static void no_target()
{
    const Window window;
    const Layout layout = strided(n);
    Buffer some(gpu::Kind::device, layout), result(gpu::Kind::device, layout);
    some.fill(50);
    result.fill(51);
    MPI_Win_fence(0, window.win);
    MPI_Get(some.at(), 1, layout.type, MPI_PROC_NULL, 0, n, MPI_DOUBLE, window.win);
    MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, result.at(), 1, layout.type, MPI_PROC_NULL, 0, n,
                       MPI_DOUBLE, MPI_NO_OP, window.win);
    MPI_Win_fence(0, window.win);
    some.verify("MPI_Get from nobody");
    result.verify("MPI_Get_accumulate from nobody");
    MPI_Win_lock_all(0, window.win);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(some.at(), 1, layout.type, MPI_PROC_NULL, 0, n, MPI_DOUBLE, window.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(some.at(), result.at(), MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_SUM, window.win);
    MPI_Win_unlock_all(window.win);
    some.verify("MPI_Rget from nobody");
    result.verify("MPI_Fetch_and_op at nobody");
}

/* Nobody is waited for, and so nothing that others have is there. */
static void flushes_nobody()
{
    const int other = (rank + 1) % size;
    const Window window;
    const Layout layout = strided(n);
    Buffer some(gpu::Kind::device, layout);
    MPI_Win_lock_all(0, window.win);
    MPI_Get(some.at(), 1, layout.type, other, 0, n, MPI_DOUBLE, window.win);
#if !defined(OPEN_MPI) /* it takes no such rank */
    MPI_Win_flush(MPI_PROC_NULL, window.win);
#endif
    MPI_Win_flush(other, window.win);
    some.expect(other, 0, n);
    some.verify("MPI_Get, after a flush of nobody");
    MPI_Win_unlock_all(window.win);
}

static void larger_origin()
{
    const int other = (rank + 1) % size;
    const Window window;
    const Layout layout = strided(2 * n);
    Buffer some(gpu::Kind::device, layout);
    some.fill(50);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window.win);
    MPI_Get(some.at(), 1, layout.type, other, 0, n, MPI_DOUBLE, window.win);
    MPI_Win_unlock(other, window.win);
    some.expect(other, 0, n);
    some.verify("MPI_Get of less than there is room for");
}

/* ---- calls that wait ------------------------------------------------------------------------ */

static void set_info(MPI_Win win)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
}

/* The second rank comes once it has what the first is packing. */
static void waits_while_packing()
{
    const Window window;
    const Layout layout = strided(100000);
    Buffer some(gpu::Kind::device, layout);
    some.fill(7);
    MPI_Request request = MPI_REQUEST_NULL;
    gpu::Machine::get().configure("delay_us=50000");
    if (rank == 0)
        MPI_Isend(some.at(), 1, layout.type, 1, 0, MPI_COMM_WORLD, &request);
    if (rank == 1) {
        MPI_Recv(some.at(), 1, layout.type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        some.verify("what was packed while its sender waited");
    }
    set_info(window.win);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    gpu::Machine::get().reset();
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        neighbours();
#if !defined(OPEN_MPI)
        types_of_nothing();
#endif
        no_target();
        flushes_nobody();
        larger_origin();
        waits_while_packing();
    });
}
