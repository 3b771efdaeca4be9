/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The data calls of MPI's files as one table: each writes, or reads, `count` of `type` and waits
 * for the end.
 */
#pragma once

#include "standard_test.hpp"

#include <unistd.h>

namespace standard_test {

enum class Pointer { individual, offset, shared };

using DataCall = int (*)(MPI_File, MPI_Offset, void *, int, MPI_Datatype, MPI_Status *);

struct Form {
    std::string name;
    Pointer pointer;
    bool collective; /* and, with a shared pointer, in the order of ranks */
    DataCall write, read;
};

/* A nonblocking call: its type may be freed before its end. */
template <class Start> int wait_for(Start start, MPI_Datatype type, MPI_Status *status)
{
    MPI_Datatype own;
    MPI_Request request;
    if (type == MPI_DATATYPE_NULL)
        return start(type, &request);
    MPI_Type_dup(type, &own);
    MPI_Type_commit(&own);
    const int error = start(own, &request);
    MPI_Type_free(&own);
    return error ? error : MPI_Wait(&request, status);
}

#define HEDDLE_TEST_CALL(call)                                                                     \
    [](MPI_File f, [[maybe_unused]] MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) { \
        return call;                                                                               \
    }
#define HEDDLE_TEST_ICALL(call)                                                                    \
    [](MPI_File f, [[maybe_unused]] MPI_Offset o, void *b, int n, MPI_Datatype type,               \
       MPI_Status *s) {                                                                            \
        return wait_for([&](MPI_Datatype t, MPI_Request *q) { return call; }, type, s);            \
    }
#define HEDDLE_TEST_SPLIT(begin, end)                                                              \
    [](MPI_File f, [[maybe_unused]] MPI_Offset o, void *b, int n, MPI_Datatype t, MPI_Status *s) { \
        const int error = begin;                                                                   \
        return error ? error : end(f, b, s);                                                       \
    }
#define HEDDLE_TEST_FORMS(large)                                                                   \
    {"" #large, Pointer::individual, false,                                                        \
     HEDDLE_TEST_CALL(MPI_File_write##large(f, b, n, t, s)),                                       \
     HEDDLE_TEST_CALL(MPI_File_read##large(f, b, n, t, s))},                                       \
        {"_all" #large, Pointer::individual, true,                                                 \
         HEDDLE_TEST_CALL(MPI_File_write_all##large(f, b, n, t, s)),                               \
         HEDDLE_TEST_CALL(MPI_File_read_all##large(f, b, n, t, s))},                               \
        {"_at" #large, Pointer::offset, false,                                                     \
         HEDDLE_TEST_CALL(MPI_File_write_at##large(f, o, b, n, t, s)),                             \
         HEDDLE_TEST_CALL(MPI_File_read_at##large(f, o, b, n, t, s))},                             \
        {"_at_all" #large, Pointer::offset, true,                                                  \
         HEDDLE_TEST_CALL(MPI_File_write_at_all##large(f, o, b, n, t, s)),                         \
         HEDDLE_TEST_CALL(MPI_File_read_at_all##large(f, o, b, n, t, s))},                         \
        {"_shared" #large, Pointer::shared, false,                                                 \
         HEDDLE_TEST_CALL(MPI_File_write_shared##large(f, b, n, t, s)),                            \
         HEDDLE_TEST_CALL(MPI_File_read_shared##large(f, b, n, t, s))},                            \
        {"_ordered" #large, Pointer::shared, true,                                                 \
         HEDDLE_TEST_CALL(MPI_File_write_ordered##large(f, b, n, t, s)),                           \
         HEDDLE_TEST_CALL(MPI_File_read_ordered##large(f, b, n, t, s))},                           \
        {", i" #large, Pointer::individual, false,                                                 \
         HEDDLE_TEST_ICALL(MPI_File_iwrite##large(f, b, n, t, q)),                                 \
         HEDDLE_TEST_ICALL(MPI_File_iread##large(f, b, n, t, q))},                                 \
        {"_all, i" #large, Pointer::individual, true,                                              \
         HEDDLE_TEST_ICALL(MPI_File_iwrite_all##large(f, b, n, t, q)),                             \
         HEDDLE_TEST_ICALL(MPI_File_iread_all##large(f, b, n, t, q))},                             \
        {"_at, i" #large, Pointer::offset, false,                                                  \
         HEDDLE_TEST_ICALL(MPI_File_iwrite_at##large(f, o, b, n, t, q)),                           \
         HEDDLE_TEST_ICALL(MPI_File_iread_at##large(f, o, b, n, t, q))},                           \
        {"_at_all, i" #large, Pointer::offset, true,                                               \
         HEDDLE_TEST_ICALL(MPI_File_iwrite_at_all##large(f, o, b, n, t, q)),                       \
         HEDDLE_TEST_ICALL(MPI_File_iread_at_all##large(f, o, b, n, t, q))},                       \
        {"_shared, i" #large, Pointer::shared, false,                                              \
         HEDDLE_TEST_ICALL(MPI_File_iwrite_shared##large(f, b, n, t, q)),                          \
         HEDDLE_TEST_ICALL(MPI_File_iread_shared##large(f, b, n, t, q))},                          \
        {"_all, split" #large, Pointer::individual, true,                                          \
         HEDDLE_TEST_SPLIT(MPI_File_write_all_begin##large(f, b, n, t), MPI_File_write_all_end),   \
         HEDDLE_TEST_SPLIT(MPI_File_read_all_begin##large(f, b, n, t), MPI_File_read_all_end)},    \
        {"_at_all, split" #large, Pointer::offset, true,                                           \
         HEDDLE_TEST_SPLIT(MPI_File_write_at_all_begin##large(f, o, b, n, t),                      \
                           MPI_File_write_at_all_end),                                             \
         HEDDLE_TEST_SPLIT(MPI_File_read_at_all_begin##large(f, o, b, n, t),                       \
                           MPI_File_read_at_all_end)},                                             \
    {                                                                                              \
        "_ordered, split" #large, Pointer::shared, true,                                           \
            HEDDLE_TEST_SPLIT(MPI_File_write_ordered_begin##large(f, b, n, t),                     \
                              MPI_File_write_ordered_end),                                         \
            HEDDLE_TEST_SPLIT(MPI_File_read_ordered_begin##large(f, b, n, t),                      \
                              MPI_File_read_ordered_end)                                           \
    }

inline const std::vector<Form> &forms()
{
    static const std::vector<Form> all = {HEDDLE_TEST_FORMS(), HEDDLE_TEST_FORMS(_c)};
    return all;
}

/* A file of all processes that vanishes when it is closed; errors are returned. */
class File {
public:
    explicit File(const std::string &name, MPI_Info info = MPI_INFO_NULL)
        : path_("./" + name + "." + std::to_string(leader()))
    {
        check_success(MPI_File_open(MPI_COMM_WORLD, path_.c_str(),
                                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                    info, &file_),
                      "MPI_File_open");
    }
    File(const File &) = delete;
    ~File() { MPI_File_close(&file_); }
    operator MPI_File() const { return file_; }

    /* What it holds, read and written past MPI, by the first process. */
    std::vector<unsigned char> get() const
    {
        std::vector<unsigned char> bytes;
        if (FILE *in = std::fopen(path_.c_str(), "rb")) {
            unsigned char part[4096];
            for (size_t n; (n = std::fread(part, 1, sizeof part, in)) > 0;)
                bytes.insert(bytes.end(), part, part + n);
            std::fclose(in);
        }
        return bytes;
    }
    void put(const std::vector<unsigned char> &bytes) const
    {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            FILE *out = std::fopen(path_.c_str(), "r+b");
            if (!out || ftruncate(fileno(out), 0) != 0 ||
                std::fwrite(bytes.data(), 1, bytes.size(), out) != bytes.size())
                throw std::runtime_error("cannot write " + path_);
            std::fclose(out);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /* One data call of each process: where the order of a shared pointer is not said,
     * one after the other. */
    int run(const Form &form, DataCall call, MPI_Offset offset, void *buffer, int count,
            MPI_Datatype type, MPI_Status *status) const
    {
        int error = MPI_SUCCESS;
        for (int turn = 0; turn < size; ++turn) {
            const bool in_turns = form.pointer == Pointer::shared && !form.collective;
            if (in_turns)
                MPI_Barrier(MPI_COMM_WORLD);
            if (in_turns ? turn == rank : turn == 0)
                error = call(file_, offset, buffer, count, type, status);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        return error;
    }

private:
    static int leader()
    {
        int id = getpid();
        MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD);
        return id;
    }
    std::string path_;
    MPI_File file_;
};

} // namespace standard_test
