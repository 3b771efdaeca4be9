// SPDX-License-Identifier: BSD-3-Clause
// Random types of every constructor: the oracle's text of one, read here, makes the type that the
// oracle makes, and so does our own text of it.
#include "build.hpp"

#include "oracle/random_type.hpp"

#include <catch2/catch.hpp>

using namespace heddle::tools;

namespace {

std::string layout_of(heddle_type *type)
{
    size_t length = 0;
    REQUIRE(heddle_type_describe(type, nullptr, 0, &length) == HEDDLE_SUCCESS);
    std::string text(length + 1, '\0');
    REQUIRE(heddle_type_describe(type, text.data(), text.size(), &length) == HEDDLE_SUCCESS);
    return text;
}

void check_same(const std::string &text, const oracle::Type &expected)
{
    const auto parsed = parse(text);
    if (const auto *error = std::get_if<TextError>(&parsed))
        FAIL(show(*error, text));
    const Tree &tree = std::get<Tree>(parsed);
    const auto built = build(tree);
    if (const auto *error = std::get_if<TextError>(&built))
        FAIL(show(*error, text));
    heddle_type *const type = std::get<Built>(built).type.get();
    heddle_type_info info{};
    REQUIRE(heddle_type_get_info(type, &info) == HEDDLE_SUCCESS);
    CHECK(layout_of(type) == layout_of(expected.get()));
    CHECK(info.lb == expected.info().lb);
    CHECK(info.extent == expected.info().extent);
    CHECK(info.elements == expected.info().elements);
    CHECK(info.basic == expected.info().basic);
}

} // namespace

TEST_CASE("random types survive the way through text")
{
    constexpr uint64_t seed = 20261120;
    oracle::Rng rng(seed);
    for (int i = 0; i < 3000; ++i) {
        const oracle::Sample sample = oracle::random_type(rng, oracle::random_recipe(rng, 6));
        const std::string text = oracle::to_text(*sample.expr);
        INFO("seed " << seed << ", case " << i << ": " << text);
        const oracle::Type expected = oracle::build(*sample.expr);
        check_same(text, expected);
        const auto parsed = parse(text);
        check_same(write(std::get<Tree>(parsed)), expected);
    }
}

TEST_CASE("no prefix and no damaged text crashes the parser")
{
    oracle::Rng rng(7);
    for (int i = 0; i < 300; ++i) {
        std::string text =
            oracle::to_text(*oracle::random_type(rng, oracle::random_recipe(rng, 4)).expr);
        if (text.size() > 2000)
            continue;
        for (size_t length = 0; length < text.size(); ++length) {
            const auto parsed = parse(std::string_view(text).substr(0, length));
            if (const auto *error = std::get_if<TextError>(&parsed))
                CHECK(error->at <= length);
            std::string damaged = text;
            damaged[length] = "([{}]),#-x0 \n"[(i + length) % 13];
            const auto other = parse(damaged);
            if (const auto *error = std::get_if<TextError>(&other))
                CHECK(error->at <= damaged.size());
        }
    }
}
