// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sim/kernel.hpp"

#include "gpu/sim/combine.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::gpu::sim {
namespace {

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
    const auto *entries = prefix ? access.reach_array(runs.entries, runs.count) : nullptr;
    const auto *tile = entries ? access.reach_array(runs.tile, tiles + 1) : nullptr;
    runs.displs = displs;
    runs.prefix = prefix;
    runs.entries = entries;
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

    // Of packed byte i of the transfer, for the program; 0 after an error.
    uintptr_t address(int64_t i)
    {
        if (error_)
            return 0;
        const int64_t displ =
            by_runs_ ? by_runs(side_.first + i) : displacement(side_, side_.first + i);
        return error_ ? 0 : reinterpret_cast<uintptr_t>(side_.base) + static_cast<uintptr_t>(displ);
    }

    // Packed bytes [i, i + bytes) of the transfer, which one word holds; null after an error.
    std::byte *at(int64_t i, size_t bytes)
    {
        const uintptr_t there = address(i);
        return there ? access_.reach(there, bytes, bytes) : nullptr;
    }

    const Fault &error() const { return error_ ? error_ : access_.error(); }

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
                device_fault("sim: run list: tile " + std::to_string(tile) + " has the wrong runs");
            return 0;
        }
        const int64_t run = first + find_block(list.prefix + first, last - first + 1, within);
        const uint64_t entry = list.entries[run];
        const int64_t begin = tile * tile_bytes;
        if (displ_of(entry) != list.displs[run] ||
            (run > first && begin + begin_of(entry, begin) != list.prefix[run])) {
            error_ =
                device_fault("sim: run list: run " + std::to_string(run) + " has a wrong entry");
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
    Fault error_;
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

Fault move(const Work &work, Places &from, Places &to)
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

Fault reduce(const Work &work, Places &from, Places &to)
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

bool takes_list(Kernel kernel)
{
    return kernel == Kernel::runs || kernel == Kernel::even_runs || kernel == Kernel::short_runs ||
           kernel == Kernel::few_runs;
}

Fault refuse(Kernel kernel, const char *why)
{
    return device_fault(std::string("sim: launch: kernel ") + kernel_name(kernel) + ": " + why);
}

Fault check_side(Kernel kernel, const Side &side)
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

Fault check_launch(Kernel kernel, const Work &work)
{
    if (kernel >= Kernel::count)
        return device_fault("sim: launch: no such kernel");
    if (work.bytes < 0)
        return refuse(kernel, "a negative length");
    for (const Side *side : {&work.from, &work.to})
        if (Fault error = check_side(kernel, *side))
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
        return !has_image ? Fault{} : refuse(kernel, "takes dense and strided sides");
    case Kernel::sparse:
    case Kernel::transpose:
    case Kernel::batch:
        return has_dense && !has_image ? Fault{}
                                       : refuse(kernel, "takes a dense and a strided side");
    case Kernel::records:
        return has_dense ? Fault{} : refuse(kernel, "takes a dense side and one of records");
    case Kernel::batch_images:
        return has_dense && has_image ? Fault{} : refuse(kernel, "takes a dense side and an image");
    case Kernel::runs:
    case Kernel::even_runs:
    case Kernel::short_runs:
    case Kernel::few_runs:
        return has_dense && (work.from.listed() || work.to.listed())
                   ? Fault{}
                   : refuse(kernel, "takes a dense side and one with a run list");
    default:
        return {};
    }
}

const void *first_byte(const Memories &memories, int device, const Side &side)
{
    return reinterpret_cast<const void *>(
        Places(memories, device, "", side, side.listed(), true).address(0));
}

Fault run_kernel(const Memories &memories, int device, Kernel kernel, const Work &work)
{
    if (work.op == HEDDLE_OP_NO_OP || work.bytes == 0)
        return {};
    const std::string name = std::string("kernel ") + kernel_name(kernel);
    const bool by_runs = takes_list(kernel);
    Places from(memories, device, name + " reads", work.from, by_runs, work.far);
    Places to(memories, device, name + " writes", work.to, by_runs, work.remote);
    if (from.error())
        return from.error();
    if (to.error())
        return to.error();
    return work.op == HEDDLE_OP_REPLACE ? move(work, from, to) : reduce(work, from, to);
}

Fault check_fold(const Fold &fold)
{
    if (fold.n < 1 || fold.n > Fold::most || fold.targets < 1 || fold.targets > Fold::most)
        return refuse(Kernel::fold, "too many vectors, or none");
    const Packed form = packed_form(fold.basic);
    if (!can_combine(fold.op, fold.basic) || form.size != form.value)
        return refuse(Kernel::fold, "no such operator on that type");
    if (fold.bytes <= 0 || static_cast<size_t>(fold.bytes) % form.size != 0)
        return refuse(Kernel::fold, "a cut element, or nothing");
    return {};
}

// In words, as a GPU does where all lie at multiples of one; the rest by elements.
Fault run_fold(const Memories &memories, int device, const Fold &fold)
{
    constexpr size_t word = 16;
    const size_t element = packed_form(fold.basic).size;
    Access from(memories, device, "kernel fold reads", {.own = !fold.far});
    Access to(memories, device, "kernel fold writes", {.own = !fold.remote});
    std::array<std::byte, 64> result, source;
    const auto all = static_cast<size_t>(fold.bytes);
    for (size_t at = 0, step = 0; at < all; at += step) {
        const bool by_words = fold.word >= static_cast<int>(word) && element <= word;
        step = by_words && all - at >= word ? word : element;
        const auto read = [&](const char *vector, std::byte *into) {
            const std::byte *const place =
                from.reach(reinterpret_cast<uintptr_t>(vector) + at, step, step);
            return place ? std::memcpy(into, place, step) : nullptr;
        };
        if (!read(fold.from[0], result.data()))
            return from.error();
        for (int i = 1; i < fold.n; ++i) {
            if (!read(fold.from[i], source.data()))
                return from.error();
            for (size_t e = 0; e < step; e += element)
                combine(fold.op, fold.basic, &result[e], &source[e]);
        }
        for (int i = 0; i < fold.targets; ++i) {
            std::byte *const target =
                to.reach(reinterpret_cast<uintptr_t>(fold.to[i]) + at, step, step);
            if (!target)
                return to.error();
            std::memcpy(target, result.data(), step);
        }
    }
    return {};
}

// From the first byte of a copy's rows to behind the last one.
static size_t extent_of(const Layers &copy, size_t pitch, size_t rows_of_layer)
{
    return ((copy.layers - 1) * rows_of_layer + copy.rows - 1) * pitch + copy.width;
}

Fault make_list(const Memories &memories, int device, Listing listing)
{
    Access access(memories, device, "the making of a list");
    const auto reach = [&access](auto *&array, int64_t count) {
        array = const_cast<std::remove_reference_t<decltype(array)>>(
            access.error() ? nullptr : access.reach_array(array, count));
    };
    reach(listing.displs, listing.count);
    if (listing.even > 0)
        reach(listing.even_prefix, listing.count + 1);
    else
        reach(listing.prefix, listing.count + 1);
    reach(listing.entries, listing.count);
    reach(listing.tile, listing.tiles + 1);
    reach(listing.facts, 1);
    if (access.error())
        return access.error();
    gpu::make_list(listing);
    return {};
}

Fault run_copy(const Memories &memories, int device, Limits limits, const Layers &copy)
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
