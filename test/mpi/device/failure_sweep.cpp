/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whatever fails, what a rank is told is true. Every operation that moves data is run with each
 * call to one rank's simulated device failing in turn: it ends, and each rank has an error or the
 * right data.
 *
 * HEDDLE_TEST_SWEEP=full makes every failure (half an hour), K/N those whose number is K modulo N;
 * otherwise one in so many is made. HEDDLE_TEST_SWEEP_ONLY=TEXT: of operations with TEXT in their
 * name alone.
 */
#include "collective_table.hpp"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace device_test;

namespace {

/* An operation with its buffers. `run` returns this rank's first error,
 * after all that it began is over. */
struct Operation {
    std::string name;
    std::function<void()> prepare;
    std::function<int()> run;
    std::function<void(const std::string &, bool all_succeeded)> verify; /* if `run` gave none */
};

/* What comes first is told. */
struct Told {
    int error = MPI_SUCCESS;
    bool operator()(int code)
    {
        error = error == MPI_SUCCESS ? code : error;
        return code == MPI_SUCCESS;
    }
};

/* ---- failures -------------------------------------------------------------------------------- */

/* What the simulation counts, and how many of it are worth failing: polls repeat themselves. */
struct Call {
    const char *name;
    int64_t most;
};
constexpr Call calls[] = {
    {"launch", 40},        {"copy", 40},          {"copy_2d", 40},      {"copy_3d", 40},
    {"execute", 40},       {"allocate", 40},      {"free", 40},         {"allocate_pinned", 40},
    {"free_pinned", 40},   {"stream_create", 40}, {"stream_device", 3}, {"stream_synchronize", 3},
    {"done_acquire", 40},  {"done_test", 3},      {"done_wait", 3},     {"done_after_all", 40},
    {"export_memory", 40}, {"import_memory", 40}, {"close_memory", 40}, {"pin", 40}};

std::string now; /* what is being done, should it not end */

void say_what_hangs(int)
{
    const char text[] = "it does not end: ";
    (void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
    (void)!write(STDOUT_FILENO, now.data(), now.size());
    (void)!write(STDOUT_FILENO, "\n", 1);
    _exit(3);
}

class Sweep {
public:
    Sweep()
    {
        if (const char *const how = std::getenv("HEDDLE_TEST_SWEEP");
            how && std::string(how) == "full") {
            one_in_ = 1;
        } else if (how && std::sscanf(how, "%lu/%lu", &which_, &one_in_) != 2) {
            one_in_ = 0;
        }
        if (which_ >= one_in_) {
            std::fprintf(stderr, "HEDDLE_TEST_SWEEP is neither full nor K/N with K below N\n");
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        const char *const only = std::getenv("HEDDLE_TEST_SWEEP_ONLY");
        only_ = only ? only : "";
        std::signal(SIGALRM, say_what_hangs);
    }

    void operator()(const Operation &op)
    {
        if (op.name.find(only_) == std::string::npos)
            return;
        const std::vector<int64_t> counts = count_calls(op);
        const size_t n = std::size(calls);
        for (int who = 0; who < size; ++who)
            for (size_t c = 0; c < n; ++c) {
                const int64_t most =
                    std::min(counts[static_cast<size_t>(who) * n + c], calls[c].most);
                for (int64_t i = 1; i <= most; ++i)
                    for (const char *fault : {"fail", "exhaust"})
                        for (const char *onwards : {"", "+"})
                            if (std::string(fault) == "fail" ||
                                (calls[c].name != std::string("execute") && !*onwards))
                                attempt(op, who,
                                        fault + std::string("=") + calls[c].name + ":" +
                                            std::to_string(i) + onwards);
            }
    }
    int64_t made() const { return made_; }

private:
    /* How often each rank's device is asked for what, where nothing fails. */
    std::vector<int64_t> count_calls(const Operation &op)
    {
        std::vector<int64_t> mine, all(std::size(calls) * static_cast<size_t>(size));
        const std::string what = op.name + ", nothing fails";
        for (int turn = 0; turn < 2; ++turn) { /* the second finds all memory that the first had to
                                                  ask for */
            begin(op, what);
            gpu::Machine::get().reset();
            const int error = op.run();
            if (error != MPI_SUCCESS)
                fail(what + ": an error");
            else
                op.verify(what, true);
        }
        for (const Call &call : calls)
            mine.push_back(gpu::Machine::get().count(call.name));
        MPI_Allgather(mine.data(), static_cast<int>(mine.size()), MPI_INT64_T, all.data(),
                      static_cast<int>(mine.size()), MPI_INT64_T, MPI_COMM_WORLD);
        return all;
    }

    static void begin(const Operation &op, const std::string &what)
    {
        op.prepare();
        MPI_Barrier(MPI_COMM_WORLD);
        now = "rank " + std::to_string(rank) + ": " + what;
        alarm(30);
    }

    void attempt(const Operation &op, int who, const std::string &fault)
    {
        seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
        if ((seed_ >> 33) % one_in_ != which_) /* the same choice at each rank */
            return;
        ++made_;
        const std::string what = op.name + ", rank " + std::to_string(who) + "'s device: " + fault;
        begin(op, what);
        if (rank == who)
            gpu::Machine::get().configure(("reset " + fault).c_str());
        const int error = op.run();
        int mine = error == MPI_SUCCESS, all = 0;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        gpu::Machine::get().reset();
        if (error == MPI_SUCCESS)
            op.verify(what, all != 0);
    }

    uint64_t which_ = 0, one_in_ = 97, seed_ = 1;
    std::string only_;
    int64_t made_ = 0;
};

/* ---- collectives ----------------------------------------------------------------------------- */

int run_form(const Case &c, Form form)
{
    MPI_Request request = MPI_REQUEST_NULL;
    Told told;
    if (!told(c.begin(form, &request)) || form == Form::blocking)
        return told.error;
    if (form != Form::persistent || told(MPI_Start(&request)))
        told(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL)
        told(MPI_Request_free(&request));
    return told.error;
}

void sweep_collectives(Sweep &sweep)
{
    const Items dense(contiguous, 1), gaps(strided, 5);
    Group groups[] = {everyone(false), everyone(true), two_groups()};
    const Graph graph;
    for (const Group &group : groups)
        MPI_Comm_set_errhandler(group.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(graph.comm, MPI_ERRORS_RETURN);
    MPI_Op_create(add_items, 1, &add_items_op);
    const auto seed = [](int r) { return 1 + r; };
    for (const Items *items : {&dense, &gaps})
        for (const int length : {10, 5120, 40000}) { /* doubles: in one shot, in chunks, reduced on
                                                        the device */
            const int elements = static_cast<int>(items->layout.elements()), n = length / elements;
            added = items;
            Buffer source(gpu::Kind::device, items->layout, room_for(n)),
                target(gpu::Kind::device, items->layout, room_for(n));
            for (const Group &group : groups) {
                const Table table(group, graph, n, *items, *items, source, target);
                for (const Case &c : table.cases()) {
                    /* A long one in place reduces where all its operands are. */
                    if (group.in_place && length > 10000 && c.name.starts_with("Reduce_scatter"))
                        continue;
                    for (const auto &[form, name] : {std::pair{Form::blocking, ""},
                                                     {Form::nonblocking, "I"},
                                                     {Form::persistent, "persistent "}}) {
                        sweep({name + c.name + ", " + items->layout.name + ", " + group.name +
                                   ", " + std::to_string(length) + " doubles",
                               [&] {
                                   source.fill(seed(rank));
                                   target.fill(group.in_place ? seed(rank) : 5000);
                               },
                               [&, form = form] { return run_form(c, form); },
                               [&](const std::string &what, bool) {
                                   expect(c, elements, target, seed);
                                   if (c.is_defined)
                                       target.verify(what);
                                   source.verify(what + ", what it sends");
                               }});
                    }
                }
            }
        }
    MPI_Op_free(&add_items_op);
    MPI_Comm_free(&groups[2].comm);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Both ends' calls. */
struct Message {
    const char *name;
    std::function<void(Told &, const Buffer &, MPI_Comm)> send, receive;
};

constexpr int tag = 7;

void complete(Told &told, MPI_Request request, bool persistent = false)
{
    if (persistent && !told(MPI_Start(&request)))
        return;
    told(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL)
        told(MPI_Request_free(&request));
}

void receive(Told &told, const Buffer &b, MPI_Comm comm)
{
    told(MPI_Recv(b.at(), 1, b.type(), 0, tag, comm, MPI_STATUS_IGNORE));
}

/* A probe finds the size of what was to come, also where it could not be packed. */
void check_size(const Buffer &b, const MPI_Status &status)
{
    int count = 0;
    MPI_Get_count(&status, b.type(), &count);
    check(count == 1, now + ": a probe finds another size");
}

void send_plainly(Told &told, const Buffer &b, MPI_Comm comm)
{
    told(MPI_Send(b.at(), 1, b.type(), 1, tag, comm));
}

void send_synchronously(Told &told, const Buffer &b, MPI_Comm comm)
{
    told(MPI_Ssend(b.at(), 1, b.type(), 1, tag, comm));
}

void send_buffered(Told &told, const Buffer &b, MPI_Comm comm)
{
    std::vector<char> memory(static_cast<size_t>(b.elements()) * sizeof(double) +
                             MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(memory.data(), static_cast<int>(memory.size()));
    told(MPI_Bsend(b.at(), 1, b.type(), 1, tag, comm));
    void *at;
    int bytes;
    MPI_Buffer_detach(&at, &bytes);
}

/* One end, by a call that makes a request. */
template <class Call> auto by_request(Call call, bool persistent)
{
    return [call, persistent](Told &told, const Buffer &b, MPI_Comm comm) {
        MPI_Request request;
        if (told(call(b.at(), 1, b.type(), 1 - rank, tag, comm, &request)))
            complete(told, request, persistent);
    };
}

void partitioned(Told &told, const Buffer &b, MPI_Comm comm)
{
    MPI_Request request;
    if (!told(rank == 0
                  ? MPI_Psend_init(b.at(), 1, 1, b.type(), 1, tag, comm, MPI_INFO_NULL, &request)
                  : MPI_Precv_init(b.at(), 1, 1, b.type(), 0, tag, comm, MPI_INFO_NULL, &request)))
        return;
    if (told(MPI_Start(&request)) && rank == 0)
        told(MPI_Pready(0, request));
    told(MPI_Wait(&request, MPI_STATUS_IGNORE));
    told(MPI_Request_free(&request));
}

void probe_and_receive(Told &told, const Buffer &b, MPI_Comm comm)
{
    MPI_Status status;
    if (told(MPI_Probe(0, tag, comm, &status)))
        check_size(b, status);
    receive(told, b, comm);
}

void match_and_receive(Told &told, const Buffer &b, MPI_Comm comm)
{
    MPI_Message message;
    MPI_Status status;
    told(MPI_Mprobe(0, tag, comm, &message, &status));
    check_size(b, status);
    told(MPI_Mrecv(b.at(), 1, b.type(), &message, MPI_STATUS_IGNORE));
}

/* Rank 1's part is a second receive: all that comes is looked at by it. */
void exchange(Told &told, const Buffer &b, MPI_Comm comm)
{
    double none = 0;
    if (rank == 0)
        told(MPI_Sendrecv(b.at(), 1, b.type(), 1, tag, &none, 1, MPI_DOUBLE, 1, tag, comm,
                          MPI_STATUS_IGNORE));
    else
        told(MPI_Sendrecv(&none, 1, MPI_DOUBLE, 0, tag, b.at(), 1, b.type(), 0, tag, comm,
                          MPI_STATUS_IGNORE));
}

void iexchange(Told &told, const Buffer &b, MPI_Comm comm)
{
    double none = 0;
    MPI_Request request;
    if (told(rank == 0 ? MPI_Isendrecv(b.at(), 1, b.type(), 1, tag, &none, 1, MPI_DOUBLE, 1, tag,
                                       comm, &request)
                       : MPI_Isendrecv(&none, 1, MPI_DOUBLE, 0, tag, b.at(), 1, b.type(), 0, tag,
                                       comm, &request)))
        complete(told, request);
}

void replace(Told &told, const Buffer &b, MPI_Comm comm)
{
    told(MPI_Sendrecv_replace(b.at(), 1, b.type(), 1 - rank, tag, 1 - rank, tag, comm,
                              MPI_STATUS_IGNORE));
}

void ireplace(Told &told, const Buffer &b, MPI_Comm comm)
{
    MPI_Request request;
    if (told(MPI_Isendrecv_replace(b.at(), 1, b.type(), 1 - rank, tag, 1 - rank, tag, comm,
                                   &request)))
        complete(told, request);
}

std::vector<Message> every_message()
{
    const auto begun = [](auto call) { return by_request(call, false); };
    const auto persistent = [](auto call) { return by_request(call, true); };
    return {{"Send", send_plainly, receive},
            {"Ssend", send_synchronously, receive},
            {"Bsend", send_buffered, receive},
            {"Isend and Irecv", begun(MPI_Isend), begun(MPI_Irecv)},
            {"Issend and Irecv", begun(MPI_Issend), begun(MPI_Irecv)},
            {"persistent sends and receives", persistent(MPI_Send_init), persistent(MPI_Recv_init)},
            {"Psend and Precv", partitioned, partitioned},
            {"Probe", send_plainly, probe_and_receive},
            {"Mprobe", send_plainly, match_and_receive},
            {"Sendrecv", exchange, exchange},
            {"Isendrecv", iexchange, iexchange},
            {"Sendrecv_replace", replace, replace},
            {"Isendrecv_replace", ireplace, ireplace}};
}

void sweep_messages(Sweep &sweep)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    const std::vector<Message> messages = every_message();
    for (const MakeLayout &make : {every_layout[0], every_layout[2]})
        for (const int n : {5, 1500, 20000}) {
            const Layout layout = make(n);
            Buffer buffer(gpu::Kind::device, layout);
            for (const Message &m : messages) {
                const bool both = std::string(m.name).find("replace") != std::string::npos;
                sweep({std::string(m.name) + ", " + layout.name + ", " + std::to_string(n) +
                           " doubles",
                       [&] { buffer.fill(rank); },
                       [&] {
                           Told told;
                           if (rank < 2)
                               (rank == 0 ? m.send : m.receive)(told, buffer, comm);
                           return told.error;
                       },
                       [&](const std::string &what, bool) {
                           if (rank == 1 || (rank == 0 && both))
                               buffer.expect(1 - rank, 0, n);
                           buffer.verify(what);
                       }});
            }
        }
    MPI_Comm_free(&comm);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* From rank 0 to rank 1's window, or back. */
struct Access {
    const char *name;
    bool fetches, changes, requests;
    std::function<int(const Buffer &, const Buffer &, MPI_Datatype, MPI_Win, MPI_Request *)> begin;
};

std::vector<Access> every_access()
{
    using B = const Buffer &;
    return {{"Put", false, true, false,
             [](B o, B, MPI_Datatype t, MPI_Win w, MPI_Request *) {
                 return MPI_Put(o.at(), 1, o.type(), 1, 0, 1, t, w);
             }},
            {"Get", true, false, false,
             [](B, B r, MPI_Datatype t, MPI_Win w, MPI_Request *) {
                 return MPI_Get(r.at(), 1, r.type(), 1, 0, 1, t, w);
             }},
            {"Accumulate", false, true, false,
             [](B o, B, MPI_Datatype t, MPI_Win w, MPI_Request *) {
                 return MPI_Accumulate(o.at(), 1, o.type(), 1, 0, 1, t, MPI_REPLACE, w);
             }},
            {"Get_accumulate", true, true, false,
             [](B o, B r, MPI_Datatype t, MPI_Win w, MPI_Request *) {
                 return MPI_Get_accumulate(o.at(), 1, o.type(), r.at(), 1, r.type(), 1, 0, 1, t,
                                           MPI_REPLACE, w);
             }},
            {"Rput", false, true, true,
             [](B o, B, MPI_Datatype t, MPI_Win w, MPI_Request *q) {
                 return MPI_Rput(o.at(), 1, o.type(), 1, 0, 1, t, w, q);
             }},
            {"Rget", true, false, true,
             [](B, B r, MPI_Datatype t, MPI_Win w, MPI_Request *q) {
                 return MPI_Rget(r.at(), 1, r.type(), 1, 0, 1, t, w, q);
             }},
            {"Raccumulate", false, true, true,
             [](B o, B, MPI_Datatype t, MPI_Win w, MPI_Request *q) {
                 return MPI_Raccumulate(o.at(), 1, o.type(), 1, 0, 1, t, MPI_REPLACE, w, q);
             }},
            {"Rget_accumulate", true, true, true,
             [](B o, B r, MPI_Datatype t, MPI_Win w, MPI_Request *q) {
                 return MPI_Rget_accumulate(o.at(), 1, o.type(), r.at(), 1, r.type(), 1, 0, 1, t,
                                            MPI_REPLACE, w, q);
             }}};
}

int run_access(const Access &access, bool locks, const Buffer &origin, const Buffer &result,
               MPI_Datatype type, MPI_Win window)
{
    Told told;
    told(locks ? MPI_SUCCESS : MPI_Win_fence(0, window));
    if (rank == 0) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (locks)
            told(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window));
        if (told(access.begin(origin, result, type, window, &request)) && access.requests)
            told(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (locks)
            told(MPI_Win_unlock(1, window));
    }
    told(locks ? MPI_SUCCESS : MPI_Win_fence(0, window));
    return told.error;
}

/* The origin is told of all; what the target has is right where nobody was told of an error. */
void sweep_windows(Sweep &sweep)
{
    const std::vector<Access> accesses = every_access();
    for (const int n : {5, 20000}) {
        const Layout near = strided(n), far = indexed(n);
        Buffer origin(gpu::Kind::device, near), result(gpu::Kind::device, near),
            target(gpu::Kind::device, far);
        MPI_Win window;
        MPI_Win_create(target.at(), far.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
        for (const Access &access : accesses)
            for (const bool locks : {false, true}) {
                if (access.requests && !locks)
                    continue;
                sweep({access.name + std::string(locks ? ", lock, " : ", fence, ") +
                           std::to_string(n) + " doubles",
                       [&] {
                           origin.fill(1);
                           target.fill(2);
                           result.fill(3);
                       },
                       [&] {
                           const int error =
                               run_access(access, locks, origin, result, far.type, window);
                           MPI_Barrier(MPI_COMM_WORLD);
                           return error;
                       },
                       [&](const std::string &what, bool all_succeeded) {
                           if (rank == 0 && access.fetches)
                               result.expect(2, 0, n);
                           if (rank == 1 && access.changes)
                               target.expect(1, 0, n);
                           origin.verify(what + ", origin");
                           result.verify(what + ", result");
                           if (all_succeeded)
                               target.verify(what + ", target");
                       }});
            }
        MPI_Win_free(&window);
    }
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Collectives of one process, and messages to oneself, are copies from `a` to `b`. */
struct Alone {
    explicit Alone(Sweep &to_sweep) : sweep(to_sweep)
    {
        MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
        MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &take);
    }
    ~Alone() { MPI_Op_free(&take); }

    void reductions()
    {
        copies("Allreduce", [&] { return MPI_Allreduce(a, b, 1, type, take, self); });
        copies("Iallreduce", [&] { return waited(MPI_Iallreduce(a, b, 1, type, take, self, &q)); });
        copies("Reduce", [&] { return MPI_Reduce(a, b, 1, type, take, 0, self); });
        copies("Ireduce", [&] { return waited(MPI_Ireduce(a, b, 1, type, take, 0, self, &q)); });
        copies("Scan", [&] { return MPI_Scan(a, b, 1, type, take, self); });
        copies("Iscan", [&] { return waited(MPI_Iscan(a, b, 1, type, take, self, &q)); });
        copies("Reduce_scatter", [&] { return MPI_Reduce_scatter(a, b, one, type, take, self); });
        copies("Ireduce_scatter",
               [&] { return waited(MPI_Ireduce_scatter(a, b, one, type, take, self, &q)); });
        copies("Reduce_scatter_block",
               [&] { return MPI_Reduce_scatter_block(a, b, 1, type, take, self); });
        copies("Ireduce_scatter_block",
               [&] { return waited(MPI_Ireduce_scatter_block(a, b, 1, type, take, self, &q)); });
    }

    void movements()
    {
        copies("Allgather", [&] { return MPI_Allgather(a, 1, type, b, 1, type, self); });
        copies("Iallgather",
               [&] { return waited(MPI_Iallgather(a, 1, type, b, 1, type, self, &q)); });
        copies("Allgatherv", [&] { return MPI_Allgatherv(a, 1, type, b, one, zero, type, self); });
        copies("Iallgatherv",
               [&] { return waited(MPI_Iallgatherv(a, 1, type, b, one, zero, type, self, &q)); });
        copies("Gather", [&] { return MPI_Gather(a, 1, type, b, 1, type, 0, self); });
        copies("Igather", [&] { return waited(MPI_Igather(a, 1, type, b, 1, type, 0, self, &q)); });
        copies("Gatherv", [&] { return MPI_Gatherv(a, 1, type, b, one, zero, type, 0, self); });
        copies("Scatter", [&] { return MPI_Scatter(a, 1, type, b, 1, type, 0, self); });
        copies("Iscatter",
               [&] { return waited(MPI_Iscatter(a, 1, type, b, 1, type, 0, self, &q)); });
        copies("Scatterv", [&] { return MPI_Scatterv(a, one, zero, type, b, 1, type, 0, self); });
        copies("Alltoall", [&] { return MPI_Alltoall(a, 1, type, b, 1, type, self); });
        copies("Ialltoall",
               [&] { return waited(MPI_Ialltoall(a, 1, type, b, 1, type, self, &q)); });
        copies("Alltoallv",
               [&] { return MPI_Alltoallv(a, one, zero, type, b, one, zero, type, self); });
        copies("Alltoallw",
               [&] { return MPI_Alltoallw(a, one, zero, types, b, one, zero, types, self); });
    }

    void messages()
    {
        copies("Sendrecv", [&] {
            return MPI_Sendrecv(a, 1, type, 0, 1, b, 1, type, 0, 1, self, MPI_STATUS_IGNORE);
        });
        copies("Isend and Recv", [&] {
            const int begun = MPI_Isend(a, 1, type, 0, 1, self, &q);
            const int received =
                begun == MPI_SUCCESS ? MPI_Recv(b, 1, type, 0, 1, self, MPI_STATUS_IGNORE) : begun;
            const int sent = waited(begun);
            return received == MPI_SUCCESS ? sent : received;
        });
        copies("Irecv and Send", [&] {
            const int begun = MPI_Irecv(b, 1, type, 0, 1, self, &q);
            const int sent = begun == MPI_SUCCESS ? MPI_Send(a, 1, type, 0, 1, self) : begun;
            const int received = waited(begun);
            return received == MPI_SUCCESS ? sent : received;
        });
    }

    int waited(int error) { return error == MPI_SUCCESS ? MPI_Wait(&q, MPI_STATUS_IGNORE) : error; }
    void copies(const char *name, std::function<int()> run)
    {
        sweep({std::string(name) + ", one process",
               [this] {
                   from.fill(1);
                   to.fill(2);
               },
               std::move(run),
               [this](const std::string &what, bool) {
                   to.expect(1, 0, n);
                   to.verify(what);
               }});
    }

    static constexpr int n = 3000;
    static constexpr int one[] = {1}, zero[] = {0};
    Sweep &sweep;
    const MPI_Comm self = MPI_COMM_SELF;
    const Layout layout = strided(n);
    Buffer from{gpu::Kind::device, layout}, to{gpu::Kind::device, layout};
    void *const a = from.at(), *const b = to.at();
    const MPI_Datatype type = layout.type;
    const MPI_Datatype types[1] = {type};
    MPI_Op take = MPI_OP_NULL;
    MPI_Request q = MPI_REQUEST_NULL;
};

void sweep_alone(Sweep &sweep)
{
    Alone alone(sweep);
    alone.reductions();
    alone.movements();
    alone.messages();
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (!gpu::Machine::get().is_simulated())
            return;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        Sweep sweep;
        sweep_alone(sweep);
        sweep_messages(sweep);
        sweep_windows(sweep);
        sweep_collectives(sweep);
        alarm(0);
        if (rank == 0)
            std::printf("%lld failures were made\n", static_cast<long long>(sweep.made()));
    });
}
