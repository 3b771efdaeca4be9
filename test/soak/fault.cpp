/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults of one rank's simulated device while a step lasts.
 */
#include "soak.hpp"

namespace soak {
namespace {

/* What a device may be asked for (src/gpu/sim/sim.h); a failing execution breaks it for good. */
const std::vector<std::string> calls = {"launch",
                                        "copy",
                                        "copy_2d",
                                        "copy_3d",
                                        "execute",
                                        "execute",
                                        "allocate",
                                        "free",
                                        "allocate_pinned",
                                        "free_pinned",
                                        "stream_create",
                                        "stream_device",
                                        "done_acquire",
                                        "done_test",
                                        "done_wait",
                                        "export_memory",
                                        "import_memory",
                                        "close_memory",
                                        "pin",
                                        "unpin",
                                        "done_after_all",
                                        "any",
                                        "stream_synchronize"};

std::string random_switches(Rng &rng)
{
    std::string text = "reset seed=" + std::to_string(rng.in(0, 1 << 30));
    for (int64_t left = rng.in(1, 2); left > 0; --left) {
        const std::string call = rng.pick(calls);
        text += rng.percent(75) || call == "execute" ? " fail=" : " exhaust=";
        text += call + ":";
        if (rng.percent(15))
            text += std::to_string(rng.in(1, 20)) + "%";
        else
            text += std::to_string(rng.scaled(32)) + (rng.percent(30) ? "+" : "");
    }
    return text;
}

} // namespace

Fault::Fault(Rng &rng)
{
    const bool is_here = rng.in(0, size - 1) == rank;
    const std::string switches = random_switches(rng);
    options.may_fail = true;
    is_made_ = is_here && gpu::Machine::get().configure(switches.c_str());
}

/* Nobody goes on before it is mended. */
Fault::~Fault()
{
    MPI_Barrier(world);
    if (is_made_)
        gpu::Machine::get().reset();
    options.may_fail = may_fail_;
    MPI_Barrier(world);
}

} // namespace soak
