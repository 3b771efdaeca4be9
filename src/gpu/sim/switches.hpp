// SPDX-License-Identifier: BSD-3-Clause
// What a test may turn: delays, order, limits, failures (sim.h lists them), and the counts of
// calls.
#pragma once

#include "gpu/core/work.hpp"
#include "gpu/sim/error.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>
#include <vector>

namespace heddle::gpu::sim {

enum class Call : uint8_t {
    allocate,
    free,
    allocate_pinned,
    free_pinned,
    stream_create,
    stream_device,
    stream_synchronize,
    launch,
    copy,
    copy_2d,
    copy_3d,
    done_acquire,
    done_test,
    done_wait,
    done_after_all,
    export_memory,
    import_memory,
    close_memory,
    pin,
    unpin,
    execute, // on the device, later
    count
};

// How slow a device is: nanoseconds and MB/s. 0: as fast as the processor carries it out.
struct Speeds {
    int64_t launch_ns = 0, copy_ns = 0, link_mb = 0, memory_mb = 0, row_ns = 0, block_ns = 0,
            peer_mb = 0, peer_ns = 0, import_ns = 0;

    bool operator==(const Speeds &) const = default;
};

class Switches {
public:
    // An error where the text makes no sense.
    static Fault check(std::string_view text);
    // Changes nothing where it makes none.
    Fault configure(std::string_view text);
    // Whether the text asks for a reset, which concerns the devices too.
    static bool asks_for_reset(std::string_view text);

    // Counts the call. An error where it is to fail.
    Fault enter(Call call);
    void count_kernel(Kernel kernel) { ++kernels_[static_cast<size_t>(kernel)]; }
    void count_query() const { ++queries_; } // it cannot fail
    uint64_t count_span_begin() { return static_cast<uint64_t>(++spans_begun_); }
    void count_span_end() { ++spans_ended_; }
    int64_t count(std::string_view name) const;

    int64_t delay_us() const { return delay_us_; }
    Speeds speeds() const
    {
        if (!slow_)
            return {};
        const std::lock_guard lock(mutex_);
        return speeds_;
    }
    bool reorder() const { return reorder_; }
    int64_t device_memory() const { return device_memory_; }
    int64_t pinned_memory() const { return pinned_memory_; }
    int64_t program_memory() const { return program_memory_; }
    bool peer_copy() const { return peer_copy_; }
    bool dones() const { return dones_; }
    bool pageable_copy() const { return pageable_copy_; }
    uint64_t random();

private:
    struct Failure {
        Call call; // count: any but execute
        Error error;
        int64_t after = 0;    // fails when this has gone down to 0
        bool onwards = false; // and ever after
        int64_t percent = -1; // or by chance
        bool spent = false;
    };
    struct Settings;

    void apply(const Settings &settings);
    static Fault parse(std::string_view text, Settings &settings);
    static Fault parse_word(std::string_view word, Settings &settings);
    static Fault parse_failure(std::string_view value, Error error, Settings &settings);

    std::atomic<int64_t> delay_us_{0};
    std::atomic<bool> reorder_{false};
    std::atomic<int64_t> device_memory_{-1};
    std::atomic<int64_t> pinned_memory_{-1};
    std::atomic<int64_t> program_memory_{-1};
    std::atomic<bool> peer_copy_{true};
    std::atomic<bool> pageable_copy_{true};
    std::atomic<bool> dones_{true};
    std::atomic<uint64_t> random_{0};
    std::atomic<bool> may_fail_{false};
    std::atomic<bool> slow_{false};
    mutable std::mutex mutex_; // guards speeds_ and failures_
    Speeds speeds_;
    std::vector<Failure> failures_;
    std::array<std::atomic<int64_t>, static_cast<size_t>(Call::count)> calls_{};
    std::array<std::atomic<int64_t>, static_cast<size_t>(Kernel::count)> kernels_{};
    mutable std::atomic<int64_t> queries_{0};
    std::atomic<int64_t> spans_begun_{0};
    std::atomic<int64_t> spans_ended_{0};
};

} // namespace heddle::gpu::sim
