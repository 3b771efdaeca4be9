// SPDX-License-Identifier: BSD-3-Clause
// What a datatype is: a duplicate is committed if its original is; a type that a large-count
// constructor made is described by the large-count calls alone.
// processes: 1
#include "standard_test.hpp"

using namespace standard_test;

namespace {

int use(MPI_Datatype type)
{
    int from[16] = {}, to[16];
    return MPI_Sendrecv(from, 1, type, 0, 0, to, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

void test_duplicates()
{
    MPI_Datatype original, early, late, last;
    MPI_Type_vector(3, 1, 2, MPI_INT, &original);
    MPI_Type_dup(original, &early);
    check_class(use(early), MPI_ERR_TYPE, "a duplicate of an uncommitted type");
    check_success(MPI_Type_commit(&early), "MPI_Type_commit of a duplicate");
    check_success(use(early), "a duplicate that was committed");
    check_class(use(original), MPI_ERR_TYPE, "the original, of which a duplicate was committed");
    MPI_Type_commit(&original);
    MPI_Type_dup(original, &late);
    MPI_Type_dup(late, &last);
    for (MPI_Datatype *each : {&early, &original, &late})
        MPI_Type_free(each);
    check_success(use(last), "a duplicate of a duplicate of a committed type");
    MPI_Type_free(&last);
    for (const MPI_Datatype predefined : {MPI_INT, MPI_DOUBLE_INT}) {
        MPI_Type_dup(predefined, &last);
        check_success(use(last), "a duplicate of a predefined type");
        MPI_Type_free(&last);
    }
}

void test_description(MPI_Datatype type, bool large, const std::string &what)
{
    int integers, addresses, types, combiner, ints[64];
    MPI_Aint aints[64];
    MPI_Datatype olds[64];
    const int expected = large ? MPI_ERR_TYPE : MPI_SUCCESS;
    check_class(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), expected,
                what + ": envelope");
    check_class(MPI_Type_get_contents(type, 64, 64, 64, ints, aints, olds), expected,
                what + ": contents");
    MPI_Count large_integers, large_addresses, counts, large_types, values[64];
    check_success(MPI_Type_get_envelope_c(type, &large_integers, &large_addresses, &counts,
                                          &large_types, &combiner),
                  what + ": large envelope");
    check_equal(counts > 0, large, what + ": it has large counts");
    check_success(MPI_Type_get_contents_c(type, 64, 64, 64, 64, ints, aints, values, olds),
                  what + ": large contents");
    MPI_Type_free(&type);
}

void test_descriptions()
{
    MPI_Datatype type;
    const MPI_Count lengths[] = {1, 2}, places[] = {0, 16}, sizes[] = {4, 4}, parts[] = {2, 2};
    const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int usual[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    test_description(type, false, "vector");
    MPI_Type_contiguous_c(2, MPI_INT, &type);
    test_description(type, true, "contiguous_c");
    MPI_Type_vector_c(2, 1, 2, MPI_INT, &type);
    test_description(type, true, "vector_c");
    MPI_Type_create_hvector_c(2, 1, 8, MPI_INT, &type);
    test_description(type, true, "hvector_c");
    MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type);
    test_description(type, true, "indexed_c");
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type);
    test_description(type, true, "hindexed_c");
    MPI_Type_create_indexed_block_c(2, 1, places, MPI_INT, &type);
    test_description(type, true, "indexed_block_c");
    MPI_Type_create_hindexed_block_c(2, 1, places, MPI_INT, &type);
    test_description(type, true, "hindexed_block_c");
    MPI_Type_create_struct_c(2, lengths, places, members, &type);
    test_description(type, true, "struct_c");
    MPI_Type_create_resized_c(MPI_INT, 0, 16, &type);
    test_description(type, true, "resized_c");
    MPI_Type_create_subarray_c(2, sizes, parts, parts, MPI_ORDER_C, MPI_INT, &type);
    test_description(type, true, "subarray_c");
    MPI_Type_create_darray_c(2, 1, 2, sizes, kinds, usual, grid, MPI_ORDER_C, MPI_INT, &type);
    test_description(type, true, "darray_c");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        test_duplicates();
        test_descriptions();
    });
}
