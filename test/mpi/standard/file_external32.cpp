/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files in external32: what each data call leaves in a file, and what it makes of a file, short
 * ones too.
 *
 * processes: 1 2 3
 * memory: host device managed mixed
 */
#include "file_calls.hpp"

#include <algorithm>

using namespace standard_test;

namespace {

/* An element of a buffer: where it lies, its size in memory and in a file. All hold numbers that
 * fit 31 bits.
 */
struct Element {
    MPI_Aint at;
    int size, in_file;
    bool real;
};

struct Buffer {
    std::string name;
    MPI_Datatype type;
    int count;
    std::vector<Element> elements; /* of all instances */
    MPI_Aint lowest, end;          /* bytes before and from the address on */
};

Buffer make(const std::string &name, MPI_Datatype type, int count, const std::vector<Element> &one)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    Buffer b{name, type, count, {}, 0, 0};
    for (int i = 0; i < count; ++i)
        for (Element e : one) {
            e.at += i * extent;
            b.lowest = std::min(b.lowest, e.at);
            b.end = std::max(b.end, e.at + e.size);
            b.elements.push_back(e);
        }
    MPI_Type_commit(&b.type);
    return b;
}

std::vector<Buffer> buffers()
{
    const Element i{0, 4, 4, false}, l{0, sizeof(long), 4, false}, d{0, 8, 8, true};
    const auto at = [](Element e, MPI_Aint a) {
        e.at = a;
        return e;
    };
    const MPI_Aint apart[2] = {64, 16}, before[2] = {-24, 8}, places[3] = {0, 16, 40};
    const int lengths[2] = {1, 2}, members[3] = {1, 2, 1};
    const MPI_Datatype kinds[3] = {MPI_LONG, MPI_DOUBLE, MPI_INT};
    MPI_Datatype copy, vector, hindexed, negative, record, wide;
    MPI_Type_dup(MPI_LONG, &copy);
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_create_hindexed(2, lengths, apart, MPI_DOUBLE, &hindexed);
    MPI_Type_create_hindexed(2, lengths, before, MPI_LONG, &negative);
    MPI_Type_create_struct(3, members, places, kinds, &record);
    MPI_Type_create_resized(MPI_INT, 0, 16, &wide);
    return {make("int", MPI_INT, 5, {i}),
            make("long", MPI_LONG, 7, {l}),
            make("long, duplicate", copy, 3, {l}),
            make("vector of int", vector, 3, {i, at(i, 8), at(i, 16)}),
            make("hindexed of double", hindexed, 2, {at(d, 64), at(d, 16), at(d, 24)}),
            make("hindexed of long, before its address", negative, 2,
                 {at(l, -24), at(l, 8), at(l, 16)}),
            make("struct", record, 3, {at(l, 0), at(d, 16), at(d, 24), at(i, 40)}),
            make("resized int", wide, 4, {i})};
}

int number(int process, size_t element)
{
    return process * 1000 + static_cast<int>(element) * 3 + 1;
}

/* A number as it lies in memory, and, from behind, in a file. */
std::vector<unsigned char> bytes_of(const Element &e, int value, bool in_file)
{
    std::vector<unsigned char> bytes(e.size);
    const double real = value;
    const long whole = value;
    std::memcpy(bytes.data(), e.real ? static_cast<const void *>(&real) : &whole, e.size);
    if (in_file) {
        bytes.resize(e.in_file);
        std::reverse(bytes.begin(), bytes.end());
    }
    return bytes;
}

long file_size(const Buffer &b)
{
    long sum = 0;
    for (const Element &e : b.elements)
        sum += e.in_file;
    return sum;
}

std::vector<unsigned char> file_image(const Buffer &b)
{
    std::vector<unsigned char> all;
    for (int p = 0; p < size; ++p)
        for (size_t i = 0; i < b.elements.size(); ++i)
            for (const unsigned char byte : bytes_of(b.elements[i], number(p, i), true))
                all.push_back(byte);
    return all;
}

constexpr unsigned char kUntouched = 0x5A;

/* The memory around a buffer with its first `elements` in it. */
std::vector<unsigned char> memory_image(const Buffer &b, size_t elements)
{
    std::vector<unsigned char> all(b.end - b.lowest + 64, kUntouched);
    for (size_t i = 0; i < elements; ++i) {
        const auto bytes = bytes_of(b.elements[i], number(rank, i), false);
        std::copy(bytes.begin(), bytes.end(), all.begin() + (b.elements[i].at - b.lowest));
    }
    return all;
}

/* Each process has its part of the file, one after the other,
 * and a shared pointer comes there by itself. */
void there_and_back(const File &file, const Form &form, const Buffer &b)
{
    const std::string what = form.name + " of " + b.name;
    const auto image = file_image(b);
    const MPI_Offset offset = form.pointer == Pointer::shared ? 0 : rank * file_size(b);
    const auto rewind = [&] {
        MPI_File_seek(file, form.pointer == Pointer::individual ? offset : 0, MPI_SEEK_SET);
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    };
    MPI_Status status;
    int elements = -1;
    file.put({});
    rewind();
    const auto full = memory_image(b, b.elements.size());
    const Memory out(full.size()), in(full.size(), kUntouched);
    out.put(full);
    if (check_success(
            file.run(form, form.write, offset, out.at() - b.lowest, b.count, b.type, &status),
            "write" + what)) {
        MPI_Get_count(&status, b.type, &elements);
        check_equal(elements, b.count, "write" + what + ": count");
    }
    check(file.get() == image, "write" + what + ": the file differs");
    file.put(image);
    rewind();
    if (check_success(
            file.run(form, form.read, offset, in.at() - b.lowest, b.count, b.type, &status),
            "read" + what)) {
        MPI_Get_count(&status, b.type, &elements);
        check_equal(elements, b.count, "read" + what + ": count");
    }
    check(in.get<unsigned char>() == full, "read" + what + ": memory differs");
}

/* A file that ends amid a buffer: what is there whole is read, and told. */
void short_file(const File &file, const Buffer &b)
{
    auto image = file_image(b);
    const long there = file_size(b) - 7;
    image.resize(there);
    file.put(image);
    size_t whole = 0;
    long bytes = 0, left = there;
    while (left >= b.elements[whole].in_file) {
        left -= b.elements[whole].in_file;
        bytes += b.elements[whole++].size;
    }
    const auto expected = [&] {
        auto all = memory_image(b, 0);
        for (size_t i = 0; i < whole; ++i) {
            const auto part = bytes_of(b.elements[i], number(0, i), false);
            std::copy(part.begin(), part.end(), all.begin() + (b.elements[i].at - b.lowest));
        }
        return all;
    }();
    for (const bool later : {false, true}) {
        const Memory in(expected.size(), kUntouched);
        const std::string what = std::string(later ? "MPI_File_iread_at" : "MPI_File_read_at") +
                                 " of a short file, " + b.name;
        MPI_Status status;
        MPI_Request request;
        const int error =
            later ? MPI_File_iread_at(file, 0, in.at() - b.lowest, b.count, b.type, &request)
                  : MPI_File_read_at(file, 0, in.at() - b.lowest, b.count, b.type, &status);
        check_success(error ? error : later ? MPI_Wait(&request, &status) : MPI_SUCCESS, what);
        MPI_Count found = -1;
        MPI_Get_elements_x(&status, MPI_BYTE, &found);
        check_equal(found, bytes, what + ": bytes");
        check(in.get<unsigned char>() == expected, what + ": memory differs");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Etypes and file types have their elements' sizes in the file; what get_view tells is what
 * set_view was given. */
void long_views(const File &file)
{
    MPI_Datatype apart, told_etype, told_type;
    MPI_Aint extent = -1;
    MPI_Offset told_disp;
    char told_name[MPI_MAX_DATAREP_STRING];
    MPI_Type_vector(3, 1, 2 * size, MPI_LONG, &apart);
    MPI_Type_commit(&apart);
    file.put({});
    check_success(MPI_File_set_view(file, 4 * rank, MPI_LONG, apart, "external32", MPI_INFO_NULL),
                  "set_view of longs");
    check_success(MPI_File_get_type_extent(file, MPI_LONG, &extent), "MPI_File_get_type_extent");
    check_equal(extent, 4, "extent of MPI_LONG in the file");
    check_success(MPI_File_get_type_extent(file, apart, &extent), "MPI_File_get_type_extent");
    check_equal(extent, 4 * (4 * size + 1), "extent of a vector of MPI_LONG in the file");
    MPI_File_get_view(file, &told_disp, &told_etype, &told_type, told_name);
    check(told_etype == MPI_LONG && std::string(told_name) == "external32", "the etype of a view");
    MPI_Aint lower, given;
    MPI_Type_get_extent(told_type, &lower, &extent);
    MPI_Type_get_extent(apart, &lower, &given);
    check_equal(extent, given, "extent of the file type that get_view tells");
    MPI_Type_free(&told_type);

    const long numbers[3] = {number(rank, 0), number(rank, 1), number(rank, 2)};
    long back[2] = {};
    check_success(MPI_File_write_all(file, numbers, 3, MPI_LONG, MPI_STATUS_IGNORE),
                  "write_all of longs");
    MPI_Offset position = -1;
    MPI_File_get_position(file, &position);
    check_equal(position, 3, "position, in longs");
    MPI_Barrier(MPI_COMM_WORLD);
    const auto found = file.get();
    for (size_t i = 0; i < 3; ++i) {
        const auto bytes = bytes_of({0, sizeof(long), 4, false}, number(rank, i), true);
        const size_t at = 4 * (rank + 2 * size * i);
        check(found.size() >= at + 4 && std::equal(bytes.begin(), bytes.end(), found.begin() + at),
              "a long in a view");
    }
    check_success(MPI_File_read_at_all(file, 1, back, 2, MPI_LONG, MPI_STATUS_IGNORE),
                  "read_at_all of longs");
    check(back[0] == numbers[1] && back[1] == numbers[2], "longs read through a view");
    MPI_Type_free(&apart);
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const File file("file_external32");
        check_success(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL),
                      "MPI_File_set_view");
        const std::vector<Buffer> all = buffers();
        size_t turn = 0;
        for (const Form &form : forms())
            for (size_t i = 0; i < 2; ++i, turn += 3)
                there_and_back(file, form, all[turn % all.size()]);
        for (const Buffer &b : all)
            short_file(file, b);
        long_views(file);
    });
}
