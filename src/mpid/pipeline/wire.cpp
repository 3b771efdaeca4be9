// SPDX-License-Identifier: BSD-3-Clause
#include "wire.hpp"

#include <bit>
#include <cstring>

namespace heddle::pipeline {

namespace {

constexpr uint32_t envelope_magic = 0x45646448; // "HddE"
constexpr uint32_t header_magic = 0x48646448;   // "HddH"
constexpr uint16_t version = 9;

struct RawEnvelope {
    uint32_t magic;
    uint16_t version;
    uint8_t flags;
    uint8_t chunk; // its logarithm
    uint64_t message;
    int64_t bytes;
    uint64_t node;
    uint64_t process;
    uint64_t allocation;
    uint64_t at;
    uint16_t number;
    uint16_t offer;
    uint32_t check;
};
static_assert(sizeof(RawEnvelope) == HEDDLE_ENVELOPE_BYTES);
constexpr uint8_t lends_flag = 1, shares_flag = 2, withdraws_flag = 4, delivers_flag = 8,
                  waits_flag = 16, all_flags = 31;

struct RawHeader {
    uint32_t magic;
    uint16_t version;
    uint8_t kind;
    uint8_t mode;
    uint64_t to;
    uint64_t from;
    int64_t offset;
    int64_t bytes;
    int64_t chunk;
    int64_t granted;
    int32_t error;
    uint16_t round;
    uint16_t unused;
};
struct RawLoan {
    uint64_t allocation;
    uint64_t at;
    uint64_t base;
    uint64_t size;
    unsigned char handle[gpu::Backend::handle_bytes];
};
// Behind either: the check.
constexpr size_t plain_bytes = sizeof(RawHeader) + sizeof(uint64_t);
constexpr size_t loan_bytes = plain_bytes + sizeof(RawLoan);
static_assert(loan_bytes <= HEDDLE_HEADER_BYTES);

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

uint32_t check_of(const RawEnvelope &raw)
{
    return static_cast<uint32_t>(check_of(&raw, offsetof(RawEnvelope, check)));
}

bool has_loan(Kind kind, Mode mode) { return kind == Kind::chunk && mode != Mode::value; }

} // namespace

void write_envelope(const Envelope &e, void *bytes)
{
    const auto flags =
        static_cast<uint8_t>((e.lends ? lends_flag : 0) | (e.shares ? shares_flag : 0) |
                             (e.withdraws ? withdraws_flag : 0) | (e.after ? delivers_flag : 0) |
                             (e.waits ? waits_flag : 0));
    const auto chunk = static_cast<uint8_t>(std::countr_zero(static_cast<uint64_t>(e.chunk)));
    RawEnvelope raw{envelope_magic,
                    version,
                    flags,
                    chunk,
                    e.message,
                    e.bytes,
                    e.node,
                    e.process,
                    e.after ? e.after : e.at.allocation,
                    e.at.at,
                    e.number,
                    e.offer,
                    0};
    raw.check = check_of(raw);
    std::memcpy(bytes, &raw, sizeof raw);
}

int read_envelope(const void *bytes, Envelope &e)
{
    RawEnvelope raw;
    std::memcpy(&raw, bytes, sizeof raw);
    if (raw.magic != envelope_magic)
        return HEDDLE_ERR_FORMAT;
    if (raw.version != version)
        return HEDDLE_ERR_VERSION;
    const bool delivers = raw.flags & delivers_flag;
    if (raw.check != check_of(raw) || raw.flags & ~all_flags || raw.bytes < 0 || raw.chunk > 62 ||
        (delivers &&
         (raw.flags & ~(delivers_flag | waits_flag) || !raw.allocation || raw.at || raw.offer)) ||
        (raw.allocation && !delivers && !(raw.flags & lends_flag)) ||
        (!raw.offer && raw.flags & withdraws_flag) || (!raw.allocation && raw.at))
        return HEDDLE_ERR_FORMAT;
    e = {raw.message,
         raw.bytes,
         int64_t{1} << raw.chunk,
         raw.node,
         raw.process,
         raw.number,
         raw.offer,
         (raw.flags & withdraws_flag) != 0,
         (raw.flags & lends_flag) != 0,
         (raw.flags & shares_flag) != 0,
         {delivers ? 0 : raw.allocation, raw.at, 0, 0, {}},
         (raw.flags & waits_flag) != 0,
         delivers ? raw.allocation : 0};
    return HEDDLE_SUCCESS;
}

HeaderBytes write_header(const Header &h)
{
    const RawHeader raw{header_magic,
                        version,
                        static_cast<uint8_t>(h.kind),
                        static_cast<uint8_t>(h.mode),
                        h.to,
                        h.from,
                        h.offset,
                        h.bytes,
                        h.chunk,
                        h.granted,
                        h.error,
                        h.round,
                        0};
    HeaderBytes out;
    std::memcpy(out.bytes, &raw, sizeof raw);
    out.size = sizeof raw;
    if (has_loan(h.kind, h.mode)) {
        RawLoan loan{h.loan.allocation, h.loan.at, h.loan.base, h.loan.size, {}};
        std::memcpy(loan.handle, h.loan.handle, sizeof loan.handle);
        std::memcpy(out.bytes + out.size, &loan, sizeof loan);
        out.size += sizeof loan;
    }
    const uint64_t check = check_of(out.bytes, out.size);
    std::memcpy(out.bytes + out.size, &check, sizeof check);
    out.size += sizeof check;
    return out;
}

int read_header(const void *bytes, size_t size, Header &h)
{
    RawHeader raw;
    if (!bytes || (size != plain_bytes && size != loan_bytes))
        return HEDDLE_ERR_FORMAT;
    std::memcpy(&raw, bytes, sizeof raw);
    if (raw.magic != header_magic)
        return HEDDLE_ERR_FORMAT;
    if (raw.version != version)
        return HEDDLE_ERR_VERSION;
    uint64_t check;
    std::memcpy(&check, static_cast<const char *>(bytes) + size - sizeof check, sizeof check);
    if (check != check_of(bytes, size - sizeof check) ||
        raw.kind < static_cast<uint8_t>(Kind::answer) ||
        raw.kind > static_cast<uint8_t>(Kind::forget) ||
        raw.mode > static_cast<uint8_t>(Mode::reference) || raw.offset < 0 || raw.bytes < 0 ||
        raw.chunk < 0 || raw.granted < 0 || raw.offset > INT64_MAX - raw.bytes)
        return HEDDLE_ERR_FORMAT;
    h = {};
    h.kind = static_cast<Kind>(raw.kind);
    h.mode = static_cast<Mode>(raw.mode);
    if (has_loan(h.kind, h.mode) != (size == loan_bytes))
        return HEDDLE_ERR_FORMAT;
    h.round = raw.round;
    h.to = raw.to;
    h.from = raw.from;
    h.offset = raw.offset;
    h.bytes = raw.bytes;
    h.chunk = raw.chunk;
    h.granted = raw.granted;
    h.error = raw.error;
    if (size == loan_bytes) {
        RawLoan loan;
        std::memcpy(&loan, static_cast<const char *>(bytes) + sizeof raw, sizeof loan);
        h.loan.allocation = loan.allocation;
        h.loan.at = loan.at;
        h.loan.base = loan.base;
        h.loan.size = loan.size;
        std::memcpy(h.loan.handle, loan.handle, sizeof loan.handle);
    }
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
