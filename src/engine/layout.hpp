// SPDX-License-Identifier: BSD-3-Clause
// Layouts: the canonical form of a type, as an algebra of five nodes (docs/design.md, section 4).
//
// A node says where its packed bytes lie, in pack order, counted from its own first packed byte. So
// every node begins at zero; the Placed around it holds the displacement. The functions below are
// the only way to make nodes. Their laws, each a property test of its name
// (test/unit/property/laws.cpp) or the test that is named here:
//
// - order kept: the bytes of what they return are those asked for, in the order asked for.
// - canonical out: what they return obeys the rules of "canonical" below.
// - canonical in: made again from its own parts, a canonical layout is the same.
// - equal form: equal sequences of bytes have equal layouts if they are dense blocks at constant
//   strides, in any number of dimensions. The test is "one sequence of bytes, strided, has one
//   layout" (test_canonical.cpp). Irregular data may have several layouts.
// - one handle or several: equal members reach one layout, whether they are one node or were made
//   apart ("whether the members of a struct share a handle", test_canonical.cpp).
//
// Canonical: no part is empty but the whole. The first displacement of a gather, runs or concat is
// 0. A stream has two children or more, is not dense, and does not touch a stream below it so that
// the two are one. The blocks of a gather are not evenly spaced. The blocks of runs differ in
// length, and none continues the one before it. A concat has two members or more, which are not all
// runs of one unit. None of them continues the one before it or is a concat of 16 members or fewer.
//
// Preconditions of all: counts and lengths are 0 or more, children are canonical, and labels are
// below HEDDLE_MIXED. Errors: OVERFLOW, DEPTH, NO_MEMORY.
//
// Leaves carry the predefined type that they hold; leaves of different ones do not merge. `erase`
// gives the layout of the bytes alone.
#pragma once

#include "engine/node.hpp"

#include <span>
#include <string>
#include <vector>

namespace heddle {

// Nothing at all: the layout of a type of size zero.
Placed empty();
// Consecutive bytes of one predefined type; `bytes` is a multiple of its size. With 0 bytes it is
// empty().
Placed dense(int64_t bytes, heddle_predefined label);
// `count` children, each `stride` bytes after the one before.
Placed stream(int64_t count, int64_t stride, const Placed &child);
// Where the outermost children of blocks begin, and how many children there are.
struct Reach {
    int64_t low = INT64_MAX, high = INT64_MIN;
    int64_t children = 0;
};
// Blocks of children: block i begins at step * displs[i] and holds lens[i] of them, `stride` bytes
// apart; without lens, `len` each. The arrays are the caller's. Requires lens.size() to be 0 or
// displs.size(). COUNT: a negative length. Int is int or int64_t, as the program's arrays have it.
template <class Int> class BlockList {
public:
    const std::span<const Int> displs;
    const std::span<const Int> lens;
    const int64_t len;
    const int64_t stride;
    const int64_t step;

    BlockList(std::span<const Int> displs_, std::span<const Int> lens_, int64_t len_,
              int64_t stride_, int64_t step_ = 1);

    bool empty() const { return most_len_ == 0; }
    bool single() const { return most_len_ == 1; } // no block holds more than one child
    bool alike() const { return alike_; }          // all are of one length
    bool apart() const { return apart_; } // known: none is empty, none touches the one before it
    int64_t len_of(size_t i) const { return lens.empty() ? len : lens[i]; }
    // Whether no sum can overflow that one makes of displacements, of lengths times `child`, and of
    // `base`.
    bool surely_fits(double child, double base) const;
    Reach reach() const;

private:
    template <bool Forward> void survey();
    bool survey_in_steps(); // false: not done

    // At least the largest length and displacement, and less than twice of them.
    int64_t most_len_ = 0, most_displ_ = 0;
    bool alike_ = true, apart_ = false;
    Reach reach_; // right where nothing overflows
};
template <class Int> Placed blocks(const BlockList<Int> &list, const Placed &child);
// Members one after the other in pack order, each where its displacement says.
Placed concat(Members members);
// The same bytes with every leaf labelled HEDDLE_BYTE. Leaves merge where that allows it. A layout
// of one label is its own erasure.
Placed erase(const Placed &layout);

// The text form of heddle_type_describe; OVERFLOW where it is longer than describe_limit (a layout
// that holds itself many times over can be short and its text without end).
constexpr size_t describe_limit = size_t{64} << 20;
std::string describe(const Placed &layout);

} // namespace heddle
