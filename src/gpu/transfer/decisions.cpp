// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/transfer/decisions.hpp"

#include "engine/immortal.hpp"
#include "gpu/core/log.hpp"
#include "gpu/core/settings.hpp"
#include "gpu/core/warnings.hpp"
#include "gpu/model/table_for.hpp"

#include <atomic>
#include <bit>
#include <cmath>

namespace heddle::gpu {

namespace {

using model::Path;
using model::Pattern;

std::atomic<int64_t> misses{0};

// ---- the tables of the open devices ----

class AllTables {
public:
    AllTables()
    {
        const Devices *const devices = Devices::open();
        const std::string &file = Settings::get().tuning;
        std::string before;
        for (int i = 0; devices && i < devices->count(); ++i) {
            std::string warning;
            const Facts facts = devices->backend().facts(i);
            all_.push_back(model::tables_for(facts, file, warning));
            all_.back().link_rate = facts.link_rate;
            if (!warning.empty() && warning != before)
                warn(warning);
            before = warning;
            if (logs(Topic::info))
                log_line(Topic::info, "tables of device %d: %s", i, all_.back().origin.c_str());
        }
    }
    const model::Tables &of(int device) const { return all_[static_cast<size_t>(device)]; }

private:
    std::vector<model::Tables> all_;
};

// ---- what is remembered ----

// A direct-mapped cache. An entry is the key and the answer in one word, so threads need no lock.
class Decisions : public Attachment {
public:
    Method find(uint64_t key) const
    {
        const uint64_t entry = entries_[slot(key)].load(std::memory_order_relaxed);
        return entry >> answer_bits == key ? static_cast<Method>(entry & answer_mask)
                                           : Method::count;
    }
    void keep(uint64_t key, Method answer)
    {
        entries_[slot(key)].store(key << answer_bits | static_cast<uint64_t>(answer),
                                  std::memory_order_relaxed);
    }

private:
    static constexpr unsigned answer_bits = 4, slot_bits = 5;
    static constexpr uint64_t answer_mask = (uint64_t{1} << answer_bits) - 1;
    static_assert(static_cast<uint64_t>(Method::count) <= answer_mask);

    static size_t slot(uint64_t key)
    {
        return static_cast<size_t>((key * 0x9e3779b97f4a7c15ULL) >> (64 - slot_bits));
    }

    std::array<std::atomic<uint64_t>, 1 << slot_bits> entries_{};
};

// An amount to a quarter of its power of two, as a number; and an amount in the middle of those.
uint64_t size_class(int64_t bytes)
{
    const auto b = static_cast<uint64_t>(bytes);
    const auto power = static_cast<unsigned>(std::bit_width(b) - 1);
    return power < 2 ? b : uint64_t{power} << 2 | ((b >> (power - 2)) & 3);
}

int64_t middle_of_class(int64_t bytes)
{
    const auto b = static_cast<uint64_t>(bytes);
    const auto power = static_cast<int>(std::bit_width(b)) - 1;
    if (power < 3)
        return bytes;
    const uint64_t least = b >> (power - 2) << (power - 2);
    return static_cast<int64_t>(least + (uint64_t{1} << (power - 3)));
}

// ---- a transfer as a question ----

// The end whose layout decides: the one that is not packed, on the host where neither is.
bool layout_is_source(const Move &m)
{
    if (m.to.dense())
        return true;
    return !m.from.dense() && m.from.memory.kind == MemoryKind::pinned;
}

Path path_of(const Move &m, bool source)
{
    const End &layout = source ? m.from : m.to;
    const End &packed = source ? m.to : m.from;
    if (layout.memory.kind == MemoryKind::pinned && !layout.dense())
        return source ? Path::from_host_layout : Path::to_host_layout;
    if (layout.memory.kind == MemoryKind::pinned) // both are dense
        return Path::from_host;
    if (packed.memory.kind == MemoryKind::pinned)
        return source ? Path::to_host : Path::from_host;
    return source ? Path::pack : Path::unpack;
}

bool is_of_host_layout(Path path)
{
    return path == Path::from_host_layout || path == Path::to_host_layout;
}

Pattern pattern_of(const Move &m, const Work &work, const Side &side, Path path)
{
    if (m.from.dense() && m.to.dense())
        return Pattern::dense;
    const Backend &backend = m.device->backend();
    switch (backend.kernel_for(m.device->ordinal(), work, Settings::get().kernel)) {
    case Kernel::records:
        return Pattern::records;
    case Kernel::transpose:
        return Pattern::transposed;
    default:
        break;
    }
    if (side.shape == Shape::image)
        return Pattern::runs;
    if (side.word < 8)
        return side.word < 4 ? Pattern::odd : Pattern::words;
    const bool is_near = std::abs(side.dim[0].stride) < model::near_stride_bytes &&
                         model::near_spread * side.block <= model::near_stride_bytes;
    return is_near && is_of_host_layout(path) ? Pattern::near : Pattern::strided;
}

} // namespace

const model::Tables &tables_of(const Device &device)
{
    return immortal<AllTables>().of(device.ordinal());
}

model::Question question_of(const Move &m, const Work &work)
{
    const bool source = layout_is_source(m);
    const Plan &plan = *(source ? m.from : m.to).plan;
    const Side &side = source ? work.from : work.to;
    const Path path = path_of(m, source);
    model::Question question{pattern_of(m, work, side, path), path, m.bytes, m.bytes};
    if (question.pattern != Pattern::dense)
        question.block = side.shape == Shape::strided
                             ? side.block
                             : plan.bytes / std::max<int64_t>(plan.runs, 1);
    return question;
}

Method soonest(const Move &m, const Work &work, model::Methods among)
{
    const bool source = layout_is_source(m);
    const End &layout = source ? m.from : m.to;
    const Side &side = source ? work.from : work.to;
    const auto bit = [](bool is, unsigned at) { return uint64_t{is} << at; };
    // All that the question depends on beside the plan. The first bit tells it from no entry.
    const uint64_t key =
        1 | size_class(m.bytes) << 1 | static_cast<uint64_t>(path_of(m, source)) << 9 |
        uint64_t{among} << 12 | static_cast<uint64_t>(m.device->ordinal()) << 20 |
        static_cast<uint64_t>(std::countr_zero(side.word)) << 28 | bit(layout.count > 1, 31) |
        bit(m.op != HEDDLE_OP_REPLACE, 32) | bit(m.from.dense() && m.to.dense(), 33);
    auto &known = layout.plan->attached<Decisions>(Attached::decisions,
                                                   [] { return std::make_unique<Decisions>(); });
    if (const Method found = known.find(key); found != Method::count)
        return found;
    misses.fetch_add(1, std::memory_order_relaxed);
    model::Question question = question_of(m, work);
    question.bytes = middle_of_class(m.bytes);
    const Method answer = tables_of(*m.device).best(question, among);
    if (answer != Method::count)
        known.keep(key, answer);
    return answer;
}

Method soonest_over_link(const Move &m)
{
    const model::Links &links = tables_of(*m.device).links;
    const auto is_numbered = [](const Place &memory) {
        return memory.kind == MemoryKind::device && !memory.imported && !memory.mixed;
    };
    if (links.peers.empty() || links.devices != Devices::open()->count() ||
        !is_numbered(m.from.memory) || !is_numbered(m.to.memory))
        return Method::count;
    const auto time = [&](Method method) {
        return links.peer(method, m.from.memory.device, m.to.memory.device, m.bytes);
    };
    const double engine = time(Method::copy_engine), kernel = time(Method::kernel);
    return !std::isfinite(engine) || !std::isfinite(kernel) ? Method::count
           : kernel < engine                                ? Method::kernel
                                                            : Method::copy_engine;
}

int64_t decisions_made() { return misses.load(std::memory_order_relaxed); }

} // namespace heddle::gpu
