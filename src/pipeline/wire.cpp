// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/wire.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace heddle::pipeline {

namespace {

static_assert(std::has_unique_object_representations_v<MemoryHandle>); // no padding travels
static_assert(std::is_trivially_copyable_v<Envelope> && std::is_trivially_copyable_v<Header>);

constexpr int most_chunk_log2 = 62;
constexpr size_t plain_bytes = offsetof(Header, memory);
// What all versions agree on (wire.hpp).
constexpr size_t agreed_bytes = offsetof(Header, from);
static_assert(agreed_bytes == 16 && offsetof(Envelope, bytes) == 16);
static_assert(sizeof(Header) <= HEDDLE_HEADER_BYTES);

uint64_t check_of(const void *bytes, size_t size)
{
    const char *const from = static_cast<const char *>(bytes);
    uint64_t sum = size;
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, from + i, std::min(sizeof word, size - i));
        sum = std::rotl((sum ^ word) * 0x9e3779b97f4a7c15, 29);
    }
    return sum ^ (sum >> 32);
}

bool makes_sense(const Envelope &e)
{
    if (e.unused || e.kind > EnvelopeKind::put || e.bytes < 0 || e.chunk_log2 > most_chunk_log2)
        return false;
    if (e.kind == EnvelopeKind::put)
        return !e.exports && !e.shares && e.after() && !e.at.at && !e.slot;
    if (e.kind == EnvelopeKind::get && !e.slot)
        return false;
    return e.at.allocation ? e.exports : !e.at.at;
}

bool makes_sense(const Header &h)
{
    return h.kind >= Kind::answer && h.kind <= Kind::pushed && h.mode <= Mode::reference &&
           h.offset >= 0 && h.bytes >= 0 && h.chunk >= 0 && h.granted >= 0 &&
           h.offset <= INT64_MAX - h.bytes;
}

// Writes the first `size` bytes, with the sum of them all.
template <class T> void write_checked(const T &of, size_t size, void *bytes)
{
    assert(!of.check);
    const auto check = static_cast<decltype(of.check)>(check_of(&of, size));
    std::memcpy(bytes, &of, size);
    std::memcpy(static_cast<char *>(bytes) + offsetof(T, check), &check, sizeof check);
}

template <class T> Error read_checked(const void *bytes, size_t size, T &got)
{
    const T right;
    got = right;
    std::memcpy(static_cast<void *>(&got), bytes, size);
    if (got.magic != right.magic)
        return HEDDLE_ERR_FORMAT;
    if (got.version != right.version)
        return HEDDLE_ERR_VERSION;
    const auto check = std::exchange(got.check, 0);
    return check == static_cast<decltype(got.check)>(check_of(&got, size)) && makes_sense(got)
               ? HEDDLE_SUCCESS
               : HEDDLE_ERR_FORMAT;
}

bool refuses_in_another_version(const void *bytes, Header &header)
{
    header = Header();
    const Header own = header;
    std::memcpy(static_cast<void *>(&header), bytes, agreed_bytes);
    header.error = HEDDLE_ERR_VERSION;
    return header.magic == own.magic && header.version != own.version &&
           header.kind == Kind::refused;
}

size_t size_of(const Header &header) { return header.has_memory() ? sizeof header : plain_bytes; }

} // namespace

void write_envelope(const Envelope &envelope, void *bytes)
{
    write_checked(envelope, sizeof envelope, bytes);
}

Error read_envelope(const void *bytes, Envelope &envelope)
{
    return read_checked(bytes, sizeof envelope, envelope);
}

HeaderBytes write_header(const Header &header)
{
    HeaderBytes out;
    out.size = size_of(header);
    write_checked(header, out.size, out.bytes);
    return out;
}

Error read_header(const void *bytes, size_t size, Header &header)
{
    if (!bytes || size < agreed_bytes)
        return HEDDLE_ERR_FORMAT;
    if (refuses_in_another_version(bytes, header))
        return HEDDLE_SUCCESS;
    if (size != plain_bytes && size != sizeof header)
        return HEDDLE_ERR_FORMAT;
    const Error e = read_checked(bytes, size, header);
    return e || size == size_of(header) ? e : HEDDLE_ERR_FORMAT;
}

} // namespace heddle::pipeline
