// SPDX-License-Identifier: BSD-3-Clause
// Arguments of type constructors that MPI 4.0, section 5.1, forbids: negative lengths, subarrays
// beyond their array, distributions that hold no array. Each is an error, and no type is made.
// processes: 1
#include "standard_test.hpp"

using namespace standard_test;

namespace {

/* An int's constructor and its large-count form, of the same arguments. */
template <class Small, class Large>
void check_both(const std::string &what, int expected, Small small, Large large)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_class(small(&type), expected, what);
    check_class(large(&type), expected, what + ", large");
}

void test_lengths()
{
    const int lengths[] = {1, -1}, places[] = {0, 4};
    const MPI_Aint addresses[] = {0, 16};
    const MPI_Count large_lengths[] = {1, -1}, large_places[] = {0, 16};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    using Type = MPI_Datatype *;
    check_both(
        "vector", MPI_ERR_ARG, [](Type t) { return MPI_Type_vector(1, -1, 1, MPI_INT, t); },
        [](Type t) { return MPI_Type_vector_c(1, -1, 1, MPI_INT, t); });
    check_both(
        "hvector", MPI_ERR_ARG,
        [](Type t) { return MPI_Type_create_hvector(1, -1, 8, MPI_INT, t); },
        [](Type t) { return MPI_Type_create_hvector_c(1, -1, 8, MPI_INT, t); });
    check_both(
        "indexed", MPI_ERR_ARG,
        [&](Type t) { return MPI_Type_indexed(2, lengths, places, MPI_INT, t); },
        [&](Type t) { return MPI_Type_indexed_c(2, large_lengths, large_places, MPI_INT, t); });
    check_both(
        "hindexed", MPI_ERR_ARG,
        [&](Type t) { return MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, t); },
        [&](Type t) {
            return MPI_Type_create_hindexed_c(2, large_lengths, large_places, MPI_INT, t);
        });
    check_both(
        "indexed_block", MPI_ERR_ARG,
        [&](Type t) { return MPI_Type_create_indexed_block(2, -1, places, MPI_INT, t); },
        [&](Type t) { return MPI_Type_create_indexed_block_c(2, -1, large_places, MPI_INT, t); });
    check_both(
        "hindexed_block", MPI_ERR_ARG,
        [&](Type t) { return MPI_Type_create_hindexed_block(2, -1, addresses, MPI_INT, t); },
        [&](Type t) { return MPI_Type_create_hindexed_block_c(2, -1, large_places, MPI_INT, t); });
    check_both(
        "struct", MPI_ERR_ARG,
        [&](Type t) { return MPI_Type_create_struct(2, lengths, addresses, types, t); },
        [&](Type t) { return MPI_Type_create_struct_c(2, large_lengths, large_places, types, t); });
    check_both(
        "contiguous", MPI_ERR_COUNT, [](Type t) { return MPI_Type_contiguous(-1, MPI_INT, t); },
        [](Type t) { return MPI_Type_contiguous_c(-1, MPI_INT, t); });
}

using Dimensions = std::vector<int>;

std::vector<MPI_Count> large(const Dimensions &dimensions)
{
    return {dimensions.begin(), dimensions.end()};
}

void test_subarray(const Dimensions &sizes, const Dimensions &parts, const Dimensions &starts,
                   int expected, const std::string &what)
{
    const int n = static_cast<int>(sizes.size());
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        check_both(
            "subarray, " + what, expected,
            [&](MPI_Datatype *type) {
                return MPI_Type_create_subarray(n, sizes.data(), parts.data(), starts.data(), order,
                                                MPI_INT, type);
            },
            [&](MPI_Datatype *type) {
                return MPI_Type_create_subarray_c(n, large(sizes).data(), large(parts).data(),
                                                  large(starts).data(), order, MPI_INT, type);
            });
}

struct Distribution {
    int size;
    Dimensions lengths, kinds, arguments, grid;
};

void test_darray(const Distribution &d, int expected, const std::string &what)
{
    const int n = static_cast<int>(d.lengths.size());
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        check_both(
            "darray, " + what, expected,
            [&](MPI_Datatype *type) {
                return MPI_Type_create_darray(d.size, 0, n, d.lengths.data(), d.kinds.data(),
                                              d.arguments.data(), d.grid.data(), order, MPI_INT,
                                              type);
            },
            [&](MPI_Datatype *type) {
                return MPI_Type_create_darray_c(d.size, 0, n, large(d.lengths).data(),
                                                d.kinds.data(), d.arguments.data(), d.grid.data(),
                                                order, MPI_INT, type);
            });
}

void test_subarrays()
{
    test_subarray({4, 6}, {2, 3}, {2, 3}, MPI_SUCCESS, "to its array's end");
    test_subarray({4, 6}, {4, 6}, {0, 0}, MPI_SUCCESS, "all of it");
    test_subarray({4, 6}, {2, 7}, {0, 0}, MPI_ERR_ARG, "larger than its array");
    test_subarray({4, 6}, {3, 3}, {2, 0}, MPI_ERR_ARG, "beyond its array");
    test_subarray({4, 6}, {2, 3}, {0, -1}, MPI_ERR_ARG, "before its array");
    test_subarray({4, 0}, {2, 0}, {0, 0}, MPI_ERR_ARG, "of an array of nothing");
    test_subarray({4, 6}, {0, 3}, {0, 0}, MPI_ERR_ARG, "of nothing");
    test_subarray({4, 6}, {-1, 3}, {0, 0}, MPI_ERR_ARG, "of less than nothing");
    test_subarray({}, {}, {}, MPI_ERR_ARG, "of no dimension");
    const int one = 1;
    MPI_Datatype type;
    check_class(MPI_Type_create_subarray(1, &one, &one, &one, 99, MPI_INT, &type), MPI_ERR_ARG,
                "subarray, order");
    for (int null = 0; null < 3; ++null)
        check_class(MPI_Type_create_subarray(1, null == 0 ? nullptr : &one,
                                             null == 1 ? nullptr : &one, null == 2 ? nullptr : &one,
                                             MPI_ORDER_C, MPI_INT, &type),
                    MPI_ERR_ARG, "subarray, a null array");
}

void test_darrays()
{
    constexpr int block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC,
                  none = MPI_DISTRIBUTE_NONE;
    constexpr int usual = MPI_DISTRIBUTE_DFLT_DARG;
    test_darray({4, {4, 6}, {block, cyclic}, {2, usual}, {2, 2}}, MPI_SUCCESS, "block and cyclic");
    test_darray({2, {4, 6}, {none, cyclic}, {usual, 3}, {1, 2}}, MPI_SUCCESS, "none and cyclic");
    test_darray({2, {4}, {block}, {1}, {2}}, MPI_ERR_ARG, "blocks that do not hold the array");
    test_darray({2, {4}, {block}, {0}, {2}}, MPI_ERR_ARG, "blocks of nothing");
    test_darray({2, {4}, {cyclic}, {0}, {2}}, MPI_ERR_ARG, "cyclic blocks of nothing");
    test_darray({2, {4}, {none}, {usual}, {2}}, MPI_ERR_ARG, "not distributed over two");
    test_darray({2, {4}, {block}, {usual}, {3}}, MPI_ERR_ARG, "a grid of more processes");
    test_darray({4, {4, 4}, {block, block}, {usual, usual}, {2, 1}}, MPI_ERR_ARG,
                "a grid of fewer processes");
    test_darray({2, {4}, {block}, {usual}, {0}}, MPI_ERR_ARG, "a grid of nobody");
    test_darray({2, {4, 4}, {block, block}, {usual, usual}, {2, 0}}, MPI_ERR_ARG,
                "a grid of nobody, second dimension");
    test_darray({2, {4, 4}, {block, block}, {usual, usual}, {-2, -1}}, MPI_ERR_ARG,
                "a negative grid");
    test_darray({2, {0}, {block}, {usual}, {2}}, MPI_ERR_ARG, "an array of nothing");
    test_darray({2, {4}, {4711}, {usual}, {2}}, MPI_ERR_ARG, "a strange distribution");
    test_darray({1, {}, {}, {}, {}}, MPI_ERR_ARG, "of no dimension");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        test_lengths();
        test_subarrays();
        test_darrays();
    });
}
