/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts and displacements beyond 2^31, by address arithmetic alone; absolute addresses.
 */
#include "oracle/expr.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstring>
#include <limits>

using namespace oracle;

namespace {

constexpr int64_t giga = int64_t{1} << 30;

int64_t where(const Type &type, int64_t count, int64_t offset)
{
    int64_t displ = 0, run = 0;
    REQUIRE(heddle_locate(count, type.get(), offset, &displ, &run) == HEDDLE_SUCCESS);
    return displ;
}

} // namespace

TEST_CASE("sizes beyond 2^31", "[far]")
{
    const Type type = build(*contiguous(5 * giga, predefined(HEDDLE_DOUBLE))).commit();
    const heddle_type_info info = type.info();
    CHECK(info.size == 40 * giga);
    CHECK(info.extent == 40 * giga);
    CHECK(info.elements == 5 * giga);
    CHECK(info.runs == 1);
    CHECK(info.contiguous == 1);
    CHECK(type.describe() == "0+dense(42949672960)");
    iovec list[2];
    int64_t length = 0, bytes = 0;
    REQUIRE(heddle_iov_bytes(nullptr, 3, type.get(), 100 * giga, list, 2, 500 * giga, &length,
                             &bytes) == HEDDLE_SUCCESS);
    CHECK(length == 1);
    CHECK(bytes == 20 * giga);
    CHECK(reinterpret_cast<uintptr_t>(list[0].iov_base) == 100 * giga);
}

TEST_CASE("counts and strides beyond 2^31", "[far]")
{
    const Type type =
        build(*vector(4 * giga, 3, 10 * giga / 1000, predefined(HEDDLE_INT32))).commit();
    const int64_t stride = 10 * giga / 1000 * 4;
    CHECK(type.info().size == 48 * giga);
    CHECK(type.info().runs == 4 * giga);
    CHECK(type.info().extent == (4 * giga - 1) * stride + 12);
    CHECK(where(type, 1, 12 * (3 * giga) + 5) == 3 * giga * stride + 5);
    CHECK(where(type, 10, type.info().size * 9 + 13) == 9 * type.info().extent + stride + 1);

    int64_t length = 0, bytes = 0;
    REQUIRE(heddle_iov_len(2, type.get(), 24 * giga, &length, &bytes) == HEDDLE_SUCCESS);
    CHECK(length == 2 * giga);
    CHECK(bytes == 24 * giga);
    iovec list[3];
    REQUIRE(heddle_iov(nullptr, 2, type.get(), 5 * giga, list, 3, &length) == HEDDLE_SUCCESS);
    CHECK(length == 3);
    CHECK(reinterpret_cast<uintptr_t>(list[1].iov_base) ==
          static_cast<uintptr_t>(type.info().extent + (giga + 1) * stride));
}

TEST_CASE("displacements beyond 2^31, forwards and backwards", "[far]")
{
    const ExprPtr number = predefined(HEDDLE_INT32);
    const Type type = build(*hindexed({1, 2, 1}, {-40 * giga, 3, 70 * giga + 1}, number)).commit();
    const heddle_type_info info = type.info();
    CHECK(info.lb == -40 * giga);
    CHECK(info.true_extent == 110 * giga + 5);
    CHECK(info.displ == -40 * giga);
    CHECK(where(type, 1, 4) == 3);
    CHECK(where(type, 1, 15) == 70 * giga + 4);
    CHECK(where(type, 3, 16) == info.extent - 40 * giga);
    const Type far =
        build(*subarray({3 * giga, 5 * giga / 1024}, {2, 2}, {2 * giga, 7}, HEDDLE_ORDER_C, number))
            .commit();
    CHECK(where(far, 1, 0) == (2 * giga * (5 * giga / 1024) + 7) * 4);
    CHECK(where(far, 1, 8) == ((2 * giga + 1) * (5 * giga / 1024) + 7) * 4);
}

TEST_CASE("one type of absolute addresses names several objects", "[far]")
{
    std::array<int32_t, 4> first{1, 2, 3, 4};
    std::vector<double> second{1.5, 2.5};
    char third = 'x';
    const auto address = [](const void *of) {
        return static_cast<int64_t>(reinterpret_cast<intptr_t>(of));
    };
    const Type type =
        build(*structure(
                  {4, 2, 1}, {address(first.data()), address(second.data()), address(&third)},
                  {predefined(HEDDLE_INT32), predefined(HEDDLE_DOUBLE), predefined(HEDDLE_CHAR)}))
            .commit();
    std::array<std::byte, 33> packed{};
    int64_t actual = 0;
    REQUIRE(heddle_pack(nullptr, 1, type.get(), 0, packed.data(), 33, &actual) == HEDDLE_SUCCESS);
    REQUIRE(actual == 33);
    CHECK(std::memcmp(packed.data(), first.data(), 16) == 0);
    CHECK(std::memcmp(packed.data() + 16, second.data(), 16) == 0);
    CHECK(packed[32] == std::byte{'x'});

    first = {};
    second = {0, 0};
    third = ' ';
    REQUIRE(heddle_unpack(packed.data(), 33, nullptr, 1, type.get(), 0, &actual) == HEDDLE_SUCCESS);
    CHECK(first == std::array<int32_t, 4>{1, 2, 3, 4});
    CHECK(second == std::vector<double>{1.5, 2.5});
    CHECK(third == 'x');

    iovec list[4];
    REQUIRE(heddle_iov(nullptr, 1, type.get(), 0, list, 4, &actual) == HEDDLE_SUCCESS);
    REQUIRE(actual == 3);
    CHECK(list[1].iov_base == second.data());
    CHECK(list[2].iov_len == 1);
}

TEST_CASE("instances beyond the last address are an overflow", "[far]")
{
    constexpr int64_t quarter = int64_t{1} << 61;
    for (const int64_t sign : {1, -1}) {
        const Type type =
            build(*resized(hindexed({1}, {sign * 3 * quarter}, predefined(HEDDLE_BYTE)), 0,
                           sign * quarter))
                .commit();
        CHECK(where(type, 1, 0) == sign * 3 * quarter);
        int64_t displ = 0, run = 0;
        CHECK(heddle_locate(3, type.get(), 2, &displ, &run) == HEDDLE_ERR_OVERFLOW);
        iovec list[3];
        CHECK(heddle_iov(nullptr, 3, type.get(), 0, list, 3, &run) == HEDDLE_ERR_OVERFLOW);
    }
}

TEST_CASE("long blocks at far places: no sum on the way overflows", "[far]")
{
    /* Found by the fuzzer: the place of a block and its place in the packed form fit, their sum
     * does not. */
    constexpr int64_t end = std::numeric_limits<int64_t>::max(), eighth = int64_t{1} << 60;
    const Type type =
        build(*hindexed({2 * eighth, 1, 3}, {0, end - eighth, end - 20}, predefined(HEDDLE_BYTE)))
            .commit();
    CHECK(where(type, 1, 2 * eighth) == end - eighth);
    CHECK(where(type, 1, 2 * eighth + 3) == end - 18);
    iovec list[3];
    int64_t length = 0, bytes = 0;
    REQUIRE(heddle_iov(nullptr, 1, type.get(), 0, list, 3, &length) == HEDDLE_SUCCESS);
    REQUIRE(length == 3);
    CHECK(reinterpret_cast<uintptr_t>(list[2].iov_base) == static_cast<uintptr_t>(end - 20));
    REQUIRE(heddle_iov_bytes(nullptr, 1, type.get(), 2 * eighth + 2, list, 3, 10, &length,
                             &bytes) == HEDDLE_SUCCESS);
    CHECK(length == 1);
    CHECK(bytes == 2);
    CHECK(reinterpret_cast<uintptr_t>(list[0].iov_base) == static_cast<uintptr_t>(end - 19));
}
