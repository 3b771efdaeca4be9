// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/memory/endpoint.hpp"

#include "engine/predefined.hpp"
#include "engine/reduce.hpp"
#include "engine/runs.hpp"
#include "engine/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::gpu {

namespace {

constexpr int64_t tile_bytes_on_host = 16384;
using Tile = std::array<char, tile_bytes_on_host>;

void pack(const End &from, void *packed, int64_t lo, int64_t bytes)
{
    pack_range(*from.plan, from.count, from.buf, packed, from.offset + lo,
               from.offset + lo + bytes);
}

void unpack(const End &to, const void *packed, int64_t lo, int64_t bytes)
{
    unpack_range(*to.plan, to.count, to.buf, packed, to.offset + lo, to.offset + lo + bytes);
}

void copy(const End &from, const End &to, int64_t bytes)
{
    if (to.dense())
        return pack(from, to.address(), 0, bytes);
    if (from.dense())
        return unpack(to, from.address(), 0, bytes);
    if (from.offset == to.offset)
        return copy_range(*from.plan, from.count, from.buf, *to.plan, to.count, to.buf, from.offset,
                          from.offset + bytes);
    alignas(64) Tile tile;
    for (int64_t lo = 0; lo < bytes; lo += tile_bytes_on_host) {
        const int64_t n = std::min(tile_bytes_on_host, bytes - lo);
        pack(from, tile.data(), lo, n);
        unpack(to, tile.data(), lo, n);
    }
}

void combine(const End &from, const End &to, int64_t bytes, ReduceKernel kernel, int64_t element)
{
    alignas(64) Tile source;
    alignas(64) Tile target;
    const int64_t step = tile_bytes_on_host / element * element;
    for (int64_t lo = 0; lo < bytes; lo += step) {
        const int64_t n = std::min(step, bytes - lo);
        const char *in = source.data();
        if (from.dense())
            in = from.address(from.offset + lo);
        else
            pack(from, source.data(), lo, n);
        if (to.dense()) {
            kernel(to.address(to.offset + lo), in, n / element);
            continue;
        }
        pack(to, target.data(), lo, n);
        kernel(target.data(), in, n / element);
        unpack(to, target.data(), lo, n);
    }
}

} // namespace

char *End::address(int64_t x) const
{
    return displaced(plan->contiguous ? plan->displ + x : locate(*plan, x).displ);
}

End End::after(int64_t bytes) const
{
    End end = *this;
    end.offset += bytes;
    return end;
}

End packed_end(void *at, int64_t bytes, const Place &memory)
{
    const heddle_type *type = heddle_type_predefined(HEDDLE_BYTE);
    return {type,  type->plan.load(std::memory_order_acquire), static_cast<char *>(at), bytes, 0,
            memory};
}

bool End::is_missing() const
{
    const auto &b = type->bounds;
    constexpr int64_t first_pages = 64 << 10;
    return b.true_lb < first_pages || (b.lb <= 0 && b.true_ub <= b.ub);
}

void host_move(const End &from, const End &to, int64_t bytes, heddle_op op, heddle_predefined basic)
{
    if (bytes == 0 || op == HEDDLE_OP_NO_OP)
        return;
    if (op == HEDDLE_OP_REPLACE)
        return copy(from, to, bytes);
    combine(from, to, bytes, reduce_kernel(op, basic), predefined_info(basic).size);
}

} // namespace heddle::gpu
