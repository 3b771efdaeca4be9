// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/cuda/host/select_kernel.hpp"

#include "gpu/cuda/kernels/geometry.hpp"

#include <bit>
#include <cstdlib>

namespace heddle::gpu::cuda {
namespace {

bool moves(const Work &w) { return w.bytes > 0 && w.op != HEDDLE_OP_NO_OP; }

bool has_image(const Work &w) { return w.from.shape == Shape::image || w.to.shape == Shape::image; }

// ---- what each kernel can do ----

bool can_strided(const Work &w, const Halves &h)
{
    if (h.dense)
        return h.other->shape == Shape::strided;
    const int width = word_width(w);
    const auto narrow = [&](const Side &s) {
        return s.shape == Shape::strided && is_narrow(s, origin(s).first, w.bytes, width);
    };
    return narrow(w.from) && narrow(w.to);
}

bool can_transpose(const Work &w, const Side &s)
{
    constexpr int64_t least_side = 8; // below this many elements a side, tiles are mostly empty
    constexpr int64_t most_blocks = int64_t{1} << 31;
    if (s.shape != Shape::strided || s.block != word_width(w))
        return false;
    const int near = near_dimension(s);
    if (near < 0 || s.dim[0].count < least_side ||
        (near < s.dims - 1 && s.dim[near].count < least_side))
        return false;
    return transposed_tiles(s, near, origin(s).first + w.bytes) < most_blocks;
}

// Whether a strided side's record lies within its extent, with small numbers.
bool is_inside(const Side &s)
{
    int64_t span = s.block;
    for (int d = 0; d < s.dims - 1; ++d) {
        if (s.dim[d].stride < 0 || s.dim[d].stride > record_most_extent ||
            s.dim[d].count > record_most_packed)
            return false;
        span += (s.dim[d].count - 1) * s.dim[d].stride;
    }
    return span <= s.dim[s.dims - 1].stride;
}

bool comes_over_link(const Work &w) { return w.from.shape == Shape::dense && w.far && !w.remote; }
bool goes_over_link(const Work &w) { return w.to.shape == Shape::dense && w.remote && !w.far; }

// Whether enough of a record is data. It need not be much where the packed bytes alone cross the
// host's link: a device's memory is many times as fast.
bool is_full(const Work &w, const Record &r, const Tuning &t)
{
    if (w.pinned && goes_over_link(w))
        return r.extent <= t.pinned_record_most_spread * r.packed;
    if (w.pinned && comes_over_link(w))
        return r.extent * r.extent <= t.pinned_unpack_most_bytes * r.packed;
    return r.extent <= t.record_most_spread * r.packed;
}

bool can_records(const Work &w, const Side &s, const Tuning &t)
{
    if (s.shape == Shape::dense || (s.shape == Shape::strided && word_width(w) >= 4))
        return false; // the strided kernel is as fast, or faster
    if (s.shape == Shape::image ? !s.records : !is_inside(s))
        return false;
    const Record r = record_of(s);
    return r.packed > 0 && r.packed <= record_most_packed && r.extent >= r.packed &&
           r.extent <= record_most_extent && is_full(w, r, t);
}

bool can_runs(const Side &s) { return s.listed() && s.runs.most > 0; }

// ---- the forms of a kernel ----

bool is_sparse(const Work &w, const Side &s, const Tuning &t)
{
    const int64_t stride = std::abs(s.dim[0].stride);
    return word_width(w) >= 4 && s.block >= t.sparse_least_block_bytes &&
           s.block <= t.sparse_most_block_bytes && stride >= t.sparse_least_stride_bytes &&
           stride >= t.sparse_least_spread * s.block &&
           w.bytes / s.block >= t.sparse_least_span_bytes / stride;
}

// A work by the strided kernel, if that can do it, or word by word.
Kernel plain(const Work &w, const Halves &h, const Tuning &t)
{
    if (!can_strided(w, h))
        return Kernel::any;
    return h.dense && is_sparse(w, *h.other, t) ? Kernel::sparse : Kernel::strided;
}

bool are_even(const Listed &list, int width, bool pack, const Tuning &t)
{
    constexpr int64_t most_words = int64_t{1} << 31;
    const RunList &runs = list.runs;
    return (!pack || list.bytes <= t.even_runs_most_packed_bytes) && runs.longest < INT32_MAX &&
           runs.longest * runs.count == runs.bytes &&
           (list.first + list.bytes) / width < most_words && runs.count < most_words;
}

bool are_short(const Listed &list, int width, const Tuning &t)
{
    const int64_t lanes = short_run_lanes(list, width);
    return list.runs.longest > 0 && lanes <= short_run_most_lanes &&
           short_run_groups(list) <= t.short_runs_most_threads / lanes;
}

bool are_few(const Listed &list, int width, const Tuning &t)
{
    return list.runs.count <= t.few_runs_most_count &&
           list.bytes / width <= t.few_runs_most_words && list.runs.bytes <= UINT32_MAX;
}

Kernel form_of_runs(const Work &w, const Halves &h, const Tuning &t)
{
    const Listed list = listed(w);
    const int width = word_width(w);
    if (are_even(list, width, h.pack, t))
        return Kernel::even_runs;
    if (are_short(list, width, t))
        return Kernel::short_runs;
    return are_few(list, width, t) ? Kernel::few_runs : Kernel::runs;
}

// ---- what pays ----

bool transposing_pays(const Side &s, int64_t bytes, const Tuning &t)
{
    if (s.shape != Shape::strided || s.block > 16 ||
        !std::has_single_bit(static_cast<uint64_t>(s.block)) || s.word < s.block ||
        bytes < t.transpose_least_bytes)
        return false;
    const int near = near_dimension(s);
    return near > 0 && std::abs(s.dim[0].stride) >= t.transpose_least_stride_bytes &&
           s.dim[0].count >= t.transpose_least_count &&
           s.dim[near].count >= t.transpose_least_count;
}

bool is_linked(const Work &w) { return w.remote || w.far; }

int widest_word(const Work &w) { return std::min(w.from.word, w.to.word); }

bool records_pay(const Work &w, const Side &s, const Tuning &t)
{
    if (s.shape == Shape::image)
        return widest_word(w) <= t.record_most_word_bytes;
    // From another device single bytes are faster, mostly. Two H100s, 5.6 MB of blocks of 5 bytes,
    // 7 to 15 bytes apart: 29 us, as records 38 to 51. (29 to 101 bytes, close: up to 14 % slower.)
    if (comes_over_link(w) && !w.pinned)
        return false;
    return widest_word(w) < t.record_most_word_bytes &&
           w.bytes >= (is_linked(w) ? t.linked_records_least_bytes : t.strided_records_least_bytes);
}

// Little of an image's records goes by their runs, if those need no tiles.
Kernel form_of_records(const Work &w, const Halves &h, const Tuning &t)
{
    if (h.other->shape != Shape::image || w.bytes >= t.linked_records_least_bytes)
        return Kernel::records;
    const Kernel runs = can_runs(*h.other) ? form_of_runs(w, h, t) : Kernel::any;
    return runs == Kernel::even_runs || runs == Kernel::short_runs ? runs : Kernel::any;
}

// What is wanted, in its best form, where it can do the work.
Kernel select_wanted(const Work &w, const Halves &h, const Tuning &t, Kernel wanted)
{
    const bool half = h.dense != nullptr;
    switch (wanted) {
    case Kernel::any:
        return Kernel::any;
    case Kernel::strided:
        return can_strided(w, h) ? plain(w, h, t) : Kernel::count;
    case Kernel::transpose:
        return half && can_transpose(w, *h.other) ? Kernel::transpose : Kernel::count;
    case Kernel::records: {
        const bool takes = half && can_records(w, *h.other, t) &&
                           (h.other->shape == Shape::image || records_pay(w, *h.other, t));
        return takes ? form_of_records(w, h, t) : Kernel::count;
    }
    case Kernel::runs:
        return half && can_runs(*h.other) ? form_of_runs(w, h, t) : Kernel::count;
    default:
        return Kernel::count;
    }
}

Kernel select_best(const Work &w, const Halves &h, const Tuning &t, bool beside)
{
    // From layout to layout the strided kernel takes a tenth to a fifth less time, alone. Beside
    // other kernels, few thread blocks that stay and locate each word are faster. Two H100s that
    // exchange halos, a part of them with themselves, take 1230 us so and 1350 us by the strided
    // kernel.
    if (!h.dense)
        return beside ? Kernel::any : plain(w, h, t);
    const Side &s = *h.other;
    if (transposing_pays(s, w.bytes, t))
        return can_transpose(w, s) ? Kernel::transpose : plain(w, h, t);
    if (records_pay(w, s, t) && can_records(w, s, t))
        return form_of_records(w, h, t);
    return can_runs(s) ? form_of_runs(w, h, t) : plain(w, h, t);
}

// A short work shares a launch, even if it would get a launch of its own when it is long.
Kernel select_shared(const Work &w, const Halves &h, const Tuning &t, Kernel best)
{
    if (w.bytes > t.shared_launch_most_bytes)
        return best;
    switch (best) {
    case Kernel::transpose:
        return plain(w, h, t);
    case Kernel::records:
    case Kernel::runs:
    case Kernel::even_runs:
    case Kernel::short_runs:
    case Kernel::few_runs:
        return Kernel::any;
    default:
        return best;
    }
}

// Chooses for one of several works of a call. The wanted kernel is taken where it can do the work.
Kernel select_among(const Launch &each, const Tuning &t, bool beside)
{
    const Work &w = *each.work;
    if (w.op != HEDDLE_OP_REPLACE)
        return Kernel::reduce;
    const Halves h = halves(w);
    const Kernel wanted = select_wanted(w, h, t, each.wanted);
    return wanted != Kernel::count ? wanted : select_shared(w, h, t, select_best(w, h, t, beside));
}

bool can_batch(const Work &w, Kernel kernel, const Tuning &t)
{
    return (kernel == Kernel::strided || kernel == Kernel::sparse || kernel == Kernel::any) &&
           w.bytes <= t.batched_most_bytes;
}

// The batch that a work can be described for.
Kernel batch_of(const Work &w)
{
    const Halves h = halves(w);
    if (h.dense && !has_image(w) && fits_item(w, h))
        return Kernel::batch;
    return h.dense && has_image(w) && fits_image_item(w) ? Kernel::batch_images : Kernel::batch_any;
}

} // namespace

Kernel select_kernel(const Work &w, const Tuning &t, Kernel wanted, bool beside)
{
    if (w.op != HEDDLE_OP_REPLACE)
        return Kernel::reduce;
    const Halves h = halves(w);
    const Kernel as_wanted = select_wanted(w, h, t, wanted);
    return as_wanted != Kernel::count ? as_wanted : select_best(w, h, t, beside);
}

void select_kernels(std::span<Launch> launches, const Tuning &t, bool beside)
{
    const auto several = std::count_if(launches.begin(), launches.end(),
                                       [](const Launch &each) { return moves(*each.work); }) > 1;
    int joined[static_cast<size_t>(Kernel::count)] = {}; // works of each batch
    for (Launch &each : launches) {
        if (!moves(*each.work))
            continue;
        each.kernel = several ? select_among(each, t, beside)
                              : select_kernel(*each.work, t, each.wanted, beside);
        if (!several || !can_batch(*each.work, each.kernel, t))
            continue;
        each.kernel = batch_of(*each.work);
        ++joined[static_cast<size_t>(each.kernel)];
    }
    for (Launch &each : launches)
        if (is_batch(each.kernel) && joined[static_cast<size_t>(each.kernel)] == 1)
            each.kernel = select_among(each, t, beside); // a single one has better kernels
}

} // namespace heddle::gpu::cuda
