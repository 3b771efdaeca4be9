// SPDX-License-Identifier: BSD-3-Clause
// Transfers between a noncontiguous layout on a device and contiguous pinned memory. A kernel packs
// a chunk into a slab on the device while the copy engine moves another to the host. The way back
// is alike. (Paper 003, section III.A, overlaps copies to the host with the network; the packing
// before them is ours.) Each lane is a stream and a slab, so that the stream's order is all the
// synchronization there is.
#include "gpu/core/settings.hpp"
#include "gpu/transfer/decisions.hpp"
#include "gpu/transfer/policy.hpp"
#include "gpu/transfer/task.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

namespace heddle::gpu {

namespace {

constexpr size_t lanes = 3;
constexpr int64_t largest_of_chunks = 8; // times what goes through the host at once elsewhere

// The copy engine idles until the first chunk is packed, and the last one is unpacked after it:
// that one is small. The others grow fast, for a kernel is several times as fast as the link and
// each chunk costs the copy engine some 5 us.
std::vector<int64_t> cut(const Move &move, bool to_host)
{
    const Settings &settings = Settings::get();
    const auto fits =
        // two moves at a time
        static_cast<int64_t>(std::bit_floor(settings.slab_limit / (2 * lanes)));
    const int64_t limit =
        std::max(std::min(largest_of_chunks * settings.chunk, fits), settings.chunk / 2);
    std::vector<int64_t> chunks;
    int64_t chunk = move.whole(settings.chunk / 2);
    for (int64_t at = 0; at < move.bytes; at += chunks.back()) {
        chunks.push_back(std::min(chunk, move.bytes - at));
        chunk = move.whole(std::min(4 * chunk, limit));
    }
    if (!to_host)
        std::reverse(chunks.begin(), chunks.end());
    return chunks;
}

using Clock = std::chrono::steady_clock;

// When the kernel that unpacks what a copy brings from the host is launched, after that copy's
// begin. One that comes to the device before the copy has ended costs 6 to 7 us more: the device
// puts it off, and looks again late (docs/notes/measured.md, "A copy and a kernel"). One that comes
// 1 us after that costs 1 us. Measured on three H200 hosts: the copy ends 0.5 us and its bytes by
// 54.5 GB/s after its begin, of a link of 63 GB/s. What is over 0.5 us is for slower hosts.
Clock::duration time_of_copy(const Move &move)
{
    constexpr double start_ns = 2000, share_of_link = 0.865;
    const double rate = tables_of(*move.device).link_rate * share_of_link;
    if (rate <= 0)
        return {};
    return std::chrono::nanoseconds(
        static_cast<int64_t>(start_ns + static_cast<double>(move.bytes) / rate));
}

class Staged : public Task {
public:
    explicit Staged(bool is_timed) : is_timed_(is_timed) {}
    ~Staged() override { abandon(); }

    Error begin(const Move &move)
    {
        Device &device = *move.device;
        device_ = &device;
        const bool to_host = move.to.memory.kind == MemoryKind::pinned;
        const std::vector<int64_t> chunks = cut(move, to_host);
        is_timed_ = is_timed_ && chunks.size() == 1; // the next copy would wait, too
        const int64_t largest = *std::max_element(chunks.begin(), chunks.end());
        for (Lane &lane : std::span(lanes_).first(std::min(lanes, chunks.size()))) {
            if (const Error e = device.stream(lane.stream))
                return e;
            if (const Error e = lane.done.acquire(device))
                return e;
            if (const Error e = device.memory.take(static_cast<size_t>(largest), lane.slab))
                return e;
        }
        int64_t at = 0;
        for (size_t i = 0; i < chunks.size(); at += chunks[i++]) {
            Lane &lane = lanes_[i % lanes];
            lane.used = began_ = true;
            if (const Error e =
                    enqueue(move.part(at, chunks[i]), lane, i + lanes >= chunks.size())) {
                abandon();
                return e;
            }
        }
        return HEDDLE_SUCCESS;
    }

    bool began() const { return began_; }

    Error progress(bool &ended) override
    {
        for (Lane &lane : lanes_) {
            if (!lane.used)
                continue;
            bool reached = false;
            if (const Error e = lane.done.test(reached)) {
                abandon();
                return ended = true, e;
            }
            if (!reached)
                return HEDDLE_SUCCESS;
            lane.used = false;
        }
        ended = true;
        return HEDDLE_SUCCESS;
    }

    Error wait() override
    {
        for (Lane &lane : lanes_) {
            if (!lane.used)
                continue;
            if (const Error e = lane.done.wait()) {
                abandon();
                return e;
            }
            lane.used = false;
        }
        return HEDDLE_SUCCESS;
    }

private:
    struct Lane {
        Stream stream = nullptr;
        Slab slab;
        DoneRef done;
        bool used = false;
    };

    // A chunk: kernel and copy. `last`: of the lane.
    Error enqueue(const Move &part, Lane &lane, bool last)
    {
        Device &device = *part.device;
        Backend &backend = device.backend();
        const bool to_host = part.to.memory.kind == MemoryKind::pinned;
        const Memory on_device{MemoryKind::device, device.ordinal(), nullptr, 0};
        const End slab = packed_end(lane.slab.at(), part.bytes, on_device);
        const auto bytes = static_cast<size_t>(part.bytes);
        Done *const done = last ? lane.done.get() : nullptr;

        Move move = part;
        (to_host ? move.to : move.from) = slab;
        Direct kernel(&move, Method::kernel);
        if (const Error e = make_work(move, kernel.work))
            return e;
        if (to_host) {
            if (const Error e = launch(device, {&kernel, 1}, lane.stream, nullptr, true))
                return e;
            return backend.copy(device.ordinal(), lane.stream,
                                contiguous_copy(part.to.address(), lane.slab.at(), bytes), done);
        }
        const Clock::time_point ended =
            is_timed_ ? Clock::now() + time_of_copy(part) : Clock::time_point();
        if (const Error e =
                backend.copy(device.ordinal(), lane.stream,
                             contiguous_copy(lane.slab.at(), part.from.address(), bytes), nullptr))
            return e;
        while (is_timed_ && Clock::now() < ended)
            ;
        return launch(device, {&kernel, 1}, lane.stream, done, true);
    }

    // What runs already uses the slabs and the caller's buffers.
    void abandon()
    {
        for (Lane &lane : lanes_) {
            if (lane.used)
                static_cast<void>(
                    device_->backend().stream_synchronize(device_->ordinal(), lane.stream));
            lane.used = false;
        }
    }

    bool is_timed_; // its kernel is launched behind the copy
    Device *device_ = nullptr;
    bool began_ = false; // the target may have changed
    std::array<Lane, lanes> lanes_;
};

} // namespace

Error begin_staged(const Move &move, bool awaited, std::unique_ptr<Task> &task)
{
    auto staged = std::make_unique<Staged>(awaited && has_timed_steps(move));
    const Error e = staged->begin(move);
    // nothing must be combined twice
    const bool again = move.op == HEDDLE_OP_REPLACE || !staged->began();
    if (e == HEDDLE_SUCCESS)
        task = std::move(staged);
    return e == HEDDLE_ERR_NO_MEMORY && again ? HEDDLE_SUCCESS : e;
}

} // namespace heddle::gpu
