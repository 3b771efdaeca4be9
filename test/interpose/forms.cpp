/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every collective operation, blocking and nonblocking: what every_collective.cpp does on MPIs that
 * have persistent ones, too.
 */
#include "collective_table.hpp"

using namespace device_test;

static int seed_of(int r) { return 1 + r; }

static void run_case(const Case &c, Form form, const std::string &what, const Group &group,
                     int elements, Buffer &source, Buffer &target)
{
    MPI_Request request = MPI_REQUEST_NULL;
    source.fill(seed_of(rank));
    target.fill(group.in_place ? seed_of(rank) : 5000);
    check(c.begin(form, &request) == MPI_SUCCESS, what + " failed");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, what + " failed at its end");
    expect(c, elements, target, seed_of);
    if (c.is_defined)
        target.verify(what);
    source.verify(what + ", what it sends");
}

static void run_length(const Items &from, const Items &to, const Kinds &kinds, const Graph &graph,
                       const std::vector<Group> &groups, int length)
{
    const int elements = static_cast<int>(to.layout.elements()), n = length / elements;
    added = &to;
    Buffer source(kinds.from[rank % 2], from.layout, room_for(n));
    Buffer target(kinds.to[rank % 2], to.layout, room_for(n));
    for (const Group &group : groups) {
        const Table table(group, graph, n, from, to, source, target);
        for (const Case &c : table.cases())
            for (const Form form : {Form::blocking, Form::nonblocking})
                run_case(c, form,
                         c.name + (form == Form::blocking ? ", blocking, " : ", nonblocking, ") +
                             group.name + ", " + std::to_string(length) + " doubles to each",
                         group, elements, source, target);
    }
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        /* Six elements: a struct of five ends in a resized one and two more, which MPI 4.0,
         * section 5.1.7 and Open MPI let the next instance overlap. */
        const Items dense(contiguous, 1), gaps(strided, 6), shuffled(indexed, 6), mixed(structs, 6);
        const std::pair<const Items *, const Items *> every_items[] = {
            {&dense, &dense}, {&gaps, &gaps}, {&shuffled, &mixed}};
        std::vector<Group> groups = {everyone(false), everyone(true), two_groups()};
        const Graph graph;
        MPI_Op_create(add_items, 1, &add_items_op);
        for (const auto &[from, to] : every_items)
            for (const int length : {12, 5124})
                for (const Kinds &kinds : every_kinds)
                    run_length(*from, *to, kinds, graph, groups, length);
        MPI_Op_free(&add_items_op);
        MPI_Comm_free(&groups[2].comm);
    });
}
