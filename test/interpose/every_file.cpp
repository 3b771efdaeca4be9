/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call that moves data between a file and device memory, each rank with a file of its own.
 */
#include "../mpi/file_calls.hpp"
#include "device_test.hpp"

using namespace device_test;

static std::vector<double> content(int seed, int64_t n)
{
    std::vector<double> all;
    for (int64_t i = 0; i < n; ++i)
        all.push_back(Buffer::value(seed, i));
    return all;
}

/* `n` doubles are there; a write begins anew. */
static void prepare(MPI_File file, int seed, int n)
{
    const std::vector<double> all = content(seed, n);
    MPI_File_set_size(file, 0);
    MPI_File_write_at(file, 0, all.data(), n, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
}

static void one(const file_calls::Call &call, MPI_File file, const Layout &layout)
{
    const int n = static_cast<int>(layout.elements());
    const std::string what = std::string(call.name) + " of " + layout.name;
    Buffer buffer(gpu::Kind::device, layout, 2); /* one that is moved, one behind it */
    MPI_Status status;
    int count = -1;
    buffer.fill(1);
    prepare(file, 2, call.writes ? 0 : n);
    const int error = call.run(file, 0, {buffer.at(), 1, buffer.type()}, &status);
    check(error == MPI_SUCCESS, what + " fails");
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    check(count == n, what + ": the status tells of " + std::to_string(count));
    if (!call.writes) {
        buffer.expect(2, 0, n);
        return buffer.verify(what);
    }
    std::vector<double> found(static_cast<size_t>(n));
    MPI_File_read_at(file, 0, found.data(), n, MPI_DOUBLE, MPI_STATUS_IGNORE);
    check(found == content(1, n), what + ": the file differs");
}

/* What lies beyond the file's end is not read, and its place is left alone. */
static void beyond_the_end(MPI_File file)
{
    const Layout layout = strided(100);
    Buffer buffer(gpu::Kind::device, layout);
    MPI_Status status;
    int count = -1;
    buffer.fill(1);
    prepare(file, 2, 30);
    MPI_File_read_at(file, 0, buffer.at(), 1, buffer.type(), &status);
    MPI_Get_elements(&status, MPI_DOUBLE, &count);
    check(count == 30, "a short read tells of " + std::to_string(count));
    buffer.expect(2, 0, 30);
    buffer.verify("a short read");
}

static void files()
{
    const std::string path = "interposed-" + std::to_string(rank) + ".data";
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, path.c_str(),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    for (const int n : {6, 30000})
        for (const MakeLayout make : every_layout) {
            const Layout layout = make(n);
            for (const file_calls::Call &call : file_calls::every_call)
                one(call, file, layout);
        }
    beyond_the_end(file);
    MPI_File_close(&file);
}

int main(int argc, char **argv) { return run(argc, argv, files); }
