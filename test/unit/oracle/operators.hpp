/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI's reduction operators, by their definitions (MPI 4.0, section 6.9), and values to try them
 * on.
 */
#pragma once

#include "rng.hpp"

#include <heddle.h>

#include <cstddef>

namespace oracle {

/* Whether MPI defines `op` for `basic`. */
bool op_defined(heddle_op op, heddle_predefined basic);

/* target = target op source for one element; of a pair type, [0] is the value and [1] the index,
 * else only [0] counts. Requires op_defined. */
void combine(heddle_op op, heddle_predefined basic, std::byte *const target[2],
             const std::byte *const source[2]);

/* Writes a value of `kind` for which every operator has one exact answer. These are integers of the
 * whole range (overflow wraps), small whole numbers in the floating types, and 0 and 1 as truth
 * values. */
void write_operand(heddle_predefined kind, Rng &rng, std::byte *to);

/* Equality of numbers: the sign of a zero and the padding of long double do not count. */
bool equal_operands(heddle_predefined kind, const std::byte *a, const std::byte *b);

} // namespace oracle
