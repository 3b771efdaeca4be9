/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The large-count forms of the calls that read, with counts beyond 2^31. The file ends soon, so
 * that little of the buffer is ever touched, and exists.
 *
 * processes: 1 2
 */
#include "../file_calls.hpp"
#include "standard_test.hpp"

#include <sys/mman.h>

using namespace standard_test;

static constexpr MPI_Count wanted = (MPI_Count{1} << 31) + 8;
static constexpr int there = 1000; /* bytes of the file */

struct LargeCall {
    const char *name;
    std::function<int(MPI_File, void *, MPI_Status *)> run;
};

#define BLOCK(name)                                                                                \
    {                                                                                              \
#name, [](MPI_File f, void *b,                                                             \
                  MPI_Status *s) { return MPI_File_##name(f, b, wanted, MPI_BYTE, s); }            \
    }
#define BLOCK_AT(name)                                                                             \
    {                                                                                              \
#name, [](MPI_File f, void *b,                                                             \
                  MPI_Status *s) { return MPI_File_##name(f, 0, b, wanted, MPI_BYTE, s); }         \
    }
#define BEGIN(name)                                                                                                 \
    {                                                                                                               \
#name, [](MPI_File f, void *b, MPI_Status *s) {                                                                   \
         return file_calls::waited([&](MPI_Request *r) { return MPI_File_##name(f, b, wanted, MPI_BYTE, r); }, s);     \
     } \
    }
#define BEGIN_AT(name)                                                                                              \
    {                                                                                                               \
#name, [](MPI_File f, void *b, MPI_Status *s) {                                                                   \
         return file_calls::waited([&](MPI_Request *r) { return MPI_File_##name(f, 0, b, wanted, MPI_BYTE, r); }, s);  \
     } \
    }

static const LargeCall calls[] = {
    BLOCK(read_c),     BLOCK_AT(read_at_c),     BEGIN(iread_c),       BEGIN_AT(iread_at_c),
    BLOCK(read_all_c), BLOCK_AT(read_at_all_c), BLOCK(read_shared_c), BEGIN(iread_shared_c),
};

static void read_past_the_end(const LargeCall &call, char *buffer)
{
    const std::string what = std::string("MPI_File_") + call.name;
    MPI_File file;
    MPI_Status status;
    MPI_Count count = -1;
    std::memset(buffer, 0, 2 * there);
    check_success(MPI_File_open(MPI_COMM_SELF, ("large." + std::to_string(rank)).c_str(),
                                MPI_MODE_RDWR, MPI_INFO_NULL, &file),
                  "MPI_File_open");
    if (check_success(call.run(file, buffer, &status), what)) {
        MPI_Get_elements_x(&status, MPI_BYTE, &count);
        check_equal(count, there, what + ": bytes in the status");
        check(std::string(buffer, there) == std::string(there, 'x') && buffer[there] == 0,
              what + ": wrong in memory");
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        const std::string path = "large." + std::to_string(rank);
        std::FILE *const file = std::fopen(path.c_str(), "w");
        std::fputs(std::string(there, 'x').c_str(), file);
        std::fclose(file);
        void *const buffer = mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (buffer == MAP_FAILED)
            throw std::runtime_error("no address space");
        for (const LargeCall &call : calls)
            read_past_the_end(call, static_cast<char *>(buffer));
        munmap(buffer, wanted);
        std::remove(path.c_str());
    });
}
