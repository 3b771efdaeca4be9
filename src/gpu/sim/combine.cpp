// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/combine.hpp"

#include "engine/predefined.hpp"
#include "engine/reduce.hpp"

namespace heddle::gpu::sim {

Packed packed_form(heddle_predefined basic)
{
    if (static_cast<unsigned>(basic) >= HEDDLE_PREDEFINED_COUNT)
        return {};
    const PredefinedInfo &info = predefined_info(basic);
    return {static_cast<size_t>(info.size), static_cast<size_t>(predefined_info(info.value).size)};
}

bool can_combine(heddle_op op, heddle_predefined basic)
{
    return reduce_kernel(op, basic) != nullptr;
}

void combine(heddle_op op, heddle_predefined basic, std::byte *target, const std::byte *source)
{
    reduce_kernel(op, basic)(target, source, 1);
}

} // namespace heddle::gpu::sim
