/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Equivalent descriptions reach one layout (TEMPI, section 2), and no rewrite changes the order of
 * bytes.
 */
#include "oracle/basics.hpp"
#include "oracle/random_type.hpp"
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

#include <climits>
#include <map>
#include <random>

using namespace oracle;

namespace {

const ExprPtr real = predefined(HEDDLE_FLOAT);
const ExprPtr byte = predefined(HEDDLE_BYTE);

std::string layout(const ExprPtr &expr) { return build(*expr).describe(); }

void all_are(const std::string &expected, const std::vector<ExprPtr> &descriptions)
{
    for (const ExprPtr &each : descriptions) {
        INFO(to_text(*each));
        CHECK(layout(each) == expected);
    }
}

std::vector<int64_t> multiples(int64_t count, int64_t step)
{
    std::vector<int64_t> result;
    for (int64_t i = 0; i < count; ++i)
        result.push_back(i * step);
    return result;
}

std::vector<int64_t> copies(int64_t count, int64_t value)
{
    return std::vector<int64_t>(static_cast<size_t>(count), value);
}

/* The paper's object: 100 x 13 x 47 floats in an allocation of 256 x 512 x 1024. */
constexpr int64_t e0 = 100, e1 = 13, e2 = 47, a0 = 256, a1 = 512, a2 = 1024;
constexpr int64_t row_bytes = 4 * a0, plane_bytes = row_bytes * a1;

std::vector<ExprPtr> rows()
{
    return {contiguous(e0, real),
            contiguous(4 * e0, byte),
            vector(1, e0, 1, real),
            vector(e0, 1, 1, real),
            vector(e0, 4, 4, byte),
            hvector(4 * e0, 1, 1, byte),
            hvector(2, e0 / 2, 2 * e0, real),
            subarray({a0}, {e0}, {0}, HEDDLE_ORDER_C, real),
            subarray({4 * a0}, {4 * e0}, {0}, HEDDLE_ORDER_C, byte),
            subarray({a0}, {e0}, {0}, HEDDLE_ORDER_FORTRAN, real),
            indexed({e0}, {0}, real),
            indexed({30, 70}, {0, 30}, real),
            indexed_block(1, multiples(e0, 1), real),
            hindexed({1, 0, e0 - 1}, {0, 7, 4}, real),
            hindexed_block(e0 / 4, multiples(4, e0), real),
            structure({e0}, {0}, {real}),
            structure({40, 60}, {0, 160}, {real, predefined(HEDDLE_INT32)}),
            structure({8, 0, 92}, {0, 3, 32}, {predefined(HEDDLE_INT32), byte, real}),
            dup(contiguous(e0, dup(real))),
            resized(contiguous(e0, real), -8, 5000),
            contiguous(e0 / 10, contiguous(5, contiguous(2, real)))};
}

std::vector<ExprPtr> planes()
{
    std::vector<ExprPtr> result{
        vector(e1, e0, a0, real),
        vector(e1, 4 * e0, row_bytes, byte),
        subarray({a1, a0}, {e1, e0}, {0, 0}, HEDDLE_ORDER_C, real),
        subarray({a1, 4 * a0}, {e1, 4 * e0}, {0, 0}, HEDDLE_ORDER_C, byte),
        subarray({a0, a1}, {e0, e1}, {0, 0}, HEDDLE_ORDER_FORTRAN, real),
        indexed(copies(e1, e0), multiples(e1, a0), real),
        indexed_block(e0, multiples(e1, a0), real),
        hindexed(copies(e1, e0), multiples(e1, row_bytes), real),
    };
    for (const ExprPtr &row : rows()) {
        result.push_back(hvector(e1, 1, row_bytes, row));
        result.push_back(contiguous(e1, resized(row, 0, row_bytes)));
        result.push_back(hindexed_block(1, multiples(e1, row_bytes), row));
        result.push_back(
            structure(copies(e1, 1), multiples(e1, row_bytes), std::vector<ExprPtr>(e1, row)));
    }
    const ExprPtr sub_row = subarray({a0}, {e0}, {0}, HEDDLE_ORDER_C, real); /* its extent is the
                                                                                whole row */
    result.push_back(vector(e1, 1, 1, sub_row));
    result.push_back(contiguous(e1, sub_row));
    result.push_back(subarray({a1}, {e1}, {0}, HEDDLE_ORDER_C, sub_row));
    result.push_back(indexed_block(1, multiples(e1, 1), sub_row));
    return result;
}

std::vector<ExprPtr> cuboids()
{
    std::vector<ExprPtr> result{
        subarray({a2, a1, a0}, {e2, e1, e0}, {0, 0, 0}, HEDDLE_ORDER_C, real),
        subarray({a2, a1, 4 * a0}, {e2, e1, 4 * e0}, {0, 0, 0}, HEDDLE_ORDER_C, byte),
        subarray({a0, a1, a2}, {e0, e1, e2}, {0, 0, 0}, HEDDLE_ORDER_FORTRAN, real),
    };
    const std::vector<ExprPtr> all = planes();
    for (size_t i = 0; i < all.size(); i += i < 8 ? 1 : 5) {
        result.push_back(hvector(e2, 1, plane_bytes, all[i]));
        result.push_back(contiguous(e2, resized(all[i], 0, plane_bytes)));
        result.push_back(hindexed_block(1, multiples(e2, plane_bytes), all[i]));
    }
    /* Every row by its own displacement. */
    std::vector<int64_t> each_row;
    for (int64_t plane = 0; plane < e2; ++plane)
        for (int64_t row = 0; row < e1; ++row)
            each_row.push_back(plane * plane_bytes + row * row_bytes);
    result.push_back(hindexed_block(e0, each_row, real));
    result.push_back(hindexed(copies(e1 * e2, e0), each_row, real));
    return result;
}

} // namespace

TEST_CASE("one dimension: every description of a row is dense", "[canonical]")
{
    all_are("0+dense(400)", rows());
}

TEST_CASE("two dimensions: every description of a plane is one stream", "[canonical]")
{
    all_are("0+stream(13,1024,dense(400))", planes());
}

TEST_CASE("three dimensions: every description of a cuboid is two streams", "[canonical]")
{
    all_are("0+stream(47,524288,stream(13,1024,dense(400)))", cuboids());
}

TEST_CASE("four dimensions, with an offset", "[canonical]")
{
    const ExprPtr c =
        subarray({64, 64, 64, 64}, {32, 32, 32, 32}, {1, 2, 3, 4}, HEDDLE_ORDER_C, real);
    const ExprPtr fortran =
        subarray({64, 64, 64, 64}, {32, 32, 32, 32}, {4, 3, 2, 1}, HEDDLE_ORDER_FORTRAN, real);
    const ExprPtr nested =
        hindexed({1}, {4 * (((1 * 64 + 2) * 64 + 3) * 64 + 4)},
                 hvector(32, 1, 4 << 18, hvector(32, 1, 4 << 12, vector(32, 32, 64, real))));
    all_are("1082128+stream(32,1048576,stream(32,16384,stream(32,256,dense(128))))",
            {c, fortran, nested});
}

TEST_CASE("whole dimensions fold away", "[canonical]")
{
    all_are("0+stream(24,32,dense(12))",
            {subarray({4, 6, 8}, {4, 6, 3}, {0, 0, 0}, HEDDLE_ORDER_C, real),
             vector(24, 3, 8, real), hvector(4, 1, 192, vector(6, 3, 8, real))});
    CHECK(layout(subarray({4, 6, 8}, {4, 6, 8}, {0, 0, 0}, HEDDLE_ORDER_C, real)) ==
          "0+dense(768)");
    CHECK(layout(subarray({4, 6, 8}, {2, 6, 8}, {1, 0, 0}, HEDDLE_ORDER_C, real)) ==
          "192+dense(384)");
    CHECK(layout(subarray({4, 6, 8}, {4, 1, 1}, {0, 2, 3}, HEDDLE_ORDER_C, real)) ==
          "76+stream(4,192,dense(4))");
}

TEST_CASE("strides of one element, of zero and backwards", "[canonical]")
{
    CHECK(layout(vector(1, 1, -7, real)) == "0+dense(4)");
    all_are("0+stream(5,-8,dense(4))",
            {vector(5, 1, -2, real), hvector(5, 1, -8, real),
             indexed_block(1, {0, -2, -4, -6, -8}, real), contiguous(5, resized(real, 0, -8))});
    all_are("0+stream(3,0,dense(4))",
            {vector(3, 1, 0, real), hindexed({1, 1, 1}, {0, 0, 0}, real)});
    CHECK(layout(contiguous(0, real)) == layout(vector(0, 3, 2, real)));
    CHECK(layout(contiguous(0, real)) == layout(structure({0, 0}, {4, 8}, {real, byte})));
}

TEST_CASE("a plan of a strided type is strided, however it was described", "[canonical]")
{
    for (const ExprPtr &plane : planes()) {
        INFO(to_text(*plane));
        Type type = build(*plane);
        const heddle_type_info info = type.commit().info();
        CHECK(info.plan == HEDDLE_PLAN_STRIDED);
        CHECK(info.dimensions == 1);
        CHECK(info.runs == e1);
        CHECK(info.word == 16);
    }
}

TEST_CASE("a transpose keeps its order", "[order]")
{
    /* A 5 x 7 matrix, column by column: strides that grow inwards must not be sorted. */
    const ExprPtr number = predefined(HEDDLE_INT64);
    const ExprPtr by_rows = subarray({5, 7}, {5, 7}, {0, 0}, HEDDLE_ORDER_C, number);
    const ExprPtr by_columns = hvector(7, 1, 8, vector(5, 1, 7, number));
    CHECK(layout(by_rows) == "0+dense(280)");
    CHECK(layout(by_columns) == "0+stream(7,8,stream(5,56,dense(8)))");
    CHECK(layout(by_columns) == layout(contiguous(7, resized(vector(5, 1, 7, number), 0, 8))));
    CHECK(layout(hvector(3, 1, 8, hvector(3, 1, 100, number))) !=
          layout(hvector(3, 1, 100, hvector(3, 1, 8, number))));

    int64_t matrix[5][7], packed[35], expected[35];
    for (int64_t row = 0, n = 0; row < 5; ++row)
        for (int64_t column = 0; column < 7; ++column)
            matrix[row][column] = n++;
    for (int64_t column = 0, n = 0; column < 7; ++column)
        for (int64_t row = 0; row < 5; ++row)
            expected[n++] = matrix[row][column];
    int64_t actual = 0;
    REQUIRE(heddle_pack(matrix, 1, build(*by_columns).commit().get(), 0, packed, sizeof packed,
                        &actual) == HEDDLE_SUCCESS);
    REQUIRE(actual == sizeof packed);
    CHECK(std::equal(packed, packed + 35, expected));

    /* The usual MPI transpose: columns out, rows in. */
    int64_t transposed[7][5];
    const Type columns = build(*by_columns).commit();
    const Type rows = build(*subarray({7, 5}, {7, 5}, {0, 0}, HEDDLE_ORDER_C, number)).commit();
    REQUIRE(heddle_copy(matrix, 1, columns.get(), transposed, 1, rows.get(), 0, sizeof packed,
                        &actual) == HEDDLE_SUCCESS);
    for (int row = 0; row < 5; ++row)
        for (int column = 0; column < 7; ++column)
            CHECK(transposed[column][row] == matrix[row][column]);
}

TEST_CASE("all orders of three nested strides are different layouts, each packed in its own order",
          "[order]")
{
    struct Dimension {
        int64_t count, stride;
    };
    std::vector<Dimension> dimensions{{3, 8}, {4, 100}, {2, 1000}};
    std::sort(dimensions.begin(), dimensions.end(),
              [](auto a, auto b) { return a.stride < b.stride; });
    std::vector<std::byte> memory(4000);
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 37 >> 3);
    std::map<std::string, int> seen;
    do {
        ExprPtr expr = predefined(HEDDLE_INT32);
        for (const Dimension &each : dimensions)
            expr = hvector(each.count, 1, each.stride, expr);
        const Type type = build(*expr).commit();
        ++seen[type.describe()];
        const Typemap map = expand(*expr);
        const Packing packing(map, 1);
        const Bytes expected = pack(reinterpret_cast<uintptr_t>(memory.data()), packing);
        Bytes packed(expected.size());
        int64_t actual = 0;
        REQUIRE(heddle_pack(memory.data(), 1, type.get(), 0, packed.data(), packing.total(),
                            &actual) == HEDDLE_SUCCESS);
        CHECK(packed == expected);
    } while (std::next_permutation(dimensions.begin(), dimensions.end(),
                                   [](auto a, auto b) { return a.stride < b.stride; }));
    CHECK(seen.size() == 6);
}

namespace {

/* A random composition of strided constructors. Steps of whole spans often make equivalent ones. */
ExprPtr random_strided(Rng &rng)
{
    ExprPtr expr = predefined(
        rng.pick(std::vector<heddle_predefined>{HEDDLE_INT8, HEDDLE_INT16, HEDDLE_INT32}));
    for (int64_t level = rng.in(1, 5); level > 0; --level) {
        const Typemap map = expand(*expr);
        const int64_t n = rng.in(1, 3), span = true_ub(map) - true_lb(map);
        const int64_t step =
            rng.percent(50) ? span : rng.pick(std::vector<int64_t>{4, 6, 8, 12, 16, 24, -8, 0});
        switch (rng.in(0, 6)) {
        case 0:
            expr = contiguous(n, expr);
            break;
        case 1:
            expr = vector(n, rng.in(1, 2), rng.in(1, 3), expr);
            break;
        case 2:
            expr = hvector(n, 1, step, expr);
            break;
        case 3:
            expr = resized(expr, 0, step);
            break;
        case 4:
            expr = hindexed_block(1, multiples(n, step), expr);
            break;
        case 5:
            expr = structure(copies(n, 1), multiples(n, step),
                             std::vector<ExprPtr>(static_cast<size_t>(n), expr));
            break;
        case 6:
            expr = subarray({rng.in(2, 3), 3}, {2, rng.in(1, 3)}, {0, 0}, HEDDLE_ORDER_C, expr);
            break;
        }
    }
    return expr;
}

std::vector<int64_t> bytes_in_order(const Typemap &map)
{
    std::vector<int64_t> bytes;
    for (const Entry &entry : map.entries)
        for (int64_t at = 0; at < primitive_size(entry.kind); ++at)
            bytes.push_back(entry.displacement + at);
    return bytes;
}

} // namespace

TEST_CASE("one sequence of bytes, strided, has one layout", "[canonical]")
{
    std::map<std::vector<int64_t>, std::pair<std::string, ExprPtr>> known;
    int met_again = 0, irregular = 0;
    Rng rng(42);
    for (int i = 0; i < 30000; ++i) {
        const ExprPtr expr = random_strided(rng);
        const Typemap map = expand(*expr);
        if (map.entries.size() > 100)
            continue;
        const std::string text = layout(expr);
        irregular +=
            text.find("gather") != std::string::npos || text.find("runs") != std::string::npos;
        const auto [place, is_new] = known.try_emplace(bytes_in_order(map), text, expr);
        met_again += !is_new;
        if (place->second.first != text)
            FAIL_CHECK(to_text(*expr)
                       << " is " << text << "\nbut " << to_text(*place->second.second) << " is "
                       << place->second.first);
    }
    CHECK(met_again > 5000);
    CHECK(irregular == 0);
}

namespace {

/* The same type with a handle of its own for each type in it. The bounds are set to what they were,
 * because a struct of one handle alone is padded by another rule. */
ExprPtr apart(const ExprPtr &expr)
{
    Expr copy = *expr;
    for (ExprPtr &child : copy.children)
        child = apart(child);
    const heddle_type_info info = build(*expr).info();
    return resized(std::make_shared<Expr>(std::move(copy)), info.lb, info.extent);
}

} // namespace

TEST_CASE("whether the members of a struct share a handle is the same to the layout", "[canonical]")
{
    all_are(layout(structure({2, 1}, {0, 100}, {cuboids().front(), cuboids().front()})),
            {structure({2, 1}, {0, 100}, {apart(cuboids().front()), cuboids().front()})});
    Rng rng(20261120);
    for (int i = 0; i < 3000; ++i) {
        const ExprPtr expr = random_type(rng, random_recipe(rng, 6)).expr;
        INFO("case " << i << ": " << to_text(*expr));
        CHECK(layout(apart(expr)) == layout(expr));
    }
}

TEST_CASE("members that share a handle and equal members that do not are one layout", "[canonical]")
{
    /* The kind of test/tools' case 2865 of seed 20261120. Until bd0ba2c these had two texts. */
    const ExprPtr pair = predefined(HEDDLE_SHORT_INT), number = predefined(HEDDLE_UINT32);
    const ExprPtr three = structure({2, 1, 3}, {172, 260, 212}, {pair, pair, pair});
    all_are("172+runs([0:2,88:1,40:3],8,runs([0:2,4:4],1,dense(1)))", {three, apart(three)});
    const ExprPtr touching = structure({1, 1}, {0, 8}, {pair, pair});
    all_are("0+stream(2,8,runs([0:2,4:4],1,dense(1)))", {touching, apart(touching)});
    const ExprPtr spaced = resized(number, 0, 107);
    const ExprPtr uneven = structure({1, 2}, {38, 30}, {spaced, spaced});
    all_are("38+runs([0:1,-8:2],107,dense(4))", {uneven, apart(uneven)});
}

TEST_CASE("one layout names one sequence of bytes", "[order]")
{
    /* Among many small types, those with equal texts must agree byte by byte with the oracle. */
    std::map<std::string, std::vector<int64_t>> known;
    int met_again = 0;
    Rng rng(20261120);
    for (int i = 0; i < 20000; ++i) {
        Recipe recipe;
        recipe.depth = static_cast<int>(rng.in(1, 4));
        recipe.entries = 12;
        recipe.tidy = rng.percent(70);
        recipe.leaves = {HEDDLE_INT8, HEDDLE_INT16, HEDDLE_INT32};
        const Sample sample = random_type(rng, recipe);
        const std::vector<int64_t> bytes = bytes_in_order(sample.map);
        const auto [place, is_new] = known.emplace(layout(sample.expr), bytes);
        met_again += !is_new;
        if (place->second != bytes)
            FAIL("two orders of bytes, one layout: " << place->first << " of "
                                                     << to_text(*sample.expr));
    }
    CHECK(met_again > 1000);
}

TEST_CASE("a block of no length counts for nothing, wherever it lies", "[canonical]")
{
    const int64_t one[] = {1}, eight[] = {8}, lengths[] = {0, 1}, far[] = {INT64_MAX, 0};
    const Type unit = Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(1, one, eight, heddle_type_predefined(HEDDLE_INT32), t);
        },
        "hindexed");
    for (const int64_t last : {int64_t{1}, int64_t{2}}) {
        const int64_t many[] = {0, last, 1};
        const int64_t at[] = {INT64_MAX, 0, 4000};
        const Type type = Type::from(
            [&](auto **t) { return heddle_type_hindexed(3, many, at, unit.get(), t); }, "hindexed");
        CHECK(type.info().size == 4 * (last + 1));
    }
    const Type type = Type::from(
        [&](auto **t) { return heddle_type_hindexed(2, lengths, far, unit.get(), t); }, "hindexed");
    CHECK(type.info().size == 4);
}

TEST_CASE("the same blocks, counted in elements or in bytes, by int or int64_t", "[canonical]")
{
    std::mt19937 random(29);
    heddle_type *const unit = heddle_type_predefined(HEDDLE_INT32);
    int apart = 0, touching = 0;
    for (int round = 0; round < 4000; ++round) {
        /* Up to half of an int the engine counts in ints; beyond, and where blocks are empty or go
         * backwards, it may not. */
        const int most = round % 3 == 0 ? INT_MAX - 40 : round % 3 == 1 ? INT_MAX / 2 - 20 : 1000;
        const auto n = static_cast<size_t>(1 + random() % 12);
        std::vector<int> lens(n), displs(n);
        std::vector<int64_t> long_lens(n), long_displs(n), bytes(n);
        int at = round % 2 ? most - 40 : -most;
        for (size_t i = 0; i < n; ++i) {
            lens[i] = static_cast<int>(random() % 4) + (round % 5 == 0 ? 0 : 1);
            displs[i] = at + static_cast<int>(random() % 2) + (round % 7 == 0 && i % 2 ? 30 : 0);
            at = std::min(displs[i] + lens[i], INT_MAX - 40);
            long_lens[i] = lens[i];
            long_displs[i] = displs[i];
            bytes[i] = 4 * long_displs[i];
        }
        const auto count = static_cast<int64_t>(n);
        Type in_bytes = Type::from(
            [&](auto **t) {
                return heddle_type_hindexed(count, long_lens.data(), bytes.data(), unit, t);
            },
            "hindexed");
        Type longs = Type::from(
            [&](auto **t) {
                return heddle_type_indexed(count, long_lens.data(), long_displs.data(), unit, t);
            },
            "indexed");
        Type ints = Type::from(
            [&](auto **t) {
                return heddle_type_indexed_int(count, lens.data(), displs.data(), unit, t);
            },
            "indexed_int");
        INFO("round " << round);
        in_bytes.commit();
        for (Type *const each : {&longs, &ints}) {
            each->commit();
            REQUIRE(each->describe() == in_bytes.describe());
            const heddle_type_info info = each->info(), expected = in_bytes.info();
            REQUIRE(info.size == expected.size);
            REQUIRE(info.lb == expected.lb);
            REQUIRE(info.extent == expected.extent);
            REQUIRE(info.true_lb == expected.true_lb);
            REQUIRE(info.true_extent == expected.true_extent);
            REQUIRE(info.runs == expected.runs);
        }
        ++(ints.info().runs == count ? apart : touching);
    }
    CHECK(apart > 300);
    CHECK(touching > 300);
}

TEST_CASE("long lists of blocks are one layout, whichever way reads them", "[canonical]")
{
    /* A block of no length makes the engine read them another way. */
    heddle_type *const unit = heddle_type_predefined(HEDDLE_INT32);
    for (const int n : {7, 1000, 2047, 2048, 2049, 4096, 5001})
        for (const int touched : {0, 1, n / 2, 2047, 2048, n - 1}) { /* 0: none */
            if (touched >= n)
                continue;
            std::vector<int> lens, displs;
            std::vector<int64_t> long_lens{0}, bytes{0};
            for (int i = 0, at = 0; i < n; ++i) {
                at += i > 0 && i != touched;
                lens.push_back(1 + i % 3);
                displs.push_back(at);
                long_lens.push_back(lens.back());
                bytes.push_back(int64_t{4} * at);
                at += lens.back();
            }
            INFO(n << " blocks, of which " << touched << " touches the one before it");
            Type ints = Type::from(
                [&](auto **t) {
                    return heddle_type_indexed_int(n, lens.data(), displs.data(), unit, t);
                },
                "indexed_int");
            Type longs = Type::from(
                [&](auto **t) {
                    return heddle_type_hindexed(n + 1, long_lens.data(), bytes.data(), unit, t);
                },
                "hindexed");
            CHECK(longs.describe() == ints.describe());
            CHECK(longs.info().memory < 1000); /* the second has the first one's list */
            CHECK(ints.commit().info().runs == n - (touched > 0));
        }
}
