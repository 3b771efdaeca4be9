/* SPDX-License-Identifier: BSD-3-Clause */
#include "reference.hpp"

#include "basics.hpp"

#include <algorithm>
#include <cstring>

namespace oracle {
namespace {

std::byte *at(uintptr_t base, int64_t displacement)
{
    return reinterpret_cast<std::byte *>(base + static_cast<uintptr_t>(displacement));
}

/* The x87 format has 10 bytes of value in 16 of storage. */
constexpr size_t long_double_value_bytes = 10;

void reversed(const std::byte *from, std::byte *to, size_t size)
{
    std::reverse_copy(from, from + size, to);
}

template <class T> T load(const std::byte *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T> void store(std::byte *to, T value) { std::memcpy(to, &value, sizeof value); }

/* Native and external32 differ in the type that holds the value, then in byte order. */
template <class Native, class External> void narrow(const std::byte *native, std::byte *external)
{
    const auto value = static_cast<External>(load<Native>(native));
    reversed(reinterpret_cast<const std::byte *>(&value), external, sizeof value);
}

template <class Native, class External> void widen(const std::byte *external, std::byte *native)
{
    External value;
    reversed(external, reinterpret_cast<std::byte *>(&value), sizeof value);
    store(native, static_cast<Native>(value));
}

} // namespace

Packing::Packing(const Typemap &map, int64_t count) : map_(map), count_(count)
{
    starts_.reserve(map.entries.size() + 1);
    int64_t next = 0;
    for (const Entry &entry : map.entries) {
        starts_.push_back(next);
        next += primitive_size(entry.kind);
    }
    starts_.push_back(next);
    total_ = next * count;
}

int64_t Packing::entry_at(int64_t offset) const
{
    const int64_t one = starts_.back();
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset % one);
    return offset / one * static_cast<int64_t>(map_.entries.size()) + (after - starts_.begin() - 1);
}

int64_t Packing::displacement(int64_t entry) const
{
    return instance(entry) * map_.extent() + map_.entries[local(entry)].displacement;
}

int64_t Packing::start(int64_t entry) const
{
    return instance(entry) * starts_.back() + starts_[local(entry)];
}

int64_t Packing::size(int64_t entry) const
{
    return starts_[local(entry) + 1] - starts_[local(entry)];
}

int64_t Packing::locate(int64_t offset) const
{
    const int64_t entry = entry_at(offset);
    return displacement(entry) + offset - start(entry);
}

int64_t Packing::pack_end(int64_t offset, int64_t max) const
{
    if (max >= total_ - offset)
        return total_;
    const int64_t end = offset + max;
    const int64_t boundary = start(entry_at(end));
    return boundary > offset ? boundary : end;
}

Bytes pack(uintptr_t base, const Packing &packing)
{
    Bytes packed(static_cast<size_t>(packing.total()));
    std::byte *to = packed.data();
    for (int64_t i = 0; i < packing.count(); ++i)
        for (const Entry &entry : packing.map().entries) {
            const auto size = static_cast<size_t>(primitive_size(entry.kind));
            std::memcpy(to, at(base, i * packing.map().extent() + entry.displacement), size);
            to += size;
        }
    return packed;
}

void unpack(std::span<const std::byte> packed, uintptr_t base, const Packing &packing,
            int64_t offset)
{
    if (packed.empty())
        return;
    const int64_t end = offset + static_cast<int64_t>(packed.size());
    int64_t position = offset;
    for (int64_t entry = packing.entry_at(offset); position < end; ++entry) {
        const int64_t inside = position - packing.start(entry);
        const int64_t length = std::min(packing.size(entry) - inside, end - position);
        std::memcpy(at(base, packing.displacement(entry) + inside),
                    packed.data() + (position - offset), static_cast<size_t>(length));
        position += length;
    }
}

void to_external(heddle_predefined kind, const std::byte *native, std::byte *external)
{
    switch (kind) {
    case HEDDLE_LONG:
        return narrow<int64_t, int32_t>(native, external);
    case HEDDLE_ULONG:
        return narrow<uint64_t, uint32_t>(native, external);
    case HEDDLE_WCHAR:
        return narrow<wchar_t, uint16_t>(native, external);
    case HEDDLE_LONG_DOUBLE:
        return narrow<long double, __float128>(native, external);
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        narrow<long double, __float128>(native, external);
        return narrow<long double, __float128>(native + 16, external + 16);
    case HEDDLE_COMPLEX_FLOAT:
    case HEDDLE_COMPLEX_DOUBLE:
    case HEDDLE_COMPLEX_FLOAT128: {
        const auto half = static_cast<size_t>(primitive_size(kind)) / 2;
        reversed(native, external, half);
        return reversed(native + half, external + half, half);
    }
    default:
        return reversed(native, external, static_cast<size_t>(primitive_size(kind)));
    }
}

void from_external(heddle_predefined kind, const std::byte *external, std::byte *native)
{
    switch (kind) {
    case HEDDLE_LONG:
        return widen<int64_t, int32_t>(external, native);
    case HEDDLE_ULONG:
        return widen<uint64_t, uint32_t>(external, native);
    case HEDDLE_WCHAR:
        return widen<wchar_t, uint16_t>(external, native);
    case HEDDLE_LONG_DOUBLE:
        return widen<long double, __float128>(external, native);
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        widen<long double, __float128>(external, native);
        return widen<long double, __float128>(external + 16, native + 16);
    default:
        return to_external(kind, external, native); /* a reversal is its own inverse */
    }
}

bool same_value(heddle_predefined kind, const std::byte *a, const std::byte *b)
{
    switch (kind) {
    case HEDDLE_LONG_DOUBLE:
        return std::memcmp(a, b, long_double_value_bytes) == 0;
    case HEDDLE_COMPLEX_LONG_DOUBLE:
        return std::memcmp(a, b, long_double_value_bytes) == 0 &&
               std::memcmp(a + 16, b + 16, long_double_value_bytes) == 0;
    default:
        return std::memcmp(a, b, static_cast<size_t>(primitive_size(kind))) == 0;
    }
}

} // namespace oracle
