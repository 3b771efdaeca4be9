// SPDX-License-Identifier: BSD-3-Clause
// Reductions onto a type's elements: what MPI_Accumulate does at its target.
#include "predefined.hpp"
#include "reduce.hpp"

#include <algorithm>

namespace heddle {
namespace {

// Bytes that are packed, combined and unpacked at a time. A tile of either side fits a small L1 cache.
constexpr int64_t tile_bytes = 8192;

// Contiguous runs of this length are combined where they lie; shorter ones are packed many at a time,
// which costs less than locating each.
constexpr int64_t long_run = 1024;

// One side of a reduction: `bytes` packed bytes of `count` instances at `base`, or, where there is no
// type, those bytes themselves.
struct Operand {
    uintptr_t base; // an integer: null is valid for types of absolute addresses
    int64_t count;
    const heddle_type *type;
    heddle_type_info info;
    int64_t bytes;

    const void *buffer() const { return reinterpret_cast<const void *>(base); }
};

struct Window {
    char *at;
    int64_t bytes; // 0: nothing worth combining in place
};

// Sets what depends on the type, checking it and the count.
int examine(Operand &operand)
{
    if (operand.count < 0)
        return HEDDLE_ERR_COUNT;
    if (operand.type == nullptr)
        return HEDDLE_ERR_TYPE;
    if (const int error = heddle_type_get_info(operand.type, &operand.info))
        return error;
    if (!operand.info.committed)
        return HEDDLE_ERR_NOT_COMMITTED;
    if (__builtin_mul_overflow(operand.count, operand.info.size, &operand.bytes))
        return HEDDLE_ERR_OVERFLOW;
    return HEDDLE_SUCCESS;
}

// Where the elements from byte `offset` on can be used in place: all of `wanted`, or a long run.
int find_window(const Operand &operand, int64_t offset, int64_t wanted, int64_t element, Window &window)
{
    int64_t displ = operand.info.displ + offset;
    int64_t run = wanted;
    if (!operand.info.contiguous) {
        if (const int error = heddle_locate(operand.count, operand.type, offset, &displ, &run))
            return error;
        run = std::min(run, wanted) / element * element;
        if (run < std::min(wanted, long_run))
            run = 0;
    }
    window = {reinterpret_cast<char *>(operand.base + static_cast<uintptr_t>(displ)), run};
    return HEDDLE_SUCCESS;
}

int pack_tile(const Operand &operand, int64_t offset, int64_t bytes, void *tile)
{
    int64_t packed = 0;
    const int error = heddle_pack(operand.buffer(), operand.count, operand.type, offset, tile, bytes, &packed);
    return error != HEDDLE_SUCCESS ? error : packed == bytes ? HEDDLE_SUCCESS : HEDDLE_ERR_RANGE;
}

// The first step finds and packs both sides before it writes, and the later ones differ from it in the
// offset alone: an error leaves the target as it was.
int combine_elements(const Operand &source, const Operand &target, ReduceKernel kernel, int64_t element)
{
    alignas(64) char source_tile[tile_bytes];
    alignas(64) char target_tile[tile_bytes];
    const int64_t tile = tile_bytes / element * element;
    int64_t step = 0;
    for (int64_t offset = 0; offset < source.bytes; offset += step) {
        Window to{};
        if (const int error = find_window(target, offset, source.bytes - offset, element, to))
            return error;
        step = to.bytes != 0 ? to.bytes : std::min(tile, source.bytes - offset);

        Window from{};
        if (const int error = find_window(source, offset, step, element, from))
            return error;
        step = from.bytes != 0 ? from.bytes : std::min(tile, step);

        if (from.bytes == 0) {
            from.at = source_tile;
            if (const int error = pack_tile(source, offset, step, source_tile))
                return error;
        }
        if (to.bytes != 0) {
            kernel(to.at, from.at, step / element);
            continue;
        }
        if (const int error = pack_tile(target, offset, step, target_tile))
            return error;
        kernel(target_tile, from.at, step / element);
        int64_t unpacked = 0;
        if (const int error = heddle_unpack(target_tile, step, const_cast<void *>(target.buffer()), target.count,
                                            target.type, offset, &unpacked))
            return error;
    }
    return HEDDLE_SUCCESS;
}

int replace(const Operand &source, const Operand &target)
{
    auto *to = const_cast<void *>(target.buffer());
    int64_t moved = 0;
    if (source.type == nullptr)
        return heddle_unpack(source.buffer(), source.bytes, to, target.count, target.type, 0, &moved);
    return heddle_copy(source.buffer(), source.count, source.type, to, target.count, target.type, 0, source.bytes,
                       &moved);
}

bool moves_only(heddle_op op)
{
    return op == HEDDLE_OP_REPLACE || op == HEDDLE_OP_NO_OP;
}

int accumulate(Operand &source, Operand &target, heddle_op op)
{
    if (const int error = examine(target))
        return error;
    const heddle_predefined basic = target.info.basic;
    const int64_t element = basic == HEDDLE_MIXED ? 0 : predefined_info(basic).size;

    if (source.type != nullptr) {
        if (const int error = examine(source))
            return error;
    } else {
        if (source.count < 0)
            return HEDDLE_ERR_COUNT;
        if (source.count > 0 && element == 0) // a mixed type has no element to count in
            return HEDDLE_ERR_OP;
        if (__builtin_mul_overflow(source.count, element, &source.bytes))
            return HEDDLE_ERR_OVERFLOW;
        if (source.bytes > 0 && source.base == 0)
            return HEDDLE_ERR_ARG;
        source.info.contiguous = true;
        source.info.displ = 0;
        source.info.basic = basic;
    }

    const ReduceKernel kernel = reduce_kernel(op, basic);
    if (source.bytes > 0 && !moves_only(op) && (kernel == nullptr || source.info.basic != basic))
        return HEDDLE_ERR_OP;
    if (source.bytes > target.bytes)
        return HEDDLE_ERR_TRUNCATE;
    if (source.bytes == 0 || op == HEDDLE_OP_NO_OP)
        return HEDDLE_SUCCESS;
    return op == HEDDLE_OP_REPLACE ? replace(source, target) : combine_elements(source, target, kernel, element);
}

} // namespace
} // namespace heddle

int heddle_op_is_defined(heddle_op op, heddle_predefined basic)
{
    if (heddle::moves_only(op))
        return static_cast<unsigned>(basic) <= HEDDLE_MIXED;
    return heddle::reduce_kernel(op, basic) != nullptr;
}

int heddle_accumulate(const void *inbuf, int64_t incount, const heddle_type *intype, void *outbuf, int64_t outcount,
                      const heddle_type *outtype, heddle_op op)
{
    if (static_cast<unsigned>(op) >= HEDDLE_OP_COUNT)
        return HEDDLE_ERR_OP;
    heddle::Operand source{reinterpret_cast<uintptr_t>(inbuf), incount, intype, {}, 0};
    heddle::Operand target{reinterpret_cast<uintptr_t>(outbuf), outcount, outtype, {}, 0};
    return heddle::accumulate(source, target, op);
}
