/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of this folder share. Buffers lie in memory of every kind, laid out in several
 * ways, and know what should be in them. Checks are counted, and the end reports them. They run on
 * a simulated device or on GPUs, whichever libheddle has open.
 */
#pragma once

#include "../../gpu/device_memory.hpp"

#include <heddle.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace device_test {

inline int rank, size, failures;

inline void fail(const std::string &what)
{
    if (++failures <= 20)
        std::printf("rank %d: %s\n", rank, what.c_str());
}

inline void check(bool holds, const std::string &what)
{
    if (!holds)
        fail(what);
}

/* One of the library's counters. */
inline int64_t counted(const std::string &name)
{
    heddle_counter counter{};
    for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i)
        if (counter.name == name)
            return counter.value;
    fail("there is no counter " + name);
    return 0;
}

/* Sets a control variable of MPI's. */
inline void set_control(const std::string &name, int value)
{
    int index, count;
    MPI_T_cvar_handle handle;
    const bool set = MPI_T_cvar_get_index(name.c_str(), &index) == MPI_SUCCESS &&
                     MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS &&
                     MPI_T_cvar_write(handle, &value) == MPI_SUCCESS &&
                     MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS;
    check(set, name + " cannot be set");
}

/* Another MPI is below, whose windows in device memory have a public copy in host memory. */
#ifdef HEDDLE_TEST_INTERPOSED
constexpr bool is_interposed = true;
#else
constexpr bool is_interposed = false;
#endif

/* MPI_Rput and MPI_Rget of MPICH 4.0 are over too early where types have gaps (docs/upstream.md).
 */
#if defined(HEDDLE_TEST_INTERPOSED) && defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
constexpr bool ends_requests_early = true;
#else
constexpr bool ends_requests_early = false;
#endif

/* Whether MPI, devices and environment let an origin open its target's device memory. */
inline bool expects_direct()
{
    if (is_interposed)
        return false;
    const auto is = [](const char *name, const char *value) {
        const char *const set = std::getenv(name);
        return set && std::string(set) == value;
    };
    return gpu::Machine::get().reach_each_other() && !is("HEDDLE_PEER", "value") &&
           !is("HEDDLE_PEER", "shared");
}

/* Whether dynamic windows take device memory. */
inline bool has_dynamic_windows() { return !is_interposed || std::getenv("HEDDLE_INTERPOSE_PEER"); }

/* The other one of two ranks. */
inline int other() { return 1 - rank; }

/* The memory of the device that this rank works on. */
inline gpu::Place own_device()
{
    const int devices = gpu::Machine::get().devices();
    return {gpu::Kind::device, devices > 0 ? rank % devices : 0};
}

inline void wait_all(std::vector<MPI_Request> &requests)
{
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
}

/* What layouts are made of: doubles, or bytes, where sizes between doubles matter. */
struct Unit {
    MPI_Datatype type;
    int size;
};
inline const Unit in_doubles{MPI_DOUBLE, sizeof(double)}, in_bytes{MPI_BYTE, 1};

/* How so many units lie in memory: where each of them is, and the type that says so. */
struct Layout {
    std::string name;
    std::vector<MPI_Aint> at; /* bytes from the buffer, in the order of the type */
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int unit;
    MPI_Aint bytes = 0; /* of the buffer */

    Layout(std::string name, std::vector<MPI_Aint> at, MPI_Datatype type, Unit unit = in_doubles)
        : name(std::move(name)), at(std::move(at)), type(type), unit(unit.size)
    {
        MPI_Type_commit(&this->type);
        for (MPI_Aint a : this->at)
            bytes = std::max(bytes, a + this->unit);
    }
    Layout(Layout &&other) noexcept
        : name(std::move(other.name)),
          at(std::move(other.at)),
          type(other.type),
          unit(other.unit),
          bytes(other.bytes)
    {
        other.type = MPI_DATATYPE_NULL;
    }
    ~Layout()
    {
        if (type != MPI_DATATYPE_NULL)
            MPI_Type_free(&type);
    }
    int64_t elements() const { return static_cast<int64_t>(at.size()); }
};

inline Layout contiguous(int n, Unit unit = in_doubles)
{
    std::vector<MPI_Aint> at;
    for (int i = 0; i < n; ++i)
        at.push_back(MPI_Aint{unit.size} * i);
    MPI_Datatype type;
    MPI_Type_contiguous(n, unit.type, &type);
    return {"contiguous", at, type, unit};
}

inline Layout strided(int n, Unit unit = in_doubles)
{
    std::vector<MPI_Aint> at;
    for (int i = 0; i < n; ++i)
        at.push_back(MPI_Aint{3 * unit.size} * i);
    MPI_Datatype type;
    MPI_Type_vector(n, 1, 3, unit.type, &type);
    return {"strided", at, type, unit};
}

/* Blocks of 1 to 7 with gaps that change, the last ones first. */
inline Layout indexed(int n, Unit unit = in_doubles)
{
    std::vector<int> lengths, displs;
    int left = n, place = 0;
    for (int i = 0; left > 0; ++i) {
        lengths.push_back(std::min(left, 1 + i * 5 % 7));
        displs.push_back(place);
        place += lengths.back() + 1 + i % 3;
        left -= lengths.back();
    }
    std::reverse(lengths.begin(), lengths.end());
    std::reverse(displs.begin(), displs.end());
    std::vector<MPI_Aint> at;
    for (size_t b = 0; b < lengths.size(); ++b)
        for (int i = 0; i < lengths[b]; ++i)
            at.push_back(MPI_Aint{unit.size} * (displs[b] + i));
    MPI_Datatype type;
    MPI_Type_indexed(static_cast<int>(lengths.size()), lengths.data(), displs.data(), unit.type,
                     &type);
    return {"indexed", at, type, unit};
}

/* Structs of members that stand in another order than they lie, the last one short. Resized parts
 * would end the whole at the last of them (MPI 4.1, 5.1.7): so the whole is resized, too. */
inline Layout structs(int n, Unit unit = in_doubles)
{
    const int whole = n / 3, rest = n % 3;
    const MPI_Aint u = unit.size;
    MPI_Datatype one, all, both, type;
    const int lengths[] = {1, 2};
    const MPI_Aint displs[] = {3 * u, 0};
    const MPI_Datatype types[] = {unit.type, unit.type};
    MPI_Type_create_struct(2, lengths, displs, types, &one);
    MPI_Type_create_resized(one, 0, 5 * u, &all);
    const int counts[] = {whole, rest};
    const MPI_Aint places[] = {0, 5 * u * whole};
    const MPI_Datatype parts[] = {all, unit.type};
    MPI_Type_create_struct(2, counts, places, parts, &both);
    MPI_Type_create_resized(both, 0, u * (5 * whole + rest), &type);
    MPI_Type_free(&one);
    MPI_Type_free(&all);
    MPI_Type_free(&both);
    std::vector<MPI_Aint> at;
    for (int i = 0; i < whole; ++i)
        for (const MPI_Aint offset : {3 * u, MPI_Aint{0}, u})
            at.push_back(5 * u * i + offset);
    for (int i = 0; i < rest; ++i)
        at.push_back(5 * u * whole + u * i);
    return {"struct", at, type, unit};
}

struct MakeLayout {
    constexpr MakeLayout(Layout (*make)(int, Unit)) : make(make) {}
    Layout operator()(int n, Unit unit = in_doubles) const { return make(n, unit); }
    bool operator==(const MakeLayout &) const = default;
    Layout (*make)(int, Unit);
};
inline constexpr MakeLayout every_layout[] = {contiguous, strided, indexed, structs};
inline constexpr gpu::Kind every_kind[] = {gpu::Kind::pageable, gpu::Kind::device,
                                           gpu::Kind::managed};

/* A buffer of one layout's, each byte of it known. */
class Buffer {
public:
    Buffer(gpu::Kind kind, const Layout &layout, int copies = 1)
        : layout_(layout),
          extent_(extent_of(layout.type)),
          copies_(copies),
          host_(static_cast<size_t>(layout.bytes + extent_ * (copies - 1)), std::byte{0xa5}),
          memory_({kind, own_device().device}, host_.size())
    {
        if (!memory_)
            throw std::runtime_error("no memory for a test's buffer");
        store();
    }

    void *at() const { return memory_.at(); }
    MPI_Datatype type() const { return layout_.type; }
    int64_t elements() const { return layout_.elements() * copies_; }
    std::string name() const { return layout_.name + " in " + gpu::to_text(memory_.place()); }
    static double value(int seed, int64_t i) { return seed * 1e6 + static_cast<double>(i); }

    /* The elements become those of `seed`; the rest stays. */
    void fill(int seed)
    {
        expect(seed, 0, elements());
        store();
    }
    /* From now on elements `begin` to `end` should be those of `seed`, counted from its `first`. */
    void expect(int seed, int64_t begin, int64_t end, int64_t first = 0)
    {
        for (int64_t i = begin; i < end; ++i)
            put(i, value(seed, first + i - begin));
    }
    void put(int64_t i, double v)
    {
        const int64_t n = layout_.elements();
        std::byte *const at =
            &host_[static_cast<size_t>(layout_.at[static_cast<size_t>(i % n)] + extent_ * (i / n))];
        if (layout_.unit == sizeof v)
            std::memcpy(at, &v, sizeof v);
        else /* a byte of which no short cycle is to be expected */
            *at = static_cast<std::byte>(static_cast<uint64_t>(v) * 0x9e3779b97f4a7c15 >> 56);
    }
    /* Whether the memory holds what it should, gaps included. */
    bool holds() const { return found() == host_; }
    /* The same, for the test's thread: it fails where not. */
    void verify(const std::string &what) const
    {
        const std::vector<std::byte> found = this->found();
        for (size_t i = 0; i < found.size(); ++i)
            if (found[i] != host_[i])
                return fail(what + ": byte " + std::to_string(i) + " of " + name() + " is " +
                            std::to_string(std::to_integer<int>(found[i])) + ", not " +
                            std::to_string(std::to_integer<int>(host_[i])));
    }

    /* Makes it so. */
    void store() const { memory_.write(0, host_.data(), host_.size()); }

private:
    std::vector<std::byte> found() const
    {
        std::vector<std::byte> bytes(host_.size());
        memory_.read(0, bytes.data(), bytes.size());
        return bytes;
    }
    static MPI_Aint extent_of(MPI_Datatype type)
    {
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        return extent;
    }
    const Layout &layout_;
    MPI_Aint extent_;
    int copies_;
    std::vector<std::byte> host_;
    gpu::Memory memory_;
};

/* Runs `body` between MPI's start and end, and `last` with nothing but MPI_Finalize behind it. */
template <class Body> int run(int argc, char **argv, Body body, void (*last)() = nullptr)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (gpu::Machine::get().devices() == 0) {
        std::printf("there is no device: HEDDLE_DEVICE names a plug-in\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    try {
        body();
    } catch (const std::exception &e) {
        std::printf("rank %d: %s\n", rank, e.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (last)
        last();
    MPI_Finalize();
    return all != 0 || failures != 0;
}

} // namespace device_test
