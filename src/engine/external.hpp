// SPDX-License-Identifier: BSD-3-Clause
// external32, MPI's portable representation of data: conversion of arrays of one predefined type.
#pragma once

#include "heddle.h"

#include <cstdint>

namespace heddle {

// Converts `n` groups of `elements` elements each. A group lies without gaps on both sides; groups
// lie `to_step` and `from_step` bytes apart, so that a member of an array of structs takes one
// call. Any alignment will do; the two sides must not overlap.
//
// A value that does not fit is truncated: a long to its low 32 bits, a wchar_t to its low 16. MPI
// 4.0, section 14.5.2, leaves it to the user not to send such values. A long double loses nothing
// on the way out. On the way back it loses what the machine's format cannot hold.
using ConvertKernel = void (*)(void *to, int64_t to_step, const void *from, int64_t from_step,
                               int64_t elements, int64_t n);

// The kernel of a predefined type. Null for a pair, which converts member by member.
ConvertKernel to_external(heddle_predefined kind);
ConvertKernel from_external(heddle_predefined kind);

} // namespace heddle
