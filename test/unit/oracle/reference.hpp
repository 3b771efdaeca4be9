/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The oracle's own data movement: every operation of the engine, done one typemap entry after
 * another. Addresses are integers, so that bases far outside any object are no undefined behaviour.
 */
#pragma once

#include "typemap.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::byte>;

/* Where the packed bytes of `count` instances lie. */
class Packing {
public:
    Packing(const Typemap &map, int64_t count);

    const Typemap &map() const { return map_; }
    int64_t count() const { return count_; }
    int64_t total() const { return total_; }
    int64_t entries() const { return count_ * static_cast<int64_t>(map_.entries.size()); }

    /* The index, over all instances, of the entry that holds packed byte `offset`. */
    int64_t entry_at(int64_t offset) const;
    heddle_predefined kind(int64_t entry) const { return map_.entries[local(entry)].kind; }
    /* Displacement of an entry, and its place in the packed form. */
    int64_t displacement(int64_t entry) const;
    int64_t start(int64_t entry) const;
    int64_t size(int64_t entry) const;

    /* The displacement of packed byte `offset`. */
    int64_t locate(int64_t offset) const;
    /* Where a pack of at most `max` bytes from `offset` on ends, by heddle_pack's rule: at an
     * element's end, unless none is within reach. */
    int64_t pack_end(int64_t offset, int64_t max) const;

private:
    size_t local(int64_t entry) const
    {
        return static_cast<size_t>(entry % static_cast<int64_t>(map_.entries.size()));
    }
    int64_t instance(int64_t entry) const
    {
        return entry / static_cast<int64_t>(map_.entries.size());
    }

    const Typemap &map_;
    int64_t count_;
    std::vector<int64_t> starts_; /* of each entry of one instance, and the end */
    int64_t total_;
};

/* The whole packed form of what lies at `base`. */
Bytes pack(uintptr_t base, const Packing &packing);

/* Writes packed bytes [offset, offset + packed.size()) to memory at `base`. */
void unpack(std::span<const std::byte> packed, uintptr_t base, const Packing &packing,
            int64_t offset);

/* external32 (MPI 4.0, section 14.5.2) of one primitive, either way. `external` has
 * external_size(kind) bytes, `native` primitive_size(kind). */
void to_external(heddle_predefined kind, const std::byte *native, std::byte *external);
void from_external(heddle_predefined kind, const std::byte *external, std::byte *native);

/* The bytes of a primitive that carry its value: padding of long double left out. */
bool same_value(heddle_predefined kind, const std::byte *a, const std::byte *b);

} // namespace oracle
