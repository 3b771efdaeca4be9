// SPDX-License-Identifier: BSD-3-Clause
// The C API of types.
#include "engine/guard.hpp"
#include "engine/immortal.hpp"
#include "engine/predefined.hpp"
#include "engine/sized.hpp"

#include <algorithm>
#include <array>
#include <cstring>

using namespace heddle;

const char *heddle_strerror(int error)
{
    switch (error) {
    case HEDDLE_SUCCESS:
        return "success";
    case HEDDLE_ERR_ARG:
        return "invalid argument: a null pointer, or a value outside its range";
    case HEDDLE_ERR_COUNT:
        return "invalid count: counts and block lengths must not be negative";
    case HEDDLE_ERR_TYPE:
        return "invalid datatype";
    case HEDDLE_ERR_NOT_COMMITTED:
        return "datatype has not been committed";
    case HEDDLE_ERR_OVERFLOW:
        return "a size, extent or displacement of the datatype does not fit in 63 bits";
    case HEDDLE_ERR_RANGE:
        return "offset lies outside the data";
    case HEDDLE_ERR_TRUNCATE:
        return "message truncated: the destination is too small for the data";
    case HEDDLE_ERR_NO_MEMORY:
        return "out of memory";
    case HEDDLE_ERR_OP:
        return "the reduction operator is not defined for this datatype";
    case HEDDLE_ERR_FORMAT:
        return "bytes from another process are damaged (a flattened datatype, or a header of a "
               "message)";
    case HEDDLE_ERR_VERSION:
        return "bytes from another process are of an incompatible version of Heddle";
    case HEDDLE_ERR_DEPTH:
        return "datatype is nested too deeply";
    case HEDDLE_ERR_BUFFER:
        return "invalid buffer: a null pointer, or memory that the transfer's device cannot reach";
    case HEDDLE_ERR_STREAM:
        return "the stream belongs to another device than the memory";
    case HEDDLE_ERR_NO_DEVICE:
        return "no device is open (heddle_info says why)";
    case HEDDLE_ERR_DEVICE:
        return "a device call failed";
    case HEDDLE_ERR_FREED:
        return "the datatype or request was freed already";
    case HEDDLE_ERR_LOST:
        return "the process at the other end of the message has ended";
    case HEDDLE_ERR_PEER:
        return "the other end of the message failed, or cannot be reached any more";
    default:
        return "unknown error code";
    }
}

const char *heddle_version(void) { return HEDDLE_VERSION; }

namespace {

bool bad(int64_t count, const void *array) { return count > 0 && !array; }

template <class F> int construct(const heddle_type *old, heddle_type **out, F &&make)
{
    if (!out)
        return HEDDLE_ERR_ARG;
    if (const Error e = check_type(old))
        return e.code();
    return guard([&] {
        TypePtr made = make();
        count_memory(*made);
        *out = made.release();
        return HEDDLE_SUCCESS;
    });
}

template <class Int> std::span<const Int> view(const Int *a, int64_t n)
{
    return {a, static_cast<size_t>(n)};
}

// Blocks of `count` lengths, or without these of `len` each. Displacements are bytes, or extents.
enum class Unit { bytes, extents };
template <class Int> int construct_blocks(int64_t count, const Int *lens, int64_t len,
                                          const Int *displs, Unit unit, const heddle_type *old,
                                          heddle_type **out)
{
    return construct(old, out, [&] {
        const int64_t extent = old->bounds.extent(), step = unit == Unit::bytes ? 1 : extent;
        return make_blocks(
            BlockList<Int>(view(displs, count), view(lens, lens ? count : 0), len, extent, step),
            *old);
    });
}

// Blocks of lengths of their own.
template <class Int> int construct_indexed(int64_t count, const Int *lens, const Int *displs,
                                           Unit unit, const heddle_type *old, heddle_type **out)
{
    if (count < 0)
        return HEDDLE_ERR_COUNT;
    if (bad(count, lens) || bad(count, displs))
        return HEDDLE_ERR_ARG;
    return construct_blocks(count, lens, 0, displs, unit, old, out);
}

// Blocks of one length.
int construct_indexed_block(int64_t count, int64_t len, const int64_t *displs, Unit unit,
                            const heddle_type *old, heddle_type **out)
{
    if (count < 0 || len < 0)
        return HEDDLE_ERR_COUNT;
    if (bad(count, displs))
        return HEDDLE_ERR_ARG;
    return construct_blocks<int64_t>(count, nullptr, len, displs, unit, old, out);
}

} // namespace

heddle_type *heddle_type_predefined(heddle_predefined which)
{
    static Immortal<std::array<TypePtr, HEDDLE_PREDEFINED_COUNT>> types([] {
        std::array<TypePtr, HEDDLE_PREDEFINED_COUNT> t;
        for (int i = 0; i < HEDDLE_PREDEFINED_COUNT; ++i)
            t[static_cast<size_t>(i)] = make_predefined(static_cast<heddle_predefined>(i));
        return t;
    }());
    const auto i = static_cast<size_t>(which);
    return i < types->size() ? (*types)[i].get() : nullptr;
}

int heddle_type_contiguous(int64_t count, heddle_type *oldtype, heddle_type **newtype)
{
    if (count < 0)
        return HEDDLE_ERR_COUNT;
    return construct(oldtype, newtype, [&] { return make_stream(1, count, 0, *oldtype); });
}

int heddle_type_hvector(int64_t count, int64_t blocklength, int64_t hstride, heddle_type *oldtype,
                        heddle_type **newtype)
{
    if (count < 0 || blocklength < 0)
        return HEDDLE_ERR_COUNT;
    return construct(oldtype, newtype,
                     [&] { return make_stream(count, blocklength, hstride, *oldtype); });
}

int heddle_type_vector(int64_t count, int64_t blocklength, int64_t stride, heddle_type *oldtype,
                       heddle_type **newtype)
{
    if (count < 0 || blocklength < 0)
        return HEDDLE_ERR_COUNT;
    return construct(oldtype, newtype, [&] {
        return make_stream(count, blocklength, mul(stride, oldtype->bounds.extent()), *oldtype);
    });
}

int heddle_type_hindexed(int64_t count, const int64_t *blocklengths, const int64_t *hdisplacements,
                         heddle_type *oldtype, heddle_type **newtype)
{
    return construct_indexed(count, blocklengths, hdisplacements, Unit::bytes, oldtype, newtype);
}

int heddle_type_indexed(int64_t count, const int64_t *blocklengths, const int64_t *displacements,
                        heddle_type *oldtype, heddle_type **newtype)
{
    return construct_indexed(count, blocklengths, displacements, Unit::extents, oldtype, newtype);
}

int heddle_type_indexed_int(int64_t count, const int *blocklengths, const int *displacements,
                            heddle_type *oldtype, heddle_type **newtype)
{
    return construct_indexed(count, blocklengths, displacements, Unit::extents, oldtype, newtype);
}

int heddle_type_hindexed_block(int64_t count, int64_t blocklength, const int64_t *hdisplacements,
                               heddle_type *oldtype, heddle_type **newtype)
{
    return construct_indexed_block(count, blocklength, hdisplacements, Unit::bytes, oldtype,
                                   newtype);
}

int heddle_type_indexed_block(int64_t count, int64_t blocklength, const int64_t *displacements,
                              heddle_type *oldtype, heddle_type **newtype)
{
    return construct_indexed_block(count, blocklength, displacements, Unit::extents, oldtype,
                                   newtype);
}

int heddle_type_struct(int64_t count, const int64_t *blocklengths, const int64_t *hdisplacements,
                       heddle_type *const *oldtypes, heddle_type **newtype)
{
    if (count < 0)
        return HEDDLE_ERR_COUNT;
    if (bad(count, blocklengths) || bad(count, hdisplacements) || (count > 0 && !oldtypes) ||
        !newtype)
        return HEDDLE_ERR_ARG;
    if (std::any_of(blocklengths, blocklengths + count, [](int64_t len) { return len < 0; }))
        return HEDDLE_ERR_COUNT;
    const std::span<heddle_type *const> types(oldtypes, static_cast<size_t>(count));
    for (const heddle_type *type : types)
        if (const Error e = check_type(type))
            return e.code();
    return guard([&] {
        TypePtr made = make_struct(view(blocklengths, count), view(hdisplacements, count), types);
        count_memory(*made);
        *newtype = made.release();
        return HEDDLE_SUCCESS;
    });
}

int heddle_type_resized(heddle_type *oldtype, int64_t lb, int64_t extent, heddle_type **newtype)
{
    return construct(oldtype, newtype, [&] { return make_resized(*oldtype, lb, extent); });
}

int heddle_type_dup(heddle_type *oldtype, heddle_type **newtype)
{
    if (!newtype)
        return HEDDLE_ERR_ARG;
    if (const Error e = check_type(oldtype))
        return e.code();
    heddle_type_retain(oldtype);
    *newtype = oldtype;
    return HEDDLE_SUCCESS;
}

int heddle_type_subarray(int ndims, const int64_t *sizes, const int64_t *subsizes,
                         const int64_t *starts, int order, heddle_type *oldtype,
                         heddle_type **newtype)
{
    if (ndims < 1 || !sizes || !subsizes || !starts ||
        (order != HEDDLE_ORDER_C && order != HEDDLE_ORDER_FORTRAN))
        return HEDDLE_ERR_ARG;
    for (int i = 0; i < ndims; ++i)
        if (subsizes[i] < 0 || starts[i] < 0 || sizes[i] < subsizes[i] ||
            starts[i] > sizes[i] - subsizes[i])
            return HEDDLE_ERR_ARG;
    return construct(oldtype, newtype, [&] {
        return make_subarray(view(sizes, ndims), view(subsizes, ndims), view(starts, ndims),
                             order == HEDDLE_ORDER_FORTRAN, *oldtype);
    });
}

int heddle_type_commit(heddle_type *type)
{
    if (const Error e = check_type(type))
        return e.code();
    return guard([&] {
        commit(*type);
        return HEDDLE_SUCCESS;
    });
}

void heddle_type_retain(heddle_type *type)
{
    if (!check_type(type) && !type->predefined)
        type->references.fetch_add(1, std::memory_order_relaxed);
}

void heddle_type_release(heddle_type *type)
{
    if (!check_type(type) && !type->predefined &&
        type->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
        delete type;
}

int heddle_type_get_info(const heddle_type *type, heddle_type_info *info)
{
    if (const Error e = check_type(type))
        return e.code();
    if (!is_sized(info))
        return HEDDLE_ERR_ARG;
    return guard([&] {
        const heddle_bounds &b = type->bounds;
        const Plan *plan = type->plan.load(std::memory_order_acquire);
        heddle_type_info i{};
        i.size = type->size();
        i.lb = b.lb;
        i.extent = b.extent();
        i.true_lb = b.true_lb;
        i.true_extent = b.true_ub - b.true_lb;
        i.alignment = type->alignment;
        i.elements = type->elements;
        i.displ = type->layout.displ;
        i.memory = type->memory();
        i.basic = type->basic;
        if (plan) {
            i.runs = plan->runs;
            i.contiguous = plan->contiguous;
            i.committed = 1;
            i.plan = plan->kind;
            i.dimensions = plan->dimensions;
            i.word = plan->word;
        } else {
            i.contiguous = i.size == 0 || (type->layout.node->consecutive && i.size == i.extent);
        }
        write_sized(i, info);
        return HEDDLE_SUCCESS;
    });
}

int heddle_type_describe(const heddle_type *type, char *text, size_t capacity, size_t *length)
{
    if (const Error e = check_type(type))
        return e.code();
    if (!length || (capacity > 0 && !text))
        return HEDDLE_ERR_ARG;
    return guard([&] {
        *length = write_text(describe(erase(type->layout)), text, capacity);
        return HEDDLE_SUCCESS;
    });
}
