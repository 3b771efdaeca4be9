/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types nested 40 levels deep, types that hold themselves many times over, and very long structs.
 */
#include "oracle/random_type.hpp"
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>

using namespace oracle;

namespace {

double seconds_of(const std::function<void()> &work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const ExprPtr number = predefined(HEDDLE_INT32);

/* Packs, unpacks, lists and locates by the engine and compares with the oracle. */
void behaves(const ExprPtr &expr)
{
    const Typemap map = expand(*expr);
    const Packing packing(map, 1);
    const Range range = touched(map, 1);
    std::vector<std::byte> memory(static_cast<size_t>(range.high - range.low));
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 131 >> 2);
    const uintptr_t base =
        reinterpret_cast<uintptr_t>(memory.data()) - static_cast<uintptr_t>(range.low);
    void *const buffer = reinterpret_cast<void *>(base);

    const Type type = build(*expr).commit();
    const Bytes expected = pack(base, packing);
    Bytes packed(expected.size());
    int64_t actual = 0;
    REQUIRE(heddle_pack(buffer, 1, type.get(), 0, packed.data(), packing.total(), &actual) ==
            HEDDLE_SUCCESS);
    CHECK(actual == packing.total());
    CHECK(packed == expected);

    std::vector<std::byte> original = memory;
    std::fill(memory.begin(), memory.end(), std::byte{});
    REQUIRE(heddle_unpack(packed.data(), packing.total(), buffer, 1, type.get(), 0, &actual) ==
            HEDDLE_SUCCESS);
    Bytes again = pack(base, packing);
    CHECK(again == expected);
    for (int64_t offset = 0; offset < packing.total(); offset += 1 + packing.total() / 50) {
        int64_t displ = 0, run = 0;
        REQUIRE(heddle_locate(1, type.get(), offset, &displ, &run) == HEDDLE_SUCCESS);
        CHECK(displ == packing.locate(offset));
    }
}

} // namespace

TEST_CASE("40 levels that simplify", "[nesting]")
{
    ExprPtr expr = number;
    for (int level = 0; level < 40; ++level)
        expr = level % 2 ? contiguous(1, resized(expr, 0, 4)) : vector(1, 1, 3, dup(expr));
    CHECK(build(*expr).describe() == "0+dense(4)");
    behaves(expr);
}

TEST_CASE("40 levels that do not simplify", "[nesting]")
{
    /* An irregular level each, which nothing can merge. */
    ExprPtr expr = number;
    for (int level = 0; level < 40; ++level) {
        const int64_t span = touched(expand(*expr), 1).high;
        expr = structure({1, 1}, {0, span + 4 + level}, {expr, predefined(HEDDLE_INT8)});
    }
    behaves(expr);
}

TEST_CASE("40 levels of streams", "[nesting]")
{
    ExprPtr expr = number;
    for (int level = 0; level < 40; ++level)
        expr = hvector(level % 4 == 0 ? 2 : 1, 1, (int64_t{1} << (level / 4)) * 12 + 1, expr);
    behaves(expr);
}

TEST_CASE("as many levels as HEDDLE_MAX_DEPTH, and an error beyond", "[nesting]")
{
    /* 17 members that nothing merges: too many for a struct to be spliced into its parent. */
    const auto around = [](heddle_type *inner, heddle_type **out) {
        const std::vector<int64_t> lengths(17, 1);
        const int64_t span = oracle::Type((heddle_type_retain(inner), inner)).info().true_extent;
        std::vector<int64_t> displacements{0};
        std::vector<heddle_type *> members{inner};
        for (int64_t i = 1; i < 17; ++i) {
            displacements.push_back(span + 20 * i + i * i);
            members.push_back(heddle_type_predefined(i % 2 ? HEDDLE_INT16 : HEDDLE_DOUBLE));
        }
        return heddle_type_struct(17, lengths.data(), displacements.data(), members.data(), out);
    };
    Type type(heddle_type_predefined(HEDDLE_INT8));
    int levels = 0;
    int error = HEDDLE_SUCCESS;
    while (levels < 2 * HEDDLE_MAX_DEPTH) {
        heddle_type *next = nullptr;
        error = around(type.get(), &next);
        if (error != HEDDLE_SUCCESS)
            break;
        type = Type(next);
        ++levels;
    }
    CHECK(error == HEDDLE_ERR_DEPTH);
    CHECK(levels >= HEDDLE_MAX_DEPTH - 2);
    CHECK(levels <= HEDDLE_MAX_DEPTH);

    type.commit();
    const heddle_type_info info = type.info();
    CHECK(info.size == 1 + levels * (8 * 2 + 8 * 8));
    int64_t displ = -1, run = 0, actual = 0;
    CHECK(heddle_locate(1, type.get(), 0, &displ, &run) == HEDDLE_SUCCESS);
    CHECK(displ == 0); /* the innermost member comes first */
    std::vector<std::byte> memory(static_cast<size_t>(info.true_extent)),
        packed(static_cast<size_t>(info.size));
    CHECK(heddle_pack(memory.data(), 1, type.get(), 0, packed.data(), info.size, &actual) ==
          HEDDLE_SUCCESS);
    CHECK(actual == info.size);
}

TEST_CASE("5000 members, each added to a struct of those before", "[nesting]")
{
    Type type(heddle_type_predefined(HEDDLE_INT32));
    int64_t next = 8;
    for (int i = 0; i < 5000; ++i) {
        const int64_t lengths[] = {1, 1 + i % 3}, displacements[] = {0, next};
        heddle_type *const members[] = {
            type.get(), heddle_type_predefined(i % 2 ? HEDDLE_DOUBLE : HEDDLE_INT16)};
        type = Type::from(
            [&](auto **t) { return heddle_type_struct(2, lengths, displacements, members, t); },
            "struct");
        next += 24 + i * 7 % 5 * 8;
    }
    type.commit();
    const heddle_type_info info = type.info();
    std::vector<std::byte> memory(static_cast<size_t>(next)),
        packed(static_cast<size_t>(info.size)), expected;
    const auto expect = [&](int64_t at, int64_t bytes) {
        for (int64_t i = 0; i < bytes; ++i) /* byte by byte: gcc 12 warns of what insert() does */
            expected.push_back(memory[static_cast<size_t>(at + i)]);
    };
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 131 >> 2);
    expect(0, 4);
    next = 8;
    for (int i = 0; i < 5000; ++i) {
        expect(next, (1 + i % 3) * (i % 2 ? 8 : 2));
        next += 24 + i * 7 % 5 * 8;
    }
    int64_t actual = 0;
    REQUIRE(heddle_pack(memory.data(), 1, type.get(), 0, packed.data(), info.size, &actual) ==
            HEDDLE_SUCCESS);
    CHECK(packed == expected);
}

TEST_CASE("types that hold themselves twice, 20 levels deep", "[nesting]")
{
    const auto doubled = [](int levels) {
        Type type(heddle_type_predefined(HEDDLE_INT32));
        for (int level = 0; level < levels; ++level) {
            const int64_t lengths[] = {1, 1}, displacements[] = {0, 40 + 8 * level};
            const int64_t extent = 16; /* far smaller than the data */
            heddle_type *const members[] = {type.get(), type.get()};
            type = Type::from(
                [&](auto **t) { return heddle_type_struct(2, lengths, displacements, members, t); },
                "struct");
            type = Type::from(
                [&](auto **t) { return heddle_type_resized(type.get(), 0, extent, t); }, "resized");
        }
        return type;
    };
    for (const int levels : {10, 16, 20}) {
        Type type;
        const double seconds = seconds_of([&] { type = doubled(levels).commit(); });
        INFO(levels << " levels: " << seconds << " s");
        CHECK(seconds < 0.5); /* 2^20 elements are never listed */
        const heddle_type_info info = type.info();
        CHECK(info.size == int64_t{4} << levels);
        CHECK(info.elements == int64_t{1} << levels);
        CHECK(info.memory < 64 * 1024);
        /* The element whose index has the binary digits b takes the right branch where b is 1. */
        for (const int64_t element : {int64_t{0}, int64_t{5}, (int64_t{1} << levels) - 1}) {
            int64_t expected = 0;
            for (int level = 0; level < levels; ++level)
                if (element >> level & 1)
                    expected += 40 + 8 * level;
            int64_t displ = -1, run = 0;
            REQUIRE(heddle_locate(1, type.get(), 4 * element, &displ, &run) == HEDDLE_SUCCESS);
            CHECK(displ == expected);
        }
    }
}

TEST_CASE("types that hold themselves among others, 60 levels deep", "[nesting]")
{
    /* No two members alike, so nothing merges: 2^60 elements by 60 nodes. */
    Type type(heddle_type_predefined(HEDDLE_INT8));
    const double seconds = seconds_of([&] {
        for (int level = 0; level < 58; ++level) {
            const int64_t lengths[] = {1, 1, 1}, displacements[] = {0, 3 + level, 101 + 7 * level};
            heddle_type *const members[] = {type.get(), heddle_type_predefined(HEDDLE_INT16),
                                            type.get()};
            type = Type::from(
                [&](auto **t) { return heddle_type_struct(3, lengths, displacements, members, t); },
                "struct");
        }
        type.commit();
    });
    INFO(seconds << " s");
    CHECK(seconds < 2);
    const heddle_type_info info = type.info();
    CHECK(info.size == 3 * (int64_t{1} << 58) - 2);
    CHECK(info.memory < 1024 * 1024);
    int64_t displ = -1, run = 0;
    CHECK(heddle_locate(1, type.get(), info.size - 1, &displ, &run) == HEDDLE_SUCCESS);
    size_t size = 0;
    CHECK(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
    CHECK(size < 64 * 1024);
    Bytes bytes(size);
    REQUIRE(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);
    const Type copy =
        Type::from([&](auto **t) { return heddle_unflatten(bytes.data(), size, t); }, "unflatten");
    CHECK(copy.info().size == info.size);
}

TEST_CASE("structs of thousands of members", "[nesting]")
{
    std::vector<int64_t> lengths, displacements;
    std::vector<ExprPtr> members;
    int64_t next = 0;
    for (int i = 0; i < 5000; ++i) {
        const heddle_predefined kind = i % 3 == 0   ? HEDDLE_DOUBLE
                                       : i % 3 == 1 ? HEDDLE_INT16
                                                    : HEDDLE_FLOAT;
        lengths.push_back(1 + i % 4);
        displacements.push_back(next);
        members.push_back(i % 7 == 0 ? vector(2, 1, 3, predefined(kind)) : predefined(kind));
        next += 100 + i % 13;
    }
    behaves(structure(lengths, displacements, members));
}
