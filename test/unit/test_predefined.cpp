/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of predefined types.
 */
#include "oracle/basics.hpp"
#include "oracle/handle.hpp"
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

using namespace oracle;

TEST_CASE("predefined types: sizes, bounds and alignment are the compiler's", "[predefined]")
{
    for (const heddle_predefined which : all_basics()) {
        const Basic &expected = basic(which);
        INFO(expected.name);
        heddle_type *type = heddle_type_predefined(which);
        REQUIRE(type != nullptr);
        heddle_type_info info{};
        REQUIRE(heddle_type_get_info(type, &info) == HEDDLE_SUCCESS);
        int64_t size = 0;
        for (const Primitive &part : expected.primitives)
            size += primitive_size(part.kind);
        const Primitive &last = expected.primitives.back();
        CHECK(info.size == size);
        CHECK(info.lb == 0);
        CHECK(info.extent == expected.extent);
        CHECK(info.true_lb == 0);
        CHECK(info.true_extent == last.displacement + primitive_size(last.kind));
        CHECK(info.alignment == expected.alignment);
        CHECK(info.elements == static_cast<int64_t>(expected.primitives.size()));
        CHECK(info.basic == which);
        CHECK(info.committed == 1);
        CHECK((info.contiguous != 0) == (size == expected.extent));
        CHECK(heddle_type_predefined(which) == type);
        int64_t external = 0;
        for (const Primitive &part : expected.primitives)
            external += external_size(part.kind);
        int64_t reported = 0;
        CHECK(heddle_external_size(1, type, &reported) == HEDDLE_SUCCESS);
        CHECK(reported == external);
    }
}

TEST_CASE("predefined types: there are no others", "[predefined]")
{
    CHECK(heddle_type_predefined(HEDDLE_MIXED) == nullptr);
    CHECK(heddle_type_predefined(static_cast<heddle_predefined>(1000)) == nullptr);
    CHECK(heddle_type_predefined(static_cast<heddle_predefined>(-1)) == nullptr);
}

TEST_CASE("predefined types outlive any number of releases", "[predefined]")
{
    heddle_type *type = heddle_type_predefined(HEDDLE_DOUBLE);
    for (int i = 0; i < 10; ++i)
        heddle_type_release(type);
    heddle_type_info info{};
    CHECK(heddle_type_get_info(type, &info) == HEDDLE_SUCCESS);
    CHECK(info.size == 8);
}

TEST_CASE("version and error texts", "[predefined]")
{
    CHECK(std::string(heddle_version()).find('.') != std::string::npos);
    std::vector<std::string> texts;
    for (int error = HEDDLE_SUCCESS; error <= HEDDLE_ERR_DEPTH; ++error) {
        REQUIRE(heddle_strerror(error) != nullptr);
        texts.push_back(heddle_strerror(error));
        CHECK(texts.back().size() > 3);
        for (size_t i = 0; i + 1 < texts.size(); ++i)
            CHECK(texts[i] != texts.back());
    }
    CHECK(heddle_strerror(-1) != nullptr);
    CHECK(heddle_strerror(1000) != nullptr);
}
