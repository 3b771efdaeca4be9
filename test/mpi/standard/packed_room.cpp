// SPDX-License-Identifier: BSD-3-Clause
// Packing into too few bytes, and unpacking from too few, is an error: nothing is written, the
// position stays. And the sizes that MPI tells, beyond 31 bits too.
// processes: 1 2
// memory: host device managed mixed
#include "standard_test.hpp"

#include <algorithm>

using namespace standard_test;

namespace {

constexpr unsigned char kFill = 0x5a;

/* Whether all bytes are as they were filled. */
bool untouched(const Memory &memory)
{
    const std::vector<unsigned char> bytes = memory.get<unsigned char>();
    return std::all_of(bytes.begin(), bytes.end(),
                       [](unsigned char each) { return each == kFill; });
}

/* `bytes` of packed data into `room` bytes from `position` on, which are too few. */
void test_pack(MPI_Datatype type, int count, int position, int room, const std::string &what)
{
    const Memory from(4096, 1), to(4096, kFill);
    int at = position;
    check(MPI_Pack(from.at(), count, type, to.at(), position + room, &at, MPI_COMM_SELF) !=
              MPI_SUCCESS,
          what + ": packed");
    check_equal(at, position, what + ": position");
    MPI_Aint external_at = position;
    check(MPI_Pack_external("external32", from.at(), count, type, to.at(), position + room,
                            &external_at) != MPI_SUCCESS,
          what + ": packed in external32");
    check_equal(external_at, position, what + ": position in external32");
    MPI_Count large_at = position;
    check(MPI_Pack_c(from.at(), count, type, to.at(), position + room, &large_at, MPI_COMM_SELF) !=
              MPI_SUCCESS,
          what + ": packed, large");
    check(MPI_Pack_external_c("external32", from.at(), count, type, to.at(), position + room,
                              &large_at) != MPI_SUCCESS,
          what + ": packed in external32, large");
    check(untouched(to), what + ": bytes were written");
}

void test_unpack(MPI_Datatype type, int count, int position, int room, const std::string &what)
{
    const Memory from(4096, 1), to(4096, kFill);
    int at = position;
    check(MPI_Unpack(from.at(), position + room, &at, to.at(), count, type, MPI_COMM_SELF) !=
              MPI_SUCCESS,
          what + ": unpacked");
    check_equal(at, position, what + ": position");
    MPI_Aint external_at = position;
    check(MPI_Unpack_external("external32", from.at(), position + room, &external_at, to.at(),
                              count, type) != MPI_SUCCESS,
          what + ": unpacked from external32");
    check_equal(external_at, position, what + ": position in external32");
    MPI_Count large_at = position;
    check(MPI_Unpack_c(from.at(), position + room, &large_at, to.at(), count, type,
                       MPI_COMM_SELF) != MPI_SUCCESS,
          what + ": unpacked, large");
    check(MPI_Unpack_external_c("external32", from.at(), position + room, &large_at, to.at(), count,
                                type) != MPI_SUCCESS,
          what + ": unpacked from external32, large");
    check(untouched(to), what + ": bytes were written");
}

/* A room that is just enough, behind other data. */
void test_exact(MPI_Datatype type, int count, int bytes, const std::string &what)
{
    const Memory from(4096, 1), to(4096, kFill);
    int at = 12;
    check_success(MPI_Pack(from.at(), count, type, to.at(), 12 + bytes, &at, MPI_COMM_SELF), what);
    check_equal(at, 12 + bytes, what + ": position");
    check_equal(to.get<unsigned char>()[static_cast<size_t>(12 + bytes)], kFill,
                what + ": the byte behind it");
    at = 12;
    check_success(MPI_Unpack(to.at(), 12 + bytes, &at, from.at(), count, type, MPI_COMM_SELF),
                  what + ", unpacked");
    check_equal(at, 12 + bytes, what + ": position after unpacking");
}

void test_sizes()
{
    constexpr MPI_Count giga = MPI_Count{1} << 30;
    MPI_Datatype large;
    MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &large);
    MPI_Type_commit(&large);
    MPI_Aint size = 0;
    MPI_Count count = 0;
    check_success(MPI_Pack_external_size("external32", 1, large, &size), "external size of 8 GiB");
    check_equal(size, 8 * giga, "external size of 8 GiB");
    check_success(MPI_Pack_external_size("external32", 1 << 30, MPI_INT, &size),
                  "external size of 4 GiB");
    check_equal(size, 4 * giga, "external size of 4 GiB");
    check_success(MPI_Pack_external_size_c("external32", 3, large, &count),
                  "external size, large count");
    check_equal(count, 24 * giga, "external size, large count");
    check_success(MPI_Pack_external_size("external32", 7, MPI_LONG, &size),
                  "external size of longs");
    check_equal(size, 28, "external size of longs");
    check(MPI_Pack_external_size("external64", 1, MPI_INT, &size) != MPI_SUCCESS,
          "there is no external64");
    MPI_Type_free(&large);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Datatype vector, structure;
        MPI_Type_vector(5, 1, 3, MPI_INT, &vector);
        const int lengths[] = {1, 1};
        const MPI_Aint places[] = {0, 8};
        const MPI_Datatype members[] = {MPI_INT, MPI_DOUBLE};
        MPI_Type_create_struct(2, lengths, places, members, &structure);
        for (MPI_Datatype *each : {&vector, &structure})
            MPI_Type_commit(each);
        const struct {
            const char *name;
            MPI_Datatype type;
            int count, bytes;
        } cases[] = {{"ints", MPI_INT, 4, 16},
                     {"doubles", MPI_DOUBLE, 1, 8},
                     {"a vector", vector, 2, 40},
                     {"structs", structure, 3, 36},
                     {"pairs", MPI_DOUBLE_INT, 2, 24}};
        for (const auto &each : cases) {
            test_exact(each.type, each.count, each.bytes, each.name);
            for (const int room : {0, 1, each.bytes - 1})
                for (const int position : {0, 12}) {
                    test_pack(each.type, each.count, position, room, each.name);
                    test_unpack(each.type, each.count, position, room, each.name);
                }
        }
        test_sizes();
        for (MPI_Datatype *each : {&vector, &structure})
            MPI_Type_free(each);
    });
}
