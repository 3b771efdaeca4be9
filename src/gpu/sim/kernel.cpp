// SPDX-License-Identifier: BSD-3-Clause
#include "kernel.hpp"

#include "combine.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::gpu::sim {
namespace {

constexpr std::array<const char *, static_cast<size_t>(Kernel::count)> names{
    "strided", "transpose", "records", "runs", "any", "reduce"};

// ---- the sides, as the device reads them ----

// Entries of a node's arrays in the lookaside buffer (see ImageView).
int64_t side_entries(const ImageNode &node)
{
    switch (node.kind) {
    case NodeKind::gather:
        return node.count;
    case NodeKind::spans:
    case NodeKind::runs:
        return 2 * node.count + 1;
    case NodeKind::concat:
        return 4 * node.count + 2;
    default:
        return 0;
    }
}

// The image through the device's own mapping, each node and array looked up.
bool translate_image(Access &nodes_access, Access &side_access, Side &side)
{
    const ImageNode *nodes = nodes_access.reach_array(side.image.nodes, std::max(side.nodes, 1));
    if (!nodes)
        return false;
    const int64_t *const lookaside = side.image.side;
    for (int32_t i = 0; i < side.nodes; ++i) {
        const int64_t entries = side_entries(nodes[i]);
        if (entries == 0)
            continue;
        const int64_t *array = side_access.reach_array(lookaside + nodes[i].side, entries);
        if (!array)
            return false;
        side.image.side = array - nodes[i].side;
    }
    side.image.nodes = nodes;
    return true;
}

bool translate_runs(Access &access, RunList &runs)
{
    if (!runs.displs)
        return true;
    const int64_t tiles = (runs.bytes + tile_bytes - 1) / tile_bytes;
    const auto *displs = access.reach_array(runs.displs, runs.count);
    const auto *prefix = displs ? access.reach_array(runs.prefix, runs.count + 1) : nullptr;
    const auto *spots = prefix ? access.reach_array(runs.spots, runs.count) : nullptr;
    const auto *tile = spots ? access.reach_array(runs.tile, tiles + 1) : nullptr;
    runs.displs = displs;
    runs.prefix = prefix;
    runs.spots = spots;
    runs.tile = tile;
    return tile;
}

// Where the packed bytes of a side are, by its image or by its list of runs.
class Places {
public:
    Places(const Memories &memories, int device, const std::string &what, const Side &side,
           bool by_runs, bool elsewhere)
        : access_(memories, device, what, {.own = !elsewhere}),
          side_(side),
          by_runs_(by_runs && side.listed())
    {
        Access nodes(memories, device, what + " reads the image");
        Access arrays(memories, device, what + " reads the lookaside buffer");
        Access runs(memories, device, what + " reads the run list");
        if (by_runs_ ? !translate_runs(runs, side_.runs)
                     : side.shape == Shape::image && !translate_image(nodes, arrays, side_))
            error_ = nodes.error() ? nodes.error() : arrays.error() ? arrays.error() : runs.error();
    }

    // Packed bytes [i, i + bytes) of the transfer, which one word holds; null after an error.
    std::byte *at(int64_t i, size_t bytes)
    {
        const int64_t displ =
            by_runs_ ? by_runs(side_.first + i) : displacement(side_, side_.first + i);
        if (error_)
            return nullptr;
        return access_.reach(
            reinterpret_cast<uintptr_t>(side_.base) + static_cast<uintptr_t>(displ), bytes, bytes);
    }

    const Error &error() const { return error_ ? error_ : access_.error(); }

private:
    // As a thread block does it: the tile's runs by the list, then a search among them.
    int64_t by_runs(int64_t x)
    {
        const RunList &list = side_.runs;
        const int64_t stretch = list.by_bytes.divide(x);
        const int64_t within = x - stretch * list.bytes;
        const int64_t tile = within / tile_bytes;
        const int64_t first = list.tile[tile];
        const int64_t last = list.tile[tile + 1];
        const bool holds_first = first >= 0 && first < list.count &&
                                 list.prefix[first] <= tile * tile_bytes &&
                                 tile * tile_bytes < list.prefix[first + 1];
        const int64_t touched = last - first + (last_is_next(tile) ? 0 : 1);
        if (!holds_first || last < first || last >= list.count || touched > list.most) {
            error_ =
                device_error("sim: run list: tile " + std::to_string(tile) + " has the wrong runs");
            return 0;
        }
        const int64_t run = first + find_block(list.prefix + first, last - first + 1, within);
        const uint64_t spot = list.spots[run];
        const int64_t begin = tile * tile_bytes;
        if (displ_of(list, spot) != list.displs[run] ||
            (run > first && begin + begin_of(spot, begin) != list.prefix[run])) {
            error_ =
                device_error("sim: run list: run " + std::to_string(run) + " is in the wrong spot");
            return 0;
        }
        return stretch * list.extent + list.displs[run] + (within - list.prefix[run]);
    }
    // Whether the run that begins the next tile does not touch this one.
    bool last_is_next(int64_t tile) const
    {
        const RunList &list = side_.runs;
        const int64_t end = (tile + 1) * tile_bytes;
        const int64_t next = list.tile[tile + 1];
        return end < list.bytes && next > 0 && next < list.count && list.prefix[next] == end;
    }

    Access access_;
    Side side_;
    const bool by_runs_;
    Error error_;
};

// ---- kernels ----

// The widest word that both sides allow and that divides the transfer.
int64_t word_of(const Work &work)
{
    int64_t word = std::min(work.from.word, work.to.word);
    while (word > 1 && work.bytes % word != 0)
        word /= 2;
    return word;
}

Error move(const Work &work, Places &from, Places &to)
{
    const int64_t word = word_of(work);
    const auto size = static_cast<size_t>(word);
    for (int64_t i = 0; i < work.bytes; i += word) {
        const std::byte *source = from.at(i, size);
        std::byte *target = to.at(i, size);
        if (!source || !target)
            return from.error() ? from.error() : to.error();
        std::memcpy(target, source, size);
    }
    return from.error() ? from.error() : to.error();
}

// Copies one element between its places and a packed one, in words that lie in one piece. False
// after an error.
bool transfer_element(Places &places, int64_t at, size_t bytes, size_t word, std::byte *packed,
                      bool out)
{
    for (size_t i = 0; i < bytes; i += word) {
        std::byte *place = places.at(at + static_cast<int64_t>(i), word);
        if (!place)
            return false;
        out ? std::memcpy(place, packed + i, word) : std::memcpy(packed + i, place, word);
    }
    return true;
}

Error reduce(const Work &work, Places &from, Places &to)
{
    const Packed form = packed_form(work.basic);
    const auto widest = [&](const Side &side) {
        size_t word = side.word;
        while (form.size % word != 0 || form.value % word != 0)
            word /= 2;
        return word;
    };
    const size_t from_word = widest(work.from);
    const size_t to_word = widest(work.to);
    std::array<std::byte, 64> source, target;
    for (int64_t i = 0; i < work.bytes; i += static_cast<int64_t>(form.size)) {
        if (!transfer_element(from, i, form.size, from_word, source.data(), false) ||
            !transfer_element(to, i, form.size, to_word, target.data(), false))
            break;
        combine(work.op, work.basic, target.data(), source.data());
        if (!transfer_element(to, i, form.size, to_word, target.data(), true))
            break;
    }
    return from.error() ? from.error() : to.error();
}

Error refuse(Kernel kernel, const char *why)
{
    return device_error(std::string("sim: launch: kernel ") + names[static_cast<size_t>(kernel)] +
                        ": " + why);
}

Error check_side(Kernel kernel, const Side &side)
{
    if (side.word == 0 || side.word > 16 || (side.word & (side.word - 1)) != 0)
        return refuse(kernel, "a word that is no power of two up to 16");
    if (side.first < 0)
        return refuse(kernel, "a side that begins before its first byte");
    if (side.shape == Shape::strided && (side.dims < 1 || side.dims > max_dims || side.block < 1))
        return refuse(kernel, "a strided side without dimensions or block");
    if (side.shape == Shape::image && (side.bytes < 1 || !side.image.nodes) && !side.runs.displs)
        return refuse(kernel, "an image side without an image");
    return {};
}

} // namespace

Error check_launch(Kernel kernel, const Work &work)
{
    if (kernel >= Kernel::count)
        return device_error("sim: launch: no such kernel");
    if (work.bytes < 0)
        return refuse(kernel, "a negative length");
    for (const Side *side : {&work.from, &work.to})
        if (Error error = check_side(kernel, *side))
            return error;
    const bool computes = work.op != HEDDLE_OP_REPLACE && work.op != HEDDLE_OP_NO_OP;
    if (computes && kernel != Kernel::reduce)
        return refuse(kernel, "takes no operator");
    if (computes && !can_combine(work.op, work.basic))
        return refuse(kernel, "no such operator on that type");
    if (computes && static_cast<size_t>(work.bytes) % packed_form(work.basic).size != 0)
        return refuse(kernel, "a cut element");
    const bool has_dense = work.from.shape == Shape::dense || work.to.shape == Shape::dense;
    const bool has_image = work.from.shape == Shape::image || work.to.shape == Shape::image;
    switch (kernel) {
    case Kernel::strided:
        return !has_image ? Error{} : refuse(kernel, "takes dense and strided sides");
    case Kernel::transpose:
        return has_dense && !has_image ? Error{}
                                       : refuse(kernel, "takes a dense and a strided side");
    case Kernel::records:
        return has_dense ? Error{} : refuse(kernel, "takes a dense side and one of records");
    case Kernel::runs:
        return has_dense && (work.from.listed() || work.to.listed())
                   ? Error{}
                   : refuse(kernel, "takes a dense side and one with a run list");
    default:
        return {};
    }
}

Error run_kernel(const Memories &memories, int device, Kernel kernel, const Work &work)
{
    if (work.op == HEDDLE_OP_NO_OP || work.bytes == 0)
        return {};
    const std::string name = std::string("kernel ") + names[static_cast<size_t>(kernel)];
    Places from(memories, device, name + " reads", work.from, kernel == Kernel::runs, work.far);
    Places to(memories, device, name + " writes", work.to, kernel == Kernel::runs, work.remote);
    if (from.error())
        return from.error();
    if (to.error())
        return to.error();
    return work.op == HEDDLE_OP_REPLACE ? move(work, from, to) : reduce(work, from, to);
}

// From the first byte of a copy's rows to behind the last one.
static size_t extent_of(const Layers &copy, size_t pitch, size_t rows_of_layer)
{
    return ((copy.layers - 1) * rows_of_layer + copy.rows - 1) * pitch + copy.width;
}

Error run_copy(const Memories &memories, int device, Limits limits, const Layers &copy)
{
    Access from(memories, device, "copy reads", limits);
    Access to(memories, device, "copy writes", limits);
    // CUDA refuses rows that lead from one allocation into another.
    if (copy.layers * copy.rows > 1 && copy.width > 0 &&
        !from.reach(reinterpret_cast<uintptr_t>(copy.from),
                    extent_of(copy, copy.from_pitch, copy.from_rows)))
        return from.error();
    if (copy.layers * copy.rows > 1 && copy.width > 0 &&
        !to.reach(reinterpret_cast<uintptr_t>(copy.to),
                  extent_of(copy, copy.to_pitch, copy.to_rows)))
        return to.error();
    for (size_t i = 0; i < copy.layers * copy.rows && copy.width > 0; ++i) {
        const size_t layer = i / copy.rows, row = i % copy.rows;
        const std::byte *source = from.reach(reinterpret_cast<uintptr_t>(copy.from) +
                                                 (layer * copy.from_rows + row) * copy.from_pitch,
                                             copy.width);
        std::byte *target = to.reach(reinterpret_cast<uintptr_t>(copy.to) +
                                         (layer * copy.to_rows + row) * copy.to_pitch,
                                     copy.width);
        if (!source)
            return from.error();
        if (!target)
            return to.error();
        std::memmove(target, source, copy.width);
    }
    return {};
}

} // namespace heddle::gpu::sim
