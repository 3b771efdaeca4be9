/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the CUDA plug-in knows of GPUs without one: which it has kernels for, and their tuning.
 */
#include "named.hpp"

#include "gpu/cuda/host/select_kernel.hpp"
#include "gpu/cuda/host/targets.hpp"

#include <utility>

namespace gpu {
namespace {

using namespace heddle::gpu::cuda;

void machine_code_runs_on_its_generation()
{
    const auto runs = [](int major, int minor) {
        return has_code_for("sm_80 sm_86 sm_90", major, minor);
    };
    for (const auto &[major, minor] : {std::pair(8, 0), {8, 6}, {8, 9}, {9, 0}, {9, 1}})
        same(runs(major, minor), true, text("kernels for ", major, '.', minor));
    for (const auto &[major, minor] : {std::pair(7, 5), {10, 0}, {12, 0}, {0, 0}})
        same(runs(major, minor), false, text("kernels for ", major, '.', minor));
    same(has_code_for("sm_86", 8, 0), false, "kernels for an older minor number");
    same(has_code_for("sm_120", 12, 1), true, "kernels of a number of three digits");
}

void ptx_runs_on_what_follows()
{
    const auto runs = [](int major, int minor) {
        return has_code_for("sm_75 compute_90", major, minor);
    };
    same(runs(9, 0) && runs(10, 3) && runs(12, 0), true, "PTX for newer ones");
    same(runs(8, 9) || runs(8, 0), false, "PTX for older ones");
    same(runs(7, 5), true, "machine code beside it");
}

void no_target_is_guessed()
{
    for (const char *nothing : {"", " ", "sm_", "compute_x", "90", "sm_90x compute"})
        same(has_code_for(nothing, 8, 0), false, text("kernels of \"", nothing, '"'));
}

void the_measured_gpu_has_its_values()
{
    same(tuning_of({90, 132 * 2048, 50 << 20}) == Tuning{}, true,
         "tuning of compute capability 9.0");
    same(tuning_of({90, 1, 1}) == Tuning{}, true, "the same, whatever its size");
}

void other_gpus_follow_laws()
{
    const Tuning a100 = tuning_of({80, 108 * 2048, 40 << 20});
    same(a100.short_runs_most_threads, int64_t{108 * 2048}, "threads for short runs");
    same(a100.batched_most_bytes, int64_t{108 * 2048 * 32}, "bytes of works in one launch");
    same(a100.fetch_least_bytes, int64_t{20 << 20}, "bytes from which on sectors are fetched");
    same(a100.record_most_spread, Tuning{}.record_most_spread, "what follows no law");
    same(tuning_of({75, 0, 0}) == Tuning{}, true, "a GPU that tells nothing of itself");
}

/* 12 runs of at most 8 bytes, 20000 times: as many threads as a large GPU holds. */
void tuning_decides()
{
    using namespace heddle::gpu;
    int64_t displs[12] = {}, prefix[13] = {};
    Work work{};
    work.from.shape = Shape::image;
    work.from.word = 8;
    work.from.runs.displs = displs;
    work.from.runs.prefix = prefix;
    work.from.runs.count = 12;
    work.from.runs.bytes = 88;
    work.from.runs.longest = 8;
    work.from.runs.most = 12;
    work.from.runs.extent = 1000;
    work.to.shape = Shape::dense;
    work.to.word = 8;
    work.bytes = 88 * 20000;
    const auto kernel = [&](const Tuning &tuning) {
        return select_kernel(work, tuning, Kernel::count, false);
    };
    same(kernel(tuning_of({90, 132 * 2048, 50 << 20})) == Kernel::short_runs, true,
         "a thread for each run of a large GPU");
    same(kernel(tuning_of({75, 40 * 1024, 4 << 20})) == Kernel::short_runs, false,
         "the same on a small GPU");
}

/* 1 MiB of blocks of so many bytes, each at the start of `stride` bytes. */
heddle::gpu::Work work_of_blocks(int64_t block, int64_t stride)
{
    using namespace heddle::gpu;
    Work work{};
    Side strided{};
    strided.shape = Shape::strided;
    strided.block = block;
    strided.word = 1;
    strided.dims = 1;
    strided.dim[0] = {stride, (1 << 20) / block, block, {}};
    work.from = strided;
    work.to.shape = Shape::dense;
    work.to.word = 1;
    work.bytes = (1 << 20) / block * block;
    work.far = work.remote = false;
    return work;
}

/* A device's memory is faster than the host's link, so gaps cost little beside it. */
void records_depend_on_the_link()
{
    using namespace heddle::gpu;
    const auto is_records = [](Work work, bool unpack, bool pinned) {
        (unpack ? work.far : work.remote) = true;
        work.pinned = pinned;
        if (unpack)
            std::swap(work.from, work.to);
        return select_kernel(work, {}, Kernel::count, false) == Kernel::records;
    };
    same(is_records(work_of_blocks(7, 7 * 31), false, true), true, "sparse, to the host");
    same(is_records(work_of_blocks(7, 7 * 31), true, true), true, "sparse, from the host");
    same(is_records(work_of_blocks(7, 7 * 33), false, true), false, "sparser, to the host");
    same(is_records(work_of_blocks(29, 29 * 31), true, true), false, "longer, from the host");
    same(is_records(work_of_blocks(7, 7 * 31), false, false), false, "sparse, to another device");
    same(is_records(work_of_blocks(7, 15), false, false), true, "full, to another device");
    same(is_records(work_of_blocks(7, 15), true, false), false, "full, from another device");
    same(is_records(work_of_blocks(7, 15), true, true), true, "full, from the host");
}

const AddTests tests{{"machine code runs on its generation", machine_code_runs_on_its_generation},
                     {"PTX runs on what follows", ptx_runs_on_what_follows},
                     {"no target is guessed", no_target_is_guessed},
                     {"the measured GPU has its values", the_measured_gpu_has_its_values},
                     {"other GPUs follow laws", other_gpus_follow_laws},
                     {"tuning decides the kernel", tuning_decides},
                     {"records depend on the link", records_depend_on_the_link}};

} // namespace
} // namespace gpu

int main()
{
    gpu::Tally tally;
    gpu::run_named("", tally);
    std::printf("%s\n", tally.line().c_str());
    return tally.failed > 0;
}
