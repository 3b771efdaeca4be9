// SPDX-License-Identifier: BSD-3-Clause
// Wrong text: where it says that something is wrong, and what.
#include "build.hpp"

#include <catch2/catch.hpp>

using namespace heddle::tools;

namespace {

// "COLUMN: MESSAGE", or "none".
std::string wrong(const std::string &text)
{
    const auto parsed = parse(text);
    const TextError *error = std::get_if<TextError>(&parsed);
    if (!error) {
        const auto built = build(std::get<Tree>(parsed));
        error = std::get_if<TextError>(&built);
        return error ? std::to_string(error->at + 1) + ": " + error->message : "none";
    }
    return std::to_string(error->at + 1) + ": " + error->message;
}

} // namespace

TEST_CASE("errors name the column and what was expected")
{
    const std::pair<const char *, const char *> cases[] = {
        {"", "1: expected a type, found the end of the text"},
        {"   ", "4: expected a type, found the end of the text"},
        {"(int)", "1: expected a type, found '('"},
        {"12", "1: expected a type, found '12'"},
        {"doubel", "1: expected a type, and no type is called 'doubel'; did you mean 'double'?"},
        {"hvectr(1, 1, 1, int)",
         "1: expected a type, and no type is called 'hvectr'; did you mean 'hvector'?"},
        {"xyzzyplugh", "1: expected a type, and no type is called 'xyzzyplugh'"},
        {"int(3)", "4: 'int' is predefined: it takes no arguments"},
        {"int int", "5: expected the end of the text after the type, found 'int'"},
        {"vector", "7: expected '(' after vector, found the end of the text"},
        {"vector 3", "8: expected '(' after vector, found '3'"},
        {"vector()", "8: expected the count, found ')'"},
        {"vector(3)", "9: expected ',' and then the block length of vector, found ')'"},
        {"vector(3, 1, int)", "14: expected the stride (extents), found 'int'"},
        {"hvector(3, 1, int)", "15: expected the stride (bytes), found 'int'"},
        {"vector(3, 1, 2, 5)", "17: expected the old type, found '5'"},
        {"vector(3, 1, 2, int", "20: expected ')' to close vector, found the end of the text"},
        {"vector(3, 1, 2, int, 4)", "20: expected ')' to close vector, found ','"},
        {"contiguous(3.5, int)", "13: expected ',' and then the old type of contiguous, found '.'"},
        {"contiguous(3x, int)", "12: expected the count, found '3x'"},
        {"contiguous(-, int)", "12: expected the count, found '-'"},
        {"contiguous(+-3, int)", "12: expected the count, found '+'"},
        {"contiguous(9223372036854775808, int)",
         "12: the count: 9223372036854775808 does not fit in 64 bits"},
        {"indexed(3, [0], int)", "9: expected the block lengths (instances) in [ ], found '3'"},
        {"indexed([1, 2], [0, int], int)",
         "21: expected a number in the displacements (extents), found 'int'"},
        {"indexed([1 2], [0], int)",
         "12: expected ',' or ']' in the block lengths (instances), found '2'"},
        {"indexed([1, 2], [0], int)",
         "17: the displacements: expected 2, as many as the block lengths, found 1"},
        {"struct([1, 1], [0, 8], [int])",
         "24: the member types: expected 2, as many as the block lengths, found 1"},
        {"struct([1], [0], int)", "18: expected the member types in [ ], found 'int'"},
        {"struct([1], [0], [int, ])", "24: expected a type, found ']'"},
        {"struct([1], [0], {int])", "22: expected ',' or '}' in the member types, found ']'"},
        {"subarray([], [], [], C, int)",
         "10: the array's sizes (elements): expected at least one dimension"},
        {"subarray([4], [2], [0, 0], C, int)",
         "20: the starts: expected 1, as many as the array's sizes, found 2"},
        {"subarray([4], [2], [0], D, int)", "25: expected the order, C or FORTRAN, found 'D'"},
        {"resized(4, 0, int)", "9: expected the old type, found '4'"},
        {"int \xc3\xa9", "5: expected the end of the text after the type, found '\xc3\xa9'"},
    };
    for (const auto &[text, message] : cases) {
        INFO(text);
        CHECK(wrong(text) == message);
    }
}

TEST_CASE("what the engine refuses is named at its constructor")
{
    CHECK(wrong("contiguous(2, vector(-1, 1, 1, int))") ==
          std::string("15: vector: ") + heddle_strerror(HEDDLE_ERR_COUNT));
    CHECK(wrong("dup(subarray([4], [3], [2], C, int))") ==
          std::string("5: subarray: ") + heddle_strerror(HEDDLE_ERR_ARG));
    CHECK(wrong("contiguous(4611686018427387904, contiguous(4, int))") ==
          std::string("1: contiguous: ") + heddle_strerror(HEDDLE_ERR_OVERFLOW));
}

TEST_CASE("nesting beyond the limit is an error, not a crash")
{
    const auto nested = [](int depth) {
        std::string text;
        for (int i = 0; i < depth; ++i)
            text += "contiguous(1, ";
        return text + "int" + std::string(static_cast<size_t>(depth), ')');
    };
    CHECK(wrong(nested(max_nesting)) == "none");
    CHECK(wrong(nested(1000000)).find("more than 2000 constructors in each other") !=
          std::string::npos);
    CHECK(wrong(std::string(1000000, '(')) == "1: expected a type, found '('");
}

TEST_CASE("the place is shown below its line")
{
    const auto shown = [](const std::string &text) {
        return show(std::get<TextError>(parse(text)), text);
    };
    CHECK(shown("vector(3, x)") == "column 11: expected the block length (instances), found 'x'\n"
                                   "  vector(3, x)\n"
                                   "            ^\n");
    CHECK(shown("vector(3,\n  x)\n") ==
          "line 2, column 3: expected the block length (instances), found 'x'\n"
          "    x)\n"
          "    ^\n");
    const std::string far = std::string(200, ' ') + "x" + std::string(200, ' ');
    CHECK(shown(far) == "column 201: expected a type, and no type is called 'x'\n  " +
                            std::string(60, ' ') + "x" + std::string(39, ' ') + "\n  " +
                            std::string(60, ' ') + "^\n");
    CHECK(shown("") == "column 1: expected a type, found the end of the text\n  \n  ^\n");
}
