// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/protocol/rtr.hpp"

#include "engine/checked.hpp"
#include "pipeline/counters.hpp"
#include "pipeline/peer_memory/process.hpp"

namespace heddle::pipeline {

namespace {

// Blocks that are shorter than the link's own take more of it. So what is longer than this, of
// blocks shorter than that, is packed before the link. Two H200s, a put against MPI_Isend, both
// ways at once, in blocks of 8 bytes: 512 KiB 0.69, 1 MiB 0.76, 2 MiB 0.84, 4 MiB 0.96.
constexpr int64_t scattered_bytes = int64_t{2} << 20;
constexpr int64_t short_block = 32;

bool is_scattered(const heddle_type *type, int64_t bytes)
{
    heddle_type_info info{};
    info.bytes = sizeof info;
    return bytes > scattered_bytes && !heddle_type_get_info(type, &info) &&
           info.size < short_block * info.runs;
}

} // namespace

bool post_rtr(const Limits &limits, const heddle_rtr &rtr, const Buffer &buffer)
{
    if (!rtr.sender || !rtr.after || !buffer.on_device() || !limits.allow(Mode::reference))
        return false;
    RtrRecord its; // as much of it as is needed
    const heddle_side &side = buffer.side();
    its.flattened = 0;
    if (!buffer.dense()) {
        if (is_scattered(side.type, buffer.bytes()) || !side.buf || side.offset ||
            heddle_flatten_size(side.type, &its.flattened) || its.flattened > most_flattened ||
            heddle_flatten(side.type, its.type, most_flattened))
            return false;
    }
    const auto at = buffer.export_own(limits.in_place);
    if (!at)
        return false;
    const Buffer::Span span = buffer.span();
    its.process = process_id().process;
    its.capacity = buffer.bytes();
    its.at = *at;
    its.span = span.bytes;
    its.shift = buffer.dense() ? 0 : static_cast<char *>(side.buf) - span.first;
    its.count = side.count;
    const bool posted = post_rtr(rtr.sender, rtr.after, its);
    count(Counter::rtrs_posted, posted);
    return posted;
}

const heddle_type *RemoteTypes::find(const unsigned char *flattened, size_t bytes)
{
    constexpr size_t most = 64;
    const std::string_view key(reinterpret_cast<const char *>(flattened), bytes);
    if (const auto known = all_.find(key); known != all_.end())
        return known->second.get();
    heddle_type *type = nullptr;
    if (heddle_unflatten(flattened, bytes, &type))
        return nullptr;
    if (all_.size() >= most)
        all_.clear();
    const auto made = all_.emplace(key, gpu::TypeRef(type)).first;
    heddle_type_release(type); // it holds one reference itself
    return made->second.get();
}

Error open_target(const RtrRecord &record, const Importer &by, int64_t bytes, RemoteTypes &types,
                  PutTarget &target)
{
    const Place place = record.at.place; // the key is another cache line
    const heddle_type *type = nullptr;
    if (record.flattened) {
        if (record.flattened > most_flattened)
            return HEDDLE_ERR_FORMAT;
        type = types.find(record.type, record.flattened);
        if (!type)
            return HEDDLE_ERR_PEER;
        const Extent extent =
            extent_of({nullptr, record.count, const_cast<heddle_type *>(type), 0});
        const int64_t first = add(record.shift, extent.first);
        if (first < 0 || add(first, extent.bytes) > record.span)
            return HEDDLE_ERR_FORMAT;
    }
    const int64_t span = type ? record.span : bytes;
    if (!place.is_own() ||
        (!by.find(place, span, target.import) &&
         (by.is_closed(true) || by.open(MemoryHandle(record.at), span, target.import))))
        return HEDDLE_ERR_PEER;
    target.type = gpu::TypeRef(type);
    target.side = type ? heddle_side{target.import.at + record.shift, record.count,
                                     const_cast<heddle_type *>(type), 0}
                       : packed(target.import.at, bytes).side;
    return HEDDLE_SUCCESS;
}

} // namespace heddle::pipeline
