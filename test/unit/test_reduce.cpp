/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which operators are defined for which types, and reductions that the property tests do not reach.
 */
#include "oracle/basics.hpp"
#include "oracle/expr.hpp"
#include "oracle/operators.hpp"

#include <catch2/catch.hpp>

#include <complex>
#include <limits>

using namespace oracle;

TEST_CASE("operators are defined where MPI defines them", "[reduce]")
{
    for (const heddle_predefined which : all_basics())
        for (int op = 0; op < HEDDLE_OP_COUNT; ++op) {
            INFO(basic(which).name << ", op " << op);
            CHECK((heddle_op_is_defined(static_cast<heddle_op>(op), which) != 0) ==
                  op_defined(static_cast<heddle_op>(op), which));
        }
    CHECK(heddle_op_is_defined(HEDDLE_OP_COUNT, HEDDLE_INT32) == 0);
    CHECK(heddle_op_is_defined(HEDDLE_OP_SUM, HEDDLE_MIXED) == 0);
    CHECK(heddle_op_is_defined(static_cast<heddle_op>(-1), HEDDLE_INT32) == 0);
}

TEST_CASE("a source with fewer elements reduces that many", "[reduce]")
{
    heddle_type *const number = heddle_type_predefined(HEDDLE_INT32);
    int32_t target[4] = {10, 20, 30, 40}, source[2] = {1, 2};
    REQUIRE(heddle_accumulate(source, 2, number, target, 4, number, HEDDLE_OP_SUM) ==
            HEDDLE_SUCCESS);
    CHECK(std::vector<int32_t>(target, target + 4) == std::vector<int32_t>{11, 22, 30, 40});
    REQUIRE(heddle_accumulate(source, 0, number, target, 4, number, HEDDLE_OP_SUM) ==
            HEDDLE_SUCCESS);
    CHECK(target[0] == 11);
}

TEST_CASE("nothing is reduced where there are no elements", "[reduce]")
{
    int32_t target = 7;
    for (const ExprPtr &none :
         {contiguous(0, predefined(HEDDLE_BYTE)), vector(3, 0, 2, predefined(HEDDLE_INT32))}) {
        const Type empty = build(*none).commit();
        for (const heddle_op op : {HEDDLE_OP_SUM, HEDDLE_OP_REPLACE, HEDDLE_OP_MAXLOC}) {
            CHECK(heddle_accumulate(nullptr, 0, nullptr, &target, 3, empty.get(), op) ==
                  HEDDLE_SUCCESS);
            CHECK(heddle_accumulate(&target, 2, empty.get(), &target, 3, empty.get(), op) ==
                  HEDDLE_SUCCESS);
        }
    }
    CHECK(heddle_accumulate(nullptr, 0, nullptr, &target, 0, heddle_type_predefined(HEDDLE_INT32),
                            HEDDLE_OP_SUM) == HEDDLE_SUCCESS);
    CHECK(target == 7);
}

TEST_CASE("NO_OP and REPLACE", "[reduce]")
{
    heddle_type *const text = heddle_type_predefined(HEDDLE_CHAR);
    char target[] = "abcd", source[] = "wxyz";
    REQUIRE(heddle_accumulate(source, 4, text, target, 4, text, HEDDLE_OP_NO_OP) == HEDDLE_SUCCESS);
    CHECK(std::string(target) == "abcd");
    REQUIRE(heddle_accumulate(source, 4, text, target, 4, text, HEDDLE_OP_REPLACE) ==
            HEDDLE_SUCCESS);
    CHECK(std::string(target) == "wxyz");

    /* REPLACE may pair different predefined types of equal size in bytes. */
    double number = 1.5;
    REQUIRE(heddle_accumulate(&number, 1, heddle_type_predefined(HEDDLE_DOUBLE), target, 4, text,
                              HEDDLE_OP_REPLACE) != HEDDLE_SUCCESS);
    int64_t bits = 0;
    REQUIRE(heddle_accumulate(&number, 1, heddle_type_predefined(HEDDLE_DOUBLE), &bits, 1,
                              heddle_type_predefined(HEDDLE_INT64),
                              HEDDLE_OP_REPLACE) == HEDDLE_SUCCESS);
    CHECK(bits == 0x3ff8000000000000);
}

TEST_CASE("extremes: infinities, the least integers, wrap-around", "[reduce]")
{
    heddle_type *const real = heddle_type_predefined(HEDDLE_DOUBLE);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double target[3] = {1, -infinity, infinity}, source[3] = {infinity, 5, -5};
    REQUIRE(heddle_accumulate(source, 3, real, target, 3, real, HEDDLE_OP_MAX) == HEDDLE_SUCCESS);
    CHECK(std::vector<double>(target, target + 3) == std::vector<double>{infinity, 5, infinity});

    heddle_type *const number = heddle_type_predefined(HEDDLE_INT32);
    constexpr int32_t least = std::numeric_limits<int32_t>::min();
    int32_t a[2] = {least, 0x10000}, b[2] = {-1, 0x10000};
    REQUIRE(heddle_accumulate(b, 2, number, a, 2, number, HEDDLE_OP_PROD) == HEDDLE_SUCCESS);
    CHECK(a[0] == least);
    CHECK(a[1] == 0);
    heddle_type *const small = heddle_type_predefined(HEDDLE_UINT16);
    uint16_t c[1] = {0xffff}, d[1] = {0xffff}; /* int promotes and may overflow here */
    REQUIRE(heddle_accumulate(d, 1, small, c, 1, small, HEDDLE_OP_PROD) == HEDDLE_SUCCESS);
    CHECK(c[0] == 1);
}

TEST_CASE("complex products", "[reduce]")
{
    using Complex = std::complex<float>;
    heddle_type *const type = heddle_type_predefined(HEDDLE_COMPLEX_FLOAT);
    Complex target[1] = {{2, 3}}, source[1] = {{-1, 4}};
    REQUIRE(heddle_accumulate(source, 1, type, target, 1, type, HEDDLE_OP_PROD) == HEDDLE_SUCCESS);
    CHECK(target[0] == Complex(-14, 5));
}

TEST_CASE("MAXLOC and MINLOC: ties take the lower index", "[reduce]")
{
    struct Pair {
        double value;
        int index;
    };
    heddle_type *const type = heddle_type_predefined(HEDDLE_DOUBLE_INT);
    Pair target[3] = {{1, 5}, {2, 5}, {2, 2}}, source[3] = {{2, 9}, {2, 3}, {2, 4}};
    REQUIRE(heddle_accumulate(source, 3, type, target, 3, type, HEDDLE_OP_MAXLOC) ==
            HEDDLE_SUCCESS);
    CHECK(target[0].value == 2);
    CHECK(target[0].index == 9);
    CHECK(target[1].index == 3);
    CHECK(target[2].index == 2);
    REQUIRE(heddle_accumulate(source, 3, type, target, 3, type, HEDDLE_OP_SUM) == HEDDLE_ERR_OP);
}

TEST_CASE("a struct that spells a pair type is not one", "[reduce]")
{
    const Type spelled =
        build(*structure({1, 1}, {0, 8}, {predefined(HEDDLE_DOUBLE), predefined(HEDDLE_INT32)}));
    CHECK(spelled.info().basic == HEDDLE_MIXED);
    CHECK(build(*contiguous(3, predefined(HEDDLE_DOUBLE_INT))).info().basic == HEDDLE_DOUBLE_INT);
    CHECK(build(*structure({1, 1}, {0, 16},
                           {predefined(HEDDLE_DOUBLE_INT), predefined(HEDDLE_2INT32)}))
              .info()
              .basic == HEDDLE_MIXED);
}
