// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/settings_table.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace heddle::gpu {

namespace {

constexpr const char *bytes = "bytes; K, M or G may follow";

constexpr Setting table[] = {
    {"HEDDLE_DEVICE", SettingKind::text, "auto, none, or the path of a plug-in", "auto",
     "The plug-in for devices. auto opens the CUDA plug-in where a driver answers.",
     "To do without GPUs (none), or to test with the simulated device."},
    {"HEDDLE_METHOD", SettingKind::choice,
     "host, copy_engine, blocks, kernel, staged, bounced, combined", "(none)",
     "Forces the method of each transfer, where it can do what is asked.", "For measurements."},
    {"HEDDLE_KERNEL", SettingKind::choice, "strided, transpose, records, runs, any", "(none)",
     "Forces the kernel, in its best form, where it can do what is asked.", "For measurements."},
    {"HEDDLE_COPY_ENGINE", SettingKind::choice, "0, 1", "0",
     "1: contiguous data and blocks at one stride or two go to the copy engines, whatever their "
     "size.",
     "Where the program's own kernels fill the GPU: copy engines are slower, but do not wait for "
     "them."},
    {"HEDDLE_TUNING", SettingKind::text, "the path of a file", "(none)",
     "A table of this machine, as heddle-tune writes it. Methods are chosen and messages are cut "
     "by it. Without one, "
     "Heddle takes the table that comes with it, in proportion to the GPU's memory and link.",
     "On GPUs and hosts other than those that bench/results names: run heddle-tune once."},
    {"HEDDLE_SLAB_LIMIT", SettingKind::number, bytes, "256M",
     "Staging memory for each device: so much of its own memory, so much pinned memory, and as "
     "much again of each for other processes. Transfers that find none take a slower way.",
     "Less where memory is scarce. More for many long messages at a time."},
    {"HEDDLE_CHUNK", SettingKind::number, bytes, "2M",
     "Bytes that go through host memory at a time, where no device reaches both ends.",
     "For measurements."},
    {"HEDDLE_MESSAGE_CHUNK", SettingKind::number, bytes, "(1M, or as HEDDLE_TUNING says)",
     "Bytes of a chunk of a message. By a table it may be less between nodes.",
     "More on networks of high latency."},
    {"HEDDLE_MESSAGE_WINDOW", SettingKind::number, "a number", "(8, or more as HEDDLE_TUNING says)",
     "Chunks of a message that are on their way at a time.", "More on networks of high latency."},
    {"HEDDLE_MESSAGE_STAGING", SettingKind::number, bytes, "(half of HEDDLE_SLAB_LIMIT)",
     "Staging memory that messages may use on each side. Messages wait where it is used up.",
     "With HEDDLE_SLAB_LIMIT."},
    {"HEDDLE_MESSAGE_IN_PLACE", SettingKind::number, bytes, "64K",
     "A dense buffer is read where it lies, by CUDA IPC, once so many bytes were sent out of its "
     "allocation. Each message counts for 4 KiB at least.",
     "1000G where the program opens other processes' buffers itself, and frees some that it sent."},
    {"HEDDLE_MESSAGE_OPEN", SettingKind::number, "a number", "256",
     "Allocations of each other process that are kept open. Beyond the last 16 they come to no "
     "more than 4 GiB.",
     "Less where freed memory stays in use for too long."},
    {"HEDDLE_MESSAGE_TIMEOUT", SettingKind::number, "microseconds", "30",
     "How long a short contiguous message within a node can be read out of the sender's buffer. "
     "Then it goes through host memory.",
     "More where receivers are late and host memory is slow."},
    {"HEDDLE_PEER", SettingKind::choice, "auto, value, shared, reference", "auto",
     "How chunks get from process to process: sent (value), through pinned host memory that both "
     "map (shared), or out of the sender's GPU (reference). auto is the last that is possible.",
     "For measurements, or where CUDA IPC does not work."},
    {"HEDDLE_PLACEMENT", SettingKind::number, "milliseconds", "5000",
     "How long MPI may look for a better order of the ranks, where a program allows one (reorder). "
     "0: ranks keep their order.",
     "0 where a program says reorder, but relies on the order. More for tens of thousands of "
     "ranks."},
    {"HEDDLE_AFFINITY", SettingKind::choice, "0, 1", "1",
     "1: a process says so, once, if it is bound to processors far from its GPU, or if UCX takes a "
     "NIC far from it.",
     "0 where the site wants it so."},
    {"HEDDLE_LOG", SettingKind::list, "info, policy, memory, interpose", "(none)",
     "Topics of the log on the standard error output: what was opened (info), pools and pinned "
     "memory (memory), what libheddle-mpi did with calls (interpose). And the path of each "
     "message, "
     "the method and kernel of each transfer, who is placed where (policy).",
     "To see why something is slow."},
    {"HEDDLE_INTERPOSE_GPU_AWARE", SettingKind::of_another, "0, 1, auto", "0",
     "Whether libheddle-mpi gives device buffers to the MPI: dense ones as they are, others packed "
     "(HEDDLE_INTERPOSE_METHOD). auto: where MPIX_Query_cuda_support says so.",
     "1 where the MPI below takes device memory."},
    {"HEDDLE_INTERPOSE_METHOD", SettingKind::of_another, "auto, oneshot, device", "auto",
     "Where libheddle-mpi packs, for an MPI that takes device memory: into pinned host memory, or "
     "on the device. auto: on the device from 48 KiB on.",
     "For measurements."},
    {"HEDDLE_INTERPOSE_PEER", SettingKind::of_another, "0, 1", "0",
     "1: under libheddle-mpi, processes of a node read each other's device memory, and other long "
     "messages go in chunks (heddle-run --peer). All processes of the job must run under "
     "heddle-run, with this value.",
     "1 for speed, where that is so."},

    {"MPIR_CVAR_CH4_UCX_GPU_ONESHOT", SettingKind::of_another, "bytes, or -1", "-1",
     "Longest message out of device memory that is sent as a whole. Within a node: a sixteenth of "
     "it, unless HEDDLE_PEER is value. -1: as HEDDLE_TUNING says, or 131072, and 8192 within a "
     "node.",
     "For measurements."},
    {"MPIR_CVAR_CH4_UCX_GPU_DIRECT", SettingKind::of_another, "0, 1, 2", "1",
     "Which long contiguous messages a UCX that was built with CUDA sends as they are: none (0), "
     "those between nodes (1), all (2).",
     "0 where the network's cards do not reach the GPUs' memory."},
    {"MPIR_CVAR_GPU_REDUCE_ON_DEVICE", SettingKind::of_another, "bytes, or -1", "131072",
     "Collectives reduce device buffers of at least so many bytes on the device. -1: never.",
     "-1 where device memory is scarce."},
    {"MPIR_CVAR_CH4_UCX_DIRECT_COLL", SettingKind::of_another, "0, 1", "1",
     "1: collectives on device memory go straight between the buffers of processes of one "
     "node. 0: by messages. One process that says 0 is enough.",
     "For measurements, or where CUDA IPC does not work."},
    {"MPIR_CVAR_CH4_UCX_YIELD", SettingKind::of_another, "a number, or -1", "-1",
     "Progress polls without success after which a process gives its core away. -1: 100 where "
     "ranks outnumber cores, else never. 0: never.",
     "Where other programs share the node's cores."},
    {"MPIR_CVAR_ENABLE_GPU", SettingKind::of_another, "0, 1", "1",
     "0: no plug-in is opened, and device buffers are not supported.",
     "For programs that use no GPU."},
    {"MPIR_CVAR_MEMORY_ALLOC_KINDS", SettingKind::of_another, "a list of kinds (MPI 4.1)", "(none)",
     "Kinds of memory that the program asks for.", "Where a program requires it."},
};

} // namespace

std::span<const Setting> all_settings() { return table; }

const Setting &setting_named(const char *name)
{
    return *std::find_if(std::begin(table), std::end(table),
                         [&](const Setting &each) { return std::string_view(each.name) == name; });
}

} // namespace heddle::gpu
