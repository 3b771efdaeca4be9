// SPDX-License-Identifier: BSD-3-Clause
// Which of MPI's operators CUDA can carry out: all of them (engine/operators.hpp), but on types
// with more than 64 bits of floating point.
#pragma once

#include "engine/operators.hpp"

namespace heddle::gpu::cuda {

constexpr bool has_arithmetic(heddle_predefined kind)
{
    switch (kind) {
    case HEDDLE_LONG_DOUBLE:
    case HEDDLE_FLOAT128:
    case HEDDLE_COMPLEX_LONG_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128:
    case HEDDLE_LONG_DOUBLE_INT:
        return false;
    default:
        return true;
    }
}

constexpr bool can_combine(heddle_op op, heddle_predefined kind)
{
    return is_defined(op, kind) && has_arithmetic(kind);
}

} // namespace heddle::gpu::cuda
