// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/data.hpp"

#include "interpose/report.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <utility>

namespace heddle::interpose {

bool device_is_open()
{
    static const bool is_open = heddle_device_open() == HEDDLE_SUCCESS;
    return is_open;
}

bool is_device_memory(const void *address)
{
    if (heddle_memory_is_program(address))
        return false;
    const int kind = heddle_memory_kind(address, nullptr);
    return kind == HEDDLE_MEMORY_DEVICE || kind == HEDDLE_MEMORY_MANAGED;
}

namespace {

// What MPIX_Query_cuda_support says is about how the MPI was built, so it is asked only by request.
bool mpi_takes_device_memory()
{
    static const bool takes = [] {
        const char *const said = std::getenv("HEDDLE_INTERPOSE_GPU_AWARE");
        if (!said || std::strcmp(said, "auto") != 0)
            return said && std::strcmp(said, "1") == 0;
        using Query = int (*)();
        const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
        return query && query() == 1;
    }();
    return takes;
}

// What is forced by the environment, for measurements.
std::optional<Method> forced_method()
{
    const char *const said = std::getenv("HEDDLE_INTERPOSE_METHOD");
    if (said && std::strcmp(said, "oneshot") == 0)
        return Method::one_shot;
    if (said && std::strcmp(said, "device") == 0)
        return Method::device;
    return {};
}

// Types of absolute addresses may name any memory, so each run is looked at. Returns the first that
// is a device's, or null.
const void *device_run(const Shape &shape, int64_t count)
{
    constexpr int64_t at_a_time = 256;
    struct iovec runs[at_a_time];
    for (int64_t first = 0, found = 0;; first += found) {
        if (heddle_iov(nullptr, count, shape.type(), first, runs, at_a_time, &found) !=
                HEDDLE_SUCCESS ||
            found == 0)
            return nullptr;
        const auto *const run = std::find_if(
            runs, runs + found, [](const iovec &each) { return is_device_memory(each.iov_base); });
        if (run != runs + found)
            return run->iov_base;
    }
}

// All data of a buffer lie in one piece of memory, unless the buffer is MPI_BOTTOM (MPI 4.0,
// section 5.1.12). So its first byte tells whose they are.
bool is_on_device(const void *buffer, MPI_Datatype type)
{
    if (is_device_memory(buffer))
        return true;
    MPI_Count true_lb = 0, true_extent = 0;
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    return true_lb != 0 && is_device_memory(static_cast<const std::byte *>(buffer) + true_lb);
}

ShapePtr shape_or_complaint(MPI_Datatype type)
{
    ShapePtr shape = shape_of(type);
    if (!shape) {
        count(Count::not_rebuilt);
        complain_once("a datatype cannot be rebuilt; its device buffers go to MPI as they are");
    }
    return shape;
}

std::optional<Data> find(const void *buffer, int64_t count, MPI_Datatype type, bool of_any_form)
{
    if (count <= 0 || buffer == MPI_IN_PLACE || type == MPI_DATATYPE_NULL || !device_is_open())
        return {};
    const bool is_absolute = buffer == MPI_BOTTOM;
    if (!is_absolute && !is_on_device(buffer, type))
        return {};
    ShapePtr shape = shape_or_complaint(type);
    if (!shape || shape->info().size == 0)
        return {};
    if (is_absolute && !device_run(*shape, count))
        return {};
    if (!of_any_form && !is_absolute && shape->info().contiguous && mpi_takes_device_memory())
        return {};
    return Data{const_cast<void *>(buffer), count, std::move(shape)};
}

} // namespace

std::optional<Data> device_data(const void *buffer, int64_t count, MPI_Datatype type)
{
    return find(buffer, count, type, false);
}

std::optional<Data> device_data_of_any_form(const void *buffer, int64_t count, MPI_Datatype type)
{
    return find(buffer, count, type, true);
}

std::optional<Data> any_data(const void *buffer, int64_t count, MPI_Datatype type)
{
    if (count <= 0 || buffer == MPI_IN_PLACE || type == MPI_DATATYPE_NULL)
        return {};
    ShapePtr shape = shape_or_complaint(type);
    if (!shape || shape->info().size == 0)
        return {};
    return Data{const_cast<void *>(buffer), count, std::move(shape)};
}

// Short data are with MPI sooner out of host memory. On two H100s, by UCX's CUDA IPC, 16 KiB take
// 25 us so and 30 to 33 out of device memory, 64 KiB 38 and 31 to 35 (bench/results).
Method method_for(int64_t bytes, const void *near)
{
    constexpr int64_t bytes_worth_a_device_buffer = 48 << 10;
    static const std::optional<Method> forced = forced_method();
    if (!mpi_takes_device_memory() || !is_device_memory(near))
        return Method::one_shot;
    if (forced)
        return *forced;
    return bytes < bytes_worth_a_device_buffer ? Method::one_shot : Method::device;
}

int64_t Data::low() const
{
    const heddle_type_info &info = shape->info();
    return info.true_lb + std::min<int64_t>(0, (count - 1) * info.extent);
}

int64_t Data::high() const
{
    const heddle_type_info &info = shape->info();
    return info.true_lb + std::max<int64_t>(0, (count - 1) * info.extent) + info.true_extent;
}

const void *Data::near() const
{
    return buffer ? static_cast<const std::byte *>(buffer) + shape->info().true_lb
                  : device_run(*shape, count);
}

bool Data::is_dense() const
{
    const heddle_type_info &info = shape->info();
    return info.contiguous || (count == 1 && info.runs == 1);
}

// A device's memory is not looked at where the MPI takes none.
bool Data::mpi_may_have_it() const
{
    return is_dense() && (mpi_takes_device_memory() || !is_device_memory(first()));
}

Staging::Staging(int64_t bytes, const void *near, Method method) : method_(method)
{
    const auto allocate = method == Method::device ? heddle_scratch_alloc : heddle_staging_alloc;
    failed_ = allocate(std::max<int64_t>(bytes, 1), near, &at_) != HEDDLE_SUCCESS;
}

Staging::Staging(Staging &&other) noexcept
    : at_(std::exchange(other.at_, nullptr)), method_(other.method_), failed_(other.failed_)
{
}

Staging &Staging::operator=(Staging &&other) noexcept
{
    std::swap(at_, other.at_);
    std::swap(method_, other.method_);
    std::swap(failed_, other.failed_);
    return *this;
}

Staging::~Staging()
{
    if (method_ == Method::device)
        heddle_scratch_free(at_);
    else
        heddle_staging_free(at_);
}

heddle_side packed_side(void *at, int64_t bytes)
{
    return {at, bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
}

heddle_move pack_move(const Data &data, void *at)
{
    const int64_t bytes = data.bytes();
    return {data.side(), packed_side(at, bytes), bytes, HEDDLE_OP_REPLACE};
}

heddle_move unpack_move(const Data &data, void *at, int64_t bytes)
{
    const int64_t moved = std::min(bytes, data.bytes());
    return {packed_side(at, moved), data.side(), moved, HEDDLE_OP_REPLACE};
}

int transfer(const std::vector<heddle_move> &moves)
{
    if (moves.empty())
        return MPI_SUCCESS;
    return class_of(heddle_transfer(moves.data(), static_cast<int64_t>(moves.size())));
}

Packed::Packed(int64_t bytes) : count_(static_cast<int>(bytes))
{
    if (bytes <= INT_MAX)
        return;
    count_ = 1;
    type_ = make_dense(bytes, MPI_PACKED);
}

Packed::~Packed()
{
    if (type_ != MPI_PACKED && type_ != MPI_DATATYPE_NULL)
        PMPI_Type_free(&type_);
}

int64_t bytes_of(const MPI_Status &status)
{
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    return bytes > 0 ? bytes : 0; // MPI_UNDEFINED is negative
}

} // namespace heddle::interpose
