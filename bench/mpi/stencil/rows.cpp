// SPDX-License-Identifier: BSD-3-Clause
// Patterns of papers 001 and 002: SHOC's Stencil2D, HACC's structure, and four datatypes of one
// object.
#include "parts.hpp"
#include "rivals.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace bench {
namespace {

// Bytes on the device, in units of doubles. They go with it.
class Bytes {
public:
    Bytes(stencil::Device &device, size_t bytes)
        : device_(device), doubles_((bytes + 7) / 8), at_(device.allocate(doubles_))
    {
    }
    Bytes(const Bytes &) = delete;
    ~Bytes() { device_.release(at_); }

    char *at() const { return reinterpret_cast<char *>(at_); }
    size_t size() const { return 8 * doubles_; }
    void write(const std::vector<char> &bytes) const
    {
        device_.write(at_, reinterpret_cast<const double *>(bytes.data()), doubles_);
    }
    std::vector<char> read() const
    {
        std::vector<char> bytes(size());
        device_.read(reinterpret_cast<double *>(bytes.data()), at_, doubles_);
        return bytes;
    }

private:
    stencil::Device &device_;
    size_t doubles_;
    double *at_;
};

// ---- SHOC's Stencil2D ----

// Blocks of a plane that is not periodic, as square as may be; two lie side by side, so that their
// edges are columns.
class Stencil2d {
public:
    Stencil2d(const Job &job, stencil::Device &device, int64_t edge, int size)
        : job_(job),
          memory_(device, static_cast<size_t>((edge + 2) * (edge + 2) * size)),
          plane_{memory_.at(), edge, edge, size, 0, 0, 0, 0}
    {
        int dims[2] = {0, 0};
        MPI_Dims_create(job.ranks, 2, dims);
        across_ = std::max(dims[0], dims[1]);
        plane_.west = neighbour(-1, 0);
        plane_.east = neighbour(1, 0);
        plane_.north = neighbour(0, -1);
        plane_.south = neighbour(0, 1);
        const MPI_Datatype element = size == 8 ? MPI_DOUBLE : MPI_FLOAT;
        const auto n = static_cast<int>(edge);
        MPI_Type_contiguous(n, element, &row_);
        MPI_Type_vector(n, 1, n + 2, element, &column_);
        MPI_Type_commit(&row_);
        MPI_Type_commit(&column_);
        through_host_ = edges_through_host(plane_);
    }
    Stencil2d(const Stencil2d &) = delete;
    ~Stencil2d()
    {
        MPI_Type_free(&row_);
        MPI_Type_free(&column_);
    }

    bool has_rival() const { return through_host_ != nullptr; }
    void through_host() const { through_host_(); }
    void by_types() const
    {
        const int64_t n = plane_.rows;
        std::vector<MPI_Request> requests;
        const auto swap = [&](int other, MPI_Datatype type, char *out, char *in) {
            MPI_Irecv(in, 1, type, other, 95, MPI_COMM_WORLD, &requests.emplace_back());
            MPI_Isend(out, 1, type, other, 95, MPI_COMM_WORLD, &requests.emplace_back());
        };
        swap(plane_.north, row_, at(1, 1), at(0, 1));
        swap(plane_.south, row_, at(n, 1), at(n + 1, 1));
        swap(plane_.west, column_, at(1, 1), at(1, 0));
        swap(plane_.east, column_, at(1, n), at(1, n + 1));
        std::vector<MPI_Status> statuses(requests.size());
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
    }
    int64_t bytes() const { return 4 * plane_.rows * plane_.size; }

    void fill(int round)
    {
        round_ = round;
        std::vector<char> bytes(memory_.size(), 0);
        for (int64_t r = 1; r <= plane_.rows; ++r)
            for (int64_t c = 1; c <= plane_.columns; ++c)
                put(bytes, r, c, value(job_.rank, r, c));
        memory_.write(bytes);
    }
    bool is_right() const
    {
        const int64_t n = plane_.rows;
        const std::vector<char> bytes = memory_.read();
        bool right = true;
        const auto check = [&](int other, int64_t r, int64_t c, int64_t their_r, int64_t their_c) {
            right = right && get(bytes, r, c) ==
                                 (other == MPI_PROC_NULL ? 0 : value(other, their_r, their_c));
        };
        for (int64_t i = 1; i <= n; ++i) {
            check(plane_.north, 0, i, n, i);
            check(plane_.south, n + 1, i, 1, i);
            check(plane_.west, i, 0, i, n);
            check(plane_.east, i, n + 1, i, 1);
            check(job_.rank, i, 1, i, 1);
        }
        return right;
    }

private:
    int neighbour(int dx, int dy) const
    {
        const int down = job_.ranks / across_, x = job_.rank % across_ + dx,
                  y = job_.rank / across_ + dy;
        return x < 0 || y < 0 || x >= across_ || y >= down ? MPI_PROC_NULL : y * across_ + x;
    }
    char *at(int64_t r, int64_t c) const
    {
        return plane_.at + (r * plane_.pitch() + c) * plane_.size;
    }
    double value(int rank, int64_t r, int64_t c) const
    {
        return static_cast<double>((rank * 7919 + r * 131 + c * 17 + round_ * 29) % 65521 + 1);
    }
    void put(std::vector<char> &bytes, int64_t r, int64_t c, double value) const
    {
        const auto single = static_cast<float>(value);
        char *const there = bytes.data() + (at(r, c) - plane_.at);
        std::memcpy(there, plane_.size == 8 ? static_cast<const void *>(&value) : &single,
                    static_cast<size_t>(plane_.size));
    }
    double get(const std::vector<char> &bytes, int64_t r, int64_t c) const
    {
        const char *const there = bytes.data() + (at(r, c) - plane_.at);
        double value = 0;
        float single = 0;
        std::memcpy(plane_.size == 8 ? static_cast<void *>(&value) : &single, there,
                    static_cast<size_t>(plane_.size));
        return plane_.size == 8 ? value : static_cast<double>(single);
    }

    const Job &job_;
    int across_ = 1, round_ = 0;
    const Bytes memory_;
    Plane plane_;
    MPI_Datatype row_, column_;
    std::function<void()> through_host_;
};

// ---- HACC's structure ----

// The members of a process's part of a Voronoi tessellation of `cells` cells: some 7 vertices and
// 15 faces a cell, which two cells share, of 5 vertices.
std::vector<int64_t> members_of(int64_t cells)
{
    const int64_t faces = 15 * cells / 2;
    return {
        7 + 6,         // the scalars, and the corners of the domain
        3 * 7 * cells, // vertices
        3 * cells,     // sites
        cells,         // areas
        cells,         // volumes
        cells,         // complete cells
        5 * faces,     // vertices of faces
        cells,         // numbers of faces
        faces          // numbers of vertices
    };
}

// All of four bytes.
class Hacc {
public:
    Hacc(stencil::Device &device, int64_t cells) : device_(device)
    {
        std::vector<int> lengths;
        std::vector<MPI_Aint> addresses;
        std::vector<MPI_Datatype> types;
        for (const int64_t length : members_of(cells)) {
            members_.push_back(std::make_unique<Bytes>(device, static_cast<size_t>(4 * length)));
            starts_.push_back(bytes_);
            bytes_ += 4 * length;
            lengths_.push_back(length);
            lengths.push_back(static_cast<int>(length));
            MPI_Get_address(members_.back()->at(), &addresses.emplace_back());
            types.push_back(members_.size() < 5 ? MPI_FLOAT : MPI_INT);
        }
        MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), addresses.data(),
                               types.data(), &type_);
        MPI_Type_commit(&type_);
        // A copy may be rounded up to whole doubles.
        host_ = host_memory(static_cast<size_t>(bytes_) + 64);
        for (size_t m = 0; m < members_.size(); ++m)
            members_[m]->write(contents(m));
    }
    Hacc(const Hacc &) = delete;
    ~Hacc()
    {
        MPI_Type_free(&type_);
        free_host_memory(host_);
    }

    int64_t bytes() const { return bytes_; }
    void by_type() const
    {
        int position = 0;
        MPI_Pack(MPI_BOTTOM, 1, type_, host_, static_cast<int>(bytes_), &position, MPI_COMM_SELF);
    }
    void by_copies() const
    {
        for (size_t m = 0; m < members_.size(); ++m)
            device_.read(reinterpret_cast<double *>(host_ + starts_[m]),
                         reinterpret_cast<const double *>(members_[m]->at()),
                         members_[m]->size() / 8);
    }
    void spoil() const { std::memset(host_, 0xff, static_cast<size_t>(bytes_)); }
    bool is_right() const
    {
        for (size_t m = 0; m < members_.size(); ++m)
            if (std::memcmp(host_ + starts_[m], contents(m).data(),
                            static_cast<size_t>(4 * lengths_[m])) != 0)
                return false;
        return true;
    }

private:
    std::vector<char> contents(size_t member) const
    {
        std::vector<int32_t> values(members_[member]->size() / 4);
        std::iota(values.begin(), values.end(), static_cast<int32_t>(1'000'003 * member));
        std::vector<char> bytes(members_[member]->size());
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return bytes;
    }

    stencil::Device &device_;
    std::vector<std::unique_ptr<Bytes>> members_;
    std::vector<int64_t> starts_, lengths_; // bytes of the packed ones; elements
    int64_t bytes_ = 0;
    MPI_Datatype type_;
    char *host_;
};

// ---- four datatypes ----

constexpr int kWhole[3] = {1024, 512, 256}, kObject[3] = {47, 13, 100}; // the slowest axis first
constexpr int kStarts[3] = {0, 0, 0};

MPI_Datatype plane_of_rows()
{
    MPI_Datatype plane;
    MPI_Type_vector(kObject[1], kObject[2], kWhole[2], MPI_BYTE, &plane);
    return plane;
}

MPI_Datatype planes(MPI_Datatype plane, int count)
{
    MPI_Datatype object;
    MPI_Type_create_hvector(count, 1, MPI_Aint{kWhole[1]} * kWhole[2], plane, &object);
    MPI_Type_free(&plane);
    return object;
}

MPI_Datatype by_subarray(int count)
{
    const int extents[3] = {count, kObject[1], kObject[2]};
    MPI_Datatype object;
    MPI_Type_create_subarray(3, kWhole, extents, kStarts, MPI_ORDER_C, MPI_BYTE, &object);
    return object;
}

MPI_Datatype by_hvector_of_vector(int count) { return planes(plane_of_rows(), count); }

MPI_Datatype by_hvectors(int count)
{
    MPI_Datatype row, plane;
    MPI_Type_vector(kObject[2], 1, 1, MPI_BYTE, &row);
    MPI_Type_create_hvector(kObject[1], 1, kWhole[2], row, &plane);
    MPI_Type_free(&row);
    return planes(plane, count);
}

MPI_Datatype by_subarray_of_vector(int count)
{
    // A vector's extent is that of a plane.
    MPI_Datatype plane = plane_of_rows(), resized, object;
    MPI_Type_create_resized(plane, 0, MPI_Aint{kWhole[1]} * kWhole[2], &resized);
    MPI_Type_create_subarray(1, kWhole, &count, kStarts, MPI_ORDER_C, resized, &object);
    MPI_Type_free(&plane);
    MPI_Type_free(&resized);
    return object;
}

// A hundred at a time, for one takes less than a microsecond. Each has some planes more, so none is
// known already.
constexpr int kTypes = 100, kSamples = 200;

Kind measured(const char *who, MPI_Datatype (*make)(int), bool is_commit)
{
    Kind kind{who, nullptr, {}};
    for (int i = 0; i < kSamples; ++i) {
        std::vector<MPI_Datatype> types(kTypes);
        const double begin = MPI_Wtime();
        for (int k = 0; k < kTypes; ++k)
            types[static_cast<size_t>(k)] = make(kObject[0] + k);
        const double made = MPI_Wtime();
        for (MPI_Datatype &type : types)
            MPI_Type_commit(&type);
        const double end = MPI_Wtime();
        for (MPI_Datatype &type : types)
            MPI_Type_free(&type);
        kind.times.push_back(1e6 * (is_commit ? end - made : made - begin) / kTypes);
    }
    std::sort(kind.times.begin(), kind.times.end());
    return kind;
}

std::vector<char> packed(MPI_Datatype type, const std::vector<char> &memory)
{
    int bytes = 0, position = 0;
    MPI_Type_size(type, &bytes);
    std::vector<char> out(static_cast<size_t>(bytes));
    MPI_Type_commit(&type);
    MPI_Pack(memory.data(), 1, type, out.data(), bytes, &position, MPI_COMM_SELF);
    MPI_Type_free(&type);
    return out;
}

} // namespace

void measure_stencil2d(Job &job, stencil::Device &device, int64_t edge)
{
    for (const int size : {4, 8}) {
        Stencil2d plane(job, device, edge, size);
        std::vector<Kind> kinds{{"types", [&] { plane.by_types(); }, {}}};
        if (plane.has_rival())
            kinds.push_back({"copies through the host", [&] { plane.through_host(); }, {}});
        int round = 0;
        const auto check = [&](Kind &kind) {
            plane.fill(++round);
            MPI_Barrier(MPI_COMM_WORLD);
            kind.once();
            kind.right = kind.right && plane.is_right();
            MPI_Barrier(MPI_COMM_WORLD);
        };
        for (Kind &kind : kinds)
            check(kind);
        take_turns(kinds);
        for (Kind &kind : kinds)
            check(kind);
        print(job, "stencil2d", size == 8 ? "double" : "float", plane.bytes(), kinds);
    }
}

void measure_hacc(Job &job, stencil::Device &device, int64_t cells)
{
    const Hacc hacc(device, cells);
    std::vector<Kind> kinds{{"one type", [&] { hacc.by_type(); }, {}},
                            {"copy per field", [&] { hacc.by_copies(); }, {}}};
    for (Kind &kind : kinds) {
        hacc.spoil();
        kind.once();
        kind.right = hacc.is_right();
    }
    take_turns(kinds);
    print(job, "hacc", std::to_string(cells) + " cells", hacc.bytes(), kinds);
}

void measure_commit(Job &job)
{
    struct Way {
        const char *name;
        MPI_Datatype (*make)(int);
    };
    std::vector<char> memory(size_t{kWhole[0]} * kWhole[1] * kWhole[2]);
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<char>(i * 31 % 251);
    const std::vector<char> first = packed(by_subarray(kObject[0]), memory);
    for (const Way &way : {Way{"subarray", by_subarray},
                           {"hvector of vector", by_hvector_of_vector},
                           {"hvectors of vector", by_hvectors},
                           {"subarray of vector", by_subarray_of_vector}}) {
        std::vector<Kind> kinds{measured("create", way.make, false),
                                measured("commit", way.make, true)};
        const bool right = packed(way.make(kObject[0]), memory) == first;
        for (Kind &kind : kinds)
            kind.right = right;
        print(job, "one object", way.name, static_cast<int64_t>(first.size()), kinds);
    }
}

} // namespace bench
