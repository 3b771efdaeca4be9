/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes of every combiner, as the interposer rebuilds them: MPI_Pack and MPI_Unpack of device
 * memory must do what the MPI itself does with the same bytes in host memory.
 */
#include "device_test.hpp"

#include <functional>
#include <utility>

using namespace device_test;

/* A type, freed when it goes, unless it is predefined. */
class Type {
public:
    Type(MPI_Datatype type, bool is_own = true) : type_(type), is_own_(is_own)
    {
        if (is_own_)
            MPI_Type_commit(&type_);
    }
    Type(Type &&other) noexcept
        : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)), is_own_(other.is_own_)
    {
    }
    ~Type()
    {
        if (is_own_ && type_ != MPI_DATATYPE_NULL)
            MPI_Type_free(&type_);
    }
    operator MPI_Datatype() const { return type_; }

private:
    MPI_Datatype type_;
    bool is_own_;
};

/* make(MPI_Type_vector, 3, 1, 2, MPI_INT) */
template <class Constructor, class... Arguments>
static Type make(Constructor constructor, Arguments... arguments)
{
    MPI_Datatype type;
    constructor(arguments..., &type);
    return type;
}

static std::vector<std::byte> noise(size_t n, unsigned seed)
{
    std::vector<std::byte> bytes(n);
    for (std::byte &each : bytes)
        each = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
    return bytes;
}

/* Where `count` instances lie in a buffer that has all of them. */
struct Span {
    size_t before, bytes;

    Span(MPI_Datatype type, int count)
    {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        const MPI_Aint last = extent * (count - 1);
        MPI_Type_get_true_extent(type, &lb, &extent);
        const MPI_Aint low = std::min<MPI_Aint>({lb, lb + last, 0}),
                       high = std::max<MPI_Aint>({lb, lb + last, 0}) + extent;
        before = static_cast<size_t>((-low + 63) / 64 * 64);
        bytes = before + static_cast<size_t>(high) + 64;
    }
};

static void same(const std::string &what, const std::vector<std::byte> &found,
                 const std::vector<std::byte> &expected)
{
    for (size_t i = 0; i < expected.size(); ++i)
        if (found[i] != expected[i])
            return fail(what + ": byte " + std::to_string(i) + " of " +
                        std::to_string(expected.size()) + " differs");
}

/* Receives overlap in no type here. */
static void compare(const std::string &name, MPI_Datatype type)
{
    for (const int count : {1, 3}) {
        const std::string what = name + ", " + std::to_string(count);
        const Span span(type, count);
        int size = 0, end = 0, device_end = 0;
        MPI_Type_size(type, &size);
        const size_t packed_bytes = static_cast<size_t>(size) * static_cast<size_t>(count);
        const int room = static_cast<int>(packed_bytes);
        const std::vector<std::byte> data = noise(span.bytes, 7), filling = noise(span.bytes, 99);
        std::vector<std::byte> packed(packed_bytes + 1), host = filling, from_device = packed;
        const gpu::Memory device(own_device(), span.bytes);

        device.write(0, data.data(), data.size());
        MPI_Pack(data.data() + span.before, count, type, packed.data(), room, &end, MPI_COMM_WORLD);
        MPI_Pack(device.at() + span.before, count, type, from_device.data(), room, &device_end,
                 MPI_COMM_WORLD);
        check(end == device_end && end == room, what + ": the positions differ");
        same(what + ", packed", from_device, packed);

        end = device_end = 0;
        device.write(0, filling.data(), filling.size());
        MPI_Unpack(packed.data(), room, &end, host.data() + span.before, count, type,
                   MPI_COMM_WORLD);
        MPI_Unpack(packed.data(), room, &device_end, device.at() + span.before, count, type,
                   MPI_COMM_WORLD);
        std::vector<std::byte> found(span.bytes);
        device.read(0, found.data(), found.size());
        same(what + ", unpacked", found, host);

        MPI_Status status; /* a message shows what MPI makes of dense stand-ins */
        device.write(0, filling.data(), filling.size());
        MPI_Sendrecv(data.data() + span.before, count, type, 0, 1, device.at() + span.before, count,
                     type, 0, 1, MPI_COMM_SELF, &status);
        device.read(0, found.data(), found.size());
        same(what + ", received", found, host);
        int elements = -1;
        MPI_Get_count(&status, MPI_BYTE, &elements);
        check(elements == room, what + ": the status tells of " + std::to_string(elements));
        device.write(0, filling.data(), filling.size());
        MPI_Allgather(data.data() + span.before, count, type, device.at() + span.before, count,
                      type, MPI_COMM_SELF);
        device.read(0, found.data(), found.size());
        same(what + ", gathered", found, host);
    }
}

/* Without a Fortran compiler MPIs have no Fortran types: null ones, or those of no size. */
static bool is_there(MPI_Datatype type)
{
    int size = 0;
    if (type != MPI_DATATYPE_NULL)
        MPI_Type_size(type, &size);
    return size > 0; /* MPI_UNDEFINED is negative */
}

static void named()
{
    const std::pair<const char *, MPI_Datatype> all[] = {
#define NAMED(type) {#type, type}
        NAMED(MPI_BYTE),
        NAMED(MPI_PACKED),
        NAMED(MPI_CHAR),
        NAMED(MPI_SIGNED_CHAR),
        NAMED(MPI_UNSIGNED_CHAR),
        NAMED(MPI_WCHAR),
        NAMED(MPI_SHORT),
        NAMED(MPI_UNSIGNED_SHORT),
        NAMED(MPI_INT),
        NAMED(MPI_UNSIGNED),
        NAMED(MPI_LONG),
        NAMED(MPI_UNSIGNED_LONG),
        NAMED(MPI_LONG_LONG),
        NAMED(MPI_UNSIGNED_LONG_LONG),
        NAMED(MPI_FLOAT),
        NAMED(MPI_DOUBLE),
        NAMED(MPI_LONG_DOUBLE),
        NAMED(MPI_C_BOOL),
        NAMED(MPI_C_FLOAT_COMPLEX),
        NAMED(MPI_C_DOUBLE_COMPLEX),
        NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
        NAMED(MPI_CXX_BOOL),
        NAMED(MPI_CXX_FLOAT_COMPLEX),
        NAMED(MPI_CXX_DOUBLE_COMPLEX),
        NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
        NAMED(MPI_INT8_T),
        NAMED(MPI_INT16_T),
        NAMED(MPI_INT32_T),
        NAMED(MPI_INT64_T),
        NAMED(MPI_UINT8_T),
        NAMED(MPI_UINT16_T),
        NAMED(MPI_UINT32_T),
        NAMED(MPI_UINT64_T),
        NAMED(MPI_AINT),
        NAMED(MPI_OFFSET),
        NAMED(MPI_COUNT),
        NAMED(MPI_FLOAT_INT),
        NAMED(MPI_DOUBLE_INT),
        NAMED(MPI_LONG_INT),
        NAMED(MPI_SHORT_INT),
        NAMED(MPI_2INT),
        NAMED(MPI_LONG_DOUBLE_INT),
        NAMED(MPI_CHARACTER),
        NAMED(MPI_LOGICAL),
        NAMED(MPI_INTEGER),
        NAMED(MPI_REAL),
        NAMED(MPI_DOUBLE_PRECISION),
        NAMED(MPI_COMPLEX),
        NAMED(MPI_DOUBLE_COMPLEX),
        NAMED(MPI_INTEGER1),
        NAMED(MPI_INTEGER2),
        NAMED(MPI_INTEGER4),
        NAMED(MPI_INTEGER8),
        NAMED(MPI_REAL4),
        NAMED(MPI_REAL8),
        NAMED(MPI_COMPLEX8),
        NAMED(MPI_COMPLEX16),
        NAMED(MPI_2REAL),
        NAMED(MPI_2INTEGER),
        NAMED(MPI_2DOUBLE_PRECISION),
#undef NAMED
    };
    for (const auto &[name, type] : all)
        if (is_there(type))
            compare(name, type);
}

static void parametrized()
{
    MPI_Datatype type;
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type);
    if (!is_there(type))
        return;
    for (const int digits : {6, 15}) {
        MPI_Type_create_f90_real(digits, MPI_UNDEFINED, &type);
        compare("f90_real", type);
        compare("a vector of f90_real", make(MPI_Type_vector, 3, 1, 2, type));
        MPI_Type_create_f90_complex(digits, MPI_UNDEFINED, &type);
        compare("f90_complex", type);
    }
    for (const int range : {2, 4, 9, 18}) {
        MPI_Type_create_f90_integer(range, &type);
        compare("f90_integer", type);
    }
}

/* Members of several types, out of order, with a gap inside. */
static Type mixed()
{
    const int lengths[] = {2, 1, 0, 3};
    const MPI_Aint places[] = {24, 0, 100, 9};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_FLOAT, MPI_CHAR};
    return make(MPI_Type_create_struct, 4, lengths, places, types);
}

static void constructed(const std::string &of, MPI_Datatype old)
{
    const int lengths[] = {2, 0, 3, 1}, places[] = {7, 4, 0, 5};
    const MPI_Aint far[] = {704, 512, 0, 576};
    const int sizes[] = {4, 5, 6}, parts[] = {2, 3, 4}, starts[] = {1, 2, 1};
    compare("dup of " + of, make(MPI_Type_dup, old));
    compare("contiguous of " + of, make(MPI_Type_contiguous, 5, old));
    compare("none of " + of, make(MPI_Type_contiguous, 0, old));
    compare("vector of " + of, make(MPI_Type_vector, 4, 2, 3, old));
    compare("backward vector of " + of, make(MPI_Type_vector, 4, 1, -2, old));
    compare("hvector of " + of, make(MPI_Type_create_hvector, 3, 2, MPI_Aint{264}, old));
    compare("indexed of " + of, make(MPI_Type_indexed, 4, lengths, places, old));
    compare("hindexed of " + of, make(MPI_Type_create_hindexed, 4, lengths, far, old));
    compare("indexed_block of " + of, make(MPI_Type_create_indexed_block, 3, 1, places, old));
    compare("hindexed_block of " + of, make(MPI_Type_create_hindexed_block, 3, 2, far, old));
    compare("resized of " + of, make(MPI_Type_create_resized, old, MPI_Aint{-16}, MPI_Aint{1024}));
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        compare("subarray of " + of,
                make(MPI_Type_create_subarray, 3, sizes, parts, starts, order, old));
    const MPI_Datatype members[] = {old, MPI_SHORT, old};
    compare("struct of " + of, make(MPI_Type_create_struct, 3, lengths, far, members));
}

/* Every distribution in two dimensions, for each of six processes. */
/* Intel MPI 2021.17 deals blocks of several, outside of another dimension, in an order that neither
 * MPI 4.0 (section 5.1.4) nor other MPIs know. */
static bool deals_as_defined()
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    return std::strstr(version, "Intel") == nullptr;
}

static void distributed()
{
    if (!deals_as_defined())
        return;
    struct Way {
        int distribution, argument;
    };
    const Way ways[] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG},
                        {MPI_DISTRIBUTE_BLOCK, 5},
                        {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG},
                        {MPI_DISTRIBUTE_CYCLIC, 2},
                        {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG}};
    const int sizes[] = {9, 11};
    for (const Way &a : ways)
        for (const Way &b : ways)
            for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
                const auto processes = [](const Way &way, int n) {
                    return way.distribution == MPI_DISTRIBUTE_NONE ? 1 : n;
                };
                const int grid[] = {processes(a, 2), processes(b, 3)};
                const int distributions[] = {a.distribution, b.distribution};
                const int arguments[] = {a.argument, b.argument};
                for (int r = 0; r < grid[0] * grid[1]; ++r)
                    compare("darray " + std::to_string(&a - ways) + std::to_string(&b - ways) +
                                (order == MPI_ORDER_C ? ", C" : ", Fortran") + ", process " +
                                std::to_string(r),
                            make(MPI_Type_create_darray, grid[0] * grid[1], r, 2, sizes,
                                 distributions, arguments, grid, order, MPI_INT));
            }
}

#if MPI_VERSION >= 4
static void large()
{
    const MPI_Count lengths[] = {2, 0, 3}, places[] = {7, 4, 0}, far[] = {704, 512, 0};
    const MPI_Count sizes[] = {4, 5, 6}, parts[] = {2, 3, 4}, starts[] = {1, 2, 1};
    const MPI_Datatype old = MPI_DOUBLE, members[] = {MPI_DOUBLE, MPI_SHORT, MPI_INT};
    const MPI_Count n = 3;
    compare("contiguous_c", make(MPI_Type_contiguous_c, n, old));
    compare("vector_c", make(MPI_Type_vector_c, n, MPI_Count{2}, MPI_Count{5}, old));
    compare("hvector_c", make(MPI_Type_create_hvector_c, n, MPI_Count{2}, MPI_Count{64}, old));
    compare("indexed_c", make(MPI_Type_indexed_c, n, lengths, places, old));
    compare("hindexed_c", make(MPI_Type_create_hindexed_c, n, lengths, far, old));
    compare("indexed_block_c", make(MPI_Type_create_indexed_block_c, n, MPI_Count{1}, places, old));
    compare("hindexed_block_c", make(MPI_Type_create_hindexed_block_c, n, MPI_Count{2}, far, old));
    compare("struct_c", make(MPI_Type_create_struct_c, n, lengths, far, members));
    compare("resized_c", make(MPI_Type_create_resized_c, old, MPI_Count{-8}, MPI_Count{40}));
    for (const int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN})
        compare("subarray_c",
                make(MPI_Type_create_subarray_c, 3, sizes, parts, starts, order, old));
    if (!deals_as_defined())
        return;
    const MPI_Count extents[] = {9, 11};
    const int ways[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, grid[] = {2, 3};
    const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    for (int r = 0; r < 6; ++r)
        compare("darray_c", make(MPI_Type_create_darray_c, 6, r, 2, extents, ways, arguments, grid,
                                 MPI_ORDER_C, old));
}
#endif

/* A type's handle may be another's later: nothing of the first may stay. */
static void handles_again()
{
    for (int i = 1; i < 50; ++i)
        compare("made again", make(MPI_Type_vector, 3 + i % 4, 1 + i % 2, 3 + i % 3, MPI_INT));
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        named();
        parametrized();
        compare("mixed", mixed());
        constructed("double", MPI_DOUBLE);
        constructed("a pair", MPI_DOUBLE_INT);
        constructed("vector", make(MPI_Type_vector, 2, 1, 3, MPI_INT));
        constructed("mixed", mixed());
        constructed("resized", make(MPI_Type_create_resized, MPI_INT, MPI_Aint{-4}, MPI_Aint{24}));
        distributed();
#if MPI_VERSION >= 4
        large();
#endif
        handles_again();
    });
}
