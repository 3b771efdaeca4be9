/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every one-sided call under every synchronization, between windows and origins in device and in
 * host memory, and partitioned messages, whose buffers' addresses are MPI_BOTTOM.
 *
 * An argument selects the cases whose name contains it, and each is named when it begins.
 */
#include "device_test.hpp"

using namespace device_test;

static const char *selected;
static MPI_Group partner;

static bool wants(const std::string &name)
{
    if (selected && name.find(selected) == std::string::npos)
        return false;
    if (selected && rank == 0)
        std::fprintf(stderr, "%s\n", name.c_str());
    return true;
}

/* A matrix, column by column: all of a dense stretch, in an order that jumps. */
static Layout transposed(int n, Unit = in_doubles)
{
    const int rows = n < 1000 ? 2 : 200, columns = n / rows;
    std::vector<MPI_Aint> at;
    for (int c = 0; c < columns; ++c)
        for (int r = 0; r < rows; ++r)
            at.push_back(MPI_Aint{8} * (r * columns + c));
    MPI_Datatype vector, column, all, type;
    MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, 8, &column);
    MPI_Type_contiguous(columns, column, &all);
    MPI_Type_create_resized(all, 0, MPI_Aint{8} * n, &type);
    for (MPI_Datatype each : {vector, column, all})
        MPI_Type_free(&each);
    return {"transposed", at, type};
}

/* Two blocks with a gap between them, the upper one first. */
static Layout halves(int n, Unit = in_doubles)
{
    std::vector<MPI_Aint> at;
    for (int i = 0; i < n; ++i)
        at.push_back(MPI_Aint{8} * (i < n / 2 ? n / 2 + 7 + i : i - n / 2));
    MPI_Datatype type;
    const int displs[] = {n / 2 + 7, 0};
    MPI_Type_create_indexed_block(2, n / 2, displs, MPI_DOUBLE, &type);
    return {"halves", at, type};
}

/* How MPI is told of a buffer: by its address,
 * or by MPI_BOTTOM and so many blocks at absolute addresses. */
class Named {
public:
    Named(const Buffer &buffer, const Layout &layout, int blocks)
        : at(blocks ? MPI_BOTTOM : buffer.at()), type(layout.type), owns_(blocks > 0)
    {
        if (!owns_)
            return;
        MPI_Aint address;
        MPI_Get_address(buffer.at(), &address);
        const auto length = layout.at.size() / static_cast<size_t>(blocks);
        std::vector<MPI_Aint> displs;
        for (size_t i = 0; i < layout.at.size(); i += length)
            displs.push_back(address + layout.at[i]);
        const std::vector<int> lengths(displs.size(), static_cast<int>(length));
        MPI_Type_create_hindexed(blocks, lengths.data(), displs.data(), MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
    }
    Named(const Named &) = delete;
    ~Named()
    {
        if (owns_)
            MPI_Type_free(&type);
    }

    void *at;
    MPI_Datatype type;

private:
    bool owns_;
};

/* What lies at a target, and what comes from an origin in some turn; now the one's element is
 * larger, now the other's. */
static double held(int by, int64_t i) { return 1e6 * (1 + by) + static_cast<double>(i); }
static double sent(int from, int turn, int64_t i)
{
    return (i % 3 ? 1e7 : -1e7) * (1 + from) + 1e5 * turn + static_cast<double>(i);
}

template <class Value> static void put(Buffer &buffer, int64_t begin, Value value)
{
    for (int64_t i = begin; i < buffer.elements(); ++i)
        buffer.put(i, value(i - begin));
}

/* Every call is a Get_accumulate of some operator, with or without a result. */
struct Op {
    const char *name;
    MPI_Op handle;
    double (*target_becomes)(double held, double sent);
};
static const Op sum{"SUM", MPI_SUM, [](double held, double sent) { return held + sent; }};
static const Op maximum{"MAX", MPI_MAX,
                        [](double held, double sent) { return std::max(held, sent); }};
static const Op replace{"REPLACE", MPI_REPLACE, [](double, double sent) { return sent; }};
static const Op no_op{"NO_OP", MPI_NO_OP, [](double held, double) { return held; }};
/* Compare_and_swap replaces what is equal. */
static const Op if_equal{"of what is there", MPI_REPLACE, replace.target_becomes};
static const Op if_other{"of what is not there", MPI_OP_NULL, no_op.target_becomes};

struct Access {
    const void *origin, *compare;
    void *result;
    int count; /* of the origin, which NO_OP has none of */
    MPI_Datatype type, result_type, target_type;
    MPI_Aint disp;
    MPI_Op op;
    MPI_Win win;
};
using A = const Access &;
using R = MPI_Request *;
struct Call {
    const char *name;
    std::vector<Op> ops;
    bool fetches, request, single; /* `request`: which completes it at its origin; `single`: of one
                                      predefined element */
    void (*begin)(A, R);
};
static const Call calls[] = {
    {"Put",
     {replace},
     false,
     false,
     false,
     [](A a, R) { MPI_Put(a.origin, a.count, a.type, other(), a.disp, 1, a.target_type, a.win); }},
    {"Get",
     {no_op},
     true,
     false,
     false,
     [](A a, R) { MPI_Get(a.result, 1, a.result_type, other(), a.disp, 1, a.target_type, a.win); }},
    {"Accumulate",
     {sum, maximum, replace},
     false,
     false,
     false,
     [](A a, R) {
         MPI_Accumulate(a.origin, a.count, a.type, other(), a.disp, 1, a.target_type, a.op, a.win);
     }},
    {"Get_accumulate",
     {sum, maximum, replace, no_op},
     true,
     false,
     false,
     [](A a, R) {
         MPI_Get_accumulate(a.origin, a.count, a.type, a.result, 1, a.result_type, other(), a.disp,
                            1, a.target_type, a.op, a.win);
     }},
    {"Rput",
     {replace},
     false,
     true,
     false,
     [](A a, R r) {
         MPI_Rput(a.origin, a.count, a.type, other(), a.disp, 1, a.target_type, a.win, r);
     }},
    {"Rget",
     {no_op},
     true,
     true,
     false,
     [](A a, R r) {
         MPI_Rget(a.result, 1, a.result_type, other(), a.disp, 1, a.target_type, a.win, r);
     }},
    {"Raccumulate",
     {sum, maximum, replace},
     false,
     true,
     false,
     [](A a, R r) {
         MPI_Raccumulate(a.origin, a.count, a.type, other(), a.disp, 1, a.target_type, a.op, a.win,
                         r);
     }},
    {"Rget_accumulate",
     {sum, maximum, replace, no_op},
     true,
     true,
     false,
     [](A a, R r) {
         MPI_Rget_accumulate(a.origin, a.count, a.type, a.result, 1, a.result_type, other(), a.disp,
                             1, a.target_type, a.op, a.win, r);
     }},
    {"Fetch_and_op",
     {sum, maximum, replace, no_op},
     true,
     false,
     true,
     [](A a, R) {
         MPI_Fetch_and_op(a.origin, a.result, MPI_DOUBLE, other(), a.disp, a.op, a.win);
     }},
    /* As integers, for MPI compares no floating-point numbers. */
    {"Compare_and_swap",
     {if_equal, if_other},
     true,
     false,
     true,
     [](A a, R) {
         MPI_Compare_and_swap(a.origin, a.compare, a.result, MPI_INT64_T, other(), a.disp, a.win);
     }},
};

/* What completes an access at its origin, then at its target, where that is not the same; and what
 * is left to do. */
using Step = void (*)(MPI_Win);
static void nothing(MPI_Win) {}
static void lock_all(MPI_Win win) { MPI_Win_lock_all(0, win); }
static void unlock_all(MPI_Win win) { MPI_Win_unlock_all(win); }
static void flush(MPI_Win win) { MPI_Win_flush(other(), win); }
struct Epoch {
    const char *name;
    bool passive; /* calls with requests ask for it */
    Step begin, at_origin, at_target, end;
};
static const Epoch epochs[] = {
    {"lock", true, [](MPI_Win win) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other(), 0, win); },
     [](MPI_Win win) { MPI_Win_unlock(other(), win); }, nothing, nothing},
    {"fence", false, [](MPI_Win win) { MPI_Win_fence(MPI_MODE_NOPRECEDE, win); },
     [](MPI_Win win) { MPI_Win_fence(MPI_MODE_NOSUCCEED, win); }, nothing, nothing},
    {"flush", true, lock_all, flush, nothing, unlock_all},
    {"flush_local", true, lock_all, [](MPI_Win win) { MPI_Win_flush_local(other(), win); }, flush,
     unlock_all},
    {"post and start", false,
     [](MPI_Win win) { MPI_Win_post(partner, 0, win), MPI_Win_start(partner, 0, win); },
     [](MPI_Win win) { MPI_Win_complete(win); }, [](MPI_Win win) { MPI_Win_wait(win); }, nothing},
};

/* The types of an origin (and of a result) and of its target. */
struct Shape {
    const char *name;
    MakeLayout origin, target;
    int blocks; /* of absolute addresses; 0: a buffer of its own address */
};
static const Shape shapes[] = {
    {"plain", contiguous, contiguous, 0},
    {"gaps to none", strided, contiguous, 0},
    {"none to gaps", contiguous, indexed, 0},
    {"gaps to gaps", structs, strided, 0},
    {"transposed", transposed, contiguous, 0},
    {"transposed to gaps", transposed, strided, 0},
    {"BOTTOM of one block", contiguous, contiguous, 1},
    {"BOTTOM of one block to gaps", contiguous, strided, 1},
    {"BOTTOM of two blocks", halves, contiguous, 2},
    {"BOTTOM of two blocks to gaps", halves, indexed, 2},
};

/* The partner accesses the second of two items, which a displacement finds.
 * The first stays as it is. */
class Window {
public:
    Window(Buffer &buffer, const Layout &layout, bool dynamic)
        : at_(dynamic ? buffer.at() : nullptr)
    {
        MPI_Aint lb, extent, address;
        MPI_Type_get_extent(layout.type, &lb, &extent);
        disp = extent / 8;
        if (!dynamic) {
            MPI_Win_create(buffer.at(), layout.bytes + extent, 8, MPI_INFO_NULL, MPI_COMM_WORLD,
                           &win);
            return;
        }
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, buffer.at(), layout.bytes + extent);
        MPI_Get_address(static_cast<char *>(buffer.at()) + extent, &address);
        MPI_Sendrecv(&address, 1, MPI_AINT, other(), 0, &disp, 1, MPI_AINT, other(), 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    Window(const Window &) = delete;
    ~Window()
    {
        MPI_Barrier(MPI_COMM_WORLD); /* nothing attached may go while the partner needs it */
        if (at_)
            MPI_Win_detach(win, at_);
        MPI_Win_free(&win);
    }

    MPI_Win win;
    MPI_Aint disp;

private:
    void *at_;
};

struct Place {
    const char *name;
    gpu::Kind window, origin;
    bool dynamic;
};
static const Place places[] = {
    {"device to device", gpu::Kind::device, gpu::Kind::device, false},
    {"device to host", gpu::Kind::pageable, gpu::Kind::device, false},
    {"host to device", gpu::Kind::device, gpu::Kind::pageable, false},
    {"host to host", gpu::Kind::pageable, gpu::Kind::pageable, false},
    {"device to dynamic device", gpu::Kind::device, gpu::Kind::device, true},
    {"host to dynamic device", gpu::Kind::device, gpu::Kind::pageable, true},
};

static bool is_over_too_early(const Call &call, const Shape &shape)
{
    return ends_requests_early &&
           (call.name == std::string("Rput") || call.name == std::string("Rget")) &&
           (shape.origin != contiguous || shape.target != contiguous);
}

/* Both ranks do the same to each other. */
static void accesses(const Place &place, const Shape &shape, int n)
{
    const Layout from = shape.origin(n), to = shape.target(n), one = contiguous(1);
    Buffer memory(place.window, to, 2), origin(place.origin, from), result(place.origin, from),
        compare(place.origin, one);
    const Named origin_name(origin, from, shape.blocks), result_name(result, from, shape.blocks);
    const Window window(memory, to, place.dynamic);
    int turn = 0;
    put(memory, 0, [](int64_t i) { return held(rank, i - 1000); });
    put(origin, 0, [&](int64_t i) { return sent(rank, turn, i); });
    origin.store();
    const auto access = [&](const std::string &name, const Call &call, const Op &op,
                            const Epoch &epoch) {
        const bool none = op.handle == MPI_NO_OP;
        put(memory, n, [](int64_t i) { return held(rank, i); });
        put(result, 0, [](int64_t) { return -5; });
        put(compare, 0,
            [&](int64_t i) { return held(other(), op.handle == if_equal.handle ? i : i + 1); });
        memory.store(), result.store(), compare.store();
        MPI_Barrier(MPI_COMM_WORLD);
        epoch.begin(window.win);
        MPI_Request request = MPI_REQUEST_NULL;
        call.begin({none ? nullptr : origin_name.at, compare.at(), result_name.at, none ? 0 : 1,
                    origin_name.type, result_name.type, to.type, window.disp, op.handle,
                    window.win},
                   &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!call.request)
            epoch.at_origin(window.win);
        if (call.fetches)
            put(result, 0, [](int64_t i) { return held(other(), i); });
        result.verify(name + ": the result");
        origin.verify(name + ": the origin");
        /* Now the origin is the program's again: what it writes there, for its next turn, is no
         * part of the access. */
        put(origin, 0, [&](int64_t i) { return sent(rank, turn + 1, i); });
        origin.store();
        if (call.request)
            epoch.at_origin(window.win);
        epoch.at_target(window.win);
        MPI_Barrier(MPI_COMM_WORLD);
        put(memory, n,
            [&](int64_t i) { return op.target_becomes(held(rank, i), sent(other(), turn, i)); });
        memory.verify(name + ": the window");
        epoch.end(window.win);
        ++turn;
    };
    /* Long ones take time, and dynamic windows differ little: there each place has one epoch for a
     * shape, the next another. */
    const auto mine = (&place - places) + (&shape - shapes);
    for (const Epoch &epoch : epochs)
        for (const Call &call : calls)
            for (const Op &op : call.ops) {
                const std::string name = std::string(call.name) + " " + op.name + ", " +
                                         shape.name + ", " + place.name + ", " + epoch.name + ", " +
                                         std::to_string(n) + " doubles";
                const bool is_meant =
                    call.single == (n == 1) && (epoch.passive || !call.request) &&
                    ((n < 1000 && !place.dynamic) || &epoch - epochs == mine % std::ssize(epochs));
                if (is_meant && !is_over_too_early(call, shape) && wants(name))
                    access(name, call, op, epoch);
            }
}

/* Rank 0 to rank 1, in so many partitions: one item of the type each. */
static void partitions(const Place &place, const Shape &shape, int n, int parts)
{
    const std::string name = std::string("partitions, ") + std::to_string(parts) + " of " +
                             std::to_string(n) + " doubles, " + shape.name + ", " + place.name;
    if (!wants(name))
        return;
    const Layout layout = (rank == 0 ? shape.origin : shape.target)(n);
    Buffer buffer(rank == 0 ? place.origin : place.window, layout, parts);
    const Named at(buffer, layout, rank == 0 || shape.origin == shape.target ? shape.blocks : 0);
    MPI_Request r;
    if (rank == 0)
        MPI_Psend_init(at.at, parts, 1, at.type, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    else
        MPI_Precv_init(at.at, parts, 1, at.type, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    for (int turn = 0; turn < 2; ++turn) {
        put(buffer, 0, [&](int64_t i) { return rank == 0 ? sent(0, turn, i) : 0; });
        buffer.store();
        MPI_Start(&r);
        for (int i = parts; rank == 0 && i-- > 0;)
            MPI_Pready(i, r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        put(buffer, 0, [&](int64_t i) { return sent(0, turn, i); });
        buffer.verify(name);
    }
    MPI_Request_free(&r);
}

int main(int argc, char **argv)
{
    selected = argc > 1 ? argv[1] : nullptr;
    return run(argc, argv, [] {
        MPI_Group world;
        const int number = other();
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, &number, &partner);
        MPI_Group_free(&world);
        for (const Place &place : places) {
            if (place.dynamic && !has_dynamic_windows())
                continue;
            accesses(place, shapes[0], 1);
            for (const Shape &shape : shapes)
                for (const int n : {10, 50000}) {
                    accesses(place, shape, n);
                    for (int parts = 1; parts <= 2 && !place.dynamic; ++parts)
                        partitions(place, shape, n, parts);
                }
        }
        MPI_Group_free(&partner);
    });
}
