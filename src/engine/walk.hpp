// SPDX-License-Identifier: BSD-3-Clause
// The host's traversal of an image. One law: every step serves n instances of a node at once, at
// constant strides on both sides. So repetitions (an array of structs, a vector of indexed blocks)
// reach the loops of copy.hpp with n as large as it gets. There is never one call per element.
#pragma once

#include "engine/copy.hpp"
#include "engine/image.hpp"

#include <algorithm>

namespace heddle {

template <Dir D> class Walk {
public:
    explicit Walk(const ImageView &image) : image_(image) {}

    // `s.n` whole instances of node k; the first at memory m and packed p.
    void whole(int32_t k, Strides s, Address m, Address p) const
    {
        for (;;) {
            const ImageNode &n = image_.nodes[k];
            switch (n.kind) {
            case NodeKind::dense:
                if (s.n == 1 || (s.ms == n.bytes && s.ps == n.bytes))
                    return move<D>(m, p, static_cast<size_t>(s.n * n.bytes));
                return copy_blocks<D>(n.bytes, {1, 0, 0}, s, m, p);
            case NodeKind::stream: {
                const Strides children{n.count, n.stride, packed_step(n.stride, n.bytes)};
                if (image_.nodes[n.child].kind == NodeKind::dense)
                    return planes(image_.nodes[n.child].bytes, s, children, m, p);
                if (s.n == 1) {
                    k = n.child;
                    s = children;
                    break;
                }
                const Grid grid(image_, n);
                if (grid.strided && grid.rows <= few)
                    return grid_rows(grid, s, m, p);
                if (!grid.strided && n.count < s.n && n.count <= few)
                    return tiles(
                        s, n.bytes * n.count, m, p, [&](Strides t, Address mt, Address pt) {
                            for (int64_t i = 0; i < n.count; ++i)
                                whole(n.child, t, at(mt, i * children.ms), at(pt, i * children.ps));
                        });
                for (int64_t i = 0; i < s.n; ++i)
                    whole(n.child, children, at(m, i * s.ms), at(p, i * s.ps));
                return;
            }
            default:
                if (n.count <= few && s.n > 1)
                    return tiles(s, packed_size(image_, n), m, p,
                                 [&](Strides t, Address mt, Address pt) {
                                     blocks(n, 0, n.count, t, mt, pt);
                                 });
                for (int64_t i = 0; i < s.n; ++i)
                    blocks(n, 0, n.count, {1, 0, 0}, at(m, i * s.ms), at(p, i * s.ps));
                return;
            }
        }
    }

    // Packed bytes [lo, hi) of one instance of node k, which lies at memory m; packed byte 0 would
    // lie at p.
    void part(int32_t k, int64_t lo, int64_t hi, Address m, Address p) const
    {
        const ImageNode &n = image_.nodes[k];
        switch (n.kind) {
        case NodeKind::dense:
            move<D>(at(m, lo), at(p, lo), static_cast<size_t>(hi - lo));
            return;
        case NodeKind::stream:
            return repeated(n.child, n.bytes, n.by_bytes,
                            {n.count, n.stride, packed_step(n.stride, n.bytes)}, lo, hi, m, p);
        case NodeKind::gather: {
            int64_t i = n.by_bytes.divide(lo);
            const int64_t j = n.by_bytes.divide(hi);
            const int64_t head = lo - i * n.bytes;
            const int64_t tail = hi - j * n.bytes;
            if (i == j)
                return child(n, i, head, tail, m, p);
            if (head > 0)
                child(n, i++, head, n.bytes, m, p);
            blocks(n, i, j, {1, 0, 0}, m, p);
            if (tail > 0)
                child(n, j, 0, tail, m, p);
            return;
        }
        default:
            return pieces(n, lo, hi, m, p);
        }
    }

    // Packed bytes [lo, hi) of `s.n` instances of node k, of `bytes` each, the first at m and p.
    void repeated(int32_t k, int64_t bytes, Divisor by_bytes, Strides s, int64_t lo, int64_t hi,
                  Address m, Address p) const
    {
        int64_t i = by_bytes.divide(lo);
        const int64_t j = by_bytes.divide(hi);
        const int64_t head = lo - i * bytes;
        const int64_t tail = hi - j * bytes;
        if (i == j)
            return part(k, head, tail, at(m, i * s.ms), at(p, i * s.ps));
        if (head > 0) {
            part(k, head, bytes, at(m, i * s.ms), at(p, i * s.ps));
            ++i;
        }
        if (i < j)
            whole(k, {j - i, s.ms, s.ps}, at(m, i * s.ms), at(p, i * s.ps));
        if (tail > 0)
            part(k, 0, tail, at(m, j * s.ms), at(p, j * s.ps));
    }

private:
    // Up to this many blocks a node is traversed block by block, each over many instances.
    static constexpr int64_t few = 64;
    // Packed bytes that one tile of such instances may take: it stays in the first-level cache.
    static constexpr int64_t tile_bytes = 8192;

    // Streams down to a dense block: rows of such blocks.
    struct Grid {
        bool strided = false;
        int64_t rows = 1; // no more than `few` + 1
        const ImageNode *row;
        const ImageNode *levels[6] = {}; // around the row, outermost first, where rows <= few
        int depth = 0;

        Grid(const ImageView &image, const ImageNode &top) : row(&top)
        {
            for (; row->kind == NodeKind::stream; row = &image.nodes[row->child]) {
                if (image.nodes[row->child].kind == NodeKind::dense) {
                    strided = true;
                    return;
                }
                rows = std::min(rows * std::min(row->count, few + 1), few + 1);
                if (rows <= few)
                    levels[depth++] = row;
            }
        }
    };

    // Small grids many times over: in pack order, with the rows' displacements looked up.
    void grid_rows(const Grid &grid, const Strides &s, Address m, Address p) const
    {
        int64_t displs[few];
        displs[0] = 0;
        int64_t n = 1;
        for (int level = grid.depth - 1; level >= 0; --level) {
            const ImageNode &stream = *grid.levels[level];
            for (int64_t i = n; i < n * stream.count; ++i)
                displs[i] = displs[i - n] + stream.stride;
            n *= stream.count;
        }
        const ImageNode &row = *grid.row;
        copy_rows<D>(row.bytes, s, displs, n, row.count, row.stride, m, p);
    }

    static int64_t packed_step(int64_t memory_step, int64_t bytes)
    {
        return D == Dir::same ? memory_step : bytes;
    }

    template <class F>
    void tiles(const Strides &s, int64_t bytes, Address m, Address p, F &&f) const
    {
        const int64_t t = std::max<int64_t>(tile_bytes / bytes, 8);
        for (int64_t i = 0; i < s.n; i += t)
            f(Strides{std::min(t, s.n - i), s.ms, s.ps}, at(m, i * s.ms), at(p, i * s.ps));
    }

    // Two dimensions of dense blocks.
    void planes(int64_t bytes, const Strides &outer, const Strides &inner, Address m,
                Address p) const
    {
        if (outer.n > inner.n && inner.n <= short_row)
            return copy_columns<D>(bytes, outer, inner, m, p);
        // Neighbours that share a cache line which the inner loop leaves: a transpose, by columns
        // of eight.
        int64_t i = 0;
        if (magnitude(outer.ms) <= cache_line / 2 && magnitude(inner.ms) >= cache_line)
            for (; i + short_row <= outer.n; i += short_row)
                copy_columns<D>(bytes, inner, {short_row, outer.ms, outer.ps}, at(m, i * outer.ms),
                                at(p, i * outer.ps));
        copy_blocks<D>(bytes, {outer.n - i, outer.ms, outer.ps}, inner, at(m, i * outer.ms),
                       at(p, i * outer.ps));
    }

    // Blocks [i, j) of an irregular node, each over `s.n` instances of it.
    void blocks(const ImageNode &n, int64_t i, int64_t j, const Strides &s, Address m,
                Address p) const
    {
        const int64_t *displs = image_.displs(n);
        switch (n.kind) {
        case NodeKind::gather:
            if (s.n == 1 && image_.nodes[n.child].kind == NodeKind::dense)
                return copy_gathered<D>(n.bytes, displs + i, j - i, m,
                                        at(p, D == Dir::same ? 0 : i * n.bytes));
            for (; i < j; ++i)
                whole(n.child, s, at(m, displs[i]), at(p, packed_step(displs[i], i * n.bytes)));
            return;
        case NodeKind::spans: {
            const int64_t *prefix = image_.prefix(n);
            for (; i < j; ++i) {
                const Address mi = at(m, displs[i]);
                const Address pi = at(p, packed_step(displs[i], prefix[i]));
                const int64_t bytes = prefix[i + 1] - prefix[i];
                if (s.n == 1)
                    copy_span<D>(mi, pi, static_cast<size_t>(bytes));
                else
                    copy_blocks<D>(bytes, {1, 0, 0}, s, mi, pi);
            }
            return;
        }
        case NodeKind::runs: {
            const int64_t *prefix = image_.prefix(n);
            const int64_t step = packed_step(n.stride, n.bytes);
            for (; i < j; ++i) {
                const Address mi = at(m, displs[i]);
                const Address pi = at(p, packed_step(displs[i], prefix[i] * n.bytes));
                const Strides units{prefix[i + 1] - prefix[i], n.stride, step};
                if (s.n == 1)
                    whole(n.child, units, mi, pi);
                else
                    for (int64_t u = 0; u < units.n; ++u)
                        whole(n.child, s, at(mi, u * n.stride), at(pi, u * step));
            }
            return;
        }
        default: {
            const int64_t *prefix = image_.prefix(n);
            const int64_t *links = image_.links(n);
            for (; i < j; ++i)
                whole(static_cast<int32_t>(links[i]), s, at(m, displs[i]),
                      at(p, packed_step(displs[i], prefix[i])));
            return;
        }
        }
    }

    // Bytes [lo, hi) of child i of a gather or concat, packed byte 0 of whose parent lies at p.
    void child(const ImageNode &n, int64_t i, int64_t lo, int64_t hi, Address m, Address p) const
    {
        const int64_t displ = image_.displs(n)[i];
        const bool concat = n.kind == NodeKind::concat;
        const int32_t k = concat ? static_cast<int32_t>(image_.links(n)[i]) : n.child;
        const int64_t before = concat ? image_.prefix(n)[i] : i * n.bytes;
        part(k, lo, hi, at(m, displ), at(p, packed_step(displ, before)));
    }

    // Bytes [lo, hi) of one instance of a node whose blocks are of different lengths.
    void pieces(const ImageNode &n, int64_t lo, int64_t hi, Address m, Address p) const
    {
        const int64_t *prefix = image_.prefix(n);
        const int64_t unit = n.kind == NodeKind::runs ? n.bytes : 1;
        int64_t i =
            find_block(prefix, n.count, n.kind == NodeKind::runs ? n.by_bytes.divide(lo) : lo);
        if (lo > prefix[i] * unit) {
            const int64_t end = prefix[i + 1] * unit;
            piece(n, i, lo - prefix[i] * unit, std::min(hi, end) - prefix[i] * unit, m, p);
            if (hi <= end)
                return;
            ++i;
        }
        // The last block that ends within the range.
        const int64_t j = i + whole_blocks(prefix + i, n.count - i, unit, hi);
        blocks(n, i, j, {1, 0, 0}, m, p);
        if (j < n.count && hi > prefix[j] * unit)
            piece(n, j, 0, hi - prefix[j] * unit, m, p);
    }

    // How many of the blocks from the first on end within the first `hi` bytes. Gallops: the answer
    // is near where a tile begins, and far probes would miss every cache.
    static int64_t whole_blocks(const int64_t *prefix, int64_t count, int64_t unit, int64_t hi)
    {
        const int64_t units = unit == 1 ? hi : hi / unit;
        int64_t step = 1;
        while (step < count && prefix[step] <= units)
            step *= 2;
        if (step >= count && prefix[count] <= units)
            return count;
        return find_block(prefix, std::min(step, count), units);
    }

    void piece(const ImageNode &n, int64_t i, int64_t lo, int64_t hi, Address m, Address p) const
    {
        if (n.kind == NodeKind::concat)
            return child(n, i, lo, hi, m, p);
        const int64_t displ = image_.displs(n)[i];
        const Address mi = at(m, displ);
        if (n.kind == NodeKind::spans) {
            const Address pi = at(p, packed_step(displ, image_.prefix(n)[i]));
            return move<D>(at(mi, lo), at(pi, lo), static_cast<size_t>(hi - lo));
        }
        const Address pi = at(p, packed_step(displ, image_.prefix(n)[i] * n.bytes));
        const int64_t units = image_.prefix(n)[i + 1] - image_.prefix(n)[i];
        repeated(n.child, n.bytes, n.by_bytes, {units, n.stride, packed_step(n.stride, n.bytes)},
                 lo, hi, mi, pi);
    }

    ImageView image_;
};

} // namespace heddle
