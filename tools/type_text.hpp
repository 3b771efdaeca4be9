// SPDX-License-Identifier: BSD-3-Clause
// A type in words: `hvector(1000, 1, 512, double)`. The arguments are those of MPI's constructors
// in MPI's order, without the counts that an array's length tells. White space and comments (from #
// to the end of the line) may stand anywhere between words.
//
//   type  := predefined | constructor "(" arguments ")"
//   array := "[" [number {"," number}] "]"            types := "[" [type {"," type}] "]"
#pragma once

#include <heddle.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle::tools {

enum class Maker {
    predefined,
    contiguous,
    vector,
    hvector,
    indexed,
    hindexed,
    indexed_block,
    hindexed_block,
    structure,
    resized,
    dup,
    subarray
};

// One constructor as written; each maker uses its own arguments.
struct Tree {
    Maker maker = Maker::predefined;
    heddle_predefined predefined = HEDDLE_BYTE;
    size_t at = 0; // where it stands in the text
    int64_t count = 0, blocklength = 0, stride = 0;
    int64_t lb = 0, extent = 0;
    std::vector<int64_t> blocklengths, displacements;
    std::vector<int64_t> sizes, subsizes, starts;
    int order = HEDDLE_ORDER_C;
    std::vector<Tree> old; // one; a struct: one per member; predefined: none
};

struct Argument {
    enum class Kind { number, numbers, order, type, types };
    Kind kind;
    std::string_view what; // in messages
    std::string_view unit; // of what it counts; may be empty
    int64_t Tree::*number = nullptr;
    std::vector<int64_t> Tree::*numbers = nullptr;
};

struct Constructor {
    Maker maker;
    std::string_view name;
    std::vector<Argument> arguments; // in the order in which they are written
};

// The constructors of every maker but `predefined`.
std::span<const Constructor> constructors();
const Constructor &constructor_of(Maker maker);

struct TextError {
    size_t at = 0; // offset in the text
    std::string message;
};

// Constructors nested deeper than this are refused, before the stack runs out.
constexpr int max_nesting = 2000;

std::variant<Tree, TextError> parse(std::string_view text);

// The tree as text that parse reads. Arrays longer than `longest` are cut short with "...".
std::string write(const Tree &tree, size_t longest = SIZE_MAX);

// An array's or a list's values, the same way.
std::string write(std::span<const int64_t> values, size_t longest = SIZE_MAX);

// "column 9: ..." ("line 2, column 9" where there are several), the line itself, and a mark below
// the place.
std::string show(const TextError &error, std::string_view text);

} // namespace heddle::tools
