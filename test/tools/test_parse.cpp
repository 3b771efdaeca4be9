// SPDX-License-Identifier: BSD-3-Clause
// What the text form means: the tree, and the type that comes of it.
#include "build.hpp"
#include "names.hpp"

#include <catch2/catch.hpp>

#include <array>

using namespace heddle::tools;

namespace {

Tree read(const std::string &text)
{
    auto parsed = parse(text);
    if (const auto *error = std::get_if<TextError>(&parsed))
        FAIL(show(*error, text));
    return std::get<Tree>(std::move(parsed));
}

heddle_type_info info_of(const std::string &text)
{
    const Tree tree = read(text);
    const auto built = build(tree);
    if (const auto *error = std::get_if<TextError>(&built))
        FAIL(show(*error, text));
    heddle_type_info info{};
    REQUIRE(heddle_type_get_info(std::get<Built>(built).type.get(), &info) == HEDDLE_SUCCESS);
    return info;
}

using Values = std::vector<int64_t>;

} // namespace

TEST_CASE("every constructor takes its arguments in MPI's order")
{
    const Tree contiguous = read("contiguous(7, int)");
    CHECK(contiguous.maker == Maker::contiguous);
    CHECK(contiguous.count == 7);
    CHECK(contiguous.old.at(0).predefined == HEDDLE_INT32);

    const Tree vector = read("vector(7, 2, 5, int)");
    CHECK(vector.maker == Maker::vector);
    CHECK(std::array{vector.count, vector.blocklength, vector.stride} ==
          std::array<int64_t, 3>{7, 2, 5});

    const Tree hvector = read("hvector(1000, 1, -512, double)");
    CHECK(hvector.maker == Maker::hvector);
    CHECK(std::array{hvector.count, hvector.blocklength, hvector.stride} ==
          std::array<int64_t, 3>{1000, 1, -512});

    const Tree indexed = read("indexed([1, 2, 3], [0, 10, -20], float)");
    CHECK(indexed.maker == Maker::indexed);
    CHECK(indexed.blocklengths == Values{1, 2, 3});
    CHECK(indexed.displacements == Values{0, 10, -20});
    CHECK(read("hindexed([1], [8], float)").maker == Maker::hindexed);

    const Tree block = read("indexed_block(4, [0, 9], char)");
    CHECK(block.maker == Maker::indexed_block);
    CHECK(block.blocklength == 4);
    CHECK(block.displacements == Values{0, 9});
    CHECK(read("hindexed_block(4, [0, 9], char)").maker == Maker::hindexed_block);

    const Tree record = read("struct([1, 2], [0, 8], [double, contiguous(3, int)])");
    CHECK(record.maker == Maker::structure);
    CHECK(record.blocklengths == Values{1, 2});
    CHECK(record.displacements == Values{0, 8});
    REQUIRE(record.old.size() == 2);
    CHECK(record.old[0].predefined == HEDDLE_DOUBLE);
    CHECK(record.old[1].maker == Maker::contiguous);

    const Tree resized = read("resized(int, -4, 64)");
    CHECK(resized.maker == Maker::resized);
    CHECK(resized.lb == -4);
    CHECK(resized.extent == 64);
    CHECK(read("dup(int)").maker == Maker::dup);

    const Tree subarray = read("subarray([4, 5], [2, 3], [1, 0], FORTRAN, double)");
    CHECK(subarray.maker == Maker::subarray);
    CHECK(subarray.sizes == Values{4, 5});
    CHECK(subarray.subsizes == Values{2, 3});
    CHECK(subarray.starts == Values{1, 0});
    CHECK(subarray.order == HEDDLE_ORDER_FORTRAN);
    CHECK(read("subarray([4], [2], [1], c, double)").order == HEDDLE_ORDER_C);
}

TEST_CASE("white space, comments and letter case do not count")
{
    const Tree tree = read("# a column\n  Vector ( 3 ,1,\t4 , # of 4\n MPI_DOUBLE\n)\n# the end");
    CHECK(write(tree) == "vector(3, 1, 4, double)");
    CHECK(read("  int  ").predefined == HEDDLE_INT32);
    CHECK(write(read("STRUCTURE([1],[0],{INT32})")) == "struct([1], [0], [int])");
    CHECK(write(read("indexed([], [], int)")) == "indexed([], [], int)");
    CHECK(write(read("struct([], [], [])")) == "struct([], [], [])");
}

TEST_CASE("numbers reach from one end of 64 bits to the other")
{
    CHECK(read("resized(int, -9223372036854775808, 9223372036854775807)").lb == INT64_MIN);
    CHECK(read("resized(int, +3, 9223372036854775807)").extent == INT64_MAX);
}

TEST_CASE("every predefined type has a name of its own, and every name is of one type")
{
    for (int i = 0; i < HEDDLE_PREDEFINED_COUNT; ++i) {
        const auto which = static_cast<heddle_predefined>(i);
        INFO(i);
        REQUIRE(name_of(which) != "mixed");
        CHECK(predefined_named(name_of(which)) == which);
    }
    CHECK(name_of(HEDDLE_MIXED) == "mixed");
    CHECK(predefined_named("MPI_LONG_DOUBLE_INT") == HEDDLE_LONG_DOUBLE_INT);
    CHECK(predefined_named("2INT") == HEDDLE_2INT32);
    CHECK_FALSE(predefined_named("doubles"));
    CHECK_FALSE(predefined_named(""));
}

TEST_CASE("names mean types of the right size")
{
    const std::pair<const char *, int64_t> sizes[] = {
        {"byte", 1},          {"char", 1},
        {"short", 2},         {"unsigned", 4},
        {"float", 4},         {"half", 2},
        {"long", 8},          {"int128", 16},
        {"complex_float", 8}, {"c_double_complex", 16},
        {"2double", 16},      {"double_int", 12},
        {"short_int", 6}};
    for (const auto &[name, size] : sizes) {
        INFO(name);
        CHECK(info_of(name).size == size);
    }
}

TEST_CASE("what is built is what MPI defines")
{
    const auto column = info_of("hvector(1000, 1, 512, double)");
    CHECK(column.size == 8000);
    CHECK(column.extent == 999 * 512 + 8);
    const auto record = info_of("struct([1, 1, 1, 1], [0, 8, 12, 16], [double, int, int, char])");
    CHECK(record.size == 17);
    CHECK(record.extent == 24);
    const auto cube =
        info_of("subarray([64, 64, 64, 64], [32, 32, 32, 32], [16, 16, 16, 16], C, double)");
    CHECK(cube.size == 8 << 20);
    CHECK(cube.extent == 128 << 20);
    CHECK(cube.true_lb == 8 * 16 * (1 + 64 + 64 * 64 + 64 * 64 * 64));
    CHECK(info_of("resized(vector(4, 1, 4, double), 0, 8)").extent == 8);
}

TEST_CASE(
    "members of a struct that read alike are one type, as in a program that uses a handle twice")
{
    // All members of one type: no padding to its alignment.
    CHECK(info_of("struct([1, 1], [0, 12], [contiguous(1, 2double), contiguous(1, 2double)])")
              .extent == 28);
    CHECK(info_of("struct([1, 1], [0, 12], [contiguous(1, 2double), 2double])").extent == 32);
}

TEST_CASE("long arrays are cut short only when asked")
{
    const Tree tree = read("indexed([1, 1, 1, 1], [0, 2, 4, 6], int)");
    CHECK(write(tree, 2) == "indexed([1, 1, ... 4 in all], [0, 2, ... 4 in all], int)");
    CHECK(write(tree, 4) == "indexed([1, 1, 1, 1], [0, 2, 4, 6], int)");
    CHECK(write(tree, 0) == "indexed([... 4 in all], [... 4 in all], int)");
}
