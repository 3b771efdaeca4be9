// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack and their external forms, where either buffer is a device's. The packed form
// is the data alone, as in both MPIs between processes of one architecture.
#include "interpose/data.hpp"
#include "interpose/operation.hpp"
#include "interpose/report.hpp"

#include <cstring>

namespace heddle::interpose {

namespace {

// The program's data and its packed bytes, either of them perhaps in host memory.
struct Packing {
    Data data;
    void *packed; // from the position on
    int64_t room; // bytes there

    int64_t bytes() const { return data.bytes(); }
};

// Nothing where both buffers are the host's.
std::optional<Packing> packing_of(const void *buffer, int64_t n, MPI_Datatype type,
                                  const void *packed, int64_t size, int64_t position)
{
    if (n <= 0 || !device_is_open())
        return {};
    std::optional<Data> data = device_data_of_any_form(buffer, n, type);
    if (!data && is_device_memory(packed))
        if (ShapePtr shape = shape_of(type))
            data = Data{const_cast<void *>(buffer), n, std::move(shape)};
    if (!data)
        return {};
    return Packing{*std::move(data),
                   static_cast<std::byte *>(const_cast<void *>(packed)) + position,
                   size - position};
}

template <auto down, class Int> int pack(const void *buffer, Int n, MPI_Datatype type, void *packed,
                                         Int size, Int *position, MPI_Comm comm)
{
    const std::optional<Packing> packing = packing_of(buffer, n, type, packed, size, *position);
    if (!packing) {
        count(Count::passed);
        return down(buffer, n, type, packed, size, position, comm);
    }
    count(Count::staged);
    if (packing->bytes() > packing->room)
        return raise(comm, MPI_ERR_TRUNCATE);
    const int error = transfer({pack_move(packing->data, packing->packed)});
    if (error == MPI_SUCCESS)
        *position += static_cast<Int>(packing->bytes());
    return raise(comm, error);
}

template <auto down, class Int> int unpack(const void *packed, Int size, Int *position,
                                           void *buffer, Int n, MPI_Datatype type, MPI_Comm comm)
{
    const std::optional<Packing> packing = packing_of(buffer, n, type, packed, size, *position);
    if (!packing) {
        count(Count::passed);
        return down(packed, size, position, buffer, n, type, comm);
    }
    count(Count::staged);
    if (packing->bytes() > packing->room)
        return raise(comm, MPI_ERR_TRUNCATE);
    const int error = transfer({unpack_move(packing->data, packing->packed, packing->bytes())});
    if (error == MPI_SUCCESS)
        *position += static_cast<Int>(packing->bytes());
    return raise(comm, error);
}

// ---- external32: converted in host memory
// --------------------------------------------------------

int64_t external_bytes(const Packing &packing)
{
    int64_t bytes = 0;
    heddle_external_size(packing.data.count, packing.data.shape->type(), &bytes);
    return bytes;
}

heddle_move bytes_move(void *from, void *to, int64_t bytes)
{
    return {packed_side(from, bytes), packed_side(to, bytes), bytes, HEDDLE_OP_REPLACE};
}

int to_external(const Packing &packing, int64_t bytes)
{
    const Staging native(packing.bytes(), packing.data.near()), external(bytes, packing.packed);
    if (native.failed() || external.failed())
        return MPI_ERR_NO_MEM;
    if (const int error = transfer({pack_move(packing.data, native.at())}); error != MPI_SUCCESS)
        return error;
    const int converted = class_of(heddle_external_from_packed(
        native.at(), packing.data.count, packing.data.shape->type(), external.at()));
    return converted != MPI_SUCCESS ? converted
                                    : transfer({bytes_move(external.at(), packing.packed, bytes)});
}

int from_external(const Packing &packing, int64_t bytes)
{
    const Staging native(packing.bytes(), packing.data.near()), external(bytes, packing.packed);
    if (native.failed() || external.failed())
        return MPI_ERR_NO_MEM;
    if (const int error = transfer({bytes_move(packing.packed, external.at(), bytes)});
        error != MPI_SUCCESS)
        return error;
    const int converted = class_of(heddle_external_to_packed(
        external.at(), native.at(), packing.data.count, packing.data.shape->type()));
    return converted != MPI_SUCCESS
               ? converted
               : transfer({unpack_move(packing.data, native.at(), packing.bytes())});
}

template <auto convert, class Position>
int external(const Packing &packing, const char *representation, Position *position)
{
    count(Count::staged);
    if (std::strcmp(representation, "external32") != 0) // the one that there is
        return raise(MPI_COMM_WORLD, MPI_ERR_ARG);
    const int64_t bytes = external_bytes(packing);
    if (bytes > packing.room)
        return raise(MPI_COMM_WORLD, MPI_ERR_TRUNCATE);
    const int error = convert(packing, bytes);
    if (error == MPI_SUCCESS)
        *position += static_cast<Position>(bytes);
    return raise(MPI_COMM_WORLD, error);
}

template <auto down, class Int, class Position>
int pack_external(const char *representation, const void *buffer, Int n, MPI_Datatype type,
                  void *packed, Position size, Position *position)
{
    const std::optional<Packing> packing = packing_of(buffer, n, type, packed, size, *position);
    if (packing)
        return external<to_external>(*packing, representation, position);
    count(Count::passed);
    return down(representation, buffer, n, type, packed, size, position);
}

template <auto down, class Int, class Position>
int unpack_external(const char *representation, const void *packed, Position size,
                    Position *position, void *buffer, Int n, MPI_Datatype type)
{
    const std::optional<Packing> packing = packing_of(buffer, n, type, packed, size, *position);
    if (packing)
        return external<from_external>(*packing, representation, position);
    count(Count::passed);
    return down(representation, packed, size, position, buffer, n, type);
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

#define PACKING(Suffix, Int, Position)                                                             \
    int MPI_Pack##Suffix(const void *buffer, Int n, MPI_Datatype type, void *packed, Int size,     \
                         Int *position, MPI_Comm comm)                                             \
    {                                                                                              \
        return pack<PMPI_Pack##Suffix>(buffer, n, type, packed, size, position, comm);             \
    }                                                                                              \
    int MPI_Unpack##Suffix(const void *packed, Int size, Int *position, void *buffer, Int n,       \
                           MPI_Datatype type, MPI_Comm comm)                                       \
    {                                                                                              \
        return unpack<PMPI_Unpack##Suffix>(packed, size, position, buffer, n, type, comm);         \
    }                                                                                              \
    int MPI_Pack_external##Suffix(const char representation[], const void *buffer, Int n,          \
                                  MPI_Datatype type, void *packed, Position size,                  \
                                  Position *position)                                              \
    {                                                                                              \
        return pack_external<PMPI_Pack_external##Suffix>(representation, buffer, n, type, packed,  \
                                                         size, position);                          \
    }                                                                                              \
    int MPI_Unpack_external##Suffix(const char representation[], const void *packed,               \
                                    Position size, Position *position, void *buffer, Int n,        \
                                    MPI_Datatype type)                                             \
    {                                                                                              \
        return unpack_external<PMPI_Unpack_external##Suffix>(representation, packed, size,         \
                                                             position, buffer, n, type);           \
    }

extern "C" {
PACKING(, int, MPI_Aint)
#if MPI_VERSION >= 4
PACKING(_c, MPI_Count, MPI_Count)
#endif
}
