/* SPDX-License-Identifier: BSD-3-Clause
 *
 * processes: 1
 *
 * Types of very many members, very deep ones and very many of them: they are made in linear time,
 * move the right bytes, and leave no memory behind. What does not fit an MPI_Aint is an error.
 */
#include "standard_test.hpp"

#include <malloc.h>
#include <numeric>

using namespace standard_test;

namespace {

/* Members of one to three elements, with gaps between them: where they lie, and how many elements
 * they have.
 */
struct Members {
    explicit Members(int count)
    {
        for (int i = 0; i < count; ++i) {
            lengths.push_back(1 + i % 3);
            displacements.push_back(8 * end);
            types.push_back(i % 2 ? MPI_DOUBLE : MPI_LONG);
            end += lengths.back() + 1 + i % 4;
        }
    }

    MPI_Datatype make() const
    {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check_success(MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(),
                                             displacements.data(), types.data(), &type),
                      "MPI_Type_create_struct");
        return type;
    }

    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements;
    std::vector<MPI_Datatype> types;
    MPI_Aint end = 0; /* in elements */
};

void check_packed(const Members &members, MPI_Datatype type)
{
    std::vector<double> memory(static_cast<size_t>(members.end)), packed, expected;
    std::iota(memory.begin(), memory.end(), 1.0);
    for (size_t i = 0; i < members.lengths.size(); ++i) {
        const auto from = memory.begin() + members.displacements[i] / 8;
        expected.insert(expected.end(), from, from + members.lengths[i]);
    }
    packed.resize(expected.size());
    int position = 0;
    check_success(MPI_Pack(memory.data(), 1, type, packed.data(),
                           static_cast<int>(8 * packed.size()), &position, MPI_COMM_SELF),
                  "MPI_Pack");
    check_equal(position, static_cast<long long>(8 * expected.size()), "packed bytes");
    check(packed == expected, "packed other bytes than the members'");
}

void check_many_members()
{
    const Members members(300'000);
    MPI_Datatype type = members.make();
    check_success(MPI_Type_commit(&type), "MPI_Type_commit");
    check_packed(members, type);
    check_success(MPI_Type_free(&type), "MPI_Type_free");
}

/* As generic serializers do: a type grows by one member at a time. */
MPI_Datatype grown(const Members &members)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_success(MPI_Type_contiguous(members.lengths[0], members.types[0], &type),
                  "MPI_Type_contiguous");
    for (size_t i = 1; i < members.lengths.size(); ++i) {
        const int lengths[] = {1, members.lengths[i]};
        const MPI_Aint displacements[] = {0, members.displacements[i]};
        const MPI_Datatype types[] = {type, members.types[i]};
        MPI_Datatype next = MPI_DATATYPE_NULL;
        if (!check_success(MPI_Type_create_struct(2, lengths, displacements, types, &next),
                           "MPI_Type_create_struct, member " + std::to_string(i)))
            break;
        MPI_Type_free(&type);
        type = next;
    }
    return type;
}

void check_growing()
{
    const Members members(5000);
    MPI_Datatype type = grown(members);
    check_success(MPI_Type_commit(&type), "MPI_Type_commit");
    check_packed(members, type);
    MPI_Type_free(&type);
}

/* The remaining cost may depend on where memory lies, so that one run in two finds it. */
void check_nothing_is_left()
{
    const auto make_and_free = [](int times) {
        for (int i = 0; i < times; ++i) {
            MPI_Datatype type;
            MPI_Type_vector(3 + i % 7, 1, 2, MPI_INT, &type);
            MPI_Type_commit(&type);
            MPI_Type_free(&type);
        }
    };
    make_and_free(500);
    const size_t before = mallinfo2().uordblks;
    make_and_free(5000);
    const size_t after = mallinfo2().uordblks;
    check(after < before + 32 * 1024,
          std::to_string(after - before) + " bytes are left of 5000 types");
}

/* Sizes of which each fits an int, and all of them together no MPI_Aint. */
void check_too_large()
{
    const int large = 1 << 30, one = 1, none = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        for (const int ndims : {3, 4, 5}) {
            const std::vector<int> sizes(static_cast<size_t>(ndims), large),
                subsizes(sizes.size(), one), starts(sizes.size(), none),
                all(sizes.size(), MPI_DISTRIBUTE_NONE),
                arguments(sizes.size(), MPI_DISTRIBUTE_DFLT_DARG), processes(sizes.size(), one);
            const std::string what = std::to_string(ndims) + " dimensions of 2^30";
            check(MPI_Type_create_subarray(ndims, sizes.data(), subsizes.data(), starts.data(),
                                           order, MPI_INT, &type) != MPI_SUCCESS,
                  "a subarray of " + what + " is made");
            check(MPI_Type_create_darray(1, 0, ndims, sizes.data(), all.data(), arguments.data(),
                                         processes.data(), order, MPI_INT, &type) != MPI_SUCCESS,
                  "a distributed array of " + what + " is made");
        }
    check(MPI_Type_vector(large, 1, large, MPI_LONG_DOUBLE, &type) != MPI_SUCCESS,
          "a vector of 2^64 bytes is made");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        check_many_members();
        check_growing();
        check_nothing_is_left();
        check_too_large();
    });
}
