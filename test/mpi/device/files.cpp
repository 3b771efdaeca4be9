/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files and device memory, beyond what each call does by the standard
 * (test/mpi/standard/file_data.cpp). There are structures behind pointers, reads across a file's
 * end, and processes with different shares. There are bounded staging memory, atomic mode, and
 * devices that fail.
 */
#include "../file_calls.hpp"
#include "device_test.hpp"

#include <fstream>
#include <iterator>
#include <numeric>

using namespace device_test;
using namespace file_calls;

static const char *const path = "files.data";
static constexpr gpu::Kind device = gpu::Kind::device;
static constexpr int unit = sizeof(double);

/* ---- the file, by other means than MPI ------------------------------------------------------- */

static std::vector<double> read_file()
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<double> content(bytes.size() / unit);
    std::memcpy(content.data(), bytes.data(), content.size() * unit);
    return content;
}

/* Made by rank 0, seen by all. */
static void write_file(const std::vector<double> &content)
{
    if (rank == 0) {
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char *>(content.data()),
                   static_cast<std::streamsize>(content.size() * unit));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static std::vector<double> numbers(size_t n, double first)
{
    std::vector<double> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}

/* A file in pieces of a few bytes, through a view of every `every`-th double from `first` on. */
class File {
public:
    File(int piece, int first, int every)
    {
        MPI_Info info = pieces_of(piece);
        check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file_) ==
                  MPI_SUCCESS,
              "a file cannot be opened");
        MPI_Info_free(&info);
        MPI_Datatype view;
        MPI_Type_create_resized(MPI_DOUBLE, 0, MPI_Aint{unit} * every, &view);
        MPI_Type_commit(&view);
        MPI_File_set_view(file_, MPI_Offset{unit} * first, MPI_DOUBLE, view, "native",
                          MPI_INFO_NULL);
        MPI_Type_free(&view);
    }
    ~File() { MPI_File_close(&file_); }
    File(const File &) = delete;
    operator MPI_File() const { return file_; }

private:
    MPI_File file_;
};

static FileBuffer of(const Buffer &buffer) { return {buffer.at(), 1, buffer.type()}; }

static int elements(const MPI_Status &status)
{
    int n = -1;
    MPI_Get_elements(&status, MPI_DOUBLE, &n);
    return n;
}

static std::string named(const Call &call) { return std::string("MPI_File_") + call.name; }

/* ---- HACC's analysis data (paper 001, Fig. 7) ------------------------------------------------ */

/* Scalars and vectors in one place, eight arrays behind pointers, all of it one type. */
class Vblock {
public:
    explicit Vblock(gpu::Kind scalars, int particles)
        : scalars_({scalars, own_device().device}, sizeof(Scalars))
    {
        for (const int each : {3, 3, 1, 1, 4, 9, 1, 2}) /* vertices, sites, areas, vols, cells,
                                                           face_verts, two counts */
            arrays_.emplace_back(own_device(),
                                 static_cast<size_t>(each * particles) * sizeof(float));
        std::vector<int> lengths{7, 6};
        std::vector<MPI_Aint> displs{address(scalars_.at()),
                                     address(scalars_.at() + offsetof(Scalars, mins))};
        std::vector<MPI_Datatype> types{MPI_INT, MPI_FLOAT};
        for (size_t i = 0; i < arrays_.size(); ++i) {
            lengths.push_back(static_cast<int>(arrays_[i].size() / sizeof(float)));
            displs.push_back(address(arrays_[i].at()));
            types.push_back(i < 4 ? MPI_FLOAT : MPI_INT);
        }
        MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), displs.data(),
                               types.data(), &type);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &bytes);
    }
    ~Vblock() { MPI_Type_free(&type); }
    Vblock(const Vblock &) = delete;

    MPI_Datatype type;
    int bytes;

    void fill(int seed) const
    {
        write(scalars_, seed);
        for (const gpu::Memory &array : arrays_)
            write(array, ++seed);
    }
    bool operator==(const Vblock &other) const
    {
        bool same = content(scalars_) == content(other.scalars_);
        for (size_t i = 0; i < arrays_.size(); ++i)
            same &= content(arrays_[i]) == content(other.arrays_[i]);
        return same;
    }

private:
    struct Scalars {
        int num_verts, num_cells, num_cell_verts, num_complete_cells, num_cell_faces,
            num_face_verts, num_orig_particles;
        float mins[3], maxs[3];
    };
    static MPI_Aint address(const std::byte *at)
    {
        MPI_Aint address;
        MPI_Get_address(at, &address);
        return address;
    }
    static void write(const gpu::Memory &memory, int seed)
    {
        std::vector<int> values(memory.size() / sizeof(int));
        std::iota(values.begin(), values.end(), seed * 1000);
        memory.write(0, values.data(), memory.size());
    }
    static std::vector<int> content(const gpu::Memory &memory)
    {
        std::vector<int> values(memory.size() / sizeof(int));
        memory.read(0, values.data(), memory.size());
        return values;
    }

    gpu::Memory scalars_;
    std::vector<gpu::Memory> arrays_;
};

/* Each process writes as many particles as it has, one behind the other,
 * and reads them into other memory. */
static void hacc(gpu::Kind scalars)
{
    const int particles = 300 + 77 * rank;
    const Vblock written(scalars, particles), read(device, particles);
    written.fill(rank + 1);
    read.fill(99);
    MPI_Offset offset = 0, bytes = written.bytes;
    MPI_Exscan(&bytes, &offset, 1, MPI_OFFSET, MPI_SUM, MPI_COMM_WORLD);
    write_file({});
    const File file(1 << 10, 0, 1);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Status status;
    check(MPI_File_write_at_all(file, offset, MPI_BOTTOM, 1, written.type, &status) == MPI_SUCCESS,
          "HACC's data cannot be written");
    check(MPI_File_read_at_all(file, offset, MPI_BOTTOM, 1, read.type, &status) == MPI_SUCCESS,
          "HACC's data cannot be read");
    check(written == read, "HACC's data is read otherwise than it was written");
}

/* ---- a file's end ---------------------------------------------------------------------------- */

/* The bytes that are there are read and counted, and the rest of the buffer stays. */
static void read_past_the_end(const Call &call, int every)
{
    constexpr int there = 37, wanted = 90;
    const std::string what = named(call) + " across the end, every " + std::to_string(every);
    write_file(numbers(static_cast<size_t>(there) * every, 0.0));
    const File file(16 * unit, 0, every);
    const Layout layout = strided(wanted);
    Buffer buffer(device, layout);
    buffer.fill(5);
    MPI_Status status;
    if (call.run(file, 0, of(buffer), &status) != MPI_SUCCESS)
        return fail(what + ": fails");
    check(elements(status) == there,
          what + ": says that it read " + std::to_string(elements(status)));
    for (int i = 0; i < there; ++i)
        buffer.put(i, i * every);
    buffer.verify(what);
}

/* ---- processes of which each has another share ----------------------------------------------- */

/* The first has host memory, the last nothing; the others ever more rounds. */
static void unequal_shares(bool atomic)
{
    const std::string what = std::string("unequal shares") + (atomic ? ", atomic" : "");
    const int n = rank == 0 ? 40 : rank == size - 1 ? 0 : 100 * rank;
    write_file({});
    const Layout layout = indexed(std::max(n, 1));
    Buffer buffer(rank == 0 ? gpu::Kind::pageable : device, layout),
        back(rank == 0 ? device : gpu::Kind::pageable, layout);
    buffer.fill(rank);
    back.fill(77);
    const File file(24 * unit, rank, size);
    MPI_File_set_atomicity(file, atomic);
    MPI_Status status;
    check(MPI_File_write_all(file, buffer.at(), n > 0, buffer.type(), &status) == MPI_SUCCESS,
          what + ": cannot be written");
    check(elements(status) == n,
          what + ": " + std::to_string(elements(status)) + " elements written");
    check(MPI_File_read_at_all(file, 0, back.at(), n > 0, back.type(), &status) == MPI_SUCCESS,
          what + ": cannot be read");
    back.expect(rank, 0, n);
    back.verify(what);
    if (n > 0) {
        buffer.fill(8);
        check(MPI_File_write_at(file, 0, buffer.at(), 1, buffer.type(), &status) == MPI_SUCCESS,
              what + ": cannot be written alone");
        check(MPI_File_read_at(file, 0, back.at(), 1, back.type(), &status) == MPI_SUCCESS,
              what + ": cannot be read alone");
        back.expect(8, 0, n);
        back.verify(what + ", alone");
    }
}

/* Two blocks of the size that the hints name, and not as much as there is data. */
static void bounded_memory()
{
    constexpr int n = 1 << 18, piece = 1 << 15;
    const Layout layout = strided(n);
    Buffer buffer(device, layout);
    buffer.fill(rank);
    const int64_t before = counted("slabs_pinned");
    for (const bool atomic : {false, true})
        for (const int every : {1, 2}) {
            write_file({});
            const File file(piece, rank * n * every, every);
            MPI_File_set_atomicity(file, atomic);
            MPI_Status status;
            for (const Call &call : every_call)
                if (call.pointer == Pointer::explicit_offset && !(atomic && call.name[0] == 'i'))
                    check(call.run(file, 0, of(buffer), &status) == MPI_SUCCESS,
                          named(call) + " of much fails");
            MPI_Barrier(MPI_COMM_WORLD);
        }
    buffer.verify("much, written and read");
    /* A block has a header, and slabs are powers of two. */
    check(counted("slabs_pinned") - before <= 4 * 2 * piece, "staging memory grows with the data");
    check(counted("slabs_pinned_used") == 0, "staging memory is not given back");
}

/* ---- devices that fail ----------------------------------------------------------------------- */

struct Failure {
    const char *switches;
    const Layout &layout;
    int who;
    int every; /* 1: the processes' data follow each other; otherwise they take turns */
};

static constexpr int share = 60; /* doubles of each process */

/* Each process is told of an error, or its data is right. Nobody waits for ever, and nobody else's
 * data suffers. */
static void failing(const Call &call, const Failure &failure)
{
    const std::string what = named(call) + ", rank " + std::to_string(failure.who) + " fails by " +
                             failure.switches + ", " + failure.layout.name;
    const auto n = static_cast<size_t>(share * size);
    const bool turns = !is_shared(call) && failure.every > 1;
    write_file(call.writes ? std::vector<double>(n, -1.0) : numbers(n, 0.0));
    Buffer buffer(device, failure.layout);
    buffer.fill(rank);
    const File file(16 * unit, is_shared(call) ? 0 : turns ? rank : rank * share, turns ? size : 1);

    if (rank == failure.who)
        gpu::Machine::get().configure(failure.switches);
    MPI_Status status;
    const int error = call.run(file, 0, of(buffer), &status);
    gpu::Machine::get().reset();
    check(error == MPI_SUCCESS || rank == failure.who, what + ": an error where nothing failed");

    std::vector<int> errors(static_cast<size_t>(size));
    MPI_Allgather(&error, 1, MPI_INT, errors.data(), 1, MPI_INT, MPI_COMM_WORLD);
    if (call.pointer == Pointer::shared) /* where its data is only the library knows */
        return;
    const auto at = [&](int process, int i) {
        return static_cast<size_t>(turns ? i * size + process : process * share + i);
    };
    if (!call.writes) {
        for (int i = 0; i < share; ++i)
            buffer.put(i, static_cast<double>(at(rank, i)));
        if (error == MPI_SUCCESS)
            buffer.verify(what);
    } else if (rank == 0) {
        const std::vector<double> content = read_file();
        bool right = content.size() == n;
        for (int process = 0; process < size && right; ++process)
            for (int i = 0; i < share; ++i)
                right &= errors[static_cast<size_t>(process)] != MPI_SUCCESS ||
                         content[at(process, i)] == Buffer::value(process, i);
        check(right, what + ": wrong in the file");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A device that is broken for good is an error of every call that has data on it. */
static void broken(const Call &call)
{
    const Layout layout = strided(share);
    Buffer buffer(device, layout);
    write_file(numbers(static_cast<size_t>(share * size), 0.0));
    const File file(16 * unit, is_shared(call) ? 0 : rank * share, 1);
    if (rank == 1)
        gpu::Machine::get().configure("fail=any:1+");
    MPI_Status status;
    const int error = call.run(file, 0, of(buffer), &status);
    gpu::Machine::get().reset();
    check((error != MPI_SUCCESS) == (rank == 1),
          named(call) +
              (rank == 1 ? ": success on a broken device" : ": fails beside a broken device"));
    if (rank == 0 && call.writes && !is_shared(call)) {
        const std::vector<double> content = read_file();
        for (int i = 0; i < share; ++i)
            if (content[static_cast<size_t>(share + i)] != share + i)
                return fail(named(call) + ": something was written from a broken device");
    }
}

static void every_failure()
{
    if (!gpu::Machine::get().is_simulated())
        return;
    const char *const switches[] = {"fail=copy:1",  "fail=launch:1+", "fail=execute:1",
                                    "fail=copy:2+", "fail=launch:3",  "fail=execute:3"};
    const Layout dense = contiguous(share), gaps = indexed(share);
    int turn = 0;
    for (const Call &call : every_call) {
        broken(call);
        for (int i = 0; i < 4; ++i, ++turn)
            failing(call,
                    {switches[turn % 6], i % 2 ? dense : gaps, turn % size, 1 + turn / 2 % 2});
    }
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Wait's */
        hacc(device);
        hacc(gpu::Kind::pageable);
        for (const Call &call : every_call)
            if (!call.writes && !is_shared(call))
                for (const int every : {1, 3})
                    read_past_the_end(call, every);
        unequal_shares(false);
        unequal_shares(true);
        bounded_memory();
        every_failure();
        if (rank == 0)
            std::remove(path);
    });
}
