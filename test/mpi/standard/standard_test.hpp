/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of this folder share: checks that count, buffers in the memory that the
 * environment names, an end that tells. A program checks what the MPI standard says of some calls.
 * It has to be right with any MPI, so it asks nothing of Heddle; where HEDDLE_TEST_STOCK is defined
 * it is compiled without.
 *
 * HEDDLE_TEST_MEMORY says where buffers lie: host (the default), device, managed, pinned, or mixed
 * (another kind each time).
 */
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef HEDDLE_TEST_STOCK
#include "../../gpu/device_memory.hpp"
#endif

namespace standard_test {

inline int rank, size, failures;

inline void fail(const std::string &what)
{
    if (++failures <= 20) {
        std::printf("rank %d: %s\n", rank, what.c_str());
        std::fflush(stdout);
    }
}

inline void check(bool holds, const std::string &what)
{
    if (!holds)
        fail(what);
}

inline void check_equal(long long found, long long expected, const std::string &what)
{
    if (found != expected)
        fail(what + ": " + std::to_string(found) + " instead of " + std::to_string(expected));
}

inline std::string error_text(int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    return {text, static_cast<size_t>(length)};
}

inline bool check_success(int error, const std::string &what)
{
    if (error != MPI_SUCCESS)
        fail(what + ": " + error_text(error));
    return error == MPI_SUCCESS;
}

/* Checks that a call failed, with an error of this class. */
inline void check_class(int error, int expected, const std::string &what)
{
    int found = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        MPI_Error_class(error, &found);
    if (found != expected)
        fail(what + ": error class " + std::to_string(found) + " instead of " +
             std::to_string(expected) + (error != MPI_SUCCESS ? ": " + error_text(error) : ""));
}

/* The kind of the next buffer's memory, as HEDDLE_TEST_MEMORY says. */
inline std::string next_memory()
{
    static const char *const set = std::getenv("HEDDLE_TEST_MEMORY");
    static unsigned made;
    const std::string name = set ? set : "host";
    const char *const mixed[] = {"device", "host", "managed", "pinned"};
    return name == "mixed" ? mixed[made++ % 4] : name;
}

/* Bytes for MPI to read and write; the program itself reaches them only by put and get. */
class Memory {
public:
    explicit Memory(size_t bytes, unsigned char fill = 0)
        : bytes_(bytes)
#ifndef HEDDLE_TEST_STOCK
          ,
          memory_(place(next_memory()), bytes > 0 ? bytes : 1)
#else
          ,
          memory_(bytes > 0 ? bytes : 1)
#endif
    {
        put(std::vector<unsigned char>(bytes, fill));
    }

    char *at() const
    {
#ifndef HEDDLE_TEST_STOCK
        return reinterpret_cast<char *>(memory_.at());
#else
        return const_cast<char *>(memory_.data());
#endif
    }
    size_t size() const { return bytes_; }

    void put(const void *from, size_t bytes, size_t offset = 0) const
    {
#ifndef HEDDLE_TEST_STOCK
        memory_.write(offset, from, bytes);
#else
        std::memcpy(at() + offset, from, bytes);
#endif
    }
    void get(void *to, size_t bytes, size_t offset = 0) const
    {
#ifndef HEDDLE_TEST_STOCK
        memory_.read(offset, to, bytes);
#else
        std::memcpy(to, at() + offset, bytes);
#endif
    }
    template <class T> void put(const std::vector<T> &from) const
    {
        if (!from.empty())
            put(from.data(), from.size() * sizeof(T));
    }
    /* All of it. */
    template <class T> std::vector<T> get() const
    {
        std::vector<T> to(bytes_ / sizeof(T));
        if (!to.empty())
            get(to.data(), to.size() * sizeof(T));
        return to;
    }

private:
    size_t bytes_;
#ifndef HEDDLE_TEST_STOCK
    static gpu::Place place(const std::string &name)
    {
        const int devices = gpu::Machine::get().devices();
        const gpu::Kind kind = name == "device"    ? gpu::Kind::device
                               : name == "managed" ? gpu::Kind::managed
                               : name == "pinned"  ? gpu::Kind::pinned
                                                   : gpu::Kind::pageable;
        if (kind != gpu::Kind::pageable && devices == 0)
            throw std::runtime_error("HEDDLE_TEST_MEMORY=" + name + ", and there is no device");
        return {kind, devices > 0 ? rank % devices : 0};
    }
    gpu::Memory memory_;
#else
    std::vector<char> memory_;
#endif
};

/* Runs `body` between MPI's start and end; errors are returned to the program. The result is the
 * program's exit status. */
template <class Body> int run(int argc, char **argv, Body body)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    try {
        body();
    } catch (const std::exception &e) {
        std::printf("rank %d: %s\n", rank, e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}

} // namespace standard_test
