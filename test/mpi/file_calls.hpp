/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls of MPI that move data between a file and a buffer (MPI 4.0, section 14.4), for tests
 * that try all of them.
 */
#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace file_calls {

struct FileBuffer {
    void *at;
    int count;
    MPI_Datatype type;
};

/* What says where in the file the data belongs. */
enum class Pointer { individual, explicit_offset, shared, ordered };

struct Call {
    const char *name;
    bool writes, is_collective;
    Pointer pointer;
    /* The call and its end. The offset is used by some only. */
    std::function<int(MPI_File, MPI_Offset, const FileBuffer &, MPI_Status *)> run;
};

template <class Begin> int waited(Begin begin, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = begin(&request);
    return error != MPI_SUCCESS ? error : MPI_Wait(&request, status);
}

/* Blocking, nonblocking and split; AT: with an offset. */
#define RUN(body)                                                                                  \
    [](MPI_File f, [[maybe_unused]] MPI_Offset o, const FileBuffer &b, MPI_Status *s) { body; }
#define BLOCK(name) RUN(return MPI_File_##name(f, b.at, b.count, b.type, s))
#define BLOCK_AT(name) RUN(return MPI_File_##name(f, o, b.at, b.count, b.type, s))
#define BEGIN(name)                                                                                \
    RUN(return waited(                                                                             \
        [&](MPI_Request *r) { return MPI_File_##name(f, b.at, b.count, b.type, r); }, s))
#define BEGIN_AT(name)                                                                             \
    RUN(return waited(                                                                             \
        [&](MPI_Request *r) { return MPI_File_##name(f, o, b.at, b.count, b.type, r); }, s))
#define SPLIT(name)                                                                                \
    RUN(const int error = MPI_File_##name##_begin(f, b.at, b.count, b.type);                       \
        const int end = MPI_File_##name##_end(f, b.at, s);                                         \
        return error != MPI_SUCCESS ? error : end)
#define SPLIT_AT(name)                                                                             \
    RUN(const int error = MPI_File_##name##_begin(f, o, b.at, b.count, b.type);                    \
        const int end = MPI_File_##name##_end(f, b.at, s);                                         \
        return error != MPI_SUCCESS ? error : end)

inline const Call every_call[] = {
    {"write", true, false, Pointer::individual, BLOCK(write)},
    {"write_all", true, true, Pointer::individual, BLOCK(write_all)},
    {"write_at", true, false, Pointer::explicit_offset, BLOCK_AT(write_at)},
    {"write_at_all", true, true, Pointer::explicit_offset, BLOCK_AT(write_at_all)},
    {"write_shared", true, false, Pointer::shared, BLOCK(write_shared)},
    {"write_ordered", true, true, Pointer::ordered, BLOCK(write_ordered)},
    {"iwrite", true, false, Pointer::individual, BEGIN(iwrite)},
    {"iwrite_all", true, true, Pointer::individual, BEGIN(iwrite_all)},
    {"iwrite_at", true, false, Pointer::explicit_offset, BEGIN_AT(iwrite_at)},
    {"iwrite_at_all", true, true, Pointer::explicit_offset, BEGIN_AT(iwrite_at_all)},
    {"iwrite_shared", true, false, Pointer::shared, BEGIN(iwrite_shared)},
    {"write_all_begin", true, true, Pointer::individual, SPLIT(write_all)},
    {"write_at_all_begin", true, true, Pointer::explicit_offset, SPLIT_AT(write_at_all)},
    {"write_ordered_begin", true, true, Pointer::ordered, SPLIT(write_ordered)},
    {"read", false, false, Pointer::individual, BLOCK(read)},
    {"read_all", false, true, Pointer::individual, BLOCK(read_all)},
    {"read_at", false, false, Pointer::explicit_offset, BLOCK_AT(read_at)},
    {"read_at_all", false, true, Pointer::explicit_offset, BLOCK_AT(read_at_all)},
    {"read_shared", false, false, Pointer::shared, BLOCK(read_shared)},
    {"read_ordered", false, true, Pointer::ordered, BLOCK(read_ordered)},
    {"iread", false, false, Pointer::individual, BEGIN(iread)},
    {"iread_all", false, true, Pointer::individual, BEGIN(iread_all)},
    {"iread_at", false, false, Pointer::explicit_offset, BEGIN_AT(iread_at)},
    {"iread_at_all", false, true, Pointer::explicit_offset, BEGIN_AT(iread_at_all)},
    {"iread_shared", false, false, Pointer::shared, BEGIN(iread_shared)},
    {"read_all_begin", false, true, Pointer::individual, SPLIT(read_all)},
    {"read_at_all_begin", false, true, Pointer::explicit_offset, SPLIT_AT(read_at_all)},
    {"read_ordered_begin", false, true, Pointer::ordered, SPLIT(read_ordered)},
};

#undef RUN
#undef BLOCK
#undef BLOCK_AT
#undef BEGIN
#undef BEGIN_AT
#undef SPLIT
#undef SPLIT_AT

inline bool is_shared(const Call &call)
{
    return call.pointer == Pointer::shared || call.pointer == Pointer::ordered;
}

/* The library is to work in pieces of so many bytes. */
inline MPI_Info pieces_of(int bytes)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (const char *hint : {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"})
        MPI_Info_set(info, hint, std::to_string(bytes).c_str());
    return info;
}

} // namespace file_calls
