/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that fails in a collective: an error there, and at all whose data depend on it, and no
 * hang. The next collective is right, and so is one of another communicator. Under
 * HEDDLE_INTERPOSE_PEER=1, as test/interpose/run sets it: otherwise nobody can be told.
 */
#include "device_test.hpp"

#include <cstdlib>
#include <functional>

using namespace device_test;

enum { doubles = 300 }; /* of a block */

static MPI_Comm comm, twin, ring;
static int heard; /* calls of the communicator's error handler */
static void hear(MPI_Comm *, int *, ...) { ++heard; }

/* What a call works on: a block for each rank. Reductions take the doubles of one. */
struct Arguments {
    void *from, *to;
    MPI_Datatype type;
};

/* Who sends, and who receives: all, or rank 0 alone. */
enum class Who { all, root };

enum class Form { blocking, nonblocking, persistent };
static const Form forms[] = {
    Form::blocking,
    Form::nonblocking,
#if MPI_VERSION >= 4
    Form::persistent,
#endif
};

struct Collective {
    const char *name;
    int (*call)(const Arguments &, Form, MPI_Request *);
    Who sends = Who::all, receives = Who::all;
};

#define COLLECTIVE(Name, name, ...)                                                                \
    {                                                                                              \
#Name, [](const Arguments &a, Form form, MPI_Request *request) {                              \
         return form == Form::blocking      ? MPI_##Name(__VA_ARGS__)                              \
                : form == Form::nonblocking ? MPI_I##name(__VA_ARGS__, request)                    \
                                            : MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL,        \
                                                                request);                          \
     }
static const Collective collectives[] = {COLLECTIVE(Bcast, bcast, rank == 0 ? a.from : a.to, size,
                                                    a.type, 0, comm),
                                         Who::root},
                        COLLECTIVE(Scatter, scatter, a.from, 1, a.type, a.to, 1, a.type, 0, comm),
                        Who::root
}
, COLLECTIVE(Gather, gather, a.from, 1, a.type, a.to, 1, a.type, 0, comm), Who::all, Who::root
}
, COLLECTIVE(Allgather, allgather, a.from, 1, a.type, a.to, 1, a.type, comm)
}
, COLLECTIVE(Alltoall, alltoall, a.from, 1, a.type, a.to, 1, a.type, comm)
}
, COLLECTIVE(Reduce, reduce, a.from, a.to, doubles, MPI_DOUBLE, MPI_SUM, 0, comm), Who::all,
    Who::root
}
, COLLECTIVE(Allreduce, allreduce, a.from, a.to, doubles, MPI_DOUBLE, MPI_SUM, comm)
}
, COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, a.from, a.to, doubles, MPI_DOUBLE, MPI_SUM,
             comm)
}
, COLLECTIVE(Neighbor_allgather, neighbor_allgather, a.from, 1, a.type, a.to, 1, a.type, ring)
}
, COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, a.from, 1, a.type, a.to, 1, a.type, ring)
}
,
}
;
#undef COLLECTIVE

static void fail_if(bool fails)
{
    if (fails)
        gpu::Machine::get().configure("reset fail=any:1+");
}

/* A persistent one has been carried out before. */
static int carried_out(const Collective &which, const Arguments &arguments, Form form, bool fails)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (form != Form::persistent) {
        fail_if(fails);
        const int begun = which.call(arguments, form, &request);
        return begun == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : begun;
    }
    which.call(arguments, form, &request);
    MPI_Start(&request);
    check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && heard == 0,
          std::string("the first start of ") + which.name);
    MPI_Barrier(comm);
    fail_if(fails);
    int error = MPI_Start(&request);
    if (error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return error;
}

/* The sum of all ranks, by a communicator of which nobody has failed. */
static void right_beside(Buffer &buffer, const std::string &what, MPI_Comm other)
{
    double sum = 0, own = rank + 1;
    const int error = MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, other);
    check(error == MPI_SUCCESS && sum == size * (size + 1) / 2.0, what + ": a later sum");
    if (rank == 0)
        buffer.fill(5);
    check(MPI_Bcast(buffer.at(), 1, buffer.type(), 0, other) == MPI_SUCCESS, what + ": later");
    buffer.expect(5, 0, buffer.elements());
    buffer.verify(what + ": a later broadcast");
}

/* Some of MPICH 4.0.2's others are wrong, on host memory, too, if they are started twice. */
static bool is_right(const Collective &which, Form form)
{
    const std::string name = which.name;
    return form != Form::persistent || name == "Allgather" || name == "Allreduce" ||
           name == "Alltoall" || name == "Neighbor_alltoall";
}

static void failing(const Collective &which, int failing_rank, Form form, gpu::Kind kind)
{
    const std::string what = std::string(which.name) + ", form " +
                             std::to_string(static_cast<int>(form)) + ", rank " +
                             std::to_string(failing_rank) + " fails";
    const Layout layout = strided(doubles), dense = contiguous(doubles * size);
    const bool is_reduction = std::string(which.name).find("educe") != std::string::npos;
    Buffer gaps(gpu::Kind::device, layout, size), plain(gpu::Kind::device, dense),
        to(kind, layout, size), later(gpu::Kind::device, layout);
    Buffer &from = is_reduction ? plain : gaps;
    const bool depends = rank != failing_rank && (which.receives == Who::all || rank == 0);
    from.fill(rank), to.fill(rank), later.fill(rank);
    heard = 0;
    MPI_Barrier(comm);
    const int error =
        carried_out(which, {from.at(), to.at(), layout.type}, form, rank == failing_rank);
    gpu::Machine::get().reset();
    if (rank == failing_rank || depends)
        check(error != MPI_SUCCESS || heard > 0, what + ": no error");
    MPI_Barrier(comm);
    right_beside(later, what, twin);
    right_beside(later, what, comm);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        if (!gpu::Machine::get().is_simulated() || !std::getenv("HEDDLE_INTERPOSE_PEER"))
            return;
        const int all = size, periodic = 1;
        MPI_Errhandler handler;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        MPI_Cart_create(MPI_COMM_WORLD, 1, &all, &periodic, 0, &ring);
        MPI_Comm_create_errhandler(hear, &handler);
        for (MPI_Comm each : {comm, twin, ring})
            MPI_Comm_set_errhandler(each, handler);
        for (const Collective &each : collectives)
            for (const int failing_rank : {0, size - 1})
                for (const Form form : forms)
                    for (const gpu::Kind kind : {gpu::Kind::device, gpu::Kind::pageable})
                        if ((failing_rank == 0 || each.sends == Who::all) && is_right(each, form))
                            failing(each, failing_rank, form, kind);
        MPI_Errhandler_free(&handler);
        for (MPI_Comm *each : {&comm, &twin, &ring})
            MPI_Comm_free(each);
    });
}
