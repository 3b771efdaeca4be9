// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/policy.hpp"

#include "gpu/core/devices.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"

#include <algorithm>
#include <string>

namespace heddle::gpu {

namespace {

std::array<std::atomic<int64_t>, static_cast<size_t>(Method::count)> methods_chosen;
std::array<std::atomic<int64_t>, static_cast<size_t>(Kernel::count)> kernels_used;

// Counts the run of equal answers that another one ends.
template <size_t N, class Tally, class E>
E tell(std::array<std::atomic<int64_t>, N> &counts, Tally &tally, E answer)
{
    if (answer != tally.answer) {
        if (tally.times > 0 && tally.answer != E::count)
            counts[static_cast<size_t>(tally.answer)].fetch_add(tally.times,
                                                                std::memory_order_relaxed);
        tally = {answer, 0};
    }
    ++tally.times;
    return answer;
}

template <size_t N> std::array<int64_t, N> values(const std::array<std::atomic<int64_t>, N> &counts)
{
    std::array<int64_t, N> v{};
    for (size_t i = 0; i < v.size(); ++i)
        v[i] = counts[i].load(std::memory_order_relaxed);
    return v;
}

// ---- the built-in table (one H200, PCIe 5; bench/results/gpu.md) ----

// From these sizes on, to and from the host, a slab on the device and the copy engine beat a kernel
// whose accesses to the host are irregular. They at least equal a kernel whose accesses are
// regular. And they leave the GPU to the application, while a kernel holds it for as long as the
// link takes. Blocks of 8 bytes take the kernel too long for that.
constexpr int64_t staged_least_bytes = int64_t{4} << 20;
constexpr int64_t strided_staged_least_bytes = int64_t{16} << 20;
constexpr int64_t strided_staged_least_block = 16;
// With blocks shorter than this, unpacking by chunks is no faster than one kernel, and packing is
// faster only from the size below on.
constexpr int64_t short_block_bytes = 32;
constexpr int64_t short_block_staged_least_bytes = int64_t{32} << 20;
// Records that are unpacked out of the host's memory are read from there in pieces that overlap.
constexpr int64_t records_staged_least_bytes = int64_t{2} << 20;
// To and from the host, the copy engine takes 1.2 ns a row more than the link takes for the bytes.
// Short rows that are written into the device's memory take more. A kernel takes 2 us more to
// begin, and a sixth more for all bytes. The next three constants say this in bytes over the link:
// for each row; for each short row, divided by its length; and at once. Large amounts of shorter
// rows than the fourth are better packed into slabs first.
constexpr int64_t engine_row_overhead_bytes = 75;
constexpr int64_t engine_short_row_overhead_bytes = 512;
constexpr int64_t engine_head_start_bytes = 128 << 10;
constexpr int64_t engine_long_row_bytes = 256;
constexpr int64_t engine_most_pitch_bytes = INT32_MAX; // at most
// Host memory in shorter runs than this is packed by the host.
constexpr int64_t host_run_least_bytes = 256;
// A kernel does a contiguous copy within a device this small sooner, because a flag tells its end.
// Between devices the copy engine is 2 us ahead (H200, 64 KiB: 7.6 us and 9.8). If there are
// several transfers, those this small go into one kernel wherever they lead.
constexpr int64_t kernel_copy_most_bytes = int64_t{1} << 20;
// What the copy engines can express: whole blocks at one stride, or whole layers of them that are
// as far apart as some number of blocks.
bool is_of_blocks(const Side &s, int64_t bytes)
{
    if (s.shape != Shape::strided || s.dims > 2 || s.dim[0].stride < s.block ||
        s.dim[0].stride > engine_most_pitch_bytes)
        return false;
    const Dim &outer = s.dim[s.dims - 1];
    const bool whole = s.first % outer.bytes == 0 && bytes % outer.bytes == 0;
    const int64_t pitch = s.dim[0].stride;
    return whole &&
           (s.dims == 1 || (outer.stride >= s.dim[0].count * pitch && outer.stride % pitch == 0));
}

// Whether blocks to or from the host are sooner copied by an engine than by a kernel.
bool engine_is_sooner(int64_t block, int64_t bytes, bool to_host)
{
    const int64_t row =
        engine_row_overhead_bytes + (to_host ? 0 : engine_short_row_overhead_bytes / block);
    return bytes / block * row <= bytes + engine_head_start_bytes &&
           (bytes < strided_staged_least_bytes || block >= engine_long_row_bytes);
}

// Whether a kernel would read or write host memory in pieces too short for the link.
bool scatters_on_host(const End &end)
{
    return end.memory.kind == MemoryKind::pinned && !end.dense() &&
           end.plan->bytes / end.plan->runs < host_run_least_bytes;
}

bool can(Method method, const Move &m, const Work *work)
{
    const bool plain = m.op == HEDDLE_OP_REPLACE;
    switch (method) {
    case Method::copy_engine:
        return work && plain && m.from.dense() && m.to.dense();
    case Method::blocks:
        return work && plain &&
               ((m.from.dense() && !m.to.memory.several && is_of_blocks(work->to, m.bytes)) ||
                (m.to.dense() && !m.from.memory.several && is_of_blocks(work->from, m.bytes)));
    case Method::kernel:
        return work != nullptr;
    case Method::staged:
        return work && ((m.to.memory.kind == MemoryKind::pinned && plain && m.to.dense()) ||
                        (m.from.memory.kind == MemoryKind::pinned && m.from.dense()));
    case Method::bounced:
        return m.on_device && !m.by_host;
    case Method::combined:
        return m.on_device && m.op != HEDDLE_OP_REPLACE;
    default:
        return !m.on_device;
    }
}

bool can_on_stream(Method method)
{
    return method == Method::copy_engine || method == Method::blocks || method == Method::kernel;
}

// Whether to go by chunks, which `m` can.
bool staging_pays(const Move &m, const Work &work)
{
    const Side &s = m.to.dense() ? work.from : work.to;
    const Backend &backend = m.device->backend();
    switch (backend.kernel_for(m.device->ordinal(), work, Settings::get().kernel)) {
    case Kernel::strided:
    case Kernel::sparse:
        return s.block >= short_block_bytes
                   ? m.bytes >= strided_staged_least_bytes
                   : m.to.dense() && s.block >= strided_staged_least_block &&
                         m.bytes >= short_block_staged_least_bytes;
    case Kernel::records:
        return m.bytes >= (m.to.dense() ? staged_least_bytes : records_staged_least_bytes);
    default:
        return m.bytes >= staged_least_bytes;
    }
}

// A device's memory that the one which is to move it reaches over a link.
bool lies_elsewhere(const Place &memory, const Device &device)
{
    return memory.kind == MemoryKind::device && !memory.lies_on(device.ordinal());
}

Choice copy_or_kernel(const Move &m, bool alone, bool on_stream, bool pinned)
{
    const auto linked = [&] {
        return lies_elsewhere(m.from.memory, *m.device) || lies_elsewhere(m.to.memory, *m.device);
    };
    if (Settings::get().copy_engine)
        return {Method::copy_engine, "HEDDLE_COPY_ENGINE"};
    if (m.bytes > kernel_copy_most_bytes)
        return {Method::copy_engine, "contiguous"};
    if (!alone)
        return {Method::kernel, "contiguous, short, and shares a launch"};
    if (pinned || on_stream || linked())
        return {Method::copy_engine, "contiguous, over a link or on a stream"};
    return {Method::kernel, "contiguous, short, within a device"};
}

Choice best_method(const Move &m, const Work *work, bool alone, bool on_stream)
{
    if (!m.on_device)
        return {Method::host, "no device's memory"};
    if (m.by_host)
        return {Method::combined, "no device can do the operator"};
    if (!work)
        return {Method::bounced, "no device reaches both ends, or has room for the layout"};
    const bool pinned =
        m.from.memory.kind == MemoryKind::pinned || m.to.memory.kind == MemoryKind::pinned;
    const bool asked = Settings::get().copy_engine;
    if (can(Method::copy_engine, m, work))
        return copy_or_kernel(m, alone, on_stream, pinned);
    if (!asked && !pinned) // what follows is of the host's memory
        return {Method::kernel, "a layout in devices' memory"};
    if ((asked || alone || m.bytes > kernel_copy_most_bytes) && can(Method::blocks, m, work)) {
        const int64_t block = m.to.dense() ? work->from.block : work->to.block;
        if (asked)
            return {Method::blocks, "HEDDLE_COPY_ENGINE"};
        if (engine_is_sooner(block, m.bytes, m.to.memory.kind == MemoryKind::pinned))
            return {Method::blocks, "blocks to or from the host that a copy engine moves sooner"};
    }
    if (on_stream)
        return {Method::kernel, "on a stream"};
    if (scatters_on_host(m.from) || scatters_on_host(m.to))
        return {Method::bounced, "short runs in host memory"};
    const bool large = m.bytes >= records_staged_least_bytes; // the least of them all
    if (large && can(Method::staged, m, work) && staging_pays(m, *work))
        return {Method::staged, "much to or from the host, packed in chunks"};
    return {Method::kernel, "little to or from the host"};
}

const char *name_of(MemoryKind kind)
{
    constexpr const char *names[] = {"pageable memory", "pinned memory", "device",
                                     "managed memory"};
    return names[static_cast<size_t>(kind)];
}

// "device 0 (general, blocks of 8)".
std::string words_of(const End &end)
{
    const Plan &plan = *end.plan;
    std::string text = name_of(end.memory.kind);
    if (end.memory.device >= 0)
        text += " " + std::to_string(end.memory.device);
    if (plan.contiguous)
        return text + " (dense)";
    return text + (plan.kind == HEDDLE_PLAN_GENERAL ? " (irregular" : " (strided") +
           ", blocks of " + std::to_string(plan.bytes / std::max<int64_t>(plan.runs, 1)) + ")";
}

} // namespace

Choices::~Choices() { tell(methods_chosen, method_, Method::count); }

Choice Choices::method(const Move &m, const Work *work, bool alone, bool on_stream)
{
    const Method forced = Settings::get().method;
    const bool as_forced =
        forced != Method::count && can(forced, m, work) && (!on_stream || can_on_stream(forced));
    const Choice choice =
        as_forced ? Choice{forced, "HEDDLE_METHOD"} : best_method(m, work, alone, on_stream);
    tell(methods_chosen, method_, choice.method);
    return choice;
}

void Choices::again(Method method) { tell(methods_chosen, method_, method); }

void log_choice(const Move &m, const Choice &choice, const char *kernel)
{
    log_line(Topic::policy, "transfer of %lld bytes from %s to %s: method %s%s%s: %s",
             static_cast<long long>(m.bytes), words_of(m.from).c_str(), words_of(m.to).c_str(),
             method_name(choice.method), kernel ? ", kernel " : "", kernel ? kernel : "",
             choice.reason);
}

void count_kernels(std::span<const Launch> launches)
{
    Tally<Kernel> tally;
    for (const Launch &each : launches)
        tell(kernels_used, tally, each.kernel);
    tell(kernels_used, tally, Kernel::count);
}

std::array<int64_t, static_cast<size_t>(Method::count)> method_counts()
{
    return values(methods_chosen);
}

std::array<int64_t, static_cast<size_t>(Kernel::count)> kernel_counts()
{
    return values(kernels_used);
}

} // namespace heddle::gpu
