// SPDX-License-Identifier: BSD-3-Clause
// Files. Data of device memory go through host memory whole, as dense instances of the program's
// elements.
#include "interpose/contents.hpp"
#include "interpose/operation.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"

#include "engine/immortal.hpp"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace heddle::interpose {

namespace {

int refuse(MPI_File file, int error)
{
    PMPI_File_call_errhandler(file, error);
    return error;
}

// A buffer of the program's in host memory.
struct Piece {
    Data data;
    Staging staging;

    explicit Piece(Data what) : data(std::move(what)), staging(data.bytes(), data.near()) {}
    MPI_Datatype type() const { return data.shape->dense(); }
};

// Dense stand-ins of mixed types are bytes, which nothing converts.
bool is_converted(MPI_File file, const Piece &piece)
{
    if (piece.data.shape->info().basic != HEDDLE_MIXED)
        return false;
    char representation[MPI_MAX_DATAREP_STRING] = "";
    MPI_Offset displacement = 0;
    MPI_Datatype types[2]; // element and view, which the MPI may have made for this call
    PMPI_File_get_view(file, &displacement, &types[0], &types[1], representation);
    for (MPI_Datatype &each : types)
        if (!is_given(each))
            PMPI_Type_free(&each);
    return std::strcmp(representation, "native") != 0;
}

// What keeps a piece from being moved: an error class, or MPI_SUCCESS.
int obstacle(MPI_File file, const Piece &piece)
{
    if (piece.staging.failed())
        return MPI_ERR_NO_MEM;
    if (!is_converted(file, piece))
        return MPI_SUCCESS;
    complain_once("files of converted data take no device memory of mixed types");
    return MPI_ERR_OTHER;
}

// Unpacks what a read that returned `result` has read.
template <bool writes>
int received(MPI_File file, const Piece &piece, int result, const MPI_Status &status)
{
    if (result != MPI_SUCCESS || writes || bytes_of(status) == 0)
        return result;
    const int error = transfer({unpack_move(piece.data, piece.staging.at(), bytes_of(status))});
    return error == MPI_SUCCESS ? result : refuse(file, error);
}

template <bool writes, class Call, class Buffer> int blocking(MPI_File file, Buffer *buffer,
                                                              int64_t n, MPI_Datatype type,
                                                              MPI_Status *status, Call call)
{
    const CollectsAtEnd collects;
    flush();
    std::optional<Data> data = device_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        return call(buffer, type, status);
    }
    count(Count::staged);
    const Piece piece(*std::move(data));
    int error = obstacle(file, piece);
    if (error == MPI_SUCCESS && writes)
        error = transfer({pack_move(piece.data, piece.staging.at())});
    if (error != MPI_SUCCESS)
        return refuse(file, error);
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    return received<writes>(file, piece, call(piece.staging.at(), piece.type(), &found), found);
}

template <bool writes, class Call, class Buffer> int nonblocking(MPI_File file, Buffer *buffer,
                                                                 int64_t n, MPI_Datatype type,
                                                                 MPI_Request *request, Call call)
{
    std::optional<Data> data = device_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        return call(buffer, type, request);
    }
    const auto piece = std::make_shared<const Piece>(*std::move(data));
    if (const int error = obstacle(file, *piece); error != MPI_SUCCESS)
        return refuse(file, error);
    Steps steps;
    steps.comm = MPI_COMM_WORLD;
    steps.file = file;
    if (writes)
        steps.pack.push_back(pack_move(piece->data, piece->staging.at()));
    steps.issue = [=, piece = piece.get()](MPI_Request *inner) {
        return call(piece->staging.at(), piece->type(), inner);
    };
    if (!writes)
        steps.unpack = [piece = piece.get()](const MPI_Status &status,
                                             std::vector<heddle_move> &moves) {
            if (const int64_t bytes = bytes_of(status); bytes > 0)
                moves.push_back(unpack_move(piece->data, piece->staging.at(), bytes));
            return MPI_SUCCESS;
        };
    steps.has_status = true;
    steps.keep = piece;
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

// ---- split collectives
// ---------------------------------------------------------------------------

// The piece of each file whose split collective was begun. A file has one at a time.
struct Begun {
    std::mutex mutex;
    std::unordered_map<HandleKey, std::unique_ptr<const Piece>> all;

    void keep(MPI_File file, std::unique_ptr<const Piece> piece)
    {
        const std::lock_guard lock(mutex);
        all[key_of(file)] = std::move(piece);
    }
    std::unique_ptr<const Piece> take(MPI_File file)
    {
        const std::lock_guard lock(mutex);
        const auto found = all.find(key_of(file));
        if (found == all.end())
            return nullptr;
        std::unique_ptr<const Piece> piece = std::move(found->second);
        all.erase(found);
        return piece;
    }
};

template <bool writes, class Call, class Buffer>
int begin_split(MPI_File file, Buffer *buffer, int64_t n, MPI_Datatype type, Call call)
{
    const CollectsAtEnd collects;
    flush();
    std::optional<Data> data = device_data(buffer, n, type);
    if (!data) {
        count(Count::passed);
        return call(buffer, type);
    }
    count(Count::staged);
    auto piece = std::make_unique<const Piece>(*std::move(data));
    int error = obstacle(file, *piece);
    if (error == MPI_SUCCESS && writes)
        error = transfer({pack_move(piece->data, piece->staging.at())});
    if (error != MPI_SUCCESS)
        return refuse(file, error);
    const int result = call(piece->staging.at(), piece->type());
    if (result == MPI_SUCCESS)
        immortal<Begun>().keep(file, std::move(piece));
    return result;
}

template <bool writes, class Call, class Buffer>
int end_split(MPI_File file, Buffer *buffer, MPI_Status *status, Call call)
{
    const CollectsAtEnd collects;
    flush();
    const std::unique_ptr<const Piece> piece =
        device_is_open() ? immortal<Begun>().take(file) : nullptr;
    if (!piece)
        return call(buffer, status);
    MPI_Status own;
    MPI_Status &found = status == MPI_STATUS_IGNORE ? own : *status;
    return received<writes>(file, *piece, call(piece->staging.at(), &found), found);
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// ---- the calls ----------------------------------------------------------------------------------

// `Const` is const where `writes`. `Int` is int, or MPI_Count where the name ends in _c.
#define BLOCKING(name, Suffix, Int, writes, Const)                                                 \
    int MPI_File_##name##Suffix(MPI_File file, Const void *buffer, Int n, MPI_Datatype type,       \
                                MPI_Status *status)                                                \
    {                                                                                              \
        return blocking<writes>(file, buffer, n, type, status,                                     \
                                [=](Const void *at, MPI_Datatype as, MPI_Status *found) {          \
                                    return PMPI_File_##name##Suffix(file, at, n, as, found);       \
                                });                                                                \
    }
#define BLOCKING_AT(name, Suffix, Int, writes, Const)                                              \
    int MPI_File_##name##Suffix(MPI_File file, MPI_Offset offset, Const void *buffer, Int n,       \
                                MPI_Datatype type, MPI_Status *status)                             \
    {                                                                                              \
        return blocking<writes>(file, buffer, n, type, status,                                     \
                                [=](Const void *at, MPI_Datatype as, MPI_Status *found) {          \
                                    return PMPI_File_##name##Suffix(file, offset, at, n, as,       \
                                                                    found);                        \
                                });                                                                \
    }
#define NONBLOCKING(name, Suffix, Int, writes, Const)                                              \
    int MPI_File_##name##Suffix(MPI_File file, Const void *buffer, Int n, MPI_Datatype type,       \
                                MPI_Request *request)                                              \
    {                                                                                              \
        return nonblocking<writes>(file, buffer, n, type, request,                                 \
                                   [=](Const void *at, MPI_Datatype as, MPI_Request *inner) {      \
                                       return PMPI_File_##name##Suffix(file, at, n, as, inner);    \
                                   });                                                             \
    }
#define NONBLOCKING_AT(name, Suffix, Int, writes, Const)                                           \
    int MPI_File_##name##Suffix(MPI_File file, MPI_Offset offset, Const void *buffer, Int n,       \
                                MPI_Datatype type, MPI_Request *request)                           \
    {                                                                                              \
        return nonblocking<writes>(file, buffer, n, type, request,                                 \
                                   [=](Const void *at, MPI_Datatype as, MPI_Request *inner) {      \
                                       return PMPI_File_##name##Suffix(file, offset, at, n, as,    \
                                                                       inner);                     \
                                   });                                                             \
    }
#define BEGIN(name, Suffix, Int, writes, Const)                                                    \
    int MPI_File_##name##_begin##Suffix(MPI_File file, Const void *buffer, Int n,                  \
                                        MPI_Datatype type)                                         \
    {                                                                                              \
        return begin_split<writes>(file, buffer, n, type, [=](Const void *at, MPI_Datatype as) {   \
            return PMPI_File_##name##_begin##Suffix(file, at, n, as);                              \
        });                                                                                        \
    }
#define BEGIN_AT(name, Suffix, Int, writes, Const)                                                 \
    int MPI_File_##name##_begin##Suffix(MPI_File file, MPI_Offset offset, Const void *buffer,      \
                                        Int n, MPI_Datatype type)                                  \
    {                                                                                              \
        return begin_split<writes>(file, buffer, n, type, [=](Const void *at, MPI_Datatype as) {   \
            return PMPI_File_##name##_begin##Suffix(file, offset, at, n, as);                      \
        });                                                                                        \
    }
#define END(name, writes, Const)                                                                   \
    int MPI_File_##name##_end(MPI_File file, Const void *buffer, MPI_Status *status)               \
    {                                                                                              \
        return end_split<writes>(file, buffer, status, [=](Const void *at, MPI_Status *found) {    \
            return PMPI_File_##name##_end(file, at, found);                                        \
        });                                                                                        \
    }

// The calls of one direction: read or write.
#define DIRECTION(name, Suffix, Int, writes, Const)                                                \
    BLOCKING(name, Suffix, Int, writes, Const)                                                     \
    BLOCKING(name##_all, Suffix, Int, writes, Const)                                               \
    BLOCKING(name##_shared, Suffix, Int, writes, Const)                                            \
    BLOCKING(name##_ordered, Suffix, Int, writes, Const)                                           \
    BLOCKING_AT(name##_at, Suffix, Int, writes, Const)                                             \
    BLOCKING_AT(name##_at_all, Suffix, Int, writes, Const)                                         \
    NONBLOCKING(i##name, Suffix, Int, writes, Const)                                               \
    NONBLOCKING(i##name##_all, Suffix, Int, writes, Const)                                         \
    NONBLOCKING(i##name##_shared, Suffix, Int, writes, Const)                                      \
    NONBLOCKING_AT(i##name##_at, Suffix, Int, writes, Const)                                       \
    NONBLOCKING_AT(i##name##_at_all, Suffix, Int, writes, Const)                                   \
    BEGIN(name##_all, Suffix, Int, writes, Const)                                                  \
    BEGIN(name##_ordered, Suffix, Int, writes, Const)                                              \
    BEGIN_AT(name##_at_all, Suffix, Int, writes, Const)
#define ENDS(name, writes, Const)                                                                  \
    END(name##_all, writes, Const)                                                                 \
    END(name##_ordered, writes, Const)                                                             \
    END(name##_at_all, writes, Const)
#define NOT_CONST

extern "C" {
DIRECTION(read, , int, false, NOT_CONST)
DIRECTION(write, , int, true, const)
ENDS(read, false, NOT_CONST)
ENDS(write, true, const)
#if MPI_VERSION >= 4
DIRECTION(read, _c, MPI_Count, false, NOT_CONST)
DIRECTION(write, _c, MPI_Count, true, const)
#endif
}
