// SPDX-License-Identifier: BSD-3-Clause
// Packing in external32. The engine packs (or unpacks) tile by tile in a buffer that stays in the
// first-level cache. A tile is converted member by member: one call of a kernel converts one member
// of many structs.
#include "engine/external.hpp"

#include "engine/guard.hpp"
#include "engine/measure.hpp"
#include "engine/transfer.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace heddle {

namespace {

constexpr int64_t tile_bytes = 8192;

// Bytes in external32.
int64_t external_size(const PredefinedInfo &p) { return p.external_size; }

// The packed size of the elements that the first `bytes` bytes, in external32, of `n` instances of
// node k hold whole.
int64_t whole_elements(const Measure &format, int32_t k, int64_t n, int64_t bytes)
{
    const ImageNode &node = format.node(k);
    if (node.label != HEDDLE_MIXED) {
        const PredefinedInfo &p = predefined_info(label(node));
        return std::min(n * format.packed(k), bytes / p.external_size * p.size);
    }
    const int64_t instances = std::min(n, bytes / format.of(k));
    int64_t sum = instances * format.packed(k);
    if (instances == n)
        return sum;
    bytes -= instances * format.of(k);
    if (node.kind != NodeKind::concat)
        return sum + whole_elements(format, node.child, repetitions(format.view(), node), bytes);
    for (int64_t i = 0; i < node.count && bytes > 0; ++i) {
        const auto member = static_cast<int32_t>(format.view().links(node)[i]);
        sum += whole_elements(format, member, 1, bytes);
        bytes -= format.of(member);
    }
    return sum;
}

// Packed elements on either side of a conversion.
struct Sides {
    char *packed;
    char *external;

    Sides after(int64_t packed_bytes, int64_t external_bytes) const
    {
        return {packed + packed_bytes, external + external_bytes};
    }
};

enum class Direction { pack, unpack };

template <Direction D> class Conversion {
public:
    // `packed`: the buffer holds the packed form.
    Conversion(const Measure &format, const Message &message, void *buffer, bool packed,
               char *external)
        : format_(format),
          plan_(*message.plan),
          count_(message.count),
          buffer_(buffer),
          external_(external),
          dense_(packed || plan_.contiguous),
          displ_(packed ? 0 : plan_.displ)
    {
    }

    void run() { stream(0, count_); }

    // Unpacks no more than the first `packed` bytes of the packed form, of which `external` bytes
    // are there.
    void run_part(int64_t packed, int64_t external)
    {
        limit_ = packed;
        end_ = external_ + external;
        run();
    }

private:
    // The next `n` instances of node k, in tiles.
    void stream(int32_t k, int64_t n)
    {
        const ImageNode &node = format_.node(k);
        if (node.label != HEDDLE_MIXED)
            return stream_elements(label(node), n * format_.packed(k));

        const int64_t packed = format_.packed(k);
        const int64_t external = format_.of(k);
        if (packed <= tile_bytes) {
            for (int64_t step; n > 0; n -= step) {
                step = std::min(n, tile_bytes / packed);
                in_tile(step * packed, step * external,
                        [&](const Sides &at) { convert(k, step, packed, external, at); });
            }
            return;
        }
        for (; n > 0; --n) {
            if (node.kind == NodeKind::concat)
                stream_members(node);
            else
                stream(node.child, repetitions(format_.view(), node));
        }
    }

    void stream_elements(heddle_predefined kind, int64_t bytes)
    {
        const PredefinedInfo &p = predefined_info(kind);
        for (int64_t step; bytes > 0; bytes -= step) {
            step = std::min(bytes, tile_bytes / p.size * p.size);
            const int64_t elements = step / p.size;
            in_tile(step, elements * p.external_size,
                    [&](const Sides &at) { convert_elements(kind, elements, 1, 0, 0, at); });
        }
    }

    // Members of one concat that do not fit a tile together; as many at a time as do.
    void stream_members(const ImageNode &node)
    {
        const int64_t *before = format_.view().prefix(node);
        const int64_t *links = format_.view().links(node);
        for (int64_t i = 0; i < node.count;) {
            int64_t external = 0;
            int64_t j = i;
            for (; j < node.count && before[j + 1] - before[i] <= tile_bytes; ++j)
                external += format_.of(static_cast<int32_t>(links[j]));
            if (i == j)
                stream(static_cast<int32_t>(links[j++]), 1);
            else
                in_tile(before[j] - before[i], external,
                        [&](const Sides &at) { convert_members(node, i, j, 1, 0, 0, at); });
            i = j;
        }
    }

    // Calls `work` on the next bytes of both sides, and goes on behind them. The packed ones are in
    // a tile unless memory holds them as they are.
    template <class Work> void in_tile(int64_t packed, int64_t external, Work &&work)
    {
        if (offset_ + packed > limit_) {
            if (offset_ < limit_)
                in_last_tile(external, work);
        } else if (dense_) {
            const auto base = reinterpret_cast<uintptr_t>(buffer_); // which may be null
            work({reinterpret_cast<char *>(base + static_cast<uintptr_t>(displ_ + offset_)),
                  external_});
        } else if constexpr (D == Direction::pack) {
            pack_range(plan_, count_, buffer_, tile_.data(), offset_, offset_ + packed);
            work({tile_.data(), external_});
        } else {
            work({tile_.data(), external_});
            unpack_range(plan_, count_, buffer_, tile_.data(), offset_, offset_ + packed);
        }
        offset_ += packed;
        external_ += external;
    }

    // The tile of which some elements are not there: zeros take their place, and are dropped.
    template <class Work> void in_last_tile(int64_t external, Work &&work)
    {
        std::vector<char> all(static_cast<size_t>(external));
        std::copy(static_cast<const char *>(external_), end_, all.begin());
        work({tile_.data(), all.data()});
        unpack_range(plan_, count_, buffer_, tile_.data(), offset_, limit_);
    }

    // `n` instances of node k, the first at `at`, the others at constant steps from it.
    void convert(int32_t k, int64_t n, int64_t packed_step, int64_t external_step, const Sides &at)
    {
        const ImageNode &node = format_.node(k);
        if (node.label != HEDDLE_MIXED) {
            const int64_t elements = format_.packed(k) / predefined_info(label(node)).size;
            return convert_elements(label(node), elements, n, packed_step, external_step, at);
        }
        if (node.kind == NodeKind::concat)
            return convert_members(node, 0, node.count, n, packed_step, external_step, at);

        // The longer of the two repetitions goes inside.
        const int64_t packed = node.bytes;
        const int64_t external = format_.of(node.child);
        const int64_t repeats = repetitions(format_.view(), node);
        if (repeats >= n) {
            for (int64_t i = 0; i < n; ++i)
                convert(node.child, repeats, packed, external,
                        at.after(i * packed_step, i * external_step));
        } else {
            for (int64_t i = 0; i < repeats; ++i)
                convert(node.child, n, packed_step, external_step,
                        at.after(i * packed, i * external));
        }
    }

    // Members [i, j) of `n` concats, member i of the first at `at`.
    void convert_members(const ImageNode &node, int64_t i, int64_t j, int64_t n,
                         int64_t packed_step, int64_t external_step, Sides at)
    {
        const int64_t *links = format_.view().links(node);
        for (; i < j; ++i) {
            const auto member = static_cast<int32_t>(links[i]);
            convert(member, n, packed_step, external_step, at);
            at = at.after(format_.packed(member), format_.of(member));
        }
    }

    static void convert_elements(heddle_predefined kind, int64_t elements, int64_t n,
                                 int64_t packed_step, int64_t external_step, const Sides &at)
    {
        if constexpr (D == Direction::pack)
            to_external(kind)(at.external, external_step, at.packed, packed_step, elements, n);
        else
            from_external(kind)(at.packed, packed_step, at.external, external_step, elements, n);
    }

    const Measure &format_;
    const Plan &plan_;
    const int64_t count_;
    void *const buffer_;
    char *external_;   // the next byte in external32
    const bool dense_; // the buffer holds the packed form as it is, from displ_ on
    const int64_t displ_;
    int64_t offset_ = 0;        // the next byte of the packed form
    int64_t limit_ = INT64_MAX; // where the packed form ends
    const char *end_ = nullptr; // and the bytes in external32, if before all of them
    alignas(64) std::array<char, tile_bytes> tile_;
};

template <Direction D> int convert_all(void *buffer, bool packed, int64_t count,
                                       const heddle_type *type, void *external,
                                       int64_t external_bytes, int64_t *actual)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual || external_bytes < 0 || (m.bytes > 0 && (!external || (packed && !buffer))))
        return HEDDLE_ERR_ARG;
    if (m.bytes == 0) {
        *actual = 0;
        return HEDDLE_SUCCESS;
    }
    return guard([&] {
        const Measure format(m.plan->typed_image(), external_size);
        const int64_t needed = count * format.of(0);
        if (external_bytes < needed)
            return HEDDLE_ERR_TRUNCATE;
        Conversion<D>(format, m, buffer, packed, static_cast<char *>(external)).run();
        *actual = needed;
        return HEDDLE_SUCCESS;
    });
}

} // namespace

} // namespace heddle

using namespace heddle;

int heddle_external_size(int64_t count, const heddle_type *type, int64_t *size)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!size)
        return HEDDLE_ERR_ARG;
    return guard([&] {
        *size = m.bytes == 0 ? 0 : count * Measure(m.plan->typed_image(), external_size).of(0);
        return HEDDLE_SUCCESS;
    });
}

int heddle_pack_external(const void *inbuf, int64_t count, const heddle_type *type, void *outbuf,
                         int64_t capacity, int64_t *actual)
{
    auto *buffer = const_cast<void *>(inbuf); // only read
    return convert_all<Direction::pack>(buffer, false, count, type, outbuf, capacity, actual);
}

int heddle_unpack_external(const void *inbuf, int64_t insize, void *outbuf, int64_t count,
                           const heddle_type *type, int64_t *actual)
{
    auto *external = const_cast<void *>(inbuf); // only read
    return convert_all<Direction::unpack>(outbuf, false, count, type, external, insize, actual);
}

int heddle_external_from_packed(const void *packed, int64_t count, const heddle_type *type,
                                void *external)
{
    int64_t actual;
    auto *buffer = const_cast<void *>(packed); // only read
    return convert_all<Direction::pack>(buffer, true, count, type, external, INT64_MAX, &actual);
}

int heddle_external_to_packed(const void *external, void *packed, int64_t count,
                              const heddle_type *type)
{
    int64_t actual;
    auto *source = const_cast<void *>(external); // only read
    return convert_all<Direction::unpack>(packed, true, count, type, source, INT64_MAX, &actual);
}

int heddle_unpack_external_part(const void *inbuf, int64_t insize, void *outbuf, int64_t count,
                                const heddle_type *type, int64_t *actual)
{
    Message m;
    if (Error e = m.set(count, type))
        return e.code();
    if (!actual || insize < 0 || (insize > 0 && !inbuf))
        return HEDDLE_ERR_ARG;
    *actual = 0;
    if (m.bytes == 0)
        return HEDDLE_SUCCESS;
    return guard([&] {
        const Measure format(m.plan->typed_image(), external_size);
        const int64_t packed = whole_elements(format, 0, count, insize);
        auto *external = static_cast<char *>(const_cast<void *>(inbuf)); // only read
        Conversion<Direction::unpack>(format, m, outbuf, false, external).run_part(packed, insize);
        *actual = packed;
        return HEDDLE_SUCCESS;
    });
}
