// SPDX-License-Identifier: BSD-3-Clause
// MPI_Get_elements, MPI_Get_count and MPI_Status_set_elements, in all their forms: after receives
// that end at any element of any type. The elements of a type are listed here, beside the calls
// that make it.
// processes: 1
#include "standard_test.hpp"

#include <random>

using namespace standard_test;

namespace {

/* A type and the predefined types that one instance holds, in their order. */
struct Listed {
    MPI_Datatype type;
    std::vector<MPI_Datatype> elements;
    std::string name;
};

long extent_of(MPI_Datatype type)
{
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

Listed predefined(MPI_Datatype type, const std::string &name) { return {type, {type}, name}; }

/* The elements of `count` instances. */
std::vector<MPI_Datatype> repeat(const std::vector<MPI_Datatype> &elements, int count)
{
    std::vector<MPI_Datatype> all;
    for (int i = 0; i < count; ++i)
        all.insert(all.end(), elements.begin(), elements.end());
    return all;
}

/* A constructor's result: its elements are `instances` times those of the old type. */
template <class Make>
Listed made(const std::string &name, const Listed &old, int instances, Make make)
{
    Listed result{MPI_DATATYPE_NULL, repeat(old.elements, instances), name + "(" + old.name + ")"};
    make(&result.type);
    return result;
}

Listed contiguous(const Listed &old, int count)
{
    return made("contiguous", old, count,
                [&](MPI_Datatype *type) { MPI_Type_contiguous(count, old.type, type); });
}

Listed vector(const Listed &old, int count, int length)
{
    return made("vector", old, count * length, [&](MPI_Datatype *type) {
        MPI_Type_vector(count, length, length + 1, old.type, type);
    });
}

Listed vector_large(const Listed &old, int count, int length)
{
    return made("vector_c", old, count * length, [&](MPI_Datatype *type) {
        MPI_Type_vector_c(count, length, length + 2, old.type, type);
    });
}

Listed indexed(const Listed &old)
{
    const int lengths[] = {2, 0, 1}, places[] = {0, 9, 4};
    return made("indexed", old, 3,
                [&](MPI_Datatype *type) { MPI_Type_indexed(3, lengths, places, old.type, type); });
}

Listed hindexed_block(const Listed &old)
{
    const MPI_Aint places[] = {0, 1024, 4096};
    return made("hindexed_block", old, 3, [&](MPI_Datatype *type) {
        MPI_Type_create_hindexed_block(3, 1, places, old.type, type);
    });
}

Listed resized(const Listed &old)
{
    return made("resized", old, 1, [&](MPI_Datatype *type) {
        MPI_Type_create_resized(old.type, -8, extent_of(old.type) + 64, type);
    });
}

Listed duplicate(const Listed &old)
{
    return made("dup", old, 1, [&](MPI_Datatype *type) { MPI_Type_dup(old.type, type); });
}

Listed subarray(const Listed &old, int order)
{
    const int sizes[] = {3, 4}, parts[] = {2, 2}, starts[] = {1, 0};
    return made("subarray", old, 4, [&](MPI_Datatype *type) {
        MPI_Type_create_subarray(2, sizes, parts, starts, order, old.type, type);
    });
}

/* The third of four processes, in a grid of 2 x 2: one row of blocks, two columns of a cycle. */
Listed darray(const Listed &old)
{
    const int sizes[] = {3, 4}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 1}, grid[] = {2, 2};
    return made("darray", old, 2, [&](MPI_Datatype *type) {
        MPI_Type_create_darray(4, 2, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, old.type, type);
    });
}

Listed structure(const std::vector<Listed> &members, const std::vector<int> &lengths)
{
    Listed result{MPI_DATATYPE_NULL, {}, "struct("};
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> types;
    MPI_Aint place = 0;
    for (size_t i = 0; i < members.size(); ++i) {
        const std::vector<MPI_Datatype> more = repeat(members[i].elements, lengths[i]);
        result.elements.insert(result.elements.end(), more.begin(), more.end());
        places.push_back(place);
        types.push_back(members[i].type);
        place += 32768;
        result.name += std::to_string(lengths[i]) + " " + members[i].name + ", ";
    }
    result.name.back() = ')';
    MPI_Type_create_struct(static_cast<int>(members.size()), lengths.data(), places.data(),
                           types.data(), &result.type);
    return result;
}

bool is_pair(MPI_Datatype type)
{
    for (const MPI_Datatype each : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT,
                                    MPI_LONG_DOUBLE_INT, MPI_2INT})
        if (type == each)
            return true;
    return false;
}

/* A message of these elements and no others, to oneself, received as `count` of a type. */
MPI_Status receive(const std::vector<MPI_Datatype> &elements, const Listed &as, int count)
{
    std::vector<int> lengths(elements.size(), 1);
    std::vector<MPI_Aint> places;
    for (size_t i = 0; i < elements.size(); ++i)
        places.push_back(static_cast<MPI_Aint>(32 * i));
    MPI_Datatype sent;
    MPI_Type_create_struct(static_cast<int>(elements.size()), lengths.data(), places.data(),
                           elements.data(), &sent);
    MPI_Type_commit(&sent);
    static std::vector<char> to(4 << 20);
    const std::vector<char> from(32 * elements.size() + 32);
    MPI_Status status;
    check_success(MPI_Sendrecv(from.data(), 1, sent, 0, 1, to.data() + (1 << 20), count, as.type, 0,
                               1, MPI_COMM_SELF, &status),
                  as.name + ": received");
    MPI_Type_free(&sent);
    return status;
}

void check_status(const MPI_Status &status, const Listed &type, long elements, long count,
                  const std::string &what)
{
    int small = -1;
    MPI_Count large = -1;
    check_success(MPI_Get_elements(&status, type.type, &small), what);
    check_equal(small, elements, what + ": MPI_Get_elements");
    check_success(MPI_Get_elements_x(&status, type.type, &large), what);
    check_equal(large, elements, what + ": MPI_Get_elements_x");
    large = -1;
    check_success(MPI_Get_elements_c(&status, type.type, &large), what);
    check_equal(large, elements, what + ": MPI_Get_elements_c");
    check_success(MPI_Get_count(&status, type.type, &small), what);
    check_equal(small, count, what + ": MPI_Get_count");
    check_success(MPI_Get_count_c(&status, type.type, &large), what);
    check_equal(large, count, what + ": MPI_Get_count_c");
}

void test_type(Listed type, int count)
{
    if (type.elements != std::vector<MPI_Datatype>{type.type})
        MPI_Type_commit(&type.type);
    const std::vector<MPI_Datatype> all = repeat(type.elements, count);
    const auto whole = static_cast<long>(type.elements.size());
    long elements = 0; // of which a pair has two
    for (size_t n = 0; n <= all.size(); ++n) {
        const long come = static_cast<long>(n);
        const long instances = whole == 0 ? 0 : come % whole == 0 ? come / whole : MPI_UNDEFINED;
        const std::string what =
            type.name + ", " + std::to_string(n) + " of " + std::to_string(all.size());
        check_status(receive({all.begin(), all.begin() + come}, type, count), type, elements,
                     instances, what);

        MPI_Status set;
        std::memset(&set, 0, sizeof set);
        check_success(MPI_Status_set_elements(&set, type.type, static_cast<int>(elements)),
                      what + ", set");
        check_status(set, type, elements, instances, what + ", set");
        std::memset(&set, 0, sizeof set);
        check_success(MPI_Status_set_elements_x(&set, type.type, elements), what + ", set_x");
        check_status(set, type, elements, instances, what + ", set_x");
        if (n < all.size())
            elements += is_pair(all[n]) ? 2 : 1;
    }
}

/* Types of random constructors around structs, of at most 40 elements. */
void test_random(int cases)
{
    std::mt19937 random(29);
    const auto number = [&](int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random);
    };
    const std::vector<Listed> basics = {
        predefined(MPI_INT, "int"), predefined(MPI_DOUBLE, "double"), predefined(MPI_CHAR, "char"),
        predefined(MPI_DOUBLE_INT, "double_int")};
    const auto basic = [&] { return basics[static_cast<size_t>(number(0, 3))]; };
    for (int i = 0; i < cases; ++i) {
        Listed type =
            structure({basic(), basic(), basic()}, {number(0, 2), number(1, 2), number(0, 2)});
        for (int depth = number(1, 3); depth > 0; --depth) {
            const Listed old = type;
            switch (number(0, 8)) {
            case 0:
                type = contiguous(old, number(1, 3));
                break;
            case 1:
                type = vector(old, number(1, 3), number(1, 2));
                break;
            case 2:
                type = vector_large(old, number(1, 3), number(1, 2));
                break;
            case 3:
                type = indexed(old);
                break;
            case 4:
                type = resized(old);
                break;
            case 5:
                type = duplicate(old);
                break;
            case 6:
                type = subarray(old, number(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN);
                break;
            case 7:
                type = darray(old);
                break;
            default:
                type = structure({basic(), old}, {1, number(0, 2)});
            }
        }
        if (type.elements.size() <= 40 && extent_of(type.type) < (1 << 20))
            test_type(type, 2);
    }
}

/* Counts beyond an int's. */
void test_large()
{
    constexpr MPI_Count giga = MPI_Count{1} << 30;
    Listed large = predefined(MPI_DATATYPE_NULL, "3 Gi ints");
    MPI_Type_contiguous_c(3 * giga, MPI_INT, &large.type);
    MPI_Type_commit(&large.type);
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    int small = 0;
    MPI_Count count = 0;
    check_success(MPI_Status_set_elements_x(&status, large.type, 6 * giga), large.name);
    check_success(MPI_Get_elements(&status, large.type, &small), large.name);
    check_equal(small, MPI_UNDEFINED, large.name + ": elements, as an int");
    check_success(MPI_Get_elements_x(&status, large.type, &count), large.name);
    check_equal(count, 6 * giga, large.name + ": elements");
    check_success(MPI_Get_count(&status, large.type, &small), large.name);
    check_equal(small, 2, large.name + ": count");
    MPI_Type_free(&large.type);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const Listed i = predefined(MPI_INT, "int"), d = predefined(MPI_DOUBLE, "double"),
                     c = predefined(MPI_CHAR, "char");
        const Listed pair = predefined(MPI_DOUBLE_INT, "double_int"),
                     two = predefined(MPI_2INT, "2int");
        const Listed complex = predefined(MPI_C_DOUBLE_COMPLEX, "complex"), none = contiguous(i, 0);
        const Listed mixed = structure({i, d}, {1, 1});
        for (const Listed &each : {i,
                                   complex,
                                   pair,
                                   two,
                                   none,
                                   contiguous(i, 3),
                                   vector(d, 2, 2),
                                   contiguous(pair, 2),
                                   vector(two, 2, 1),
                                   structure({i, none, d}, {1, 1, 1}),
                                   structure({none, none}, {1, 2}),
                                   structure({pair, i}, {1, 2}),
                                   mixed,
                                   structure({c, pair, c}, {3, 2, 1}),
                                   contiguous(mixed, 2),
                                   vector(mixed, 2, 2),
                                   vector_large(mixed, 2, 1),
                                   indexed(mixed),
                                   hindexed_block(mixed),
                                   resized(mixed),
                                   duplicate(mixed),
                                   subarray(mixed, MPI_ORDER_C),
                                   subarray(mixed, MPI_ORDER_FORTRAN),
                                   darray(mixed),
                                   structure({darray(mixed), i}, {2, 1}),
                                   structure({vector(structure({i, d}, {3, 2}), 2, 3), c}, {1, 1})})
            for (const int count : {1, 2})
                test_type(each, count);
        test_random(60);
        test_large();
    });
}
