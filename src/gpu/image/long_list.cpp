// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/long_list.hpp"

#include "gpu/image/pinned_blocks.hpp"
#include "gpu/image/upload.hpp"

#include <cstring>
#include <vector>

namespace heddle::gpu {

namespace {

// Fewer are listed by the processor in the time that a kernel takes to begin.
constexpr int64_t fewest_runs = 8192;

const ImageNode &root_of(const Plan &plan, const Repeated &of)
{
    return plan.image.nodes[static_cast<size_t>(repeated_node(plan, of))];
}

bool is_even(const Plan &plan, const ImageNode &root)
{
    return root.kind == NodeKind::gather &&
           plan.image.nodes[static_cast<size_t>(root.child)].kind == NodeKind::dense;
}

template <class T> T *placed(char *memory, size_t at) { return reinterpret_cast<T *>(memory + at); }

} // namespace

bool is_long_list(const Plan &plan, const Repeated &of)
{
    const ImageNode &root = root_of(plan, of);
    return root.count >= fewest_runs && root.count < INT32_MAX && of.bytes >= tile_bytes &&
           of.bytes / tile_bytes < INT32_MAX &&
           (root.kind == NodeKind::spans || is_even(plan, root));
}

LongList::LongList(const Plan &plan, const Repeated &of)
    : image_(plan.image),
      of_(of),
      root_(root_of(plan, of)),
      even_(root_.kind == NodeKind::spans ? 0 : root_.bytes),
      tiles_((of.bytes + tile_bytes - 1) / tile_bytes)
{
    const auto add = [this](size_t bytes) {
        const size_t at = (bytes_ + 15) / 16 * 16;
        bytes_ = at + bytes;
        return at;
    };
    const auto count = static_cast<size_t>(root_.count);
    nodes_ = add(image_.nodes.size() * sizeof(ImageNode));
    facts_ = add(sizeof(ListFacts));
    side_ = add(image_.side().size_bytes());
    prefix_ = even_ > 0 ? add((count + 1) * sizeof(int64_t))
                        : side_ + (static_cast<size_t>(root_.side) + count) * sizeof(int64_t);
    entries_ = add(count * sizeof(uint64_t));
    tile_ = add((static_cast<size_t>(tiles_) + 1) * sizeof(int32_t));
}

Listing LongList::listing(char *memory) const
{
    int64_t *const prefix = placed<int64_t>(memory, prefix_);
    return {placed<int64_t>(memory, side_) + root_.side,
            prefix,
            even_,
            prefix,
            root_.count,
            tiles_,
            placed<uint64_t>(memory, entries_),
            placed<int32_t>(memory, tile_),
            placed<ListFacts>(memory, facts_)};
}

Error LongList::fill(Device &device, bool on_host, char *memory, ImageView &image,
                     RunList &runs) const
{
    const std::span<const int64_t> side = image_.side();
    const Listing made = listing(memory);
    std::vector<char> first(facts_ + sizeof(ListFacts));
    std::memcpy(first.data() + nodes_, image_.nodes.data(),
                image_.nodes.size() * sizeof(ImageNode));
    std::memcpy(first.data() + nodes_, &root_, sizeof root_); // traversals begin there
    Upload upload(device, on_host);
    ListFacts facts{};
    Error e = upload.begin();
    if (!e)
        e = upload.copy(memory + side_, side.data(), side.size_bytes(),
                        !on_host && is_pinned_block(device, side.data(), side.size_bytes()));
    if (!e)
        e = upload.copy(memory, first.data(), first.size(), false);
    if (!e)
        e = device.backend().list_runs(device.ordinal(), upload.stream(), made);
    if (!e)
        e = upload.read(&facts, made.facts, sizeof facts); // waits for all
    if (e)
        return e;
    image = {placed<ImageNode>(memory, nodes_), placed<int64_t>(memory, side_)};
    if (!facts.too_far)
        runs = {made.displs, made.prefix, made.entries,           made.tile,  made.count,
                of_.bytes,   of_.extent,  Divisor::of(of_.bytes), facts.most, facts.longest};
    return HEDDLE_SUCCESS;
}

} // namespace heddle::gpu
