// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/policy.hpp"

#include "gpu/core/devices.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "gpu/transfer/decisions.hpp"

#include <algorithm>
#include <string>

namespace heddle::gpu {

namespace {

using model::Methods;
using model::set_of;

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

thread_local Method forced_here = Method::count;

constexpr int64_t engine_most_pitch_bytes = INT32_MAX;

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

// A device's memory that the one which is to move it reaches over a link.
bool lies_elsewhere(const Place &memory, const Device &device)
{
    return memory.kind == MemoryKind::device && !memory.lies_on(device.ordinal());
}

bool is_pinned(const Move &m)
{
    return m.from.memory.kind == MemoryKind::pinned || m.to.memory.kind == MemoryKind::pinned;
}

// Up to which size one of several moves shares a launch, though an engine could do it.
int64_t together_most(const Move &m)
{
    const model::Tables &tables = tables_of(*m.device);
    return is_pinned(m) ? tables.together_link_most_bytes : tables.together_most_bytes;
}

// Contiguous data.
Choice copy_or_kernel(const Move &m, const Work &work, Asked asked)
{
    const bool linked =
        lies_elsewhere(m.from.memory, *m.device) || lies_elsewhere(m.to.memory, *m.device);
    if (Settings::get().copy_engine)
        return {Method::copy_engine, "HEDDLE_COPY_ENGINE"};
    if (!asked.alone)
        return m.bytes <= together_most(m)
                   ? Choice{Method::kernel, "contiguous, short, and shares a launch"}
                   : Choice{Method::copy_engine, "contiguous"};
    if (linked && !asked.on_stream)
        if (const Method measured = soonest_over_link(m); measured != Method::count)
            return {measured, "contiguous: the sooner one over that link, as measured"};
    if (linked || asked.on_stream)
        return {Method::copy_engine, "contiguous, over a link or on a stream"};
    const Methods both = set_of(Method::copy_engine) | set_of(Method::kernel);
    if (soonest(m, work, both) == Method::kernel)
        return {Method::kernel, "contiguous: the model expects a kernel to be sooner"};
    return {Method::copy_engine, "contiguous: the model expects a copy engine to be sooner"};
}

// What could carry out a layout that lies on the host, or is packed there.
Methods candidates(const Move &m, const Work &work, Asked asked)
{
    Methods all = set_of(Method::kernel);
    // Several works share a launch; several copies share nothing.
    if ((asked.alone || m.bytes > together_most(m)) && can(Method::blocks, m, &work))
        all |= set_of(Method::blocks);
    if (asked.on_stream)
        return all;
    // Where its steps would have to be timed, and are not, it loses to a kernel.
    if (can(Method::staged, m, &work) && (asked.awaited || !has_timed_steps(m)))
        all |= set_of(Method::staged);
    const auto is_layout_on_host = [](const End &end) {
        return end.memory.kind == MemoryKind::pinned && !end.dense();
    };
    if (is_layout_on_host(m.from) || is_layout_on_host(m.to))
        all |= set_of(Method::bounced);
    return all;
}

Choice by_model(const Move &m, const Work &work, Asked asked)
{
    const Methods among = candidates(m, work, asked);
    if (among == set_of(Method::kernel))
        return {Method::kernel, "nothing else can do it there"};
    switch (soonest(m, work, among)) {
    case Method::blocks:
        return {Method::blocks, "the model expects the copy engine's blocks to be the soonest"};
    case Method::staged:
        return {Method::staged, "the model expects packing in chunks to be the soonest"};
    case Method::bounced:
        return {Method::bounced, "the model expects packing on the host to be the soonest"};
    default:
        return {Method::kernel, "the model expects a kernel to be the soonest"};
    }
}

Choice best_method(const Move &m, const Work *work, Asked asked)
{
    if (!m.on_device)
        return {Method::host, "no device's memory"};
    if (m.by_host)
        return {Method::combined, "no device can do the operator"};
    if (!work)
        return {Method::bounced, "no device reaches both ends, or has room for the layout"};
    if (can(Method::copy_engine, m, work))
        return copy_or_kernel(m, *work, asked);
    if (Settings::get().copy_engine && can(Method::blocks, m, work))
        return {Method::blocks, "HEDDLE_COPY_ENGINE"};
    if (!is_pinned(m))
        return {Method::kernel, "a layout in devices' memory"};
    return by_model(m, *work, asked);
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

Choice Choices::method(const Move &m, const Work *work, Asked asked)
{
    const Method forced = forced_method();
    const bool as_forced = forced != Method::count && can(forced, m, work) &&
                           (!asked.on_stream || can_on_stream(forced));
    const Choice choice =
        as_forced ? Choice{forced, is_forced_here() ? "heddle_force_method" : "HEDDLE_METHOD"}
                  : best_method(m, work, asked);
    tell(methods_chosen, method_, choice.method);
    return choice;
}

bool is_forced_here() { return forced_here != Method::count; }

Method forced_method()
{
    return forced_here != Method::count ? forced_here : Settings::get().method;
}

void force_method(Method method) { forced_here = method; }

bool has_timed_steps(const Move &m)
{
    const bool is_from_host = m.from.memory.kind == MemoryKind::pinned && m.from.dense();
    return is_from_host && model::has_timed_steps(model::Path::from_host, m.bytes);
}

bool can_do(Method method, const Move &move, const Work *work) { return can(method, move, work); }

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
