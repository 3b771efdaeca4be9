/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of neighbours on device memory: blocking, nonblocking, and persistent ones, whose
 * edges are channels. On grids, and on graphs with several edges between two ranks, and with edges
 * to oneself. The expected blocks come from a list of all edges of all ranks.
 *
 * An argument selects the tests whose name contains it.
 */
#include "../forms.hpp"
#include "direct_test.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

using namespace device_test;

namespace {

/* ---- topologies ------------------------------------------------------------------------------ */

/* What rank `from` sends as its block `out` comes to `to` as its block `in`. */
struct Edge {
    int from, out, to, in;
};

struct Topology {
    Topology() = default;
    Topology(const Topology &) = delete;
    ~Topology()
    {
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }

    std::string name;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0, sources = 0, destinations = 0; /* this rank's, MPI_PROC_NULL among them */
    std::vector<Edge> edges;                     /* of all ranks */
};
using Topo = std::unique_ptr<Topology>;

/* A row-major grid of the first ranks. */
Topo grid(const std::vector<int> &dims, const std::vector<int> &periods)
{
    const int number = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
    const int n = static_cast<int>(dims.size());
    auto made = std::make_unique<Topology>();
    MPI_Cart_create(MPI_COMM_WORLD, n, dims.data(), periods.data(), 0, &made->comm);
    if (made->comm == MPI_COMM_NULL)
        return nullptr;
    MPI_Comm_rank(made->comm, &made->rank);
    made->sources = made->destinations = 2 * n;
    made->name = "a grid of";
    int below = number;
    for (int d = 0; d < n; ++d) {
        const int size = dims[static_cast<size_t>(d)];
        const bool is_ring = periods[static_cast<size_t>(d)] != 0;
        made->name += " " + std::to_string(size) + (is_ring ? " (periodic)" : "");
        below /= size;
        for (int r = 0; r < number; ++r) {
            const int at = r / below % size;
            for (const int step : {-1, 1}) {
                const int next = (at + step + size) % size;
                if (!is_ring && (at + step < 0 || at + step == size))
                    continue;
                /* What goes down comes from above. */
                made->edges.push_back(
                    {r, 2 * d + (step > 0), r + (next - at) * below, 2 * d + (step < 0)});
            }
        }
    }
    return made;
}

/* Edges in the order in which both ends count them. */
Topo graph(int members, const std::vector<std::pair<int, int>> &ends, const std::string &name)
{
    MPI_Comm of;
    MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : MPI_UNDEFINED, rank, &of);
    if (of == MPI_COMM_NULL)
        return nullptr;
    auto made = std::make_unique<Topology>();
    made->name = name;
    made->rank = rank;
    std::vector<std::vector<int>> in(static_cast<size_t>(members)), out(in.size());
    for (const auto &[from, to] : ends) {
        auto &leaving = out[static_cast<size_t>(from)], &coming = in[static_cast<size_t>(to)];
        made->edges.push_back(
            {from, static_cast<int>(leaving.size()), to, static_cast<int>(coming.size())});
        leaving.push_back(to);
        coming.push_back(from);
    }
    const auto &mine_in = in[static_cast<size_t>(rank)], &mine_out = out[static_cast<size_t>(rank)];
    made->sources = static_cast<int>(mine_in.size());
    made->destinations = static_cast<int>(mine_out.size());
    MPI_Dist_graph_create_adjacent(of, made->sources, mine_in.data(), MPI_UNWEIGHTED,
                                   made->destinations, mine_out.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &made->comm);
    MPI_Comm_free(&of);
    return made;
}

/* With parallel edges, and edges to oneself; the seed is in the name, which failures print. */
Topo random_graph(unsigned seed)
{
    std::mt19937 agreed(seed);
    const int members = 2 + static_cast<int>(agreed() % static_cast<unsigned>(size - 1));
    std::vector<std::pair<int, int>> ends;
    const auto any = [&] { return static_cast<int>(agreed() % static_cast<unsigned>(members)); };
    for (unsigned i = agreed() % 14; i > 0; --i)
        ends.emplace_back(any(), any());
    return graph(members, ends, "a graph of seed " + std::to_string(seed));
}

/* Calls `body` with each topology that this rank is in. */
template <class Body> void on_all_topologies(Body body)
{
    for (const auto &[dims, periods] : std::vector<std::array<std::vector<int>, 2>>{
             {{{1}, {1}}},
             {{{2}, {1}}},
             {{{3}, {1}}},
             {{{3}, {0}}},
             {{{2, 2}, {1, 1}}},
             {{{2, 1}, {0, 1}}},
             {{{1, 2, 2}, {1, 0, 1}}},
         })
        if (const Topo topology = grid(dims, periods))
            body(*topology);
    for (unsigned seed = 1; seed <= 6; ++seed)
        if (const Topo topology = random_graph(seed))
            body(*topology);
}

/* ---- operations ------------------------------------------------------------------------------ */

constexpr const char *form_names[] = {"blocking", "nonblocking", "persistent"};

/* One collective with its buffers. */
class Operation {
public:
    explicit Operation(const Topology &t) : t(t) {}
    Operation(const Operation &) = delete;
    virtual ~Operation() = default;
    /* Writes what is sent, and says what is to come of it. */
    virtual void fill(int round) = 0;
    virtual void call(Form form, MPI_Request *request) = 0;
    virtual void verify(const std::string &what) const = 0;
    virtual std::string name() const = 0;
    /* Whether any rank sends anything. */
    virtual bool has_data() const { return !t.edges.empty(); }

protected:
    static int seed(int round, int from, int out) { return 1000 * round + 100 * from + out + 1; }
    const Topology &t;
};
using One = std::unique_ptr<Operation>;

/* Blocks of one type in one buffer. Of the `v` forms they lie in reverse, with counts of 0 to 2. */
class Regular : public Operation {
public:
    enum Which { allgather, allgatherv, alltoall, alltoallv };

    Regular(const Topology &t, Which which, gpu::Kind kind, MakeLayout make, int n)
        : Operation(t),
          which_(which),
          n_(n),
          layout_(make(n)),
          sent_(kind, layout_, std::max(1, 2 * t.destinations)),
          received_(kind, layout_, std::max(1, 2 * t.sources)),
          places_(t.sources),
          sends_(t.destinations)
    {
        for (const Edge &e : t.edges) {
            if (e.from == t.rank)
                sends_.counts[static_cast<size_t>(e.out)] = count(e);
            if (e.to == t.rank)
                places_.counts[static_cast<size_t>(e.in)] = count(e);
        }
        for (Blocks *each : {&places_, &sends_}) {
            const int blocks = static_cast<int>(each->at.size());
            for (int i = 0; i < blocks; ++i)
                each->at[static_cast<size_t>(i)] = is_v() ? 2 * (blocks - 1 - i) : i;
        }
    }
    std::string name() const override
    {
        constexpr const char *names[] = {"allgather", "allgatherv", "alltoall", "alltoallv"};
        return names[which_];
    }
    bool has_data() const override
    {
        return std::any_of(t.edges.begin(), t.edges.end(),
                           [&](const Edge &e) { return count(e) > 0; });
    }
    void fill(int round) override
    {
        sent_.expect(-1, 0, sent_.elements());
        if (is_gather())
            sent_.expect(seed(round, t.rank, 0), 0, int64_t{n_} * own_count());
        else
            for (const Edge &e : t.edges)
                if (e.from == t.rank)
                    expect(sent_, sends_, e.out, seed(round, e.from, e.out));
        sent_.store();
        received_.fill(-2 - round);
        for (const Edge &e : t.edges)
            if (e.to == t.rank)
                expect(received_, places_, e.in, seed(round, e.from, is_gather() ? 0 : e.out));
    }
    void verify(const std::string &what) const override
    {
        sent_.verify(what + ", sent");
        received_.verify(what);
    }
    void call(Form form, MPI_Request *r) override
    {
        switch (which_) {
        case allgather:
            return call_allgather(form, r);
        case allgatherv:
            return call_allgatherv(form, r);
        case alltoall:
            return call_alltoall(form, r);
        case alltoallv:
            return call_alltoallv(form, r);
        }
    }

private:
    struct Blocks {
        explicit Blocks(int n) : counts(static_cast<size_t>(n), 0), at(counts.size(), 0) {}
        std::vector<int> counts, at;
    };
    bool is_v() const { return which_ == allgatherv || which_ == alltoallv; }
    bool is_gather() const { return which_ == allgather || which_ == allgatherv; }
    int own_count() const { return which_ == allgatherv ? (t.rank + 1) % 3 : 1; }
    int count(const Edge &e) const
    {
        return which_ == allgatherv  ? (e.from + 1) % 3
               : which_ == alltoallv ? (e.from + 2 * e.to + e.out + 1) % 3
                                     : 1;
    }
    void expect(Buffer &b, const Blocks &blocks, int i, int its) const
    {
        const auto at = static_cast<size_t>(i);
        const int64_t begin = int64_t{n_} * blocks.at[at];
        b.expect(its, begin, begin + int64_t{n_} * blocks.counts[at]);
    }
    void call_allgather(Form form, MPI_Request *r)
    {
        const MPI_Datatype type = layout_.type;
        call_in(form, r, MPI_Neighbor_allgather, MPI_Ineighbor_allgather,
                MPI_Neighbor_allgather_init, sent_.at(), 1, type, received_.at(), 1, type, t.comm);
    }
    void call_allgatherv(Form form, MPI_Request *r)
    {
        const MPI_Datatype type = layout_.type;
        call_in(form, r, MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv,
                MPI_Neighbor_allgatherv_init, sent_.at(), own_count(), type, received_.at(),
                places_.counts.data(), places_.at.data(), type, t.comm);
    }
    void call_alltoall(Form form, MPI_Request *r)
    {
        const MPI_Datatype type = layout_.type;
        call_in(form, r, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPI_Neighbor_alltoall_init,
                sent_.at(), 1, type, received_.at(), 1, type, t.comm);
    }
    void call_alltoallv(Form form, MPI_Request *r)
    {
        const MPI_Datatype type = layout_.type;
        call_in(form, r, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv,
                MPI_Neighbor_alltoallv_init, sent_.at(), sends_.counts.data(), sends_.at.data(),
                type, received_.at(), places_.counts.data(), places_.at.data(), type, t.comm);
    }

    const Which which_;
    const int n_;
    const Layout layout_;
    Buffer sent_, received_;
    Blocks places_, sends_;
};

/* A buffer for each edge, each with a type and a kind of memory of its own; the two ends of an edge
 * have different types. */
class Alltoallw : public Operation {
public:
    using KindOf = std::function<gpu::Kind(int block)>;

    Alltoallw(const Topology &t, const KindOf &kind, int n)
        : Operation(t), in_(t.sources), out_(t.destinations)
    {
        for (const Edge &e : t.edges) {
            const int elements = e.out % 4 == 3 ? 3 : n + 17 * e.out + e.from;
            if (e.from == t.rank)
                out_.put(e.out, every_layout[(e.from + e.out) % 4](elements), kind(e.out));
            if (e.to == t.rank)
                in_.put(e.in, every_layout[(e.to + e.in + 1) % 4](elements), kind(e.in + 1));
        }
    }
    std::string name() const override { return "alltoallw"; }
    void fill(int round) override
    {
        for (const Edge &e : t.edges) {
            if (e.from == t.rank)
                out_[e.out].fill(seed(round, e.from, e.out));
            if (e.to == t.rank) {
                Buffer &to = in_[e.in];
                to.fill(-2 - round);
                to.expect(seed(round, e.from, e.out), 0, to.elements());
            }
        }
    }
    void verify(const std::string &what) const override
    {
        out_.verify(what + ", sent");
        in_.verify(what);
    }
    void call(Form form, MPI_Request *r) override
    {
        call_in(form, r, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw,
                MPI_Neighbor_alltoallw_init, MPI_BOTTOM, out_.counts.data(), out_.at.data(),
                out_.types.data(), MPI_BOTTOM, in_.counts.data(), in_.at.data(), in_.types.data(),
                t.comm);
    }

private:
    /* Blocks that no edge has, beyond a grid's border, keep no data. */
    struct Blocks {
        explicit Blocks(int n)
            : counts(static_cast<size_t>(n), 0),
              at(counts.size(), 0),
              types(counts.size(), MPI_BYTE),
              layouts(counts.size()),
              buffers(counts.size())
        {
        }
        void put(int i, Layout &&layout, gpu::Kind kind)
        {
            const auto b = static_cast<size_t>(i);
            layouts[b] = std::make_unique<Layout>(std::move(layout));
            buffers[b] = std::make_unique<Buffer>(kind, *layouts[b]);
            counts[b] = 1;
            types[b] = layouts[b]->type;
            MPI_Get_address(buffers[b]->at(), &at[b]);
        }
        Buffer &operator[](int i) { return *buffers[static_cast<size_t>(i)]; }
        void verify(const std::string &what) const
        {
            for (size_t b = 0; b < buffers.size(); ++b)
                if (buffers[b])
                    buffers[b]->verify(what + ", block " + std::to_string(b));
        }
        std::vector<int> counts;
        std::vector<MPI_Aint> at;
        std::vector<MPI_Datatype> types;
        std::vector<std::unique_ptr<Layout>> layouts;
        std::vector<std::unique_ptr<Buffer>> buffers;
    };
    Blocks in_, out_;
};

/* All five, in device memory. */
std::vector<One> all_five(const Topology &t, MakeLayout layout, int n)
{
    std::vector<One> all;
    for (const auto which :
         {Regular::allgather, Regular::allgatherv, Regular::alltoall, Regular::alltoallv})
        all.push_back(std::make_unique<Regular>(t, which, gpu::Kind::device, layout, n));
    all.push_back(std::make_unique<Alltoallw>(
        t, [](int) { return gpu::Kind::device; }, n));
    return all;
}

/* ---- tests ----------------------------------------------------------------------------------- */

void once(Operation &one, Form form, int round, const Topology &t)
{
    const std::string what = one.name() + ", " + form_names[static_cast<int>(form)] + ", on " +
                             t.name + ", round " + std::to_string(round);
    MPI_Request request = MPI_REQUEST_NULL;
    one.fill(round);
    one.call(form, &request);
    if (form == Form::persistent)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == Form::persistent)
        MPI_Request_free(&request);
    one.verify(what);
}

/* Starts it again and again. `by_channel`: its edges are channels. */
void again(Operation &one, bool by_channel, const Topology &t)
{
    constexpr int rounds = 8;
    const std::string what = one.name() + ", persistent, on " + t.name;
    MPI_Request request;
    one.call(Form::persistent, &request);
    const int64_t before = counted("collectives_by_channel");
    for (int round = 0; round < rounds; ++round) {
        one.fill(round);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        one.verify(what + ", round " + std::to_string(round));
    }
    const int64_t starts = counted("collectives_by_channel") - before;
    check(starts == (by_channel ? rounds : 0),
          what + ": " + std::to_string(starts) + " starts went by channels");
    MPI_Request_free(&request);
}

void each_form()
{
    on_all_topologies([](const Topology &t) {
        for (const MakeLayout layout : every_layout)
            for (const int n : {1, 2000})
                for (const One &one : all_five(t, layout, n))
                    for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent})
                        once(*one, form, n, t);
    });
}

void persistent()
{
    on_all_topologies([](const Topology &t) {
        for (const MakeLayout layout : {MakeLayout(contiguous), MakeLayout(structs)})
            for (const int n : {70, 3000})
                for (const One &one : all_five(t, layout, n))
                    again(*one, one->has_data(), t);
    });
}

/* Each block by itself in host, device or managed memory; at the other end it may be another one's.
 */
void mixed()
{
    on_all_topologies([](const Topology &t) {
        for (const int n : {5, 2000})
            for (const Form form : {Form::blocking, Form::nonblocking, Form::persistent})
                for (int shift = 0; shift < 3; ++shift) {
                    Alltoallw one(
                        t, [&](int block) { return every_kind[(block + shift + t.rank) % 3]; }, n);
                    for (int round = 0; round < 2; ++round)
                        once(one, form, round, t);
                }
        Alltoallw in_host(
            t, [](int) { return gpu::Kind::pageable; }, 300);
        again(in_host, false, t);
        Regular half(t, Regular::alltoall, t.rank % 2 ? gpu::Kind::pageable : gpu::Kind::device,
                     strided, 900);
        again(half,
              std::any_of(t.edges.begin(), t.edges.end(),
                          [](const Edge &e) { return e.from % 2 == 0 || e.to % 2 == 0; }),
              t);
    });
}

/* Several at once, which ranks start and await in orders of their own, beside other collectives. */
void in_any_order()
{
    on_all_topologies([](const Topology &t) {
        std::mt19937 own(static_cast<unsigned>(t.rank) + 3);
        std::vector<One> operations;
        std::vector<MPI_Request> requests;
        for (const int n : {40, 1500})
            for (One &one : all_five(t, n == 40 ? strided : structs, n)) {
                requests.emplace_back();
                one->call(Form::persistent, &requests.back());
                operations.push_back(std::move(one));
            }
        std::vector<size_t> order(requests.size());
        std::iota(order.begin(), order.end(), size_t{0});
        const One beside =
            std::make_unique<Regular>(t, Regular::alltoall, gpu::Kind::device, contiguous, 800);
        for (int round = 0; round < 5; ++round) {
            for (const One &one : operations)
                one->fill(round);
            beside->fill(round);
            std::shuffle(order.begin(), order.end(), own);
            MPI_Request nonblocking;
            for (const size_t i : order)
                MPI_Start(&requests[i]);
            beside->call(Form::nonblocking, &nonblocking);
            std::shuffle(order.begin(), order.end(), own);
            for (const size_t i : order) {
                int done = 0;
                while (!done)
                    MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
                operations[i]->verify("one of many, " + operations[i]->name() + ", on " + t.name);
            }
            MPI_Wait(&nonblocking, MPI_STATUS_IGNORE);
            beside->verify("beside persistent ones, on " + t.name);
        }
        for (MPI_Request &each : requests)
            MPI_Request_free(&each);
    });
}

/* A type and a communicator that are freed before the first start. */
void freed()
{
    Topo t = grid({2}, {1});
    if (!t)
        return;
    const Layout layout = contiguous(2000);
    Buffer from(gpu::Kind::device, layout), to(gpu::Kind::device, layout);
    MPI_Datatype type;
    MPI_Request request;
    MPI_Type_vector(500, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Neighbor_alltoall_init(from.at(), 1, type, to.at(), 1, type, t->comm, MPI_INFO_NULL,
                               &request);
    MPI_Type_free(&type);
    MPI_Comm_free(&t->comm);
    for (int round = 0; round < 4; ++round) {
        from.fill(2 * round + rank);
        to.fill(-1);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        /* What the other one sends first comes last: a vector of 500 ends before its last gap. */
        for (const int block : {0, 1})
            for (int64_t i = 0; i < 500; ++i)
                to.put(999 * block + 2 * i,
                       Buffer::value(2 * round + other(), 999 * (1 - block) + 2 * i));
        to.verify("after its type and its communicator were freed");
    }
    MPI_Request_free(&request);
}

/* Rank 1 has started before rank 0: so all data are written to their place, on each of the edges
 * between the two, though the first of them is too short for that. */
void written_to_their_place()
{
    const Topo t = graph(2, {{0, 1}, {0, 1}, {0, 1}}, "a graph of three edges");
    if (!t)
        return;
    const Layout layouts[] = {contiguous(3), strided(9000), contiguous(20000)};
    std::vector<std::unique_ptr<Buffer>> blocks;
    std::vector<MPI_Aint> at(3);
    std::vector<MPI_Datatype> types;
    for (size_t i = 0; i < 3; ++i) {
        blocks.push_back(std::make_unique<Buffer>(gpu::Kind::device, layouts[i]));
        types.push_back(layouts[i].type);
        MPI_Get_address(blocks[i]->at(), &at[i]);
    }
    const std::vector<int> ones(3, 1);
    MPI_Request request;
    MPI_Neighbor_alltoallw_init(MPI_BOTTOM, ones.data(), at.data(), types.data(), MPI_BOTTOM,
                                ones.data(), at.data(), types.data(), t->comm, MPI_INFO_NULL,
                                &request);
    constexpr int rounds = 40;
    const int64_t before = counted("messages_delivered");
    for (int round = 0; round < rounds; ++round) {
        if (rank == 1)
            MPI_Start(&request);
        MPI_Barrier(t->comm);
        if (rank == 0) {
            for (int i = 0; i < 3; ++i)
                blocks[static_cast<size_t>(i)]->fill(10 * round + i);
            MPI_Start(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; rank == 1 && i < 3; ++i) {
            Buffer &block = *blocks[static_cast<size_t>(i)];
            block.expect(10 * round + i, 0, block.elements());
            block.verify("written to its place, block " + std::to_string(i));
        }
    }
    MPI_Request_free(&request);
    const int64_t written = counted("messages_delivered") - before;
    /* By one edge alone they would be 40 at most. On a busy machine not all are in time. */
    if (rank == 0 && expects_direct() && !std::getenv("HEDDLE_PEER"))
        check(written > rounds, std::to_string(written) + " of " + std::to_string(2 * rounds) +
                                    " long blocks were written to their place");
}

/* All that is sent, is packed in one launch. */
void one_launch()
{
    constexpr int edges = 12;
    const Topo t =
        graph(2, std::vector<std::pair<int, int>>(edges, {0, 1}), "a graph of twelve edges");
    if (!t || !gpu::Machine::get().is_simulated() || std::getenv("MPIR_CVAR_CH4_UCX_GPU_ONESHOT"))
        return;
    for (const Form form : {Form::blocking, Form::nonblocking}) {
        Regular one(*t, Regular::alltoall, gpu::Kind::device, indexed, 60);
        MPI_Request request = MPI_REQUEST_NULL;
        one.fill(1);
        MPI_Barrier(t->comm);
        /* Nothing is over before the next call, so that what comes then has to wait. */
        gpu::Machine::get().configure("reset delay_us=5000");
        const int64_t before = counted("launches_kernels");
        one.call(form, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const int64_t launches = counted("launches_kernels") - before;
        gpu::Machine::get().reset();
        one.verify("twelve edges");
        check(rank != 0 || launches == 1, std::string(form_names[static_cast<int>(form)]) + ": " +
                                              std::to_string(launches) + " launches of packs");
    }
}

/* Who is told nothing has the right data, and nobody waits for ever. */
void failing_devices()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    for (const int n : {100, 20000})
        for (const char *how : broken)
            for (const int who : {0, 1}) {
                const Topo t = graph(2, {{0, 1}, {1, 0}, {0, 1}, {1, 0}}, "a pair");
                if (t)
                    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
                MPI_Request request = MPI_REQUEST_NULL;
                std::unique_ptr<Regular> one;
                if (t) {
                    one = std::make_unique<Regular>(*t, Regular::alltoall, gpu::Kind::device,
                                                    strided, n);
                    one->call(Form::persistent, &request);
                    one->fill(0);
                }
                int error = MPI_SUCCESS;
                while_failing(who, how, [&] {
                    if (t && MPI_Start(&request) == MPI_SUCCESS)
                        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
                });
                if (!t)
                    continue;
                check(rank != who || error != MPI_SUCCESS, "a device fails, and nobody is told");
                if (error == MPI_SUCCESS)
                    one->verify("another's device failed");
                for (int round = 1; round < 4; ++round) { /* it works again */
                    one->fill(round);
                    MPI_Start(&request);
                    check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                          "after a failure: another error");
                    one->verify("after a failure");
                }
                MPI_Request_free(&request);
            }
}

constexpr Test tests[] = {
    {"each form", each_form},   {"persistent", persistent},
    {"mixed", mixed},           {"in any order", in_any_order},
    {"freed", freed},           {"written to their place", written_to_their_place},
    {"one launch", one_launch}, {"failing devices", failing_devices}};

} // namespace

int main(int argc, char **argv) { return run_tests(argc, argv, tests); }
