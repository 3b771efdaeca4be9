/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A type as the calls that make it: what the oracle expands and what the engine builds.
 */
#pragma once

#include "handle.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace oracle {

enum class Maker {
    Predefined,
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Resized,
    Dup,
    Subarray
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/* The arguments of one constructor, named as heddle.h names them; each maker uses its own. */
struct Expr {
    Maker maker = Maker::Predefined;
    heddle_predefined predefined = HEDDLE_BYTE;
    int64_t count = 0;       /* contiguous, vectors */
    int64_t blocklength = 0; /* vectors, *_block */
    int64_t stride = 0;      /* vectors: extents or bytes */
    std::vector<int64_t> blocklengths;
    std::vector<int64_t> displacements; /* extents or bytes */
    std::vector<int64_t> sizes, subsizes, starts;
    int order = HEDDLE_ORDER_C;
    int64_t lb = 0, extent = 0;    /* resized */
    std::vector<ExprPtr> children; /* one; a struct: one per member; predefined: none */
};

ExprPtr predefined(heddle_predefined which);
ExprPtr contiguous(int64_t count, ExprPtr old);
ExprPtr vector(int64_t count, int64_t blocklength, int64_t stride, ExprPtr old);
ExprPtr hvector(int64_t count, int64_t blocklength, int64_t hstride, ExprPtr old);
ExprPtr indexed(std::vector<int64_t> blocklengths, std::vector<int64_t> displacements, ExprPtr old);
ExprPtr hindexed(std::vector<int64_t> blocklengths, std::vector<int64_t> hdisplacements,
                 ExprPtr old);
ExprPtr indexed_block(int64_t blocklength, std::vector<int64_t> displacements, ExprPtr old);
ExprPtr hindexed_block(int64_t blocklength, std::vector<int64_t> hdisplacements, ExprPtr old);
ExprPtr structure(std::vector<int64_t> blocklengths, std::vector<int64_t> hdisplacements,
                  std::vector<ExprPtr> olds);
ExprPtr resized(ExprPtr old, int64_t lb, int64_t extent);
ExprPtr dup(ExprPtr old);
ExprPtr subarray(std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                 std::vector<int64_t> starts, int order, ExprPtr old);

/* The expression as one writes it, on one line. */
std::string to_text(const Expr &expr);

/* Levels of constructors above the predefined types. */
int depth(const Expr &expr);

/* What a dup duplicates: in the end the same type. */
ExprPtr undup(ExprPtr expr);

/* The engine's type, not committed. A child that occurs twice is built once. Throws
 * std::runtime_error with the engine's message. */
Type build(const Expr &expr);

} // namespace oracle
