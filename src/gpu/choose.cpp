// SPDX-License-Identifier: BSD-3-Clause
#include "choose.hpp"

#include "devices.hpp"
#include "settings.hpp"

namespace heddle::gpu {

namespace {

constexpr const char *method_names[] = {"host",    "copy_engine", "blocks",  "kernel",
                                        "chunked", "staged",      "combined"};
constexpr const char *kernel_names[] = {"strided", "transpose", "records", "runs", "any", "reduce"};
static_assert(std::size(method_names) == static_cast<size_t>(Method::count));
static_assert(std::size(kernel_names) == static_cast<size_t>(Kernel::count));

std::array<std::atomic<int64_t>, static_cast<size_t>(Method::count)> methods_chosen;
std::array<std::atomic<int64_t>, static_cast<size_t>(Kernel::count)> kernels_chosen;

// Counts the run of equal answers that another one ends.
template <size_t N, class Tally, class E>
E tell(std::array<std::atomic<int64_t>, N> &counts, Tally &tally, E answer)
{
    if (answer != tally.answer) {
        if (tally.times > 0)
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

// From here on, to and from the host, a slab on the device and the copy engine beat a kernel whose
// accesses to the host are as irregular as the layout, or at least equal one whose are not, and
// leave the GPU to the application, which a kernel holds for as long as the link takes. Blocks of 8
// bytes take the kernel too long for that.
constexpr int64_t chunked_from = int64_t{4} << 20;
constexpr int64_t strided_chunked_from = int64_t{16} << 20;
constexpr int64_t strided_chunked_block = 16;
// Of blocks shorter than this, chunks are unpacked no sooner than a kernel unpacks it all, and
// packed sooner only if there are more of them.
constexpr int64_t short_block = 32;
constexpr int64_t short_chunked_from = int64_t{32} << 20;
// Records that are unpacked out of the host's memory are read from there in pieces that overlap.
constexpr int64_t records_chunked_from = int64_t{2} << 20;
// To and from the host, the copy engine takes 1.2 ns for a row more than the link for its bytes, to
// write short ones into the device's memory more than that, and a kernel 2 us more to begin and a
// sixth more for all bytes: in bytes over the link, this much a row, this much over its length
// more, and this much at once. Large amounts of shorter rows than that are better packed into slabs
// first.
constexpr int64_t engine_row = 75;
constexpr int64_t engine_short_row = 512;
constexpr int64_t engine_lead = 128 << 10;
constexpr int64_t engine_long_row = 256;
constexpr int64_t engine_pitch = INT32_MAX; // at most
// Host memory in shorter runs than this is packed by the host.
constexpr int64_t host_run = 256;
// A contiguous copy within a device this small is known to be done sooner by a kernel, whose end a
// flag tells; between devices the copy engine is 2 us ahead (H200, 64 KiB: 7.6 us and 9.8). Of
// several transfers, those this small go into one kernel wherever they lead.
constexpr int64_t copied_by_kernel = int64_t{1} << 20;
// Neighbours this far apart in pack order share no sector, and enough of them for tiles.
constexpr int64_t transposed_stride = 64;
constexpr int64_t transposed_count = 16;
constexpr int64_t transposed_bytes = 64 << 10;
// Words of four bytes and less leave most of a kernel's loads empty; records go through shared
// memory.
constexpr int64_t record_word = 4;
constexpr int64_t strided_records_from = int64_t{4} << 20;
constexpr int64_t linked_records_from = 256 << 10;
constexpr int64_t record_bytes = 1024;
constexpr int64_t record_spread = 4;
// Of what takes a launch of its own otherwise, up to this much shares one with others, each word
// located by itself: a launch takes the processor as long as that takes the device. (One H200, 26,
// 8, 2 parts of 512 KiB packed: irregular 58, 24, 14 us in one launch, 83, 26, 12 in as many;
// transposed 27, 17, 12 and 115, 40, 15; records 52, 23, 13 and 84, 30, 12. Of 1 MiB: 26 irregular
// ones 115 and 84.)
constexpr int64_t shared_launch = 512 << 10;

// What the copy engines can express: whole blocks at one stride, or whole layers of them that are
// as far apart as some number of blocks.
bool is_of_blocks(const Side &s, int64_t bytes)
{
    if (s.shape != Shape::strided || s.dims > 2 || s.dim[0].stride < s.block ||
        s.dim[0].stride > engine_pitch)
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
    const int64_t row = engine_row + (to_host ? 0 : engine_short_row / block);
    return bytes / block * row <= bytes + engine_lead &&
           (bytes < strided_chunked_from || block >= engine_long_row);
}

// Whether a kernel would read or write host memory in pieces too short for the link.
bool scatters_on_host(const End &end)
{
    return end.memory.kind == MemoryKind::pinned && !end.dense() &&
           end.plan->bytes / end.plan->runs < host_run;
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
    case Method::chunked:
        return work && ((m.to.memory.kind == MemoryKind::pinned && plain && m.to.dense()) ||
                        (m.from.memory.kind == MemoryKind::pinned && m.from.dense()));
    case Method::staged:
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

// The dimension, other than the fastest, in which blocks of a word touch; 0: none, and nothing to
// transpose.
int near_dimension(const Side &s)
{
    if (s.shape != Shape::strided || s.block > 16 || (s.block & (s.block - 1)) != 0 ||
        s.word < s.block)
        return 0;
    for (int d = 1; d < s.dims; ++d)
        if (s.dim[d].stride == s.block)
            return d;
    return 0;
}

bool transposing_pays(const Side &s, int64_t bytes)
{
    const int near = near_dimension(s);
    if (!near || bytes < transposed_bytes)
        return false;
    const int64_t stride = s.dim[0].stride;
    return (stride < 0 ? -stride : stride) >= transposed_stride &&
           s.dim[0].count >= transposed_count && s.dim[near].count >= transposed_count;
}

int word_of(const Work &w) { return w.from.word < w.to.word ? w.from.word : w.to.word; }

// The strided kernel is as fast where words have four bytes, and for little within a device.
bool takes_records(const Side &s, const Work &w)
{
    if (s.shape != Shape::strided)
        return true;
    return word_of(w) < record_word &&
           w.bytes >= (w.remote || w.far ? linked_records_from : strided_records_from);
}

bool records_pay(const Side &s, const End &end, const Work &w)
{
    if (word_of(w) > record_word || !takes_records(s, w))
        return false;
    const Records r = records_of(end, s);
    return r.bytes > 0 && r.extent > 0 && r.bytes <= record_bytes &&
           r.extent <= record_spread * r.bytes;
}

// A work that one side of is dense, as the kernels for packing and unpacking see it.
struct Half {
    const Side *side = nullptr; // null: neither is, or both are
    const End *end = nullptr;

    Half(const Work &w, const Move &m)
    {
        const bool packs = w.to.shape == Shape::dense;
        if (packs == (w.from.shape == Shape::dense))
            return;
        side = packs ? &w.from : &w.to;
        end = packs ? &m.from : &m.to;
    }
};

bool are_strided(const Work &w)
{
    return w.from.shape == Shape::strided && w.to.shape == Shape::strided;
}

bool can(Kernel kernel, const Work &w, const Move &m)
{
    const Half half(w, m);
    if (kernel == Kernel::reduce || w.op != HEDDLE_OP_REPLACE)
        return kernel == Kernel::reduce && w.op != HEDDLE_OP_REPLACE;
    if (kernel == Kernel::any)
        return true;
    if (!half.side)
        return kernel == Kernel::strided && are_strided(w);
    switch (kernel) {
    case Kernel::strided:
        return half.side->shape == Shape::strided;
    case Kernel::transpose:
        return near_dimension(*half.side) > 0;
    case Kernel::records:
        return takes_records(*half.side, w) && records_of(*half.end, *half.side).bytes > 0;
    default:
        return half.side->listed();
    }
}

Kernel best_kernel(const Work &w, const Move &m, bool beside)
{
    if (w.op != HEDDLE_OP_REPLACE)
        return Kernel::reduce;
    if (const Kernel forced = Settings::get().kernel; forced != Kernel::count && can(forced, w, m))
        return forced;
    const Half half(w, m);
    // From layout to layout the strided kernel takes a tenth to a fifth less time, alone. Beside
    // others words had better be located one by one, by few thread blocks that stay: two H100s that
    // exchange halos, a part of them with themselves, take 1230 us so and 1350 by the strided
    // kernel.
    if (!half.side)
        return are_strided(w) && !beside ? Kernel::strided : Kernel::any;
    const Side &s = *half.side;
    if (transposing_pays(s, w.bytes))
        return Kernel::transpose;
    if (records_pay(s, *half.end, w))
        return Kernel::records;
    if (s.shape == Shape::strided)
        return Kernel::strided;
    return s.listed() ? Kernel::runs : Kernel::any;
}

// What takes a launch of its own otherwise does not pay for one while it is short.
Kernel shared_kernel(Kernel best, int64_t bytes)
{
    if (bytes > shared_launch || best == Settings::get().kernel)
        return best;
    switch (best) {
    case Kernel::transpose:
        return Kernel::strided;
    case Kernel::records:
    case Kernel::runs:
        return Kernel::any;
    default:
        return best;
    }
}

// Whether to go by chunks, which `m` can.
bool chunks_pay(const Move &m, const Work &work)
{
    const Side &s = m.to.dense() ? work.from : work.to;
    switch (best_kernel(work, m, true)) {
    case Kernel::strided:
        return s.block >= short_block ? m.bytes >= strided_chunked_from
                                      : m.to.dense() && s.block >= strided_chunked_block &&
                                            m.bytes >= short_chunked_from;
    case Kernel::records:
        return m.bytes >= (m.to.dense() ? chunked_from : records_chunked_from);
    default:
        return m.bytes >= chunked_from;
    }
}

// A device's memory that the one which is to move it reaches over a link.
bool lies_elsewhere(const Place &memory, const Device &device)
{
    return memory.kind == MemoryKind::device && !memory.lies_on(device.ordinal());
}

Method best_method(const Move &m, const Work *work, bool alone, bool on_stream)
{
    if (!m.on_device)
        return Method::host;
    if (m.by_host)
        return Method::combined;
    if (!work)
        return Method::staged;
    const bool pinned =
        m.from.memory.kind == MemoryKind::pinned || m.to.memory.kind == MemoryKind::pinned;
    const bool small = m.bytes <= copied_by_kernel;
    const bool asked = Settings::get().copy_engine;
    if (can(Method::copy_engine, m, work)) {
        const auto linked = [&] {
            return lies_elsewhere(m.from.memory, *m.device) ||
                   lies_elsewhere(m.to.memory, *m.device);
        };
        return !asked && small && (!alone || (!pinned && !on_stream && !linked()))
                   ? Method::kernel
                   : Method::copy_engine;
    }
    if (!asked && !pinned) // what follows is of the host's memory
        return Method::kernel;
    if ((asked || alone || !small) && can(Method::blocks, m, work)) {
        const int64_t block = m.to.dense() ? work->from.block : work->to.block;
        if (asked || engine_is_sooner(block, m.bytes, m.to.memory.kind == MemoryKind::pinned))
            return Method::blocks;
    }
    if (on_stream)
        return Method::kernel;
    if (scatters_on_host(m.from) || scatters_on_host(m.to))
        return Method::staged;
    const bool large = m.bytes >= records_chunked_from; // the least of them all
    return large && can(Method::chunked, m, work) && chunks_pay(m, *work) ? Method::chunked
                                                                          : Method::kernel;
}

} // namespace

const char *method_name(Method method) { return method_names[static_cast<size_t>(method)]; }

const char *kernel_name(Kernel kernel) { return kernel_names[static_cast<size_t>(kernel)]; }

Choices::~Choices()
{
    tell(methods_chosen, method_, Method::count);
    tell(kernels_chosen, kernel_, Kernel::count);
}

Method Choices::method(const Move &m, const Work *work, bool alone, bool on_stream)
{
    const Method forced = Settings::get().method;
    const bool as_forced =
        forced != Method::count && can(forced, m, work) && (!on_stream || can_on_stream(forced));
    return tell(methods_chosen, method_,
                as_forced ? forced : best_method(m, work, alone, on_stream));
}

void Choices::again(Method method) { tell(methods_chosen, method_, method); }

Kernel Choices::kernel(const Work &w, const Move &m, bool together, bool beside)
{
    const Kernel best = best_kernel(w, m, beside);
    return tell(kernels_chosen, kernel_, together ? shared_kernel(best, w.bytes) : best);
}

std::array<int64_t, static_cast<size_t>(Method::count)> method_counts()
{
    return values(methods_chosen);
}

std::array<int64_t, static_cast<size_t>(Kernel::count)> kernel_counts()
{
    return values(kernels_chosen);
}

} // namespace heddle::gpu
