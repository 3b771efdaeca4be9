/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Moving data: pack, unpack, and from layout to layout.
 */
#include "memory.hpp"
#include "properties.hpp"

#include <algorithm>
#include <cstring>

namespace property {
namespace {

/* Lengths that matter: none, one byte, inside an element, exactly all, more than there is. */
int64_t random_length(oracle::Rng &rng, int64_t rest)
{
    switch (rng.in(0, 5)) {
    case 0:
        return rng.in(0, 3);
    case 1:
        return rng.in(0, std::min<int64_t>(rest, 40));
    case 2:
        return rest;
    case 3:
        return rest + rng.in(1, 50);
    default:
        return rng.in(0, rest);
    }
}

int64_t random_offset(oracle::Rng &rng, int64_t total)
{
    return rng.percent(25) ? 0 : rng.percent(10) ? total : rng.in(0, total);
}

void same_memory(const Memory &got, const Memory &expected, const std::string &where)
{
    if (const auto at = got.difference(expected))
        fail(where, ": memory differs at displacement ", *at);
}

void pack_once(const Subject &s, const oracle::Packing &packing, const Memory &memory,
               const oracle::Bytes &expected, int64_t offset, int64_t max, oracle::Rng &rng)
{
    const std::string where =
        text("pack of ", packing.count(), " from byte ", offset, ", at most ", max);
    const int64_t length = packing.pack_end(offset, max) - offset;
    PackedBuffer packed(std::min(max, packing.total() - offset), rng);
    int64_t actual = -1;
    {
        const Memory::Guard guard(memory);
        succeeds(heddle_pack(memory.buffer(), packing.count(), s.type.get(), offset, packed.data(),
                             max, &actual),
                 where);
    }
    same(actual, length, where, ": bytes");
    packed.untouched_beyond(actual);
    const auto first =
        std::mismatch(packed.data(), packed.data() + length, expected.begin() + offset).first;
    if (first != packed.data() + length)
        fail(where, ": packed byte ", offset + (first - packed.data()), " differs");
}

/* A partner for a copy, of no more entries than it takes to hold about as much. */
Subject partner(const Subject &other, oracle::Rng &rng)
{
    oracle::Recipe recipe = oracle::random_recipe(rng, 5);
    if (other.info.size > 8192) {
        recipe.depth = std::min(recipe.depth, 2);
        recipe.entries = 4000;
        recipe.leaves = {HEDDLE_DOUBLE, HEDDLE_COMPLEX_DOUBLE};
    } else {
        recipe.entries = std::min<int64_t>(recipe.entries, 200);
    }
    return Subject(oracle::random_type(rng, recipe));
}

bool copy(const Subject &from, const Subject &to, oracle::Rng &rng)
{
    const oracle::Packing in(from.map, from.random_count(rng));
    const oracle::Packing out(to.map, to.random_count(rng));
    if (!Memory::can_hold(in) || !Memory::can_hold(out))
        return false;
    /* It is open which of two bytes one place gets; from a type to itself it is the same byte. */
    if (&from != &to && oracle::overlaps(to.map, out.count()))
        return false;
    const Memory source(in, rng);
    const Memory got(out, rng);
    const Memory expected = got.twin();
    const oracle::Bytes packed = oracle::pack(source.base(), in);

    const int64_t total = std::min(in.total(), out.total());
    const bool whole = rng.percent(30);
    const int64_t offset = whole ? 0 : random_offset(rng, total);
    const int64_t wanted = whole ? total : random_length(rng, total - offset);
    const int64_t length = std::min(wanted, total - offset);
    const std::string where =
        text("copy of ", in.count(), " to ", out.count(), " of ", oracle::to_text(*from.expr),
             " to ", oracle::to_text(*to.expr), " from byte ", offset, ", ", wanted, " bytes");
    int64_t actual = -1;
    {
        const Memory::Guard a(source), b(got);
        succeeds(heddle_copy(source.buffer(), in.count(), from.type.get(), got.buffer(),
                             out.count(), to.type.get(), offset, wanted, &actual),
                 where);
    }
    same(actual, length, where, ": bytes");
    oracle::unpack(
        std::span(packed).subspan(static_cast<size_t>(offset), static_cast<size_t>(length)),
        expected.base(), out, offset);
    same_memory(got, expected, where);
    return true;
}

} // namespace

bool pack(const Subject &s, oracle::Rng &rng)
{
    const oracle::Packing packing(s.map, s.random_count(rng));
    if (!Memory::can_hold(packing))
        return false;
    const Memory memory(packing, rng);
    const oracle::Bytes expected = oracle::pack(memory.base(), packing);

    pack_once(s, packing, memory, expected, 0, packing.total(), rng);
    for (int i = 0; i < 3; ++i) {
        const int64_t offset = random_offset(rng, packing.total());
        pack_once(s, packing, memory, expected, offset,
                  random_length(rng, packing.total() - offset), rng);
    }
    /* Fragments of one size, one after the other, as a transport asks for them. */
    const int64_t fragment = std::max<int64_t>({1, packing.total() / 12, rng.in(1, 64)});
    for (int64_t offset = 0; offset < packing.total();) {
        pack_once(s, packing, memory, expected, offset, fragment, rng);
        offset = packing.pack_end(offset, fragment);
    }
    return true;
}

bool unpack(const Subject &s, oracle::Rng &rng)
{
    const oracle::Packing packing(s.map, s.random_count(rng));
    if (!Memory::can_hold(packing) || oracle::overlaps(s.map, packing.count()))
        return false;
    const Memory got(packing, rng);
    const Memory expected = got.twin();

    for (int i = 0; i < 3; ++i) {
        const int64_t offset = i == 0 ? 0 : random_offset(rng, packing.total());
        const int64_t length =
            i == 0 ? packing.total() : random_length(rng, packing.total() - offset);
        const int64_t used = std::min(length, packing.total() - offset);
        const std::string where =
            text("unpack to ", packing.count(), " from byte ", offset, ", ", length, " bytes");
        PackedBuffer packed(length, rng);
        int64_t actual = -1;
        {
            const Memory::Guard guard(got);
            succeeds(heddle_unpack(packed.data(), length, got.buffer(), packing.count(),
                                   s.type.get(), offset, &actual),
                     where);
        }
        same(actual, used, where, ": bytes");
        packed.untouched_beyond(0);
        oracle::unpack(packed.bytes().first(static_cast<size_t>(used)), expected.base(), packing,
                       offset);
        same_memory(got, expected, where);
    }
    return true;
}

bool copy_out(const Subject &s, oracle::Rng &rng) { return copy(s, partner(s, rng), rng); }

bool copy_in(const Subject &s, oracle::Rng &rng) { return copy(partner(s, rng), s, rng); }

bool copy_same(const Subject &s, oracle::Rng &rng) { return copy(s, s, rng); }

} // namespace property
