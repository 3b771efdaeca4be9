// SPDX-License-Identifier: BSD-3-Clause
// What the C API tells of the performance model.
#include "gpu/core/error_detail.hpp"
#include "gpu/transfer/decisions.hpp"
#include "gpu/transfer/policy.hpp"
#include "gpu/transfer/task.hpp"

#include "engine/guard.hpp"

#include <cmath>

using namespace heddle;
using namespace heddle::gpu;

namespace {

Error expect(const heddle_move &asked, Method method, double &seconds)
{
    Devices *const devices = Devices::open();
    if (!devices)
        return HEDDLE_ERR_NO_DEVICE;
    Move move;
    if (const Error e = check_move(asked, move))
        return e;
    if (move.bytes == 0 || !asked.from.buf || !asked.to.buf)
        return HEDDLE_ERR_RANGE;
    MemoryMap map(&devices->backend());
    place_move(move, devices, map);
    if (!move.device)
        return HEDDLE_ERR_RANGE;
    Direct direct(&move, method);
    if (const Error e = make_work(move, direct.work))
        return e;
    if (!can_do(method, move, &direct.work))
        return HEDDLE_ERR_RANGE;
    const double expected =
        tables_of(*move.device).expected(method, question_of(move, direct.work));
    if (!std::isfinite(expected))
        return HEDDLE_ERR_RANGE;
    seconds = expected;
    return HEDDLE_SUCCESS;
}

} // namespace

int heddle_force_method(const char *method)
{
    const Method found = method ? method_named(method) : Method::count;
    if (method && found == Method::count)
        return HEDDLE_ERR_ARG;
    force_method(found);
    return HEDDLE_SUCCESS;
}

int heddle_expect(const heddle_move *move, const char *method, double *seconds)
{
    return answer([&] {
        if (!move || !method || !seconds || method_named(method) == Method::count)
            return Error{HEDDLE_ERR_ARG};
        return expect(*move, method_named(method), *seconds);
    });
}
