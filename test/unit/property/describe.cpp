/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the engine says of a type: sizes and bounds, errors of range, and the flattened form.
 */
#include "memory.hpp"
#include "properties.hpp"

#include <algorithm>

namespace property {

Subject::Subject(oracle::Sample made)
    : expr(std::move(made.expr)),
      map(std::move(made.map)),
      type(oracle::build(*expr)),
      info_before(type.info())
{
    type.commit();
    info = type.info();
}

int64_t Subject::random_count(oracle::Rng &rng) const
{
    const auto entries = static_cast<int64_t>(map.entries.size());
    if (entries > 800)
        return rng.in(0, entries > 4000 ? 1 : 2);
    if (rng.percent(3))
        return rng.scaled(3000 / std::max<int64_t>(entries, 3));
    return rng.in(rng.percent(10) ? 0 : 1, 5);
}

std::span<const Property> all()
{
    static constexpr Property table[] = {
        {"order kept", order_kept},
        {"canonical out", canonical_out},
        {"canonical in", canonical_in},
        {"info", info},
        {"ranges", ranges},
        {"iov", iov},
        {"iov_bytes", iov_bytes},
        {"locate", locate},
        {"elements", elements},
        {"pack", pack},
        {"unpack", unpack},
        {"copy from", copy_out},
        {"copy to", copy_in},
        {"copy itself", copy_same},
        {"flatten", flatten},
        {"accumulate", accumulate},
        {"pack_external", pack_external},
        {"unpack_external", unpack_external},
    };
    return table;
}

bool info(const Subject &s, oracle::Rng &)
{
    const oracle::Range range = oracle::touched(s.map, 1);
    const int64_t size = oracle::size_of(s.map);
    same(s.info.size, size, "size");
    same(s.info.lb, s.map.lb, "lb");
    same(s.info.extent, s.map.extent(), "extent");
    same(s.info.true_lb, range.low, "true_lb");
    same(s.info.true_extent, range.high - range.low, "true_extent");
    same(s.info.alignment, s.map.alignment, "alignment");
    same(s.info.elements, static_cast<int64_t>(s.map.entries.size()), "elements");
    same(s.info.displ, size == 0 ? 0 : s.map.entries.front().displacement, "displ");
    same(s.info.basic, oracle::basic_of(s.map), "basic");
    same(s.info.contiguous != 0, oracle::is_contiguous(s.map), "contiguous");
    same(s.info.committed, 1, "committed");
    same(s.info_before.contiguous, s.info.contiguous, "contiguous before commit");
    same(s.info_before.runs == 0 || s.info_before.committed, true,
         "runs before commit are unknown");
    same(s.info.runs >= (size > 0) && s.info.runs <= s.info.elements, true,
         "runs within [1, elements]");
    if (s.info.contiguous)
        same(s.info.plan, int{HEDDLE_PLAN_CONTIGUOUS}, "plan of a contiguous type");
    same(s.info.plan != HEDDLE_PLAN_NONE, true, "plan of a committed type is not NONE");
    same(s.info.plan == HEDDLE_PLAN_STRIDED ? s.info.dimensions >= 1 : s.info.dimensions == 0, true,
         "dimensions only of strided plans");
    if (size == 0) {
        same(s.info.word, 0, "word");
        return true;
    }
    same(s.info.word == 1 || s.info.word == 2 || s.info.word == 4 || s.info.word == 8 ||
             s.info.word == 16,
         true, "word is a power of two up to 16");
    return true;
}

bool ranges(const Subject &s, oracle::Rng &rng)
{
    const int64_t count = s.random_count(rng);
    const int64_t total = count * s.info.size;
    const int64_t outside = rng.percent(50) ? -1 - rng.in(0, 9) : total + 1 + rng.in(0, 9);
    std::byte byte{};
    int64_t displ = 0, run = 0, actual = 0;
    same(heddle_locate(count, s.type.get(), outside, &displ, &run), int{HEDDLE_ERR_RANGE},
         "locate at ", outside);
    same(heddle_locate(count, s.type.get(), total, &displ, &run), int{HEDDLE_ERR_RANGE},
         "locate at the end");
    same(heddle_pack(&byte, count, s.type.get(), outside, &byte, 1, &actual), int{HEDDLE_ERR_RANGE},
         "pack at ", outside);
    same(heddle_unpack(&byte, 1, &byte, count, s.type.get(), outside, &actual),
         int{HEDDLE_ERR_RANGE}, "unpack at ", outside);
    actual = -1;
    succeeds(heddle_pack(&byte, count, s.type.get(), total, &byte, 1, &actual), "pack at the end");
    same(actual, 0, "bytes packed at the end");
    actual = -1;
    succeeds(heddle_unpack(&byte, 1, &byte, count, s.type.get(), total, &actual),
             "unpack at the end");
    same(actual, 0, "bytes unpacked at the end");
    return true;
}

bool flatten(const Subject &s, oracle::Rng &rng)
{
    size_t size = 0;
    succeeds(heddle_flatten_size(s.type.get(), &size), "flatten_size");
    oracle::Bytes bytes(size);
    same(heddle_flatten(s.type.get(), bytes.data(), size - 1), int{HEDDLE_ERR_TRUNCATE},
         "flatten, 1 byte short");
    succeeds(heddle_flatten(s.type.get(), bytes.data(), size), "flatten");

    /* The bytes may come from any place in a message. */
    oracle::Bytes moved(size + 8);
    const auto odd = static_cast<size_t>(rng.in(0, 7));
    std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(odd));
    const oracle::Type copy = oracle::Type::from(
        [&](heddle_type **t) { return heddle_unflatten(moved.data() + odd, size, t); },
        "unflatten");

    const heddle_type_info a = s.info, b = copy.info();
    same(b.size, a.size, "size after unflatten");
    same(b.lb, a.lb, "lb after unflatten");
    same(b.extent, a.extent, "extent after unflatten");
    same(b.true_lb, a.true_lb, "true_lb after unflatten");
    same(b.true_extent, a.true_extent, "true_extent after unflatten");
    same(b.alignment, a.alignment, "alignment after unflatten");
    same(b.elements, a.elements, "elements after unflatten");
    same(b.runs, a.runs, "runs after unflatten");
    same(b.displ, a.displ, "displ after unflatten");
    same(b.basic, a.basic, "basic after unflatten");
    same(b.contiguous, a.contiguous, "contiguous after unflatten");
    same(b.committed, 1, "committed after unflatten");
    same(b.plan, a.plan, "plan after unflatten");
    same(b.dimensions, a.dimensions, "dimensions after unflatten");
    same(b.word, a.word, "word after unflatten");
    same(copy.describe(), s.type.describe(), "describe after unflatten");

    size_t again_size = 0;
    succeeds(heddle_flatten_size(copy.get(), &again_size), "flatten_size after unflatten");
    same(again_size, size, "flattened size after unflatten");
    oracle::Bytes again(size);
    succeeds(heddle_flatten(copy.get(), again.data(), size), "flatten after unflatten");
    same(again == bytes, true, "flattened bytes after unflatten are the same");

    const oracle::Packing packing(s.map, s.random_count(rng));
    if (!Memory::can_hold(packing))
        return true;
    const Memory memory(packing, rng);
    PackedBuffer packed(packing.total(), rng);
    const int64_t offset = rng.in(0, packing.total());
    const int64_t max = rng.percent(50) ? packing.total() : rng.in(0, packing.total() - offset);
    int64_t actual = -1;
    succeeds(heddle_pack(memory.buffer(), packing.count(), copy.get(), offset, packed.data(),
                         std::min(max, packing.total() - offset), &actual),
             "pack after unflatten");
    same(actual, packing.pack_end(offset, std::min(max, packing.total() - offset)) - offset,
         "bytes packed after unflatten");
    const oracle::Bytes expected = oracle::pack(memory.base(), packing);
    same(std::equal(packed.data(), packed.data() + actual, expected.begin() + offset), true,
         "packed bytes after unflatten");
    return true;
}

} // namespace property
