// SPDX-License-Identifier: BSD-3-Clause
// The collectives that move data, each in its blocking, nonblocking and persistent form: these
// differ in the last arguments, `form`.
#include "interpose/collective.hpp"

namespace heddle::interpose {

namespace {

// A buffer that is received into may hold what stays: this process's own part, where the call is in
// place, or blocks of neighbours that there are not.
Role received(bool keeps_some) { return keeps_some ? Role::both : Role::out; }
Role sent(const void *buffer) { return buffer == MPI_IN_PLACE ? Role::none : Role::in; }

template <auto down, class Int, class... Form>
int bcast(void *buffer, Int n, MPI_Datatype type, int root, MPI_Comm comm, Form... form)
{
    const Group group(comm);
    const Role role = group.is_root(root)     ? Role::in
                      : group.is_member(root) ? Role::out
                                              : Role::none;
    SidesPtr sides;
    const auto all = stage(sides, &Sides::in, role, buffer, 1, n, type);
    return carry_out(
        sides, comm,
        [=](auto... last) { return down(all.buffer, all.count, all.type, root, comm, last...); },
        form...);
}

template <auto down, class Int, class... Form>
int gather(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
           MPI_Datatype in_type, int root, MPI_Comm comm, Form... form)
{
    const Group group(comm);
    SidesPtr sides;
    const auto mine = stage(sides, &Sides::out, group.is_member(root) ? sent(out) : Role::none, out,
                            1, outs, out_type);
    const Role role = group.is_root(root) ? received(out == MPI_IN_PLACE) : Role::none;
    const auto all = stage(sides, &Sides::in, role, in, group.peers(), ins, in_type);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(mine.buffer, mine.count, mine.type, all.buffer, all.count, all.type, root,
                        comm, last...);
        },
        form...);
}

template <auto down, class Int, class Displ, class... Form>
int gatherv(const void *out, Int outs, MPI_Datatype out_type, void *in, const Int *ins,
            const Displ *places, MPI_Datatype in_type, int root, MPI_Comm comm, Form... form)
{
    const Group group(comm);
    SidesPtr sides;
    const auto mine = stage(sides, &Sides::out, group.is_member(root) ? sent(out) : Role::none, out,
                            1, outs, out_type);
    const Role role = group.is_root(root) ? received(out == MPI_IN_PLACE) : Role::none;
    const auto all =
        stage(sides, &Sides::in, role, group.peers(), Many<Int, Displ>{in, ins, places, in_type});
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(mine.buffer, mine.count, mine.type, all.buffer, all.counts, all.places,
                        all.type, root, comm, last...);
        },
        form...);
}

template <auto down, class Int, class... Form>
int scatter(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
            MPI_Datatype in_type, int root, MPI_Comm comm, Form... form)
{
    const Group group(comm);
    SidesPtr sides;
    const auto all = stage(sides, &Sides::out, group.is_root(root) ? Role::in : Role::none, out,
                           group.peers(), outs, out_type);
    const bool hears = group.is_member(root) && in != MPI_IN_PLACE;
    const auto mine = stage(sides, &Sides::in, hears ? Role::out : Role::none, in, 1, ins, in_type);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(all.buffer, all.count, all.type, mine.buffer, mine.count, mine.type, root,
                        comm, last...);
        },
        form...);
}

template <auto down, class Int, class Displ, class... Form>
int scatterv(const void *out, const Int *outs, const Displ *places, MPI_Datatype out_type, void *in,
             Int ins, MPI_Datatype in_type, int root, MPI_Comm comm, Form... form)
{
    const Group group(comm);
    SidesPtr sides;
    const auto all =
        stage(sides, &Sides::out, group.is_root(root) ? Role::in : Role::none, group.peers(),
              Many<Int, Displ>{const_cast<void *>(out), outs, places, out_type});
    const bool hears = group.is_member(root) && in != MPI_IN_PLACE;
    const auto mine = stage(sides, &Sides::in, hears ? Role::out : Role::none, in, 1, ins, in_type);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(all.buffer, all.counts, all.places, all.type, mine.buffer, mine.count,
                        mine.type, root, comm, last...);
        },
        form...);
}

// To and from how many; `keeps_some`: of what is received into, some blocks stay as they are.
struct Times {
    int out, in;
    bool keeps_some = false;
};
Times times_of(const Neighbours &all) { return {all.targets, all.sources, all.may_lack_some}; }

// MPI_Allgather, MPI_Alltoall and their neighbour forms.
template <auto down, class Int, class... Form>
int among_all(Times times, const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
              MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    SidesPtr sides;
    const auto from = stage(sides, &Sides::out, sent(out), out, times.out, outs, out_type);
    const auto to = stage(sides, &Sides::in, received(out == MPI_IN_PLACE || times.keeps_some), in,
                          times.in, ins, in_type);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(from.buffer, from.count, from.type, to.buffer, to.count, to.type, comm,
                        last...);
        },
        form...);
}

// MPICH's ring of MPI_Allgatherv cuts messages by the extent of each process's own type.
#if defined(OPEN_MPI)
constexpr Staged staged_from_all = Staged::on_devices;
#else
constexpr Staged staged_from_all = Staged::with_gaps;
#endif

// MPI_Allgatherv and its neighbour form.
template <auto down, class Int, class Displ, class... Form>
int from_all(Times times, const void *out, Int outs, MPI_Datatype out_type, void *in,
             const Int *ins, const Displ *places, MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    SidesPtr sides;
    const auto mine = stage(sides, &Sides::out, sent(out), out, times.out, outs, out_type);
    const auto all = stage(sides, &Sides::in, received(out == MPI_IN_PLACE || times.keeps_some),
                           times.in, Many<Int, Displ>{in, ins, places, in_type}, staged_from_all);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            return down(mine.buffer, mine.count, mine.type, all.buffer, all.counts, all.places,
                        all.type, comm, last...);
        },
        form...);
}

// MPI_Alltoallv, MPI_Alltoallw and their neighbour forms. `Blocks` is Many or Mixed.
template <auto down, class Blocks, class... Form>
int exchange_blocks(Times times, Blocks out, Blocks in, MPI_Comm comm, Form... form)
{
    SidesPtr sides;
    const bool keeps_some = out.buffer == MPI_IN_PLACE || times.keeps_some;
    const Blocks from = stage(sides, &Sides::out, sent(out.buffer), times.out, out);
    const Blocks to = stage(sides, &Sides::in, received(keeps_some), times.in, in);
    return carry_out(
        sides, comm,
        [=](auto... last) {
            const auto &[from_buffer, from_counts, from_places, from_types] = from;
            const auto &[to_buffer, to_counts, to_places, to_types] = to;
            return down(from_buffer, from_counts, from_places, from_types, to_buffer, to_counts,
                        to_places, to_types, comm, last...);
        },
        form...);
}

// ---- who takes part
// ------------------------------------------------------------------------------

template <auto down, class Int, class... Form>
int allgather(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
              MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    return among_all<down>({1, Group(comm).peers()}, out, outs, out_type, in, ins, in_type, comm,
                           form...);
}

template <auto down, class Int, class... Form>
int neighbor_allgather(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
                       MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    const Neighbours all(comm);
    return among_all<down>({1, all.sources, all.may_lack_some}, out, outs, out_type, in, ins,
                           in_type, comm, form...);
}

template <auto down, class Int, class... Form>
int alltoall(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
             MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    const int peers = Group(comm).peers();
    return among_all<down>({peers, peers}, out, outs, out_type, in, ins, in_type, comm, form...);
}

template <auto down, class Int, class... Form>
int neighbor_alltoall(const void *out, Int outs, MPI_Datatype out_type, void *in, Int ins,
                      MPI_Datatype in_type, MPI_Comm comm, Form... form)
{
    return among_all<down>(times_of(Neighbours(comm)), out, outs, out_type, in, ins, in_type, comm,
                           form...);
}

template <auto down, class... Arguments> int allgatherv(MPI_Comm comm, Arguments... arguments)
{
    return from_all<down>({1, Group(comm).peers()}, arguments...);
}

template <auto down, class... Arguments>
int neighbor_allgatherv(MPI_Comm comm, Arguments... arguments)
{
    const Neighbours all(comm);
    return from_all<down>({1, all.sources, all.may_lack_some}, arguments...);
}

template <auto down, class Blocks, class... Form>
int alltoall_blocks(Blocks out, Blocks in, MPI_Comm comm, Form... form)
{
    const int peers = Group(comm).peers();
    return exchange_blocks<down>({peers, peers}, out, in, comm, form...);
}

template <auto down, class Blocks, class... Form>
int neighbor_alltoall_blocks(Blocks out, Blocks in, MPI_Comm comm, Form... form)
{
    return exchange_blocks<down>(times_of(Neighbours(comm)), out, in, comm, form...);
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// ---- the calls ----------------------------------------------------------------------------------

#define LIST(...) __VA_ARGS__

// Every form of a call with `PARAMETERS`: MPI gets `GIVEN` where no device is open, `how` gets
// `TOLD` otherwise.
#define TWO_FORMS(Name, name, Suffix, how, PARAMETERS, GIVEN, TOLD)                                \
    int MPI_##Name##Suffix(PARAMETERS)                                                             \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_##Name##Suffix(GIVEN);                                                     \
        return how<PMPI_##Name##Suffix>(TOLD);                                                     \
    }                                                                                              \
    int MPI_I##name##Suffix(PARAMETERS, MPI_Request *request)                                      \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_I##name##Suffix(GIVEN, request);                                           \
        return how<PMPI_I##name##Suffix>(TOLD, request);                                           \
    }
#define PERSISTENT_FORM(Name, Suffix, how, PARAMETERS, GIVEN, TOLD)                                \
    int PMPI_##Name##_init##Suffix(PARAMETERS, MPI_Info info, MPI_Request *request);               \
    int MPI_##Name##_init##Suffix(PARAMETERS, MPI_Info info, MPI_Request *request)                 \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_##Name##_init##Suffix(GIVEN, info, request);                               \
        return how<PMPI_##Name##_init##Suffix>(TOLD, info, request);                               \
    }
#if defined(HEDDLE_MPI_4)
#define FORMS(Name, name, Suffix, how, PARAMETERS, GIVEN, TOLD)                                    \
    TWO_FORMS(Name, name, Suffix, how, LIST(PARAMETERS), LIST(GIVEN), LIST(TOLD))                  \
    PERSISTENT_FORM(Name, Suffix, how, LIST(PARAMETERS), LIST(GIVEN), LIST(TOLD))
#else
#define FORMS(Name, name, Suffix, how, PARAMETERS, GIVEN, TOLD)                                    \
    TWO_FORMS(Name, name, Suffix, how, LIST(PARAMETERS), LIST(GIVEN), LIST(TOLD))
#endif
#define SAME_FORMS(Name, name, Suffix, how, PARAMETERS, GIVEN)                                     \
    FORMS(Name, name, Suffix, how, LIST(PARAMETERS), LIST(GIVEN), LIST(GIVEN))

// The parameters: one buffer of instances, of blocks, of blocks of a type each.
#define ONE_OUT(Int) const void *out, Int outs, MPI_Datatype out_type
#define ONE_IN(Int) void *in, Int ins, MPI_Datatype in_type
#define MANY_OUT(Int, Displ)                                                                       \
    const void *out, const Int outs[], const Displ out_places[], MPI_Datatype out_type
#define MANY_IN(Int, Displ) void *in, const Int ins[], const Displ in_places[], MPI_Datatype in_type
#define MIXED_OUT(Int, Displ)                                                                      \
    const void *out, const Int outs[], const Displ out_places[], const MPI_Datatype out_types[]
#define MIXED_IN(Int, Displ)                                                                       \
    void *in, const Int ins[], const Displ in_places[], const MPI_Datatype in_types[]
#define BLOCKS(Kind, Int, Displ, type)                                                             \
    (Kind<Int, Displ>{const_cast<void *>(out), outs, out_places, out_##type}),                     \
        (Kind<Int, Displ>{in, ins, in_places, in_##type}), comm

#define ONE_TO_ONE out, outs, out_type, in, ins, in_type
#define ONE_TO_MANY out, outs, out_type, in, ins, in_places, in_type
#define MANY_TO_ONE out, outs, out_places, out_type, in, ins, in_type
#define MANY_TO_MANY out, outs, out_places, out_type, in, ins, in_places, in_type
#define MIXED_TO_MIXED out, outs, out_places, out_types, in, ins, in_places, in_types

// `Int` and `Displ` are int, or MPI_Count and MPI_Aint where names end in _c.
#define ROOTED(Suffix, Int, Displ)                                                                 \
    SAME_FORMS(Bcast, bcast, Suffix, bcast,                                                        \
               LIST(void *buffer, Int n, MPI_Datatype type, int root, MPI_Comm comm),              \
               LIST(buffer, n, type, root, comm))                                                  \
    SAME_FORMS(Gather, gather, Suffix, gather,                                                     \
               LIST(ONE_OUT(Int), ONE_IN(Int), int root, MPI_Comm comm),                           \
               LIST(ONE_TO_ONE, root, comm))                                                       \
    SAME_FORMS(Gatherv, gatherv, Suffix, gatherv,                                                  \
               LIST(ONE_OUT(Int), MANY_IN(Int, Displ), int root, MPI_Comm comm),                   \
               LIST(ONE_TO_MANY, root, comm))                                                      \
    SAME_FORMS(Scatter, scatter, Suffix, scatter,                                                  \
               LIST(ONE_OUT(Int), ONE_IN(Int), int root, MPI_Comm comm),                           \
               LIST(ONE_TO_ONE, root, comm))                                                       \
    SAME_FORMS(Scatterv, scatterv, Suffix, scatterv,                                               \
               LIST(MANY_OUT(Int, Displ), ONE_IN(Int), int root, MPI_Comm comm),                   \
               LIST(MANY_TO_ONE, root, comm))

// Those of a communicator and those of a topology: `Mixed_Displ` is the displacements' type in the
// calls with a type for each block.
#define AMONG_ALL(Prefix, prefix, Suffix, Int, Displ, Mixed_Displ)                                 \
    SAME_FORMS(Prefix##llgather, prefix##llgather, Suffix, prefix##llgather,                       \
               LIST(ONE_OUT(Int), ONE_IN(Int), MPI_Comm comm), LIST(ONE_TO_ONE, comm))             \
    FORMS(Prefix##llgatherv, prefix##llgatherv, Suffix, prefix##llgatherv,                         \
          LIST(ONE_OUT(Int), MANY_IN(Int, Displ), MPI_Comm comm), LIST(ONE_TO_MANY, comm),         \
          LIST(comm, ONE_TO_MANY, comm))                                                           \
    SAME_FORMS(Prefix##lltoall, prefix##lltoall, Suffix, prefix##lltoall,                          \
               LIST(ONE_OUT(Int), ONE_IN(Int), MPI_Comm comm), LIST(ONE_TO_ONE, comm))             \
    FORMS(Prefix##lltoallv, prefix##lltoallv, Suffix, prefix##lltoall_blocks,                      \
          LIST(MANY_OUT(Int, Displ), MANY_IN(Int, Displ), MPI_Comm comm),                          \
          LIST(MANY_TO_MANY, comm), LIST(BLOCKS(Many, Int, Displ, type)))                          \
    FORMS(Prefix##lltoallw, prefix##lltoallw, Suffix, prefix##lltoall_blocks,                      \
          LIST(MIXED_OUT(Int, Mixed_Displ), MIXED_IN(Int, Mixed_Displ), MPI_Comm comm),            \
          LIST(MIXED_TO_MIXED, comm), LIST(BLOCKS(Mixed, Int, Mixed_Displ, types)))

#pragma GCC visibility push(default)
extern "C" {
ROOTED(, int, int)
AMONG_ALL(A, a, , int, int, int)
AMONG_ALL(Neighbor_a, neighbor_a, , int, int, MPI_Aint)
#if MPI_VERSION >= 4
ROOTED(_c, MPI_Count, MPI_Aint)
AMONG_ALL(A, a, _c, MPI_Count, MPI_Aint, MPI_Aint)
AMONG_ALL(Neighbor_a, neighbor_a, _c, MPI_Count, MPI_Aint, MPI_Aint)
#endif
}
#pragma GCC visibility pop
