// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack and their external32 and large-count forms, of buffers at addresses and of
// types of absolute addresses at MPI_BOTTOM, which may lead into several memories. Null buffers are
// legal where nothing moves.
// processes: 1 2
// memory: host device managed mixed
#include "standard_test.hpp"

#include <algorithm>

using namespace standard_test;

namespace {

constexpr int kBlocks = 100; // of one int, every other one

enum class Form { small, large };

/* The ints that a block holds, in their order. */
std::vector<int> values(int first)
{
    std::vector<int> ints(2 * kBlocks);
    for (int i = 0; i < 2 * kBlocks; ++i)
        ints[i] = first + i;
    return ints;
}

/* Two buffers of every second int, as one type of absolute addresses. */
struct Absolute {
    Memory one{2 * kBlocks * sizeof(int)}, other{2 * kBlocks * sizeof(int)};
    MPI_Datatype type = MPI_DATATYPE_NULL;

    Absolute()
    {
        MPI_Datatype every_second;
        MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &every_second);
        MPI_Aint addresses[2];
        MPI_Get_address(one.at(), &addresses[0]);
        MPI_Get_address(other.at(), &addresses[1]);
        const int lengths[] = {1, 1};
        MPI_Type_create_hindexed(2, lengths, addresses, every_second, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&every_second);
    }
    ~Absolute() { MPI_Type_free(&type); }
    Absolute(const Absolute &) = delete;

    void put(int first) const
    {
        one.put(values(first));
        other.put(values(first + 1000));
    }
    /* What packing gives. */
    static std::vector<int> packed(int first)
    {
        std::vector<int> ints;
        for (int part = 0; part < 2; ++part)
            for (int i = 0; i < kBlocks; ++i)
                ints.push_back(first + 1000 * part + 2 * i);
        return ints;
    }
};

void check_ints(const std::vector<int> &found, const std::vector<int> &expected,
                const std::string &what)
{
    check_equal(static_cast<long long>(found.size()), static_cast<long long>(expected.size()),
                what + ": ints");
    for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        if (found[i] != expected[i])
            return check_equal(found[i], expected[i], what + ": int " + std::to_string(i));
}

std::vector<int> swapped(std::vector<int> ints)
{
    for (int &each : ints)
        each = static_cast<int>(__builtin_bswap32(static_cast<unsigned>(each)));
    return ints;
}

int pack(Form form, bool external, const void *buf, int count, MPI_Datatype type, void *packed,
         int size, long *position)
{
    if (external && form == Form::small) {
        MPI_Aint at = *position;
        const int error = MPI_Pack_external("external32", buf, count, type, packed, size, &at);
        *position = at;
        return error;
    }
    if (form == Form::small) {
        int at = static_cast<int>(*position);
        const int error = MPI_Pack(buf, count, type, packed, size, &at, MPI_COMM_SELF);
        *position = at;
        return error;
    }
    MPI_Count at = *position;
    const int error = external
                          ? MPI_Pack_external_c("external32", buf, count, type, packed, size, &at)
                          : MPI_Pack_c(buf, count, type, packed, size, &at, MPI_COMM_SELF);
    *position = at;
    return error;
}

int unpack(Form form, bool external, const void *packed, int size, long *position, void *buf,
           int count, MPI_Datatype type)
{
    if (external && form == Form::small) {
        MPI_Aint at = *position;
        const int error = MPI_Unpack_external("external32", packed, size, &at, buf, count, type);
        *position = at;
        return error;
    }
    if (form == Form::small) {
        int at = static_cast<int>(*position);
        const int error = MPI_Unpack(packed, size, &at, buf, count, type, MPI_COMM_SELF);
        *position = at;
        return error;
    }
    MPI_Count at = *position;
    const int error = external
                          ? MPI_Unpack_external_c("external32", packed, size, &at, buf, count, type)
                          : MPI_Unpack_c(packed, size, &at, buf, count, type, MPI_COMM_SELF);
    *position = at;
    return error;
}

void test_absolute(Form form, bool external)
{
    const std::string what =
        std::string(external ? "external32" : "packed") + (form == Form::large ? ", large" : "");
    const int bytes = 2 * kBlocks * sizeof(int), before = 8;
    Absolute from, to;
    from.put(7);
    to.put(5000);
    Memory packed(bytes + before);
    long position = before;
    check_success(
        pack(form, external, MPI_BOTTOM, 1, from.type, packed.at(), bytes + before, &position),
        what + ": pack");
    check_equal(position, bytes + before, what + ": position");
    std::vector<int> ints = packed.get<int>();
    ints.erase(ints.begin(), ints.begin() + before / 4);
    check_ints(external ? swapped(ints) : ints, Absolute::packed(7), what);

    position = before;
    check_success(
        unpack(form, external, packed.at(), bytes + before, &position, MPI_BOTTOM, 1, to.type),
        what + ": unpack");
    check_equal(position, bytes + before, what + ": position after unpacking");
    std::vector<int> expected = values(5000);
    for (int i = 0; i < 2 * kBlocks; i += 2)
        expected[i] = 7 + i;
    check_ints(to.one.get<int>(), expected, what + ": unpacked");
}

void test_nothing(Form form, bool external)
{
    const std::string what = std::string(external ? "external32" : "packed") + " of nothing";
    MPI_Datatype empty;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    for (const auto &[count, type] : {std::pair{0, MPI_INT}, std::pair{3, empty}}) {
        long position = 4;
        check_success(pack(form, external, nullptr, count, type, nullptr, 4, &position), what);
        check_success(unpack(form, external, nullptr, 4, &position, nullptr, count, type),
                      what + ", unpacked");
        check_equal(position, 4, what + ": position");
    }
    MPI_Type_free(&empty);

    char byte[4] = {};
    long position = 0;
    check_class(pack(form, external, nullptr, 1, MPI_INT, byte, 4, &position), MPI_ERR_BUFFER,
                what + ": a null buffer");
    check_class(unpack(form, external, byte, 4, &position, nullptr, 1, MPI_INT), MPI_ERR_BUFFER,
                what + ": a null buffer");
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const Form form : {Form::small, Form::large})
            for (const bool external : {false, true}) {
                test_absolute(form, external);
                test_nothing(form, external);
            }
    });
}
