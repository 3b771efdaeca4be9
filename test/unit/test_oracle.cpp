/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The oracle against typemaps written by hand: what judges the engine has to be right itself.
 */
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

using namespace oracle;

namespace {

std::vector<int64_t> displacements(const ExprPtr &expr)
{
    std::vector<int64_t> result;
    for (const Entry &entry : expand(*expr).entries)
        result.push_back(entry.displacement);
    return result;
}

const ExprPtr real = predefined(HEDDLE_DOUBLE);
const ExprPtr text = predefined(HEDDLE_CHAR);
const ExprPtr number = predefined(HEDDLE_INT32);

/* {(double, 0), (char, 8)}, extent 16: the standard's running example (MPI 4.0, section 5.1). */
const ExprPtr pair = structure({1, 1}, {0, 8}, {real, text});

} // namespace

TEST_CASE("oracle: struct is padded to its strictest member", "[oracle]")
{
    const Typemap map = expand(*pair);
    CHECK(displacements(pair) == std::vector<int64_t>{0, 8});
    CHECK(map.extent() == 16);
    CHECK(size_of(map) == 9);
    CHECK(map.alignment == 8);
    CHECK(true_ub(map) == 9);
}

TEST_CASE("oracle: constructors over the running example", "[oracle]")
{
    CHECK(displacements(contiguous(3, pair)) == std::vector<int64_t>{0, 8, 16, 24, 32, 40});
    CHECK(displacements(vector(2, 3, 4, pair)) ==
          std::vector<int64_t>{0, 8, 16, 24, 32, 40, 64, 72, 80, 88, 96, 104});
    CHECK(displacements(vector(3, 1, -2, pair)) == std::vector<int64_t>{0, 8, -32, -24, -64, -56});
    CHECK(expand(*vector(3, 1, -2, pair)).lb == -64);
    CHECK(expand(*vector(3, 1, -2, pair)).ub == 16);
    CHECK(displacements(indexed({3, 1}, {4, 0}, pair)) ==
          std::vector<int64_t>{64, 72, 80, 88, 96, 104, 0, 8});
    CHECK(displacements(hindexed_block(2, {5, -32}, pair)) ==
          std::vector<int64_t>{5, 13, 21, 29, -32, -24, -16, -8});
    CHECK(
        displacements(structure({2, 1, 3}, {0, 16, 26}, {predefined(HEDDLE_FLOAT), pair, text})) ==
        std::vector<int64_t>{0, 4, 16, 24, 26, 27, 28});
}

TEST_CASE("oracle: explicit bounds", "[oracle]")
{
    const ExprPtr padded = resized(number, -3, 9);
    CHECK(expand(*contiguous(2, padded)).lb == -3);
    CHECK(expand(*contiguous(2, padded)).ub == 15);
    CHECK(displacements(contiguous(2, padded)) == std::vector<int64_t>{0, 9});
    const ExprPtr backwards = resized(number, 0, -4);
    CHECK(displacements(contiguous(3, backwards)) == std::vector<int64_t>{0, -4, -8});
    CHECK(expand(*contiguous(3, backwards)).lb == -8);
    CHECK(expand(*contiguous(3, backwards)).ub == -4 + 0);
}

TEST_CASE("oracle: subarrays in both orders", "[oracle]")
{
    const ExprPtr c = subarray({3, 4}, {2, 2}, {1, 1}, HEDDLE_ORDER_C, number);
    CHECK(displacements(c) == std::vector<int64_t>{20, 24, 36, 40});
    const ExprPtr fortran = subarray({3, 4}, {2, 2}, {1, 1}, HEDDLE_ORDER_FORTRAN, number);
    CHECK(displacements(fortran) == std::vector<int64_t>{16, 20, 28, 32});
    CHECK(expand(*c).lb == 0);
    CHECK(expand(*c).ub == 48);
}

TEST_CASE("oracle: types without data", "[oracle]")
{
    const Typemap none = expand(*contiguous(0, real));
    CHECK(none.entries.empty());
    CHECK(none.extent() == 0);
    CHECK(none.alignment == 1);
    const Typemap gap = expand(*contiguous(3, resized(contiguous(0, real), -4, 10)));
    CHECK(gap.lb == -4);
    CHECK(gap.ub == 26);
    CHECK(is_contiguous(gap));
}

TEST_CASE("oracle: contiguity and overlap", "[oracle]")
{
    CHECK(is_contiguous(expand(*contiguous(3, real))));
    CHECK_FALSE(is_contiguous(expand(*pair)));
    CHECK_FALSE(is_contiguous(expand(*resized(real, 0, 16))));
    CHECK_FALSE(is_contiguous(expand(*indexed({1, 1}, {1, 0}, real)))); /* all bytes, permuted */
    CHECK(overlaps(expand(*indexed({2, 1}, {0, 1}, real)), 1));
    CHECK_FALSE(overlaps(expand(*resized(vector(2, 1, 2, real), 0, 8)), 2)); /* interleaved */
    CHECK(overlaps(expand(*resized(vector(2, 1, 2, real), 0, 8)), 3));
}

TEST_CASE("oracle: partial packs end on elements", "[oracle]")
{
    const Typemap map = expand(*pair); /* packed: 8 + 1 bytes */
    const Packing packing(map, 2);
    CHECK(packing.pack_end(0, 100) == 18);
    CHECK(packing.pack_end(0, 9) == 9);
    CHECK(packing.pack_end(0, 12) == 9);
    CHECK(packing.pack_end(0, 7) == 7); /* not even one element fits */
    CHECK(packing.pack_end(3, 5) == 8); /* the rest of one */
    CHECK(packing.pack_end(3, 4) == 7);
    CHECK(packing.pack_end(9, 0) == 9);
    CHECK(packing.locate(8) == 8);
    CHECK(packing.locate(9) == 16);
    CHECK(packing.locate(12) == 19);
}

TEST_CASE("oracle: external32", "[oracle]")
{
    const auto external = [](heddle_predefined kind, auto value, size_t size) {
        Bytes bytes(size);
        to_external(kind, reinterpret_cast<const std::byte *>(&value), bytes.data());
        std::vector<int> result;
        for (const std::byte each : bytes)
            result.push_back(static_cast<int>(each));
        return result;
    };
    CHECK(external(HEDDLE_INT32, int32_t{-2}, 4) == std::vector<int>{255, 255, 255, 254});
    CHECK(external(HEDDLE_LONG, -2L, 4) == std::vector<int>{255, 255, 255, 254});
    CHECK(external(HEDDLE_DOUBLE, 1.0, 8) == std::vector<int>{0x3f, 0xf0, 0, 0, 0, 0, 0, 0});
    CHECK(external(HEDDLE_LONG_DOUBLE, -1.5L, 16) ==
          std::vector<int>{0xbf, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    CHECK(external(HEDDLE_WCHAR, L'\x263a', 2) == std::vector<int>{0x26, 0x3a});
}
