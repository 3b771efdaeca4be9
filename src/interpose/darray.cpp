// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/darray.hpp"

#include <cstddef>
#include <span>

namespace heddle::interpose {

namespace {

// One dimension: `size` elements, dealt to `processes` in blocks. This one is number `place`.
struct Dimension {
    int64_t size;
    int distribution;
    int argument;
    int64_t processes;
    int64_t place;

    // Elements in a block; 0 where the contents make no sense.
    int64_t block() const
    {
        switch (distribution) {
        case MPI_DISTRIBUTE_NONE:
            return processes == 1 ? size : 0;
        case MPI_DISTRIBUTE_BLOCK:
            return argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes
                                                        : argument;
        case MPI_DISTRIBUTE_CYCLIC:
            return argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
        default:
            return 0;
        }
    }
};

// The elements of `element` that this process has in one dimension. The extent is the whole
// dimension's.
TypeRef deal(const Dimension &dimension, heddle_type *element)
{
    const int64_t block = dimension.block(), extent = info_of(element).extent;
    if (block <= 0)
        return nullptr;
    const int64_t first = dimension.place * block, step = dimension.processes * block;
    const int64_t left = dimension.size > first ? dimension.size - first : 0;
    const int64_t whole = left / step + (left % step >= block);
    const int64_t rest = left % step >= block ? 0 : left % step;
    const TypeRef blocks = make_type(heddle_type_hvector, whole, block, step * extent, element);
    if (!blocks)
        return nullptr;
    const int64_t lengths[] = {1, rest};
    const int64_t places[] = {first * extent, (first + whole * step) * extent};
    heddle_type *const members[] = {blocks.get(), element};
    const TypeRef all = make_type(heddle_type_struct, int64_t{2}, lengths, places, members);
    return all ? make_type(heddle_type_resized, all.get(), int64_t{0}, dimension.size * extent)
               : nullptr;
}

} // namespace

TypeRef make_darray(const Contents &contents, heddle_type *oldtype)
{
    // Large: sizes stand apart, in numbers(). Else all stands in ints(), sizes behind `ndims`.
    const std::vector<int> &ints = contents.ints();
    const size_t n = static_cast<size_t>(ints[2]);
    const bool large = contents.is_large();
    const std::span<const int64_t> sizes(contents.numbers().data() + (large ? 0 : 3), n);
    const std::span<const int> others(ints.data() + (large ? 3 : 3 + n), 3 * n + 1);
    const int order = others[3 * n];
    std::vector<Dimension> dimensions;
    int64_t ranks = ints[0], rank = ints[1];
    for (size_t i = 0; i < n; ++i) { // ranks are in row-major order, whatever the array's order is
        const int64_t processes = others[2 * n + i];
        if (processes <= 0)
            return nullptr;
        ranks /= processes;
        dimensions.push_back({sizes[i], others[i], others[n + i], processes, rank / ranks});
        rank %= ranks;
    }
    TypeRef made = make_type(heddle_type_dup, oldtype);
    for (size_t i = 0; i < n && made; ++i)
        made = deal(dimensions[order == MPI_ORDER_FORTRAN ? i : n - 1 - i], made.get());
    return made;
}

} // namespace heddle::interpose
