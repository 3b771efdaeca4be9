// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/limits.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/devices.hpp"
#include "gpu/core/log.hpp"
#include "gpu/transfer/decisions.hpp"

#include <bit>

namespace heddle::pipeline {

namespace {

using gpu::model::MessageSizes;

// Those of the first device: a message is cut before it is known which devices move it. Without a
// table of this machine nothing of it was measured, and no device need be open.
MessageSizes found_sizes()
{
    const gpu::Settings &settings = gpu::Settings::get();
    const bool is_tuned = !settings.tuning.empty();
    const gpu::Devices *const devices = is_tuned ? gpu::Devices::open() : nullptr;
    MessageSizes found;
    if (devices && devices->count() > 0)
        found = message_sizes(gpu::tables_of(devices->device(0)));
    if (gpu::logs(gpu::Topic::info))
        gpu::log_line(
            gpu::Topic::info,
            "messages: whole up to %lld bytes; chunks of %lld bytes, of %lld between nodes, %lld "
            "at a time; a launch is worth %lld bytes sent, %lld through host memory, %lld between "
            "devices",
            static_cast<long long>(found.whole), static_cast<long long>(found.chunk),
            static_cast<long long>(found.chunk_between_nodes),
            static_cast<long long>(
                window_of(found, found.chunk_between_nodes, settings.message_staging)),
            static_cast<long long>(found.worth_value), static_cast<long long>(found.worth_shared),
            static_cast<long long>(found.worth_reference));
    return found;
}

const MessageSizes &sizes()
{
    static Immortal<const MessageSizes> found(found_sizes());
    return *found;
}

} // namespace

Error find_limits(const heddle_port_options &o, Limits &limits)
{
    constexpr int64_t longest_timeout = int64_t{3600} * 1000000; // an hour
    const gpu::Settings &settings = gpu::Settings::get();
    if (o.chunk < 0 || o.window < 0 || o.staging < 0 || o.timeout < 0 || o.number > UINT16_MAX ||
        o.peer < HEDDLE_PEER_DEFAULT || o.peer > HEDDLE_PEER_REFERENCE)
        return HEDDLE_ERR_ARG;
    if (o.chunk && (o.chunk < smallest_chunk || o.chunk > largest_chunk ||
                    !std::has_single_bit(static_cast<uint64_t>(o.chunk))))
        return HEDDLE_ERR_ARG;
    if (const int64_t wanted = o.chunk ? o.chunk : settings.message_chunk; wanted >= 0) {
        const auto chunk = static_cast<uint64_t>(std::clamp(wanted, smallest_chunk, largest_chunk));
        limits.chunk = limits.chunk_between_nodes = static_cast<int64_t>(std::bit_floor(chunk));
    } else {
        limits.chunk = sizes().chunk;
        limits.chunk_between_nodes = sizes().chunk_between_nodes;
    }
    limits.staging = o.staging ? o.staging : settings.message_staging;
    limits.window = o.window ? o.window
                    : settings.message_window >= 0
                        ? std::max(settings.message_window, int64_t{1})
                        : window_of(sizes(), limits.chunk_between_nodes, limits.staging);
    limits.peer = o.peer ? o.peer : settings.peer;
    limits.in_place = settings.message_in_place;
    limits.timeout = std::min(o.timeout ? o.timeout : settings.message_timeout, longest_timeout);
    limits.number = static_cast<uint16_t>(o.number);
    return HEDDLE_SUCCESS;
}

int64_t most_as_a_whole() { return sizes().whole; }

int64_t worth_a_launch(Mode mode)
{
    const MessageSizes &found = sizes();
    return mode == Mode::value    ? found.worth_value
           : mode == Mode::shared ? found.worth_shared
                                  : found.worth_reference;
}

} // namespace heddle::pipeline
