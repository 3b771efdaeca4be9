/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process has a context on no device before it uses that device. Each context takes hundreds of
 * MiB there. A job has a process for each device, and all of them see all devices.
 */
#include "buffer.hpp"

#include <cstdlib>

namespace gpu {
namespace {

void none_in_use(int first, const std::string &where)
{
    for (int device = first; device < Machine::get().devices(); ++device)
        same(Machine::get().in_use(device), false, where, ": device ", device, " is in use");
}

/* A pack in memory of one place, as it is blocking and as it is waited for. */
void pack_in(Place place)
{
    oracle::Type type = oracle::Type::from(
        [](auto **t) {
            return heddle_type_vector(100, 1, 2, heddle_type_predefined(HEDDLE_DOUBLE), t);
        },
        "vector");
    type.commit();
    const Buffer from(place, 1600, 1);
    Buffer to(place, 800, 2);
    for (size_t i = 0; i < 800; ++i)
        to.expected[i] = from.expected[i / 8 * 16 + i % 8];
    for (const Way way : {Way::blocking, Way::begun})
        transfer_all(
            way, {{side_of(from.at(), 1, type), bytes_at(to.at(), 800), 800, HEDDLE_OP_REPLACE}});
    to.check("a pack");
}

/* Run by the next test, in a process that has done nothing yet. */
void inside_contexts()
{
    need_devices();
    if (!getenv("NOTHING_DONE"))
        throw Skip("a test runs it");
    none_in_use(0, "after the start");
    int on_host = 0;
    same(heddle_memory_kind(&on_host, nullptr), int{HEDDLE_MEMORY_HOST}, "kind of memory");
    pack_in({});
    none_in_use(0, "after host memory alone");
    pack_in({Kind::device, 0});
    same(Machine::get().in_use(0), true, "the device that was used is in use");
    if (!Machine::get().is_simulated()) /* which counts for all devices together */
        none_in_use(1, "after another device's memory");
}

void contexts()
{
    need_devices();
    self_succeeds({"--only-named", "--named", "inside: contexts"}, {{"NOTHING_DONE", "1"}});
}

const AddTests tests{{"inside: contexts", inside_contexts},
                     {"no context before a device is used", contexts}};

} // namespace
} // namespace gpu
