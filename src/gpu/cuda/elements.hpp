// SPDX-License-Identifier: BSD-3-Clause
// Which operator CUDA can carry out on which predefined type: the table of MPI 4.0, section 6.9.2,
// less the types of more than 64 bits of floating point.
#pragma once

#include "heddle.h"

namespace heddle::gpu::cuda {

enum class Category { none, byte, integer, wide_integer, logical, floating, complex, pair };

constexpr Category category(heddle_predefined basic)
{
    switch (basic) {
    case HEDDLE_BYTE:
        return Category::byte;
    case HEDDLE_INT8:
    case HEDDLE_UINT8:
    case HEDDLE_INT16:
    case HEDDLE_UINT16:
    case HEDDLE_INT32:
    case HEDDLE_UINT32:
    case HEDDLE_INT64:
    case HEDDLE_UINT64:
    case HEDDLE_LONG:
    case HEDDLE_ULONG:
        return Category::integer;
    case HEDDLE_INT128: // no C type of MPI: only INTEGER*16
        return Category::wide_integer;
    case HEDDLE_BOOL:
    case HEDDLE_LOGICAL:
        return Category::logical;
    case HEDDLE_FLOAT16:
    case HEDDLE_FLOAT:
    case HEDDLE_DOUBLE:
        return Category::floating;
    case HEDDLE_COMPLEX_FLOAT:
    case HEDDLE_COMPLEX_DOUBLE:
        return Category::complex;
    case HEDDLE_2INT32:
    case HEDDLE_2INT64:
    case HEDDLE_2FLOAT:
    case HEDDLE_2DOUBLE:
    case HEDDLE_FLOAT_INT:
    case HEDDLE_DOUBLE_INT:
    case HEDDLE_LONG_INT:
    case HEDDLE_SHORT_INT:
        return Category::pair;
    default:
        return Category::none;
    }
}

constexpr bool is_defined(heddle_op op, Category c)
{
    const bool integer = c == Category::integer || c == Category::wide_integer;
    switch (op) {
    case HEDDLE_OP_SUM:
    case HEDDLE_OP_PROD:
        return integer || c == Category::floating || c == Category::complex;
    case HEDDLE_OP_MAX:
    case HEDDLE_OP_MIN:
        return integer || c == Category::floating;
    case HEDDLE_OP_LAND:
    case HEDDLE_OP_LOR:
    case HEDDLE_OP_LXOR:
        return c == Category::integer || c == Category::logical;
    case HEDDLE_OP_BAND:
    case HEDDLE_OP_BOR:
    case HEDDLE_OP_BXOR:
        return integer || c == Category::byte;
    case HEDDLE_OP_MAXLOC:
    case HEDDLE_OP_MINLOC:
        return c == Category::pair;
    default:
        return false;
    }
}

} // namespace heddle::gpu::cuda
