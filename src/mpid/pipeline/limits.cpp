// SPDX-License-Identifier: BSD-3-Clause
#include "limits.hpp"

#include "../../gpu/settings.hpp"

#include <algorithm>
#include <bit>

namespace heddle::pipeline {

namespace {

constexpr int64_t longest_patience = int64_t{3600} * 1000000; // an hour
constexpr int64_t faster = 16;
constexpr int64_t overlapping = 4;

int64_t divide_up(int64_t n, int64_t by) { return n / by + (n % by != 0); }

int64_t multiple_above(int64_t bytes)
{
    return std::max(divide_up(bytes, smallest_chunk), int64_t{1}) * smallest_chunk;
}

int64_t power_below(int64_t bytes)
{
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)));
}

} // namespace

int find_limits(const heddle_port_options *options, Limits &limits)
{
    const gpu::Settings &settings = gpu::Settings::get();
    const heddle_port_options o = options ? *options : heddle_port_options{};
    if (o.chunk < 0 || o.window < 0 || o.staging < 0 || o.patience < 0 || o.number > UINT16_MAX ||
        o.peer < HEDDLE_PEER_DEFAULT || o.peer > HEDDLE_PEER_REFERENCE)
        return HEDDLE_ERR_ARG;
    if (o.chunk && (o.chunk < smallest_chunk || o.chunk > largest_chunk ||
                    !std::has_single_bit(static_cast<uint64_t>(o.chunk))))
        return HEDDLE_ERR_ARG;
    limits.chunk =
        o.chunk ? o.chunk
                : power_below(std::clamp(settings.message_chunk, smallest_chunk, largest_chunk));
    limits.window = o.window ? o.window : std::max(settings.message_window, int64_t{1});
    limits.staging = o.staging ? o.staging : settings.message_staging;
    limits.peer = o.peer ? o.peer : settings.peer;
    limits.in_place = settings.message_in_place;
    limits.patience =
        std::min(o.patience ? o.patience : settings.message_patience, longest_patience);
    limits.number = static_cast<uint16_t>(o.number);
    return HEDDLE_SUCCESS;
}

bool allows(const Limits &limits, Mode mode)
{
    return mode == Mode::value || (limits.peer != HEDDLE_PEER_VALUE &&
                                   (mode == Mode::shared || limits.peer != HEDDLE_PEER_SHARED));
}

// In some ten microseconds the transport moves as much as the first, PCIe as the second, and a link
// between devices as the third.
int64_t worth_a_launch(Mode mode)
{
    return int64_t{1} << (mode == Mode::value ? 17 : mode == Mode::shared ? 18 : 21);
}

int64_t most_of(Mode mode, int64_t chunk)
{
    return mode == Mode::reference ? faster * chunk : chunk;
}

int64_t chunk_of(Mode mode, int64_t bytes, int64_t chunk)
{
    int64_t pieces = std::max(divide_up(bytes, most_of(mode, chunk)), int64_t{1});
    if (mode != Mode::reference)
        pieces =
            std::max(pieces, std::clamp(bytes / worth_a_launch(mode), int64_t{1}, overlapping));
    return multiple_above(divide_up(bytes, pieces));
}

int64_t whole_chunk(int64_t bytes) { return multiple_above(std::min(bytes, largest_chunk)); }

} // namespace heddle::pipeline
