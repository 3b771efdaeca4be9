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

/* Instances of a type in memory, and what the oracle makes of them in external32. */
class Subject {
public:
    Subject(const ExprPtr &expr, int64_t count)
        : map_(expand(*expr)), packing_(map_, count), count_(count), type_(build(*expr))
    {
        const Range range = touched(map_, count);
        memory_.resize(static_cast<size_t>(range.high - range.low));
        base_ = reinterpret_cast<uintptr_t>(memory_.data()) - static_cast<uintptr_t>(range.low);
        for (int64_t i = 0; i < packing_.entries(); ++i)
            fill_entry(i);
        original_ = pack(base_, packing_);
        type_.commit();
    }

    /* From memory, as the oracle converts every element. */
    void packs()
    {
        int64_t actual = 0;
        REQUIRE(heddle_external_size(count_, type_.get(), &actual) == HEDDLE_SUCCESS);
        CHECK(actual == size());
        external_.resize(expected_.size());
        REQUIRE(heddle_pack_external(buffer(), count_, type_.get(), external_.data(), size(),
                                     &actual) == HEDDLE_SUCCESS);
        CHECK(actual == size());
        CHECK((external_ == expected_));
    }

    /* And back. */
    void unpacks()
    {
        int64_t actual = 0;
        std::fill(memory_.begin(), memory_.end(), std::byte{});
        REQUIRE(heddle_unpack_external(external_.data(), size(), buffer(), count_, type_.get(),
                                       &actual) == HEDDLE_SUCCESS);
        const Bytes again = pack(base_, packing_);
        int64_t wrong = 0;
        for (int64_t i = 0; i < packing_.entries(); ++i)
            wrong += !is_original(i, again);
        CHECK(wrong == 0);
    }

    /* And back where only the first `there` bytes came: whole elements only. */
    void unpacks_part(int64_t there)
    {
        constexpr std::byte untouched{0x5A};
        int64_t actual = 0;
        std::fill(memory_.begin(), memory_.end(), untouched);
        REQUIRE(heddle_unpack_external_part(external_.data(), there, buffer(), count_, type_.get(),
                                            &actual) == HEDDLE_SUCCESS);
        const Bytes part = pack(base_, packing_);
        int64_t left = there, whole = 0, wrong = 0;
        for (int64_t i = 0; i < packing_.entries(); ++i) {
            left -= external_size(packing_.kind(i));
            if (left >= 0) {
                whole += packing_.size(i);
                wrong += !is_original(i, part);
            } else {
                const std::byte *const found = part.data() + packing_.start(i);
                wrong += std::count(found, found + packing_.size(i), untouched) != packing_.size(i);
            }
        }
        CHECK(actual == whole);
        CHECK(wrong == 0);
    }

    int64_t size() const { return static_cast<int64_t>(expected_.size()); }

private:
    /* Gives the element a value, and notes it in external32. */
    void fill_entry(int64_t i)
    {
        const heddle_predefined kind = packing_.kind(i);
        auto *const entry =
            reinterpret_cast<std::byte *>(base_ + static_cast<uintptr_t>(packing_.displacement(i)));
        const int64_t value = i * 2654435761 % 100003;
        if (kind == HEDDLE_LONG_DOUBLE) {
            const auto real = static_cast<long double>(value) / 3;
            std::memcpy(entry, &real, sizeof real);
        } else {
            std::memcpy(entry, &value,
                        std::min<size_t>(sizeof value, static_cast<size_t>(packing_.size(i))));
        }
        expected_.resize(expected_.size() + static_cast<size_t>(external_size(kind)));
        to_external(kind, entry, expected_.data() + expected_.size() - external_size(kind));
    }
    bool is_original(int64_t i, const Bytes &packed) const
    {
        return same_value(packing_.kind(i), packed.data() + packing_.start(i),
                          original_.data() + packing_.start(i));
    }
    void *buffer() const { return reinterpret_cast<void *>(base_); }

    Typemap map_;
    Packing packing_;
    int64_t count_;
    Type type_;
    std::vector<std::byte> memory_;
    uintptr_t base_ = 0;
    Bytes original_, expected_, external_;
};

void converts(const ExprPtr &expr, int64_t count)
{
    INFO(to_text(*expr).substr(0, 200));
    Subject subject(expr, count);
    subject.packs();
    subject.unpacks();
    const int64_t size = subject.size();
    for (const int64_t there : {int64_t{0}, size / 3, size / 2 + 1, size - 1, size})
        subject.unpacks_part(there);
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
