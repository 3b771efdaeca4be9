/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that look at values: reductions and external32.
 */
#include "../oracle/basics.hpp"
#include "../oracle/operators.hpp"
#include "memory.hpp"
#include "properties.hpp"

#include <algorithm>
#include <cstring>

namespace property {
namespace {

std::byte *entry_at(const Memory &memory, const oracle::Packing &packing, int64_t entry)
{
    return reinterpret_cast<std::byte *>(memory.base() +
                                         static_cast<uintptr_t>(packing.displacement(entry)));
}

void write_operands(const Memory &memory, const oracle::Packing &packing, oracle::Rng &rng)
{
    for (int64_t i = 0; i < packing.entries(); ++i)
        oracle::write_operand(packing.kind(i), rng, entry_at(memory, packing, i));
}

/* A value that external32 can hold; the bytes are random before. */
void make_portable(heddle_predefined kind, oracle::Rng &rng, std::byte *at)
{
    const auto store = [&](auto value, size_t where) {
        std::memcpy(at + where, &value, sizeof value);
    };
    const auto real = [&]() -> long double {
        if (rng.percent(10))
            return 0.0L;
        const auto mantissa =
            static_cast<long double>(rng.in(-(int64_t{1} << 62), int64_t{1} << 62));
        return __builtin_ldexpl(mantissa, static_cast<int>(rng.in(-16400, 16300)));
    };
    switch (kind) {
    case HEDDLE_LONG:
        return store(static_cast<int64_t>(static_cast<int32_t>(rng.next())), 0);
    case HEDDLE_ULONG:
        return store(static_cast<uint64_t>(static_cast<uint32_t>(rng.next())), 0);
    case HEDDLE_WCHAR:
        return store(static_cast<wchar_t>(rng.in(0, 0xffff)), 0);
    case HEDDLE_LONG_DOUBLE:
        return store(real(), 0);
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        store(real(), 0);
        return store(real(), 16);
    default:
        return;
    }
}

void make_portable(const Memory &memory, const oracle::Packing &packing, oracle::Rng &rng)
{
    for (int64_t i = 0; i < packing.entries(); ++i)
        make_portable(packing.kind(i), rng, entry_at(memory, packing, i));
}

oracle::Bytes external_form(const Memory &memory, const oracle::Packing &packing)
{
    oracle::Bytes bytes;
    for (int64_t i = 0; i < packing.entries(); ++i) {
        const auto size = static_cast<size_t>(oracle::external_size(packing.kind(i)));
        bytes.resize(bytes.size() + size);
        oracle::to_external(packing.kind(i), entry_at(memory, packing, i),
                            bytes.data() + bytes.size() - size);
    }
    return bytes;
}

/* Equal numbers may differ in a zero's sign or in padding, which are made the same. */
void same_operand(heddle_predefined kind, std::byte *got, const std::byte *expected,
                  const std::string &where, int64_t element)
{
    same(oracle::equal_operands(kind, got, expected), true, where, ": element ", element);
    std::memcpy(got, expected, static_cast<size_t>(oracle::primitive_size(kind)));
}

} // namespace

bool accumulate(const Subject &s, oracle::Rng &rng)
{
    const heddle_predefined basic = s.info.basic;
    const oracle::Packing target(s.map, s.random_count(rng));
    if (basic == HEDDLE_MIXED || !Memory::can_hold(target) ||
        oracle::overlaps(s.map, target.count()))
        return false;
    const auto parts = static_cast<int64_t>(oracle::basic(basic).primitives.size());
    const int64_t elements = target.entries() / parts;

    std::vector<heddle_op> ops;
    for (int op = 0; op < HEDDLE_OP_COUNT; ++op)
        if (oracle::op_defined(static_cast<heddle_op>(op), basic))
            ops.push_back(static_cast<heddle_op>(op));
    const heddle_op op = rng.pick(ops);

    const oracle::Sample source_type = oracle::scattered(rng, basic, elements);
    const oracle::Packing source_packing(source_type.map, 1);
    const Memory source(source_packing, rng);
    const Memory got(target, rng);
    write_operands(source, source_packing, rng);
    write_operands(got, target, rng);
    const Memory expected = got.twin();

    const bool packed = rng.percent(40);
    const std::string where =
        text("accumulate, op ", op, " on ", oracle::basic(basic).name, ", ", elements,
             " elements, source ", packed ? "packed" : oracle::to_text(*source_type.expr));
    if (packed) {
        const oracle::Bytes bytes = oracle::pack(source.base(), source_packing);
        const Memory::Guard guard(got);
        succeeds(heddle_accumulate(bytes.data(), elements, nullptr, got.buffer(), target.count(),
                                   s.type.get(), op),
                 where);
    } else {
        const oracle::Type type = oracle::build(*source_type.expr).commit();
        const Memory::Guard a(source), b(got);
        succeeds(heddle_accumulate(source.buffer(), 1, type.get(), got.buffer(), target.count(),
                                   s.type.get(), op),
                 where);
    }

    for (int64_t i = 0; i < elements; ++i) {
        std::byte *to[2], *from[2], *result[2];
        for (int64_t part = 0; part < parts; ++part) {
            to[part] = entry_at(expected, target, i * parts + part);
            result[part] = entry_at(got, target, i * parts + part);
            from[part] = entry_at(source, source_packing, i * parts + part);
        }
        oracle::combine(op, basic, to, from);
        for (int64_t part = 0; part < parts; ++part)
            same_operand(target.kind(i * parts + part), result[part], to[part], where, i);
    }
    if (const auto at = got.difference(expected))
        fail(where, ": memory outside the elements differs at displacement ", *at);
    return true;
}

bool pack_external(const Subject &s, oracle::Rng &rng)
{
    const oracle::Packing packing(s.map, s.random_count(rng));
    if (!Memory::can_hold(packing) || oracle::overlaps(s.map, packing.count()))
        return false;
    const Memory memory(packing, rng);
    make_portable(memory, packing, rng);
    const oracle::Bytes expected = external_form(memory, packing);
    const auto size = static_cast<int64_t>(expected.size());

    int64_t reported = -1;
    succeeds(heddle_external_size(packing.count(), s.type.get(), &reported), "external_size");
    same(reported, size, "external_size of ", packing.count());

    PackedBuffer packed(size, rng);
    int64_t actual = -1;
    if (size > 0)
        same(heddle_pack_external(memory.buffer(), packing.count(), s.type.get(), packed.data(),
                                  size - 1, &actual),
             int{HEDDLE_ERR_TRUNCATE}, "pack_external, 1 byte short");
    {
        const Memory::Guard guard(memory);
        succeeds(heddle_pack_external(memory.buffer(), packing.count(), s.type.get(), packed.data(),
                                      size, &actual),
                 "pack_external");
    }
    same(actual, size, "pack_external of ", packing.count(), ": bytes");
    packed.untouched_beyond(size);
    const auto first = std::mismatch(expected.begin(), expected.end(), packed.data()).first;
    if (first != expected.end())
        fail("pack_external of ", packing.count(), ": byte ", first - expected.begin(), " differs");

    PackedBuffer native(packing.total(), rng), converted(size, rng);
    succeeds(heddle_pack(memory.buffer(), packing.count(), s.type.get(), 0, native.data(),
                         packing.total(), &actual),
             "pack");
    succeeds(
        heddle_external_from_packed(native.data(), packing.count(), s.type.get(), converted.data()),
        "external_from_packed");
    converted.untouched_beyond(size);
    same(std::equal(expected.begin(), expected.end(), converted.data()), true,
         "external_from_packed");
    return true;
}

bool unpack_external(const Subject &s, oracle::Rng &rng)
{
    const oracle::Packing packing(s.map, s.random_count(rng));
    if (!Memory::can_hold(packing) || oracle::overlaps(s.map, packing.count()))
        return false;
    const Memory got(packing, rng);
    const Memory expected = got.twin();
    make_portable(expected, packing, rng);
    const oracle::Bytes bytes = external_form(expected, packing);
    const auto size = static_cast<int64_t>(bytes.size());

    PackedBuffer packed(size, rng);
    std::copy(bytes.begin(), bytes.end(), packed.data());
    int64_t actual = -1;
    {
        const Memory::Guard guard(got);
        succeeds(heddle_unpack_external(packed.data(), size, got.buffer(), packing.count(),
                                        s.type.get(), &actual),
                 "unpack_external");
    }
    same(actual, size, "unpack_external of ", packing.count(), ": bytes");
    PackedBuffer native(packing.total(), rng);
    succeeds(heddle_external_to_packed(packed.data(), native.data(), packing.count(), s.type.get()),
             "external_to_packed");
    native.untouched_beyond(packing.total());
    for (int64_t i = 0; i < packing.entries(); ++i)
        same(oracle::same_value(packing.kind(i), native.data() + packing.start(i),
                                entry_at(expected, packing, i)),
             true, "external_to_packed: element ", i);
    for (int64_t i = 0; i < packing.entries(); ++i) {
        std::byte *const mine = entry_at(got, packing, i);
        std::byte *const theirs = entry_at(expected, packing, i);
        same(oracle::same_value(packing.kind(i), mine, theirs), true, "unpack_external of ",
             packing.count(), ": element ", i, ", a ", oracle::basic(packing.kind(i)).name);
        std::memcpy(mine, theirs, static_cast<size_t>(packing.size(i))); /* padding of long double
                                                                            is free */
    }
    if (const auto at = got.difference(expected))
        fail("unpack_external: memory outside the elements differs at displacement ", *at);
    return true;
}

} // namespace property
