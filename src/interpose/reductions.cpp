// SPDX-License-Identifier: BSD-3-Clause
// Collectives that reduce. Their operators may be the program's own and know the layout. So a
// buffer is copied with its layout, and keeps its type and count.
#include "interpose/collective.hpp"

#include <numeric>

namespace heddle::interpose {

namespace {

Role received(const void *out) { return out == MPI_IN_PLACE ? Role::both : Role::out; }
Role sent(const void *out) { return out == MPI_IN_PLACE ? Role::none : Role::in; }

template <auto down, class Int, class... Form> int reduce(const void *out, void *in, Int n,
                                                          MPI_Datatype type, MPI_Op op, int root,
                                                          MPI_Comm comm, Form... form)
{
    const Group group(comm);
    SidesPtr sides;
    const void *const from = stage_twin(
        sides, &Sides::out, group.is_member(root) ? sent(out) : Role::none, out, n, n, type);
    void *const to = stage_twin(sides, &Sides::in, group.is_root(root) ? received(out) : Role::none,
                                in, n, n, type);
    return carry_out(
        sides, comm, [=](auto... last) { return down(from, to, n, type, op, root, comm, last...); },
        form...);
}

// MPI_Allreduce and MPI_Scan; MPI_Exscan, which leaves the first process's buffer alone.
template <auto down, class Int, class... Form>
int reduce_all(Role in_role, const void *out, void *in, Int n, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm, Form... form)
{
    SidesPtr sides;
    const void *const from = stage_twin(sides, &Sides::out, sent(out), out, n, n, type);
    void *const to = stage_twin(sides, &Sides::in, in_role, in, n, n, type);
    return carry_out(
        sides, comm, [=](auto... last) { return down(from, to, n, type, op, comm, last...); },
        form...);
}

template <auto down, class... Others> int allreduce(const void *out, Others... others)
{
    return reduce_all<down>(received(out), out, others...);
}
template <auto down, class... Others> int scan(const void *out, Others... others)
{
    return reduce_all<down>(received(out), out, others...);
}
template <auto down, class... Others> int exscan(const void *out, Others... others)
{
    return reduce_all<down>(Role::both, out, others...);
}

template <auto down, class Int, class... Form>
int reduce_scatter(const void *out, void *in, const Int *ins, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, Form... form)
{
    const Group group(comm);
    const int64_t all = std::accumulate(ins, ins + group.size(), int64_t{0}),
                  mine = ins[group.rank()];
    SidesPtr sides;
    const void *const from = stage_twin(sides, &Sides::out, sent(out), out, all, all, type);
    void *const to = stage_twin(sides, &Sides::in, received(out), in,
                                out == MPI_IN_PLACE ? all : mine, mine, type);
    return carry_out(
        sides, comm, [=](auto... last) { return down(from, to, ins, type, op, comm, last...); },
        form...);
}

template <auto down, class Int, class... Form>
int reduce_scatter_block(const void *out, void *in, Int n, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, Form... form)
{
    const int64_t mine = n, all = mine * Group(comm).size();
    SidesPtr sides;
    const void *const from = stage_twin(sides, &Sides::out, sent(out), out, all, all, type);
    void *const to = stage_twin(sides, &Sides::in, received(out), in,
                                out == MPI_IN_PLACE ? all : mine, mine, type);
    return carry_out(
        sides, comm, [=](auto... last) { return down(from, to, n, type, op, comm, last...); },
        form...);
}

template <auto down, class Int>
int reduce_local(const void *in, void *inout, Int n, MPI_Datatype type, MPI_Op op)
{
    SidesPtr sides;
    const void *const from = stage_twin(sides, &Sides::out, Role::in, in, n, n, type);
    void *const to = stage_twin(sides, &Sides::in, Role::both, inout, n, n, type);
    flush();
    return carry_out(Together(MPI_COMM_NULL), sides, MPI_COMM_WORLD,
                     [=] { return down(from, to, n, type, op); });
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// ---- the calls ----------------------------------------------------------------------------------

#define LIST(...) __VA_ARGS__

#define TWO_FORMS(Name, name, Suffix, PARAMETERS, GIVEN)                                           \
    int MPI_##Name##Suffix(PARAMETERS)                                                             \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_##Name##Suffix(GIVEN);                                                     \
        return name<PMPI_##Name##Suffix>(GIVEN);                                                   \
    }                                                                                              \
    int MPI_I##name##Suffix(PARAMETERS, MPI_Request *request)                                      \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_I##name##Suffix(GIVEN, request);                                           \
        return name<PMPI_I##name##Suffix>(GIVEN, request);                                         \
    }
#if defined(HEDDLE_MPI_4)
#define FORMS(Name, name, Suffix, PARAMETERS, GIVEN)                                               \
    TWO_FORMS(Name, name, Suffix, LIST(PARAMETERS), LIST(GIVEN))                                   \
    int PMPI_##Name##_init##Suffix(PARAMETERS, MPI_Info info, MPI_Request *request);               \
    int MPI_##Name##_init##Suffix(PARAMETERS, MPI_Info info, MPI_Request *request)                 \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_##Name##_init##Suffix(GIVEN, info, request);                               \
        return name<PMPI_##Name##_init##Suffix>(GIVEN, info, request);                             \
    }
#else
#define FORMS(Name, name, Suffix, PARAMETERS, GIVEN)                                               \
    TWO_FORMS(Name, name, Suffix, LIST(PARAMETERS), LIST(GIVEN))
#endif
// `Count` is the parameter that says how many, of type `Int` or an array of it.
#define REDUCTION(Name, name, Suffix, Count)                                                       \
    FORMS(Name, name, Suffix,                                                                      \
          LIST(const void *out, void *in, Count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),     \
          LIST(out, in, n, type, op, comm))
#define REDUCTIONS(Suffix, Int)                                                                    \
    FORMS(Reduce, reduce, Suffix,                                                                  \
          LIST(const void *out, void *in, Int n, MPI_Datatype type, MPI_Op op, int root,           \
               MPI_Comm comm),                                                                     \
          LIST(out, in, n, type, op, root, comm))                                                  \
    REDUCTION(Allreduce, allreduce, Suffix, Int n)                                                 \
    REDUCTION(Scan, scan, Suffix, Int n)                                                           \
    REDUCTION(Exscan, exscan, Suffix, Int n)                                                       \
    REDUCTION(Reduce_scatter, reduce_scatter, Suffix, const Int n[])                               \
    REDUCTION(Reduce_scatter_block, reduce_scatter_block, Suffix, Int n)                           \
    int MPI_Reduce_local##Suffix(const void *in, void *inout, Int n, MPI_Datatype type, MPI_Op op) \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Reduce_local##Suffix(in, inout, n, type, op);                              \
        return reduce_local<PMPI_Reduce_local##Suffix>(in, inout, n, type, op);                    \
    }

#pragma GCC visibility push(default)
extern "C" {
REDUCTIONS(, int)
#if MPI_VERSION >= 4
REDUCTIONS(_c, MPI_Count)
#endif
}
#pragma GCC visibility pop
