// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/kernel_side.hpp"

#include "engine/guard.hpp"
#include "gpu/image/device_image.hpp"
#include "gpu/image/extents.hpp"

#include <bit>

namespace heddle::gpu {

namespace {

// Whether `count` instances of a strided plan are one dimension more than its own, of which the
// last may be joined by them.
bool adds_dimension(const Plan &plan, int64_t count)
{
    const ImageNode &outermost = plan.image.nodes[0];
    const bool joined = plan.dimensions > 0 && plan.extent == outermost.count * outermost.stride;
    return (count > 1 && !joined) || plan.dimensions == 0;
}

// A strided plan's dimensions, instances included; false where there are more than max_dims.
bool set_strides(const Plan &plan, int64_t count, Side &side)
{
    const ImageNode *const nodes = plan.image.nodes.data();
    const int streams = plan.dimensions; // the first nodes, outermost first
    const bool repeated = adds_dimension(plan, count);
    const int dims = streams + repeated;
    if (dims > max_dims)
        return false;
    for (int i = 0; i < streams; ++i) {
        const ImageNode &n = nodes[i];
        side.dim[streams - 1 - i] = {n.stride, n.count, n.bytes, n.by_bytes};
    }
    if (repeated)
        side.dim[streams] = {plan.extent, count, plan.bytes, plan.by_bytes};
    else if (count > 1)
        side.dim[streams - 1].count *= count;
    side.shape = Shape::strided;
    side.block = nodes[streams].bytes;
    side.dims = static_cast<uint8_t>(dims);
    return true;
}

// Whether each instance lies between its address and the next one's, so that a tile of instances is
// a tile of memory.
bool are_records(const End &end, const Repeated &of)
{
    const Plan &plan = *end.plan;
    if (of.count == 1)
        return false;
    if (of.part) {
        const Reach reach = reaches_of(plan)[static_cast<size_t>(plan.image.nodes[0].child)];
        return reach.low >= 0 && reach.high <= of.extent;
    }
    const heddle_bounds &bounds = end.type->bounds;
    return bounds.true_lb >= plan.displ && bounds.true_ub - plan.displ <= plan.extent;
}

} // namespace

Error make_side(const End &end, Device &device, Side &side)
{
    const Plan &plan = *end.plan;
    side.base = end.base();
    side.first = end.offset;
    uint64_t bits = reinterpret_cast<uintptr_t>(side.base) | static_cast<uint64_t>(side.first);
    if (plan.contiguous) {
        side.word = widest_word(bits);
        return HEDDLE_SUCCESS;
    }
    bits |= static_cast<uint64_t>(plan.word);
    if (end.count > 1)
        bits |= static_cast<uint64_t>(plan.extent);
    side.word = widest_word(bits);
    if (plan.kind != HEDDLE_PLAN_GENERAL && set_strides(plan, end.count, side))
        return HEDDLE_SUCCESS;

    const Repeated of = repeated(plan, end.count);
    const DeviceImage *found;
    if (const Error e = device_image(plan, of, device, found))
        return e;
    side.shape = Shape::image;
    if (const Error e = caught([&] { side.records = are_records(end, of); }))
        return e; // there was no memory for the reaches, which are computed once
    side.image = found->image;
    side.nodes = static_cast<int32_t>(plan.image.nodes.size());
    side.bytes = of.bytes;
    side.extent = of.extent;
    side.by_bytes = of.by_bytes;
    side.runs = found->runs;
    return HEDDLE_SUCCESS;
}

bool fits_parameters(const Plan &plan, int64_t count)
{
    return plan.contiguous || (plan.kind != HEDDLE_PLAN_GENERAL &&
                               plan.dimensions + adds_dimension(plan, count) <= max_dims);
}

void make_one_block(Side &side, int64_t bytes)
{
    const auto block = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes)));
    side.base += side.first;
    side.first = 0;
    side.shape = Shape::strided;
    side.dims = 1;
    side.block = block;
    side.dim[0] = {block, 1, block, Divisor::of(block)};
}

} // namespace heddle::gpu
