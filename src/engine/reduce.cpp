// SPDX-License-Identifier: BSD-3-Clause
// Reductions onto a type's elements: what MPI_Accumulate does at its target.
#include "engine/reduce.hpp"

#include "engine/guard.hpp"
#include "engine/predefined.hpp"
#include "engine/runs.hpp"
#include "engine/transfer.hpp"

#include <algorithm>
#include <array>

namespace heddle {

namespace {

// Bytes that are packed, combined and unpacked at a time. One tile of either side fits a
// first-level cache. It is long enough to hide the search for its place in a large irregular type.
constexpr int64_t tile_bytes = 16384;

// Types whose contiguous runs have this mean length are combined where they lie. Shorter runs are
// packed many at a time, which costs less than locating each.
constexpr int64_t long_run = 1024;

using Tile = std::array<char, tile_bytes>;

// One side of a reduction: instances at a buffer, or, without a plan, packed elements.
struct Operand {
    const Plan *plan;
    int64_t count;
    int64_t bytes;
    void *buffer;

    bool contiguous() const { return !plan || plan->contiguous; }
    char *address(int64_t displ) const
    {
        // By way of an integer: null is a valid buffer for a type of absolute addresses.
        return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(buffer) +
                                        static_cast<uintptr_t>(displ));
    }
};

struct Window {
    char *at;
    int64_t bytes; // 0: nothing worth combining in place
};

// Where the elements from byte `offset` on can be used in place: all of `wanted` bytes, or a long
// run.
Window find_window(const Operand &o, int64_t offset, int64_t wanted, int64_t element)
{
    if (o.contiguous())
        return {o.address((o.plan ? o.plan->displ : 0) + offset), wanted};
    const int64_t enough = std::min(wanted, long_run);
    if (o.plan->bytes / o.plan->runs < enough)
        return {nullptr, 0};
    const Location l = locate(*o.plan, offset);
    const int64_t run = std::min(l.run, wanted) / element * element;
    return {o.address(l.displ), run < enough ? 0 : run};
}

void combine(const Operand &source, const Operand &target, ReduceKernel kernel, int64_t element)
{
    alignas(64) Tile source_tile;
    alignas(64) Tile target_tile;
    const int64_t tile = tile_bytes / element * element;
    int64_t step = 0;
    for (int64_t lo = 0; lo < source.bytes; lo += step) {
        const Window to = find_window(target, lo, source.bytes - lo, element);
        step = to.bytes > 0 ? to.bytes : std::min(tile, source.bytes - lo);
        Window from = find_window(source, lo, step, element);
        step = from.bytes > 0 ? from.bytes : std::min(tile, step);

        if (from.bytes == 0) {
            from.at = source_tile.data();
            pack_range(*source.plan, source.count, source.buffer, from.at, lo, lo + step);
        }
        if (to.bytes > 0) {
            kernel(to.at, from.at, step / element);
        } else {
            pack_range(*target.plan, target.count, target.buffer, target_tile.data(), lo,
                       lo + step);
            kernel(target_tile.data(), from.at, step / element);
            unpack_range(*target.plan, target.count, target.buffer, target_tile.data(), lo,
                         lo + step);
        }
    }
}

void replace(const Operand &source, const Operand &target)
{
    if (source.plan)
        copy_range(*source.plan, source.count, source.buffer, *target.plan, target.count,
                   target.buffer, 0, source.bytes);
    else
        unpack_range(*target.plan, target.count, target.buffer, source.buffer, 0, source.bytes);
}

Error set_typed(Operand &o, const heddle_type *type)
{
    Message m;
    if (const Error e = m.set(o.count, type))
        return e;
    o.plan = m.plan;
    o.bytes = m.bytes;
    return HEDDLE_SUCCESS;
}

// Packed elements of `element` bytes; 0 where the target has no one type of element to count in.
Error set_packed(Operand &o, int64_t element, const Operand &target)
{
    if (o.count < 0)
        return HEDDLE_ERR_COUNT;
    if (o.count > 0 && element == 0)
        return target.bytes == 0 ? HEDDLE_ERR_TRUNCATE : HEDDLE_ERR_OP;
    if (__builtin_mul_overflow(o.count, element, &o.bytes))
        return HEDDLE_ERR_OVERFLOW;
    return o.bytes > 0 && !o.buffer ? HEDDLE_ERR_ARG : HEDDLE_SUCCESS;
}

bool moves_only(heddle_op op) { return op == HEDDLE_OP_REPLACE || op == HEDDLE_OP_NO_OP; }

} // namespace

} // namespace heddle

using namespace heddle;

int heddle_op_is_defined(heddle_op op, heddle_predefined basic)
{
    if (moves_only(op))
        return static_cast<unsigned>(basic) <= HEDDLE_MIXED;
    return reduce_kernel(op, basic) != nullptr;
}

int heddle_accumulate(const void *inbuf, int64_t incount, const heddle_type *intype, void *outbuf,
                      int64_t outcount, const heddle_type *outtype, heddle_op op)
{
    if (static_cast<unsigned>(op) >= HEDDLE_OP_COUNT)
        return HEDDLE_ERR_OP;
    if (const Error e = check_type(outtype))
        return e.code();
    const heddle_predefined basic = outtype->basic;
    const int64_t element = basic == HEDDLE_MIXED ? 0 : predefined_info(basic).size;

    Operand target{nullptr, outcount, 0, outbuf};
    if (const Error e = set_typed(target, outtype))
        return e.code();
    Operand source{nullptr, incount, 0, const_cast<void *>(inbuf)}; // only read
    if (const Error e = intype ? set_typed(source, intype) : set_packed(source, element, target))
        return e.code();
    if (source.bytes > target.bytes)
        return HEDDLE_ERR_TRUNCATE;

    if (source.bytes == 0 || op == HEDDLE_OP_NO_OP)
        return HEDDLE_SUCCESS;
    if (op == HEDDLE_OP_REPLACE) {
        replace(source, target);
        return HEDDLE_SUCCESS;
    }
    const ReduceKernel kernel = reduce_kernel(op, basic);
    if (!kernel || (intype && intype->basic != basic))
        return HEDDLE_ERR_OP;
    combine(source, target, kernel, element);
    return HEDDLE_SUCCESS;
}
