/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective data calls that one process makes wrongly: it has an error, through the file's handler
 * and once, the others have their data, and all of them return.
 *
 * processes: 1 2 3 5
 * memory: host device
 */
#include "file_calls.hpp"

using namespace standard_test;

namespace {

constexpr int numbers = 6; /* of each process, in two halves */

struct Arguments {
    void *buffer;
    int count;
    MPI_Datatype type;
    MPI_Offset offset;
};

struct Fault {
    std::string name;
    bool is_of_offset;
    const char *datarep;
    Arguments (*spoil)(Arguments good);
    bool is_of_host_memory = false;
};

MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* More blocks than ROMIO can count (in host memory; others it never sees). */
MPI_Datatype too_many_blocks()
{
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL)
        MPI_Type_create_hvector_c(MPI_Count{1} << 32, 1, 8, MPI_INT, &type);
    return committed(type);
}

/* More bytes than there is memory for. */
MPI_Datatype too_many_bytes()
{
    static MPI_Datatype type = MPI_DATATYPE_NULL;
    if (type == MPI_DATATYPE_NULL)
        MPI_Type_contiguous_c(MPI_Count{1} << 50, MPI_INT, &type);
    return committed(type);
}

const Fault faults[] = {
    {"a negative count", false, "native",
     [](Arguments a) {
         return Arguments{a.buffer, -1, a.type, a.offset};
     }},
    {"no type", false, "native",
     [](Arguments a) {
         return Arguments{a.buffer, a.count, MPI_DATATYPE_NULL, a.offset};
     }},
    {"a part of an etype", false, "native",
     [](Arguments a) {
         return Arguments{a.buffer, 3, MPI_BYTE, a.offset};
     }},
    {"a negative offset", true, "native",
     [](Arguments a) {
         return Arguments{a.buffer, a.count, a.type, -4};
     }},
    {"a null buffer", false, "native",
     [](Arguments a) {
         return Arguments{nullptr, a.count, a.type, a.offset};
     }},
    {"a null buffer in external32", false, "external32",
     [](Arguments a) {
         return Arguments{nullptr, a.count, a.type, a.offset};
     }},
    {"too many blocks", false, "native",
     [](Arguments a) {
         return Arguments{a.buffer, 1, too_many_blocks(), a.offset};
     },
     true},
    {"too many bytes in external32", false, "external32",
     [](Arguments a) {
         return Arguments{a.buffer, 1, too_many_bytes(), a.offset};
     }},
};

int handled;
void count_error(MPI_File *, int *, ...) { ++handled; }

void set_view(MPI_File file, const Form &form, const char *datarep)
{
    static MPI_Datatype in_turns = MPI_DATATYPE_NULL;
    if (in_turns == MPI_DATATYPE_NULL) {
        MPI_Type_create_resized(MPI_INT, 0, 4 * size, &in_turns);
        MPI_Type_commit(&in_turns);
    }
    const bool is_shared = form.pointer == Pointer::shared;
    check_success(MPI_File_set_view(file, is_shared ? 0 : 4 * rank, MPI_INT,
                                    is_shared ? MPI_INT : in_turns, datarep, MPI_INFO_NULL),
                  "set_view");
}

/* Where number `i` of process `who` lies, if those before `i` all were moved together. */
size_t place(const Form &form, int who, int i, int culprit)
{
    if (form.pointer != Pointer::shared)
        return static_cast<size_t>(i * size + who);
    return static_cast<size_t>((who - (who > culprit)) * numbers + i);
}

int value(int who, int i, const char *datarep)
{
    const int plain = 1000 * (who + 1) + i;
    return std::strcmp(datarep, "native") == 0 ? plain : static_cast<int>(__builtin_bswap32(plain));
}

std::vector<unsigned char> whole_file(const Form &form, int culprit, const char *datarep)
{
    std::vector<int> all(static_cast<size_t>(size * numbers));
    for (int who = 0; who < size; ++who)
        for (int i = 0; i < numbers; ++i)
            if (who != culprit)
                all[place(form, who, i, culprit)] = value(who, i, datarep);
    std::vector<unsigned char> bytes(all.size() * 4);
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return bytes;
}

/* The culprit's call is wrong; after it everybody makes a good one without data. */
void one_is_wrong(const File &file, const Form &form, const Fault &fault, bool writes, int culprit)
{
    const std::string what = (writes ? "write" : "read") + form.name + " of " + fault.name +
                             " by process " + std::to_string(culprit);
    const auto expected = whole_file(form, culprit, fault.datarep);
    file.put(writes ? std::vector<unsigned char>(expected.size()) : expected);
    set_view(file, form, fault.datarep);

    std::vector<int> own(numbers);
    for (int i = 0; i < numbers; ++i)
        own[static_cast<size_t>(i)] = value(rank, i, "native");
    const Memory memory(numbers * sizeof(int));
    if (writes)
        memory.put(own);
    Arguments a{memory.at(), numbers, MPI_INT, 0};
    if (rank == culprit)
        a = fault.spoil(a);
    handled = 0;
    const int error = file.run(form, writes ? form.write : form.read, a.offset, a.buffer, a.count,
                               a.type, MPI_STATUS_IGNORE);
    if (rank == culprit) {
        check(error != MPI_SUCCESS, what + ": success");
        check_equal(handled, 1, what + ": calls of the file's error handler");
    } else if (check_success(error, what) && !writes) {
        check(memory.get<int>() == own, what + ": other data");
    }
    if (writes && size > 1) {
        auto found = file.get();
        found.resize(expected.size());
        check(found == expected, what + ": the file differs");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_success(file.run(form, form.write, 0, nullptr, 0, MPI_INT, MPI_STATUS_IGNORE),
                  what + ": the next call");
}

void with_buffering(const char *use)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", use);
    MPI_Info_set(info, "romio_cb_read", use);
    const File file("file_errors", info);
    MPI_Info_free(&info);
    MPI_Errhandler handler;
    MPI_File_create_errhandler(count_error, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_Errhandler_free(&handler);
    const bool is_default = std::strcmp(use, "automatic") == 0;
    int turn = static_cast<int>(std::strlen(use));
    for (const Form &form : forms()) {
        const bool is_large =
            form.name.size() > 2 && form.name.substr(form.name.size() - 2) == "_c";
        for (const Fault &fault : faults)
            if (form.collective && is_large == is_default &&
                (!fault.is_of_offset || form.pointer == Pointer::offset) &&
                (!fault.is_of_host_memory || next_memory() == "host")) {
                one_is_wrong(file, form, fault, turn % 2 == 0, turn / 2 % size);
                ++turn;
            }
    }
}

} // namespace

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        /* ROMIO's default with the large-count forms */
        for (const char *use : {"enable", "disable", "automatic"})
            with_buffering(use);
    });
}
