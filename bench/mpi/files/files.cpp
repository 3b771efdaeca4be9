// SPDX-License-Identifier: BSD-3-Clause
// MPI_File_write_at and read_at of a device's memory, beside the same of host memory. A third way
// is what a user writes who trusts no MPI with it: a copy of all into pinned memory, then a write.
// They take turns; a line of JSON for each. Writes end with MPI_File_sync, and files that are read
// are not in the cache, where the file system has one.
#include "../../../test/gpu/device_memory.hpp"
#include "../row.hpp"

#include <fcntl.h>
#include <heddle.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Doubles in memory: blocks at strides.
struct Shape {
    const char *name;
    int block, stride;
    int64_t at(int64_t i) const { return i / block * stride + i % block; }
};
constexpr Shape shapes[] = {{"contiguous", 1, 1}, {"blocks-128-stride-512", 16, 64}};

struct Way {
    std::string who;
    const gpu::Memory *memory; // that it reads or writes
    std::function<void()> once;
    std::vector<double> times{}; // seconds
    bool right = true;
};

void check(int error, const char *what)
{
    if (error != 0)
        throw std::runtime_error(std::string(what) + " fails");
}

class Benchmark {
public:
    Benchmark(const std::string &folder, int64_t bytes, const Shape &shape)
        : folder_(folder),
          path_(folder + "/heddle-files.data"),
          shape_(shape),
          n_(bytes / static_cast<int64_t>(sizeof(double))),
          span_(static_cast<size_t>(shape.at(n_ - 1) + 1) * sizeof(double)),
          device_({gpu::Kind::device, 0}, span_),
          host_({gpu::Kind::pageable, 0}, span_),
          pinned_({gpu::Kind::pinned, 0}, packed_bytes())
    {
        MPI_Type_vector(static_cast<int>(n_ / shape.block), shape.block, shape.stride, MPI_DOUBLE,
                        &type_);
        MPI_Type_commit(&type_);
        check(heddle_type_vector(n_ / shape.block, shape.block, shape.stride,
                                 heddle_type_predefined(HEDDLE_DOUBLE), &layout_),
              "heddle_type_vector");
        check(heddle_type_commit(layout_), "heddle_type_commit");
        check(MPI_File_open(MPI_COMM_SELF, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &file_),
              path_.c_str());
    }
    ~Benchmark()
    {
        MPI_File_close(&file_);
        unlink(path_.c_str());
        heddle_type_release(layout_);
        MPI_Type_free(&type_);
    }
    Benchmark(const Benchmark &) = delete;

    void run()
    {
        const auto count = static_cast<int>(n_);
        std::vector<Way> writes{
            {"heddle", &device_, [&] { write(device_, 1, type_); }},
            {"copy, then write", &device_, [&] { copy(false), write(pinned_, count, MPI_DOUBLE); }},
            {"host", &host_, [&] { write(host_, 1, type_); }},
        };
        measure("write_at", writes, true);
        std::vector<Way> reads{
            {"heddle", &device_, [&] { read(device_, 1, type_); }},
            {"read, then copy", &device_, [&] { read(pinned_, count, MPI_DOUBLE), copy(true); }},
            {"host", &host_, [&] { read(host_, 1, type_); }},
        };
        measure("read_at", reads, false);
    }

private:
    size_t packed_bytes() const { return static_cast<size_t>(n_) * sizeof(double); }

    void write(const gpu::Memory &memory, int count, MPI_Datatype type)
    {
        check(MPI_File_write_at(file_, 0, memory.at(), count, type, MPI_STATUS_IGNORE),
              "MPI_File_write_at");
        MPI_File_sync(file_);
    }
    void read(const gpu::Memory &memory, int count, MPI_Datatype type)
    {
        check(MPI_File_read_at(file_, 0, memory.at(), count, type, MPI_STATUS_IGNORE),
              "MPI_File_read_at");
    }
    // Between the device and the pinned memory, by the engine.
    void copy(bool to_device)
    {
        const auto bytes = static_cast<int64_t>(packed_bytes());
        const heddle_side data{device_.at(), 1, layout_, 0},
            packed{pinned_.at(), bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
        const heddle_move move{to_device ? packed : data, to_device ? data : packed, bytes,
                               HEDDLE_OP_REPLACE};
        check(heddle_transfer(&move, 1), "heddle_transfer");
    }

    static double value(int64_t i, int seed) { return static_cast<double>(i) + seed * 0.25; }

    // Calls `each` with what packed doubles [from, from + size) should be, and are in the file or
    // in a buffer.
    template <class Each> void in_parts(int seed, Each each) const
    {
        constexpr int64_t part = 1 << 17;
        std::vector<double> expected;
        for (int64_t from = 0; from < n_; from += part) {
            expected.resize(static_cast<size_t>(std::min(part, n_ - from)));
            for (size_t i = 0; i < expected.size(); ++i)
                expected[i] = value(from + static_cast<int64_t>(i), seed);
            each(from, expected);
        }
    }
    void fill(const gpu::Memory &memory, int seed) const
    {
        in_parts(seed, [&](int64_t from, const std::vector<double> &values) {
            std::vector<double> block(
                static_cast<size_t>(shape_.at(static_cast<int64_t>(values.size()) - 1) + 1));
            for (size_t i = 0; i < values.size(); ++i)
                block[static_cast<size_t>(shape_.at(static_cast<int64_t>(i)))] = values[i];
            memory.write(static_cast<size_t>(shape_.at(from)) * sizeof(double), block.data(),
                         block.size() * sizeof(double));
        });
    }
    bool holds(const gpu::Memory &memory, int seed) const
    {
        bool right = true;
        in_parts(seed, [&](int64_t from, const std::vector<double> &values) {
            std::vector<double> block(
                static_cast<size_t>(shape_.at(static_cast<int64_t>(values.size()) - 1) + 1));
            memory.read(static_cast<size_t>(shape_.at(from)) * sizeof(double), block.data(),
                        block.size() * sizeof(double));
            for (size_t i = 0; i < values.size(); ++i)
                right &=
                    block[static_cast<size_t>(shape_.at(static_cast<int64_t>(i)))] == values[i];
        });
        return right;
    }
    // Makes the file, or looks at it.
    bool file_by_hand(int seed, bool makes) const
    {
        const int file = open(path_.c_str(), O_RDWR);
        bool right = file >= 0;
        in_parts(seed, [&](int64_t from, const std::vector<double> &values) {
            std::vector<double> found(values);
            const size_t bytes = values.size() * sizeof(double);
            const off_t at = from * static_cast<off_t>(sizeof(double));
            const ssize_t moved = makes ? pwrite(file, values.data(), bytes, at)
                                        : pread(file, found.data(), bytes, at);
            right &= moved == static_cast<ssize_t>(bytes) && found == values;
        });
        close(file);
        return right;
    }
    void out_of_cache() const
    {
        const int file = open(path_.c_str(), O_RDWR);
        fsync(file);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }

    void measure(const char *call, std::vector<Way> &ways, bool writes)
    {
        constexpr int turns = 9;
        int seed = 1;
        for (Way &way : ways) { // everyone's data is checked, which warms it up as well
            ++seed;
            if (writes)
                fill(*way.memory, seed);
            else
                way.right = file_by_hand(seed, true);
            way.once();
            way.right &= writes ? file_by_hand(seed, false) : holds(*way.memory, seed);
        }
        for (int turn = 0; turn < turns; ++turn)
            for (Way &way : ways) {
                if (!writes)
                    out_of_cache();
                const double begin = MPI_Wtime();
                way.once();
                way.times.push_back(MPI_Wtime() - begin);
            }
        for (Way &way : ways)
            print(call, way);
    }

    void print(const char *call, Way &way) const
    {
        std::sort(way.times.begin(), way.times.end());
        bench::Row row = bench::timed({{"folder", folder_},
                                       {"call", call},
                                       {"layout", shape_.name},
                                       {"bytes", packed_bytes()}},
                                      way.who, 1e6 * way.times[way.times.size() / 2],
                                      1e6 * way.times.front(), 1e6 * way.times.back());
        row["right"] = way.right;
        bench::print(row);
    }

    const std::string folder_, path_;
    const Shape shape_;
    const int64_t n_; // doubles
    const size_t span_;
    const gpu::Memory device_, host_, pinned_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    heddle_type *layout_ = nullptr;
    MPI_File file_ = MPI_FILE_NULL;
};

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "Usage: files BYTES FOLDER...\n");
        return 2;
    }
    MPI_Init(nullptr, nullptr);
    int status = 0;
    try {
        if (gpu::Machine::get().devices() == 0)
            throw std::runtime_error("there is no device");
        for (int i = 2; i < argc; ++i)
            for (const Shape &shape : shapes)
                Benchmark(argv[i], std::atoll(argv[1]), shape).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "files: %s\n", e.what());
        status = 2;
    }
    MPI_Finalize();
    return status;
}
