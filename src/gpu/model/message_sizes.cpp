// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/message_sizes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace heddle::gpu::model {
namespace {

constexpr int64_t least_chunk = int64_t{64} << 10, most_chunk = int64_t{64} << 20;
constexpr int64_t some_block = 512; // bytes; longer ones are as fast

// Of a channel's highest rate: a chunk that reaches it is long enough. On H100s 512 KiB reach 0.48
// to 0.59 of it and 1 MiB 0.68 to 0.73, and chunks of 1 MiB were found good there.
constexpr double full_enough = 0.63;

// Seconds of the shortest packing: a launch, and to hear of its end.
double launch_seconds(const Tables &tables)
{
    return tables.expected(Method::kernel, {Pattern::strided, Path::pack, 1, some_block});
}

int64_t worth(double rate, double seconds, int64_t otherwise)
{
    constexpr double least = 1 << 14, most = 1 << 26;
    if (!std::isfinite(seconds) || !(rate > 0))
        return otherwise;
    return static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::clamp(rate * seconds, least, most))));
}

// Bytes a second of large messages.
double rate_of(const Grid &transport)
{
    return static_cast<double>(most_chunk) / transport.at(most_chunk, 1);
}

// Seconds of a stage through host memory: packed there or copied, or unpacked or copied from there.
double stage_seconds(const Tables &tables, Path path, int64_t bytes)
{
    const double packing =
        tables.expected(Method::kernel, {Pattern::strided, path, bytes, some_block});
    return std::max(tables.links.host(path, bytes), std::isfinite(packing) ? packing : 0);
}

// The slower one of both.
double slower_stage(const Tables &tables, int64_t bytes)
{
    return std::max(stage_seconds(tables, Path::to_host, bytes),
                    stage_seconds(tables, Path::from_host, bytes));
}

// Paper 003, III.B: where the rates of two channels cross, they are equally fast, and hide each
// other whole. Where both are bound by latency there, the least size at which the slower one
// reaches its rate. The slower one of each size covers both: below the crossing it is not full.
int64_t chunk_of(const Tables &tables)
{
    const auto rate = [&](int64_t bytes) {
        return static_cast<double>(bytes) / slower_stage(tables, bytes);
    };
    double highest = 0;
    for (int64_t bytes = least_chunk; bytes <= most_chunk; bytes *= 2)
        highest = std::max(highest, rate(bytes));
    int64_t chunk = least_chunk;
    while (chunk < most_chunk && rate(chunk) < full_enough * highest)
        chunk *= 2;
    return chunk;
}

// The same with the transport as a stage: the least size that leaves it at its rate, if one is so
// among the chunks through host memory. Packing and unpacking must keep up, and the transport's
// latency be hidden by the least window. A longer latency is left to a longer window: over TCP with
// 5 ms each way 180 chunks of 64 KiB took 1.6 times as long as 29 of 1 MiB.
int64_t chunk_between_nodes(const Tables &tables, int64_t most)
{
    const Grid *const transport = tables.links.transport(Where::remote);
    if (!transport)
        return most;
    const auto keeps_up = [&](int64_t bytes) {
        const double latency = (transport->at(bytes, 1) + transport->at(1, 1)) / least_window;
        return std::max(slower_stage(tables, bytes), latency) <=
               static_cast<double>(bytes) / rate_of(*transport);
    };
    int64_t chunk = least_chunk;
    while (chunk < most && !keeps_up(chunk))
        chunk *= 2;
    return chunk;
}

// In chunks an envelope and its answer come first. Then the first chunk passes all stages, and the
// others follow as the slowest one lets them. The window hides the transport's latency; its rate
// stays. The longest message counts that is no slower whole: where the transport has a rendezvous
// of its own, short chunks may go without it, and longer ones not. What is packed before its
// receiver is known takes no more memory than a chunk.
int64_t whole_of(const Tables &tables, const MessageSizes &sizes)
{
    const Grid &transport = sizes.transport;
    const auto in_turn = [&](int64_t bytes) {
        return stage_seconds(tables, Path::to_host, bytes) + transport.at(bytes, 1) +
               stage_seconds(tables, Path::from_host, bytes);
    };
    const auto in_chunks = [&](int64_t bytes) {
        const int64_t pieces = pieces_of(bytes, sizes.chunk_between_nodes, sizes.worth_value),
                      each = bytes / pieces;
        const double slowest =
            std::max(slower_stage(tables, each), static_cast<double>(each) / rate_of(transport));
        return 2 * transport.at(1, 1) + in_turn(each) + static_cast<double>(pieces - 1) * slowest;
    };
    int64_t whole = sizes.chunk;
    while (whole > sizes.worth_value && in_turn(whole) > in_chunks(whole))
        whole /= 2;
    return whole;
}

} // namespace

int64_t window_of(const MessageSizes &sizes, int64_t chunk, int64_t staging)
{
    constexpr int at_the_ends = 2;
    if (sizes.transport.empty())
        return least_window;
    const double seconds = sizes.transport.at(chunk, 1) + sizes.transport.at(1, 1),
                 under_way = rate_of(sizes.transport) * seconds / static_cast<double>(chunk);
    const int64_t most = staging / chunk;
    const double needed = std::min(static_cast<double>(most), std::ceil(under_way) + at_the_ends);
    return std::max(static_cast<int64_t>(needed), least_window);
}

MessageSizes message_sizes(const Tables &tables)
{
    MessageSizes sizes;
    constexpr int64_t large = most_chunk;
    const double launch = launch_seconds(tables),
                 host = std::max(tables.links.host(Path::to_host, large),
                                 tables.links.host(Path::from_host, large));
    sizes.worth_reference =
        worth(tables.links.slowest_between_devices(), launch, sizes.worth_reference);
    if (const Grid *const transport = tables.links.transport()) {
        sizes.transport = *transport;
        sizes.worth_value = worth(rate_of(*transport), launch, sizes.worth_value);
    }
    if (!std::isfinite(host))
        return sizes;
    sizes.worth_shared = worth(static_cast<double>(large) / host, launch, sizes.worth_shared);
    sizes.chunk = chunk_of(tables);
    sizes.chunk_between_nodes = chunk_between_nodes(tables, sizes.chunk);
    if (!sizes.transport.empty())
        sizes.whole = whole_of(tables, sizes);
    return sizes;
}

} // namespace heddle::gpu::model
