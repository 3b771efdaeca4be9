// SPDX-License-Identifier: BSD-3-Clause
// Files. Data of device memory go through host memory whole, as dense instances of the program's
// elements.
#include "interpose/operation.hpp"
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
    char representation[MPI_MAX_DATAREP_STRING] = "";
    MPI_Offset displacement = 0;
    MPI_Datatype element, view;
    PMPI_File_get_view(file, &displacement, &element, &view, representation);
    return std::strcmp(representation, "native") != 0 &&
           piece.data.shape->info().basic == HEDDLE_MIXED;
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

extern "C" {

int MPI_File_read(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read(fh, at, count, as, found);
                           });
}

int MPI_File_read_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_all(fh, at, count, as, found);
                           });
}

int MPI_File_write(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                   MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write(fh, at, count, as, found);
                          });
}

int MPI_File_write_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                       MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_all(fh, at, count, as, found);
                          });
}

int MPI_File_read_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
                     MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_at(fh, offset, at, count, as, found);
                           });
}

int MPI_File_read_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                         MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_at_all(fh, offset, at, count, as, found);
                           });
}

int MPI_File_write_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                      MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_at(fh, offset, at, count, as, found);
                          });
}

int MPI_File_write_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                          MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_at_all(fh, offset, at, count, as, found);
                          });
}

int MPI_File_read_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                         MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_shared(fh, at, count, as, found);
                           });
}

int MPI_File_write_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                          MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_shared(fh, at, count, as, found);
                          });
}

int MPI_File_read_ordered(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                          MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_ordered(fh, at, count, as, found);
                           });
}

int MPI_File_write_ordered(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                           MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_ordered(fh, at, count, as, found);
                          });
}

int MPI_File_iread(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread(fh, at, count, as, inner);
                              });
}

int MPI_File_iread_all(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                       MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_all(fh, at, count, as, inner);
                              });
}

int MPI_File_iwrite(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                    MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite(fh, at, count, as, inner);
                             });
}

int MPI_File_iwrite_all(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                        MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_all(fh, at, count, as, inner);
                             });
}

int MPI_File_iread_at(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype,
                      MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_at(fh, offset, at, count, as, inner);
                              });
}

int MPI_File_iread_at_all(MPI_File fh, MPI_Offset offset, void *buf, int count,
                          MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_at_all(fh, offset, at, count, as, inner);
                              });
}

int MPI_File_iwrite_at(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                       MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_at(fh, offset, at, count, as, inner);
                             });
}

int MPI_File_iwrite_at_all(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                           MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_at_all(fh, offset, at, count, as, inner);
                             });
}

int MPI_File_iread_shared(MPI_File fh, void *buf, int count, MPI_Datatype datatype,
                          MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_shared(fh, at, count, as, inner);
                              });
}

int MPI_File_iwrite_shared(MPI_File fh, const void *buf, int count, MPI_Datatype datatype,
                           MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_shared(fh, at, count, as, inner);
                             });
}

int MPI_File_read_all_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_all_begin(fh, at, count, as);
    });
}

int MPI_File_read_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return end_split<false>(fh, buf, status, [=](void *at, MPI_Status *found) {
        return PMPI_File_read_all_end(fh, at, found);
    });
}

int MPI_File_write_all_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_all_begin(fh, at, count, as);
    });
}

int MPI_File_write_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return end_split<true>(fh, buf, status, [=](const void *at, MPI_Status *found) {
        return PMPI_File_write_all_end(fh, at, found);
    });
}

int MPI_File_read_at_all_begin(MPI_File fh, MPI_Offset offset, void *buf, int count,
                               MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_at_all_begin(fh, offset, at, count, as);
    });
}

int MPI_File_read_at_all_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return end_split<false>(fh, buf, status, [=](void *at, MPI_Status *found) {
        return PMPI_File_read_at_all_end(fh, at, found);
    });
}

int MPI_File_write_at_all_begin(MPI_File fh, MPI_Offset offset, const void *buf, int count,
                                MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_at_all_begin(fh, offset, at, count, as);
    });
}

int MPI_File_write_at_all_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return end_split<true>(fh, buf, status, [=](const void *at, MPI_Status *found) {
        return PMPI_File_write_at_all_end(fh, at, found);
    });
}

int MPI_File_read_ordered_begin(MPI_File fh, void *buf, int count, MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_ordered_begin(fh, at, count, as);
    });
}

int MPI_File_read_ordered_end(MPI_File fh, void *buf, MPI_Status *status)
{
    return end_split<false>(fh, buf, status, [=](void *at, MPI_Status *found) {
        return PMPI_File_read_ordered_end(fh, at, found);
    });
}

int MPI_File_write_ordered_begin(MPI_File fh, const void *buf, int count, MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_ordered_begin(fh, at, count, as);
    });
}

int MPI_File_write_ordered_end(MPI_File fh, const void *buf, MPI_Status *status)
{
    return end_split<true>(fh, buf, status, [=](const void *at, MPI_Status *found) {
        return PMPI_File_write_ordered_end(fh, at, found);
    });
}

#if MPI_VERSION >= 4
int MPI_File_read_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_c(fh, at, count, as, found);
                           });
}

int MPI_File_read_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_all_c(fh, at, count, as, found);
                           });
}

int MPI_File_write_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_c(fh, at, count, as, found);
                          });
}

int MPI_File_write_all_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_all_c(fh, at, count, as, found);
                          });
}

int MPI_File_read_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                       MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_at_c(fh, offset, at, count, as, found);
                           });
}

int MPI_File_read_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_at_all_c(fh, offset, at, count, as, found);
                           });
}

int MPI_File_write_at_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_at_c(fh, offset, at, count, as, found);
                          });
}

int MPI_File_write_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_at_all_c(fh, offset, at, count, as, found);
                          });
}

int MPI_File_read_shared_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                           MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_shared_c(fh, at, count, as, found);
                           });
}

int MPI_File_write_shared_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                            MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_shared_c(fh, at, count, as, found);
                          });
}

int MPI_File_read_ordered_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                            MPI_Status *status)
{
    return blocking<false>(fh, buf, count, datatype, status,
                           [=](void *at, MPI_Datatype as, MPI_Status *found) {
                               return PMPI_File_read_ordered_c(fh, at, count, as, found);
                           });
}

int MPI_File_write_ordered_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Status *status)
{
    return blocking<true>(fh, buf, count, datatype, status,
                          [=](const void *at, MPI_Datatype as, MPI_Status *found) {
                              return PMPI_File_write_ordered_c(fh, at, count, as, found);
                          });
}

int MPI_File_iread_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                     MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_c(fh, at, count, as, inner);
                              });
}

int MPI_File_iread_all_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                         MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_all_c(fh, at, count, as, inner);
                              });
}

int MPI_File_iwrite_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                      MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_c(fh, at, count, as, inner);
                             });
}

int MPI_File_iwrite_all_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                          MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_all_c(fh, at, count, as, inner);
                             });
}

int MPI_File_iread_at_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_at_c(fh, offset, at, count, as, inner);
                              });
}

int MPI_File_iread_at_all_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_at_all_c(fh, offset, at, count, as, inner);
                              });
}

int MPI_File_iwrite_at_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                         MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_at_c(fh, offset, at, count, as, inner);
                             });
}

int MPI_File_iwrite_at_all_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                             MPI_Datatype datatype, MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_at_all_c(fh, offset, at, count, as, inner);
                             });
}

int MPI_File_iread_shared_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype,
                            MPI_Request *request)
{
    return nonblocking<false>(fh, buf, count, datatype, request,
                              [=](void *at, MPI_Datatype as, MPI_Request *inner) {
                                  return PMPI_File_iread_shared_c(fh, at, count, as, inner);
                              });
}

int MPI_File_iwrite_shared_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype,
                             MPI_Request *request)
{
    return nonblocking<true>(fh, buf, count, datatype, request,
                             [=](const void *at, MPI_Datatype as, MPI_Request *inner) {
                                 return PMPI_File_iwrite_shared_c(fh, at, count, as, inner);
                             });
}

int MPI_File_read_all_begin_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_all_begin_c(fh, at, count, as);
    });
}

int MPI_File_write_all_begin_c(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_all_begin_c(fh, at, count, as);
    });
}

int MPI_File_read_at_all_begin_c(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count,
                                 MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_at_all_begin_c(fh, offset, at, count, as);
    });
}

int MPI_File_write_at_all_begin_c(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count,
                                  MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_at_all_begin_c(fh, offset, at, count, as);
    });
}

int MPI_File_read_ordered_begin_c(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype)
{
    return begin_split<false>(fh, buf, count, datatype, [=](void *at, MPI_Datatype as) {
        return PMPI_File_read_ordered_begin_c(fh, at, count, as);
    });
}

int MPI_File_write_ordered_begin_c(MPI_File fh, const void *buf, MPI_Count count,
                                   MPI_Datatype datatype)
{
    return begin_split<true>(fh, buf, count, datatype, [=](const void *at, MPI_Datatype as) {
        return PMPI_File_write_ordered_begin_c(fh, at, count, as);
    });
}

#endif
}
