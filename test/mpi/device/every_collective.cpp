/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective operation that moves or reduces data, in each of its forms, between groups too,
 * on buffers in memory of every kind. (collectives.cpp: how long ones reduce.)
 */
#include "collective_table.hpp"

using namespace device_test;

/* Some persistent ones of MPICH 4.0.2 are wrong. They copy what the root has before any start, or
 * count on from start to start. */
static bool is_right(const Case &c, Form form)
{
    return form != Form::persistent ||
           (c.name != "Gather" && c.name != "Scatter" && c.name != "Allgather");
}

/* Once, or what is persistent twice: each time of other data. */
static void run_case(const Case &c, Form form, const std::string &what, const Group &group,
                     int elements, Buffer &source, Buffer &target)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const bool persistent = form == Form::persistent;
    if (persistent)
        c.begin(form, &request);
    for (int turn = 0; turn <= persistent; ++turn) {
        const auto seed = [&](int r) { return 1 + turn * 100 + r; };
        source.fill(seed(rank));
        target.fill(group.in_place ? seed(rank) : 5000);
        if (persistent)
            MPI_Start(&request);
        else
            c.begin(form, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(c, elements, target, seed);
        const std::string which = what + (turn ? ", started again" : "");
        if (c.is_defined)
            target.verify(which);
        source.verify(which + ", what it sends");
    }
    if (persistent)
        MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const Items dense(contiguous, 1), gaps(strided, 5), shuffled(indexed, 5), mixed(structs, 5);
        const std::pair<const Items *, const Items *> every_items[] = {
            {&dense, &dense}, {&gaps, &gaps}, {&shuffled, &mixed}};
        Group groups[] = {everyone(false), everyone(true), two_groups()};
        const Graph graph;
        MPI_Op_create(add_items, 1, &add_items_op);
        for (const auto &[from, to] : every_items)
            for (const int length : {10, 5120}) /* doubles: the second, 40 KiB, goes no longer in
                                                   one shot */
                for (const Kinds &kinds : every_kinds) {
                    const int elements = static_cast<int>(to->layout.elements()),
                              n = length / elements;
                    added = to;
                    Buffer source(kinds.from[rank % 2], from->layout, room_for(n));
                    Buffer target(kinds.to[rank % 2], to->layout, room_for(n));
                    for (const Group &group : groups) {
                        const Table table(group, graph, n, *from, *to, source, target);
                        const std::string where =
                            ", " + group.name + ", " + std::to_string(length) + " doubles to each";
                        for (const Case &c : table.cases())
                            for (const auto &[form, name] :
                                 {std::pair{Form::blocking, ", blocking"},
                                  {Form::nonblocking, ", nonblocking"},
                                  {Form::persistent, ", persistent"}})
                                if (is_right(c, form))
                                    run_case(c, form, c.name + name + where, group, elements,
                                             source, target);
                    }
                }
        MPI_Op_free(&add_items_op);
        MPI_Comm_free(&groups[2].comm);
    });
}
