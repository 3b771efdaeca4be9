/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every call that moves data between a file and a buffer (MPI 4.0, section 14.4), through views
 * with and without gaps. Each is made once for every layout of the buffer, on one open file, so
 * that file pointers have to move. Hints make the library work in small pieces.
 *
 * processes: 1 2 3 5
 * memory: host device managed mixed
 */
#include "../file_calls.hpp"
#include "standard_test.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

using namespace standard_test;
using namespace file_calls;

static constexpr int ints = 60; /* of each call */
static constexpr int unwritten = -77;
static const char *const path = "data";

/* ---- buffers --------------------------------------------------------------------------------- */

/* `ints` integers in memory, laid out in some way, with gaps that nobody may write to. */
class Buffer {
public:
    Buffer(size_t memories, size_t bytes)
    {
        for (size_t i = 0; i < memories; ++i) {
            memories_.push_back(std::make_unique<Memory>(bytes));
            memories_.back()->put(std::vector<int>(bytes / sizeof(int), unwritten));
        }
    }
    ~Buffer()
    {
        if (owns_)
            MPI_Type_free(&type);
    }
    Buffer(const Buffer &) = delete;

    void *at = nullptr;
    int count = 1;
    MPI_Datatype type = MPI_INT;

    char *memory(size_t i) const { return memories_[i]->at(); }
    /* The next integer lies there. */
    void add(size_t memory, size_t index) { where_.push_back({memory, index}); }
    void commit(MPI_Datatype made)
    {
        type = made;
        owns_ = true;
        MPI_Type_commit(&type);
    }

    void put(const std::vector<int> &values) const { each(values, true); }
    /* Checks that it holds these values, and its gaps what they held. */
    void verify(const std::vector<int> &values, const std::string &what) const
    {
        each(values, false, what);
    }
    std::vector<int> values() const
    {
        std::vector<int> found;
        for (const auto &[memory, index] : where_)
            found.push_back(memories_[memory]->get<int>()[index]);
        return found;
    }

private:
    void each(const std::vector<int> &values, bool puts, const std::string &what = "") const
    {
        for (size_t m = 0; m < memories_.size(); ++m) {
            std::vector<int> content(memories_[m]->size() / sizeof(int), unwritten);
            for (size_t i = 0; i < where_.size(); ++i)
                if (where_[i].first == m && i < values.size())
                    content[where_[i].second] = values[i];
            if (puts)
                memories_[m]->put(content);
            else if (memories_[m]->get<int>() != content)
                fail(what + ": wrong in memory");
        }
    }

    std::vector<std::unique_ptr<Memory>> memories_;
    std::vector<std::pair<size_t, size_t>> where_;
    bool owns_ = false;
};

using MakeBuffer = std::unique_ptr<Buffer> (*)();

static std::unique_ptr<Buffer> contiguous()
{
    auto b = std::make_unique<Buffer>(1, ints * sizeof(int));
    b->at = b->memory(0);
    b->count = ints;
    for (int i = 0; i < ints; ++i)
        b->add(0, i);
    return b;
}

static std::unique_ptr<Buffer> vector()
{
    auto b = std::make_unique<Buffer>(1, 3 * ints * sizeof(int));
    MPI_Datatype type;
    MPI_Type_vector(ints / 2, 2, 5, MPI_INT, &type);
    b->commit(type);
    b->at = b->memory(0);
    for (int i = 0; i < ints; ++i)
        b->add(0, i / 2 * 5 + i % 2);
    return b;
}

/* The buffer's address is behind its data. */
static std::unique_ptr<Buffer> backwards()
{
    auto b = std::make_unique<Buffer>(1, 2 * ints * sizeof(int));
    MPI_Datatype type;
    MPI_Type_create_hvector(ints, 1, -2 * static_cast<int>(sizeof(int)), MPI_INT, &type);
    b->commit(type);
    b->at = b->memory(0) + 2 * (ints - 1) * sizeof(int);
    for (int i = 0; i < ints; ++i)
        b->add(0, 2 * (ints - 1 - i));
    return b;
}

static std::unique_ptr<Buffer> structs()
{
    auto b = std::make_unique<Buffer>(1, 5 * ints * sizeof(int));
    const int lengths[] = {1, 2}, unit = sizeof(int);
    const MPI_Aint displs[] = {3 * unit, 0};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Datatype one, resized;
    MPI_Type_create_struct(2, lengths, displs, types, &one);
    MPI_Type_create_resized(one, 0, 5 * unit, &resized);
    MPI_Type_free(&one);
    b->commit(resized);
    b->at = b->memory(0);
    b->count = ints / 3;
    for (int i = 0; i < ints / 3; ++i)
        for (const int place : {3, 0, 1})
            b->add(0, 5 * i + place);
    return b;
}

/* Absolute addresses in several memories. */
static std::unique_ptr<Buffer> absolute()
{
    constexpr int memories = 3;
    auto b = std::make_unique<Buffer>(memories, ints * sizeof(int));
    std::vector<int> lengths;
    std::vector<MPI_Aint> displs;
    for (int i = 0, length; i < ints; i += length) {
        const size_t m = lengths.size() % memories;
        MPI_Aint address;
        length = std::min(ints - i, 1 + static_cast<int>(lengths.size()) % 4);
        MPI_Get_address(b->memory(m) + i * sizeof(int), &address);
        lengths.push_back(length);
        displs.push_back(address);
        for (int j = i; j < i + length; ++j)
            b->add(m, j);
    }
    MPI_Datatype type;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displs.data(),
                             MPI_INT, &type);
    b->commit(type);
    b->at = MPI_BOTTOM;
    return b;
}

static const struct {
    const char *name;
    MakeBuffer make;
} layouts[] = {{"contiguous", contiguous},
               {"vector", vector},
               {"backwards", backwards},
               {"struct", structs},
               {"absolute", absolute}};
static constexpr int parts = std::size(layouts); /* of a rank's data: a call with each */

/* ---- views ----------------------------------------------------------------------------------- */

/* Maps integer `i` of a rank's view to an integer of the file. */
struct View {
    const char *name;
    int block, stride; /* blocks of so many integers, the next one so many integers on */
    int first;
    long long operator()(long long i) const { return first + i / block * stride + i % block; }

    void set(MPI_File file) const
    {
        MPI_Datatype blocks, type;
        MPI_Type_contiguous(block, MPI_INT, &blocks);
        MPI_Type_create_resized(blocks, 0, stride * static_cast<MPI_Aint>(sizeof(int)), &type);
        MPI_Type_commit(&type);
        check_success(MPI_File_set_view(file, first * static_cast<MPI_Offset>(sizeof(int)), MPI_INT,
                                        type, "native", MPI_INFO_NULL),
                      "MPI_File_set_view");
        MPI_Type_free(&blocks);
        MPI_Type_free(&type);
    }
};

/* The views of all ranks: blocks in turns, or one stretch after the other. With shared pointers,
 * each rank has the same view: the file as it is, or every other integer of it. */
static std::vector<View> views_of(const Call &call)
{
    if (is_shared(call))
        return {{"the whole file", 1, 1, 0}, {"every other integer", 1, 2, 1}};
    return {{"a stretch", parts * ints, parts * ints, parts * ints * rank},
            {"blocks in turns", 3, 3 * size, 3 * rank}};
}

static int view_ints() { return parts * ints * size; } /* of all ranks */
static size_t file_ints() { return 2 * static_cast<size_t>(view_ints()); }

/* ---- files, by other means than MPI ---------------------------------------------------------- */

static std::vector<int> read_file()
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<int> content(bytes.size() / sizeof(int));
    std::memcpy(content.data(), bytes.data(), content.size() * sizeof(int));
    return content;
}

static void write_file(const std::vector<int> &content)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char *>(content.data()),
               static_cast<std::streamsize>(content.size() * sizeof(int)));
}

static int in_file(long long at) { return static_cast<int>(at * 7 + 3); }

/* ---- one call -------------------------------------------------------------------------------- */

/* The values of a rank's call number `part`. */
static std::vector<int> values_of(int process, int part)
{
    std::vector<int> values;
    for (int i = 0; i < ints; ++i)
        values.push_back((process * parts + part) * 1000 + i);
    return values;
}

/* Where in the view the data of a call begins. What a shared pointer said is found by the first
 * value of a stretch. */
static long long begins(const Call &call, int process, int part)
{
    return (call.pointer == Pointer::ordered ? part * size + process : part) *
           static_cast<long long>(ints);
}

static void verify_written(const Call &call, const View &view, const std::string &what)
{
    std::vector<int> expected(file_ints(), unwritten);
    const std::vector<int> found = read_file();
    for (int process = 0; process < size; ++process) {
        View theirs = view;
        if (!is_shared(call))
            theirs.first = view.block * process;
        for (int part = 0; part < parts; ++part) {
            long long from = begins(call, process, part);
            if (call.pointer == Pointer::shared) {
                const int first = values_of(process, part)[0];
                for (from = 0;
                     from < view_ints() && found[static_cast<size_t>(theirs(from))] != first;)
                    from += ints;
                if (from == view_ints())
                    return fail(what + ": not in the file");
            }
            for (int i = 0; i < ints; ++i)
                expected[static_cast<size_t>(theirs(from + i))] =
                    values_of(process, part)[static_cast<size_t>(i)];
        }
    }
    check(found == expected, what + ": wrong in the file");
}

/* What was read, of which with a shared pointer only all ranks together
 * know that it is all there is. */
static void verify_read(const Call &call, const View &view, const Buffer &buffer, int part,
                        const std::string &what)
{
    long long from = begins(call, rank, part);
    if (call.pointer == Pointer::shared)
        for (from = 0; from < view_ints() && in_file(view(from)) != buffer.values()[0];)
            from += ints;
    std::vector<int> expected;
    for (int i = 0; i < ints; ++i)
        expected.push_back(in_file(view(from + i)));
    buffer.verify(expected, what);
}

static void run_call(MPI_File file, const Call &call, const View &view, int part,
                     const std::string &what)
{
    const std::unique_ptr<Buffer> buffer = layouts[part].make();
    MPI_Status status;
    int count = -1;
    if (call.writes)
        buffer->put(values_of(rank, part));
    if (!check_success(call.run(file, MPI_Offset{part} * ints,
                                {buffer->at, buffer->count, buffer->type}, &status),
                       what))
        return;
    MPI_Get_elements(&status, MPI_INT, &count);
    check_equal(count, ints, what + ": elements in the status");
    if (call.writes)
        buffer->verify(values_of(rank, part), what);
    else
        verify_read(call, view, *buffer, part, what);
}

static void run_calls(const Call &call, const View &view)
{
    const std::string what = std::string("MPI_File_") + call.name + ", " + view.name;
    std::vector<int> content(file_ints(), unwritten);
    if (!call.writes)
        for (size_t i = 0; i < content.size(); ++i)
            content[i] = in_file(static_cast<long long>(i));
    if (rank == 0)
        write_file(content);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_File file;
    MPI_Info info = pieces_of(72);
    if (!check_success(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &file),
                       "MPI_File_open"))
        return;
    MPI_Info_free(&info);
    view.set(file);
    for (int part = 0; part < parts; ++part)
        run_call(file, call, view, part, what + ", " + layouts[part].name + " buffer");
    MPI_File_close(&file);
    if (call.writes && rank == 0)
        verify_written(call, view, what);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    return run(argc, argv, [] {
        for (const Call &call : every_call)
            for (const View &view : views_of(call))
                run_calls(call, view);
        if (rank == 0)
            std::remove(path);
    });
}
