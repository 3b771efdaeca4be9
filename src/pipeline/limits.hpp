// SPDX-License-Identifier: BSD-3-Clause
// What a port may use, how long one end waits for another, and how a message is cut.
#pragma once

#include "gpu/core/settings.hpp"
#include "gpu/model/message_sizes.hpp"
#include "pipeline/wire.hpp"

#include <algorithm>
#include <chrono>

namespace heddle::pipeline {

constexpr int64_t smallest_chunk = 4096;
constexpr int64_t largest_chunk = int64_t{1} << 30;

// ---- time-outs ----
// All that the pipeline has, but for Limits::timeout, which the user sets.

// A send waits for the RTR of a receiver that usually posts one. Then it takes another path.
// Several that begin one after the other, as those of MPI_Startall do, wait so long together.
constexpr auto rtr_timeout = std::chrono::microseconds(2);
constexpr auto persistent_rtr_timeout = std::chrono::microseconds(20);
// A receiver waits for what is packed as a rule in some microseconds. Then it answers, and the
// chunk comes by a handle.
constexpr auto packing_timeout = std::chrono::milliseconds(1);
// Who waits for staging memory while nobody gives any back gets some beyond the limit.
constexpr auto staging_timeout = std::chrono::milliseconds(50);
// A receiver that fails waits for a sender that still writes into its buffer, and may be gone.
constexpr auto lost_sender_timeout = std::chrono::seconds(1);

// ---- limits ----

struct Limits {
    int64_t chunk = 0;               // most bytes of a chunk that travels: a power of two
    int64_t chunk_between_nodes = 0; // the same, no more than that
    int64_t window = 0;              // most chunks of a message on their way
    int64_t staging = 0;             // bytes of staging memory each way
    int peer = HEDDLE_PEER_AUTO;
    int64_t in_place = 0; // from so many bytes on, out of one allocation, dense buffers are read
                          // where they lie
    int64_t timeout = 0;  // microseconds that a get waits for its receiver before it is copied
    uint16_t number = 0;

    // Whether they rule nothing out that the mode needs.
    bool allow(Mode mode) const
    {
        return mode == Mode::value ||
               (peer != HEDDLE_PEER_VALUE && (mode == Mode::shared || peer != HEDDLE_PEER_SHARED));
    }
};

// What the options leave open the settings say, or the table that HEDDLE_TUNING names. Errors: ARG.
Error find_limits(const heddle_port_options &options, Limits &limits);

// Bytes that are moved in about the time that a launch and a header take. In some ten microseconds
// the transport moves as much as the first of MessageSizes, PCIe as the second, and a link between
// devices as the third: so where no table says otherwise.
int64_t worth_a_launch(Mode mode);

// Most bytes of a message that travels sooner packed as a whole than in chunks, by the same table.
int64_t most_as_a_whole();

// Most bytes of a chunk, where `chunk` is that of one that travels.
constexpr int64_t most_of(Mode mode, int64_t chunk)
{
    return mode == Mode::reference ? 16 * chunk : chunk;
}

constexpr int64_t divide_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

// In chunks of a size that is a multiple of the smallest.
constexpr int64_t in_pieces(int64_t bytes, int64_t pieces)
{
    return std::max(divide_up(divide_up(bytes, pieces), smallest_chunk), int64_t{1}) *
           smallest_chunk;
}

// The chunk for a message of `bytes` bytes between ports of which the lower limit is `chunk`: small
// enough that packing, sending and unpacking overlap, large enough to be worth a launch and a
// header. By reference chunks are as large as may be. Packing takes a fraction of the time that
// reading does, and the launches of another chunk take as long as what they would hide (two H200s,
// 6.4 MB of irregular blocks: 48 us in one chunk, 57 in two). None is much shorter than the others.
inline int64_t chunk_of(Mode mode, int64_t bytes, int64_t chunk)
{
    const int64_t worth = mode == Mode::reference ? bytes + 1 : worth_a_launch(mode);
    return in_pieces(bytes, gpu::model::pieces_of(bytes, most_of(mode, chunk), worth));
}

// The chunk where nothing is packed: all of it, if that goes.
constexpr int64_t whole_chunk(int64_t bytes)
{
    return in_pieces(std::min(bytes, largest_chunk), 1);
}

} // namespace heddle::pipeline
