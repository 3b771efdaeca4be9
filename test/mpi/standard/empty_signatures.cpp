/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that move nothing, in all forms, by all algorithms. One rank says so by a zero count,
 * another by a type without data: the type signature is the same, so the call is right. Buffers may
 * be null then, or the same. After each such call the same call with data shows that no message was
 * left behind.
 *
 * memory: host mixed
 */
#include "collective_test.hpp"

#include <functional>

using namespace collective_test;

namespace {

/* One side of a call: `count` instances for each rank, one behind the other. */
struct Side {
    void *at;
    int count;
    MPI_Datatype type;
    std::vector<int> counts, displacements, bytes;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Datatype> types;

    Side(void *buffer, int n, MPI_Datatype t) : at(buffer), count(n), type(t)
    {
        const size_t ranks = static_cast<size_t>(size);
        counts.assign(ranks, n);
        types.assign(ranks, t);
        for (int i = 0; i < size; i++) {
            displacements.push_back(i);
            bytes.push_back(4 * i);
            addresses.push_back(4 * i);
        }
    }
};

using Made = std::function<int(Form, MPI_Request *)>;
/* What int `i` of the receive buffer is after the call with one int for each; -1: unchanged. */
using Expected = std::function<int(int i)>;

struct Call {
    const char *name;
    std::function<Made(const Side &, const Side &)> make;
    Expected expected;
};

int sent(int from, int to) { return value(from, to, 0, 0); }

void perform(const std::string &what, Form form, const Made &call)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (!check_success(call(form, &request), what) || form == Form::blocking)
        return;
    for (int n = 0; n < (form == Form::persistent ? 2 : 1); n++)
        if ((form == Form::persistent && !check_success(MPI_Start(&request), what)) ||
            !check_success(MPI_Wait(&request, MPI_STATUS_IGNORE), what))
            return;
    if (form == Form::persistent)
        MPI_Request_free(&request);
}

class Trial {
public:
    Trial() : ints_(static_cast<size_t>(size) * 4), from_(ints_), to_(ints_)
    {
        MPI_Type_contiguous(0, MPI_INT, &empty_);
        MPI_Type_commit(&empty_);
        MPI_Type_vector(2, 1, 2, MPI_INT, &gaps_);
        MPI_Type_commit(&gaps_);
    }
    ~Trial()
    {
        MPI_Type_free(&empty_);
        MPI_Type_free(&gaps_);
    }
    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;

    void run(const Call &call)
    {
        turn_++;
        for (const Form form : kForms) {
            const Algorithms &algorithms =
                Algorithms::of((form == Form::blocking ? "" : "I") + std::string(call.name), false);
            for (int i = 0; i < algorithms.count(); i++) {
                if (!is_made_by(i, turn_, algorithms))
                    continue;
                algorithms.choose(i);
                const std::string what =
                    std::string(name(form)) + " " + call.name + ", algorithm " + std::to_string(i);
                for (int turn = 0; turn < 5; turn++)
                    move_nothing(what + ", nothing " + std::to_string(turn), call, form, turn);
                move_ints(what + ", data after nothing", call, form);
            }
            algorithms.choose(0);
        }
    }

private:
    /* Ways of saying it, others at each rank: so that who sends and who receives differ. */
    Side nothing(int way, void *buffer) const
    {
        const Side ways[] = {
            {buffer, 0, MPI_INT}, {buffer, 2, empty_}, {nullptr, 0, gaps_}, {nullptr, 3, empty_}};
        return ways[way % 4];
    }

    void move_nothing(const std::string &what, const Call &call, Form form, int turn)
    {
        if (turn == 4) { /* the same arguments on both sides */
            const Side both = nothing(rank, to_.at());
            perform(what, form, call.make(both, both));
            return;
        }
        const Side send = nothing(rank + turn, from_.at()),
                   recv = nothing(rank * 3 + turn + 1, to_.at());
        to_.put(std::vector<int>(ints_ / 4, -1));
        perform(what, form, call.make(send, recv));
        for (const int found : to_.get<int>())
            check_equal(found, -1, what + ", buffer");
    }

    void move_ints(const std::string &what, const Call &call, Form form)
    {
        std::vector<int> out;
        for (int i = 0; i < size; i++)
            out.push_back(sent(rank, i));
        from_.put(out);
        to_.put(std::vector<int>(ints_ / 4, -1));
        const Side send{from_.at(), 1, MPI_INT}, recv{to_.at(), 1, MPI_INT};
        perform(what, form, call.make(send, recv));
        const std::vector<int> found = to_.get<int>();
        for (int i = 0; i < size; i++)
            check_equal(found[i], call.expected(i), what + ", int " + std::to_string(i));
    }

    size_t ints_; /* bytes, of one int for each rank */
    Memory from_, to_;
    int turn_ = 0;
    MPI_Datatype empty_, gaps_;
};

#define CALL(Name, comm, what, ...)                                                                                        \
    Call                                                                                                                   \
    {                                                                                                                      \
#Name, [=](const Side &s, const Side &r) -> Made { (void) s, (void) r; return COLLECTIVE(Name, comm, __VA_ARGS__); }, what \
    }

std::vector<Call> calls(int root, MPI_Comm all_to_all)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    const Expected from_all = [](int i) { return sent(i, 0); },
                   exchanged = [](int i) { return sent(i, rank); };
    const Expected gathered = [=](int i) { return rank == root ? sent(i, 0) : -1; };
    const Expected scattered = [=](int i) { return i == 0 ? sent(root, rank) : -1; };
    return {
        CALL(Gather, w, gathered, s.at, s.count, s.type, r.at, r.count, r.type, root),
        CALL(Gatherv, w, gathered, s.at, s.count, s.type, r.at, r.counts.data(),
             r.displacements.data(), r.type, root),
        CALL(Scatter, w, scattered, s.at, s.count, s.type, r.at, r.count, r.type, root),
        CALL(Scatterv, w, scattered, s.at, s.counts.data(), s.displacements.data(), s.type, r.at,
             r.count, r.type, root),
        CALL(Allgather, w, from_all, s.at, s.count, s.type, r.at, r.count, r.type),
        CALL(Allgatherv, w, from_all, s.at, s.count, s.type, r.at, r.counts.data(),
             r.displacements.data(), r.type),
        CALL(Alltoall, w, exchanged, s.at, s.count, s.type, r.at, r.count, r.type),
        CALL(Alltoallv, w, exchanged, s.at, s.counts.data(), s.displacements.data(), s.type, r.at,
             r.counts.data(), r.displacements.data(), r.type),
        CALL(Alltoallw, w, exchanged, s.at, s.counts.data(), s.bytes.data(), s.types.data(), r.at,
             r.counts.data(), r.bytes.data(), r.types.data()),
        CALL(Neighbor_allgather, all_to_all, from_all, s.at, s.count, s.type, r.at, r.count,
             r.type),
        CALL(Neighbor_allgatherv, all_to_all, from_all, s.at, s.count, s.type, r.at,
             r.counts.data(), r.displacements.data(), r.type),
        CALL(Neighbor_alltoall, all_to_all, exchanged, s.at, s.count, s.type, r.at, r.count,
             r.type),
        CALL(Neighbor_alltoallv, all_to_all, exchanged, s.at, s.counts.data(),
             s.displacements.data(), s.type, r.at, r.counts.data(), r.displacements.data(), r.type),
        CALL(Neighbor_alltoallw, all_to_all, exchanged, s.at, s.counts.data(), s.addresses.data(),
             s.types.data(), r.at, r.counts.data(), r.addresses.data(), r.types.data()),
    };
}

/* One buffer for all: what each says of it. */
Call bcast(int root)
{
    return {"Bcast",
            [=](const Side &, const Side &r) -> Made {
                return COLLECTIVE(Bcast, MPI_COMM_WORLD, r.at, r.count, r.type, root);
            },
            [](int) { return -1; }};
}

/* Reductions of nothing take null buffers as well. */
void reduce_nothing()
{
    const std::vector<int> none(static_cast<size_t>(size), 0);
    const MPI_Comm w = MPI_COMM_WORLD;
    for (const Form form : kForms) {
        const std::string of = std::string(name(form)) + " ";
        perform(of + "Reduce", form,
                COLLECTIVE(Reduce, w, nullptr, nullptr, 0, MPI_INT, MPI_SUM, 0));
        perform(of + "Allreduce", form,
                COLLECTIVE(Allreduce, w, nullptr, nullptr, 0, MPI_INT, MPI_SUM));
        perform(of + "Scan", form, COLLECTIVE(Scan, w, nullptr, nullptr, 0, MPI_INT, MPI_SUM));
        perform(of + "Exscan", form, COLLECTIVE(Exscan, w, nullptr, nullptr, 0, MPI_INT, MPI_SUM));
        perform(of + "Reduce_scatter", form,
                COLLECTIVE(Reduce_scatter, w, nullptr, nullptr, none.data(), MPI_INT, MPI_SUM));
        perform(of + "Reduce_scatter_block", form,
                COLLECTIVE(Reduce_scatter_block, w, nullptr, nullptr, 0, MPI_INT, MPI_SUM));
    }
}

/* Arguments that are not significant at a rank may be anything there. */
void not_significant(Memory &from, Memory &to, int root)
{
    const MPI_Comm w = MPI_COMM_WORLD;
    const bool here = rank == root;
    const int n = here ? 1 : -1;
    const MPI_Datatype type = here ? MPI_INT : MPI_DATATYPE_NULL;
    const std::vector<int> ones(static_cast<size_t>(size), 1), at(static_cast<size_t>(size), 0);
    const int *const counts = here ? ones.data() : nullptr, *const displacements =
                                                                here ? at.data() : nullptr;
    const void *const s = here ? from.at() : nullptr;
    void *const r = here ? to.at() : nullptr;
    for (const Form form : kForms) {
        const std::string of = std::string(name(form)) + " ";
        perform(of + "Gather", form,
                COLLECTIVE(Gather, w, from.at(), 1, MPI_INT, r, n, type, root));
        perform(of + "Scatter", form,
                COLLECTIVE(Scatter, w, s, n, type, to.at(), 1, MPI_INT, root));
        perform(
            of + "Gatherv", form,
            COLLECTIVE(Gatherv, w, from.at(), 1, MPI_INT, r, counts, displacements, type, root));
        perform(of + "Scatterv", form,
                COLLECTIVE(Scatterv, w, s, counts, displacements, type, to.at(), 1, MPI_INT, root));
    }
}

/* A block of nothing needs no type. */
void null_types(Memory &from, Memory &to)
{
    const size_t ranks = static_cast<size_t>(size);
    const std::vector<int> none(ranks, 0), at(ranks, 0);
    const std::vector<MPI_Datatype> null(ranks, MPI_DATATYPE_NULL);
    std::vector<int> counts(none);
    std::vector<MPI_Datatype> types(null); /* but to itself */
    counts[rank] = 1, types[rank] = MPI_INT;
    const void *const sources[] = {from.at(), MPI_IN_PLACE};
    for (const void *const source : sources)
        for (const Form form : kForms) {
            const Algorithms &algorithms =
                Algorithms::of(form == Form::blocking ? "Alltoallw" : "Ialltoallw", false);
            for (int i = 0; i < algorithms.count(); i++) {
                algorithms.choose(i);
                const std::string what = std::string(name(form)) +
                                         " Alltoallw, null types, algorithm " + std::to_string(i);
                perform(what, form,
                        COLLECTIVE(Alltoallw, MPI_COMM_WORLD, source, none.data(), at.data(),
                                   null.data(), to.at(), none.data(), at.data(), null.data()));
                perform(what, form,
                        COLLECTIVE(Alltoallw, MPI_COMM_WORLD, source, counts.data(), at.data(),
                                   types.data(), to.at(), counts.data(), at.data(), types.data()));
            }
            algorithms.choose(0);
        }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        std::vector<int> everyone;
        for (int i = 0; i < size; i++)
            everyone.push_back(i);
        MPI_Comm all_to_all;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, everyone.data(), MPI_UNWEIGHTED, size,
                                       everyone.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &all_to_all);
        MPI_Comm_set_errhandler(all_to_all, MPI_ERRORS_RETURN);
        {
            Trial trial;
            for (const int root : {0, size - 1}) {
                trial.run(bcast(root));
                for (const Call &call : calls(root, all_to_all))
                    trial.run(call);
                Memory from(4 * static_cast<size_t>(size)), to(4 * static_cast<size_t>(size));
                not_significant(from, to, root);
                null_types(from, to);
            }
            reduce_nothing();
        }
        MPI_Comm_free(&all_to_all);
    });
}
