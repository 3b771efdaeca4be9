/* SPDX-License-Identifier: BSD-3-Clause
 *
 * external32: messages longer than the property tests make them, and errors.
 */
#include "oracle/basics.hpp"
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace oracle;

namespace {

/* There and back, against the oracle's own conversion of every element. */
void converts(const ExprPtr &expr, int64_t count)
{
    INFO(to_text(*expr).substr(0, 200));
    const Typemap map = expand(*expr);
    const Packing packing(map, count);
    const Range range = touched(map, count);
    std::vector<std::byte> memory(static_cast<size_t>(range.high - range.low));
    const uintptr_t base =
        reinterpret_cast<uintptr_t>(memory.data()) - static_cast<uintptr_t>(range.low);
    const auto entry_at = [&](int64_t entry) {
        return reinterpret_cast<std::byte *>(base +
                                             static_cast<uintptr_t>(packing.displacement(entry)));
    };
    Bytes expected;
    for (int64_t i = 0; i < packing.entries(); ++i) {
        const int64_t value = i * 2654435761 % 100003;
        if (packing.kind(i) == HEDDLE_LONG_DOUBLE) {
            const auto real = static_cast<long double>(value) / 3;
            std::memcpy(entry_at(i), &real, sizeof real);
        } else {
            std::memcpy(entry_at(i), &value,
                        std::min<size_t>(sizeof value, static_cast<size_t>(packing.size(i))));
        }
        expected.resize(expected.size() + static_cast<size_t>(external_size(packing.kind(i))));
        to_external(packing.kind(i), entry_at(i),
                    expected.data() + expected.size() - external_size(packing.kind(i)));
    }

    const Type type = build(*expr).commit();
    const auto size = static_cast<int64_t>(expected.size());
    int64_t actual = 0;
    REQUIRE(heddle_external_size(count, type.get(), &actual) == HEDDLE_SUCCESS);
    CHECK(actual == size);
    Bytes external(expected.size());
    void *const buffer = reinterpret_cast<void *>(base);
    REQUIRE(heddle_pack_external(buffer, count, type.get(), external.data(), size, &actual) ==
            HEDDLE_SUCCESS);
    CHECK(actual == size);
    CHECK((external == expected));

    const Bytes original = pack(base, packing);
    std::fill(memory.begin(), memory.end(), std::byte{});
    REQUIRE(heddle_unpack_external(external.data(), size, buffer, count, type.get(), &actual) ==
            HEDDLE_SUCCESS);
    const Bytes again = pack(base, packing);
    int64_t wrong = 0;
    for (int64_t i = 0; i < packing.entries(); ++i)
        wrong += !same_value(packing.kind(i), again.data() + packing.start(i),
                             original.data() + packing.start(i));
    CHECK(wrong == 0);

    for (const int64_t there : {int64_t{0}, size / 3, size / 2 + 1, size - 1, size}) {
        std::fill(memory.begin(), memory.end(), std::byte{0x5A});
        REQUIRE(heddle_unpack_external_part(external.data(), there, buffer, count, type.get(),
                                            &actual) == HEDDLE_SUCCESS);
        const Bytes part = pack(base, packing);
        int64_t left = there, whole = 0;
        for (int64_t i = 0; i < packing.entries(); ++i) {
            left -= external_size(packing.kind(i));
            const std::byte *const found = part.data() + packing.start(i);
            if (left >= 0) {
                whole += packing.size(i);
                wrong += !same_value(packing.kind(i), found, original.data() + packing.start(i));
            } else {
                wrong +=
                    std::count(found, found + packing.size(i), std::byte{0x5A}) != packing.size(i);
            }
        }
        CHECK(actual == whole);
        CHECK(wrong == 0);
    }
}

const ExprPtr number = predefined(HEDDLE_LONG);
const ExprPtr text = predefined(HEDDLE_CHAR);
const ExprPtr real = predefined(HEDDLE_DOUBLE);
const ExprPtr record = structure({1, 3, 1}, {0, 8, 16}, {number, text, real});

} // namespace

TEST_CASE("long messages in external32", "[external]")
{
    converts(contiguous(10'000, number), 3);
    converts(contiguous(9'000, predefined(HEDDLE_LONG_DOUBLE)), 1);
    converts(vector(9'000, 1, 2, number), 2);
    converts(record, 5'000);
    converts(contiguous(5'000, record), 2);
    converts(vector(3'000, 1, 2, record), 2);
}

TEST_CASE("structs with long members in external32", "[external]")
{
    const ExprPtr many = contiguous(2'000, record);
    converts(structure({1, 1, 1}, {0, 80'000, 80'008}, {contiguous(10'000, number), text, number}),
             2);
    converts(structure({5, 1, 7}, {0, 64, 80'000}, {text, many, number}), 2);
    converts(structure({1, 2, 1, 1}, {0, 64'000, 180'000, 180'001}, {many, many, text, record}), 1);
    /* Thousands of members of two kinds: more than one tile, none of them long. */
    std::vector<int64_t> lengths, displacements;
    std::vector<ExprPtr> members;
    for (int64_t i = 0; i < 3'000; ++i) {
        lengths.push_back(1 + i % 3);
        displacements.push_back(40 * i);
        members.push_back(i % 2 ? number : real);
    }
    converts(structure(lengths, displacements, members), 2);
}

TEST_CASE("external32: errors", "[external]")
{
    const Type type = build(*record).commit();
    std::byte memory[32] = {}, external[32] = {};
    int64_t actual = 0;
    CHECK(heddle_pack_external(memory, 1, type.get(), nullptr, 32, &actual) == HEDDLE_ERR_ARG);
    CHECK(heddle_pack_external(memory, 1, type.get(), external, -1, &actual) == HEDDLE_ERR_ARG);
    CHECK(heddle_pack_external(memory, 1, type.get(), external, 32, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_pack_external(memory, -1, type.get(), external, 32, &actual) == HEDDLE_ERR_COUNT);
    CHECK(heddle_pack_external(memory, 1, type.get(), external, 14, &actual) ==
          HEDDLE_ERR_TRUNCATE);
    CHECK(heddle_pack_external(memory, 1, type.get(), external, 15, &actual) == HEDDLE_SUCCESS);
    CHECK(heddle_unpack_external(nullptr, 15, memory, 1, type.get(), &actual) == HEDDLE_ERR_ARG);
    CHECK(heddle_unpack_external(external, 14, memory, 1, type.get(), &actual) ==
          HEDDLE_ERR_TRUNCATE);
    CHECK(heddle_unpack_external(external, 32, memory, 1, type.get(), &actual) == HEDDLE_SUCCESS);
    CHECK(actual == 15);
    CHECK(heddle_pack_external(memory, 0, type.get(), nullptr, 0, &actual) == HEDDLE_SUCCESS);
    CHECK(actual == 0);
    /* LONG_DOUBLE and INT128 do not shrink, so that only the count can be too large. */
    const Type wide = build(*contiguous(int64_t{1} << 58, predefined(HEDDLE_LONG_DOUBLE))).commit();
    CHECK(heddle_external_size(2, wide.get(), &actual) == HEDDLE_ERR_OVERFLOW);
}
