/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the simulated device does: kernels and copies, and what it must not do.
 */
#include "sim_plugin.hpp"

#include <algorithm>

namespace sim_test {
namespace {

void strided_kernels()
{
    const std::vector<char> source = pattern(256);
    const DeviceBytes from(source), to(size_t{64});
    Work pack;
    pack.from = strided(from.at(), 8, 32, 8);
    pack.to = dense(to.at(), 8);
    pack.bytes = 64;
    for (const Kernel kernel : {Kernel::strided, Kernel::any}) {
        OK(run(kernel, pack));
        std::vector<char> expected;
        for (size_t i = 0; i < 8; ++i)
            expected.insert(expected.end(), source.begin() + 32 * i, source.begin() + 32 * i + 8);
        same(to.bytes() == expected, true, "packed");
    }
    Work unpack;
    const std::vector<char> zeros(256);
    const DeviceBytes back(zeros);
    unpack.from = dense(to.at());
    unpack.to = strided(back.at(), 8, 32, 4);
    unpack.to.first = 13; /* word 1 then */
    unpack.to.word = 1;
    unpack.bytes = 20;
    OK(run(Kernel::strided, unpack));
    std::vector<char> expected = zeros;
    for (size_t i = 13; i < 33; ++i)
        expected[i / 8 * 32 + i % 8] = to.bytes()[i - 13];
    same(back.bytes() == expected, true, "unpacked from byte 13");
}

/* Packed bytes 2 to 31 of instances of 12 bytes, 40 apart. */
std::vector<char> packed_spans(const std::vector<char> &source, const std::vector<int64_t> &displs,
                               const std::vector<int64_t> &prefix)
{
    std::vector<char> packed;
    for (int64_t i = 2; i < 32; ++i) {
        const size_t block = i % 12 < 3 ? 0 : i % 12 < 8 ? 1 : 2;
        packed.push_back(
            source[static_cast<size_t>(i / 12 * 40 + displs[block] + i % 12 - prefix[block])]);
    }
    return packed;
}

/* An image and a run list in device memory: spans of 3, 5 and 4 bytes, instances 40 apart. */
void image_and_run_list()
{
    const std::vector<int64_t> displs{20, 0, 10}, prefix{0, 3, 8, 12};
    std::vector<int64_t> lookaside = displs;
    lookaside.insert(lookaside.end(), prefix.begin(), prefix.end());
    ImageNode node{};
    node.count = 3;
    node.bytes = 1;
    node.kind = NodeKind::spans;
    const DeviceBytes nodes(as_bytes(std::vector{node})), side(as_bytes(lookaside));
    const DeviceBytes list_displs(as_bytes(displs)), list_prefix(as_bytes(prefix));
    const DeviceBytes tile(as_bytes(std::vector<int32_t>{0, 2}));
    std::vector<uint64_t> entries;
    for (size_t i = 0; i < 3; ++i)
        entries.push_back(static_cast<uint64_t>(prefix[i]) << 48 |
                          static_cast<uint64_t>(displs[i]));
    const DeviceBytes list_entries(as_bytes(entries));
    entries[1] ^= 1;
    const DeviceBytes wrong_entries(as_bytes(entries));

    const std::vector<char> source = pattern(120);
    const DeviceBytes from(source), to(size_t{30});
    Work work;
    work.from = dense(from.at());
    work.from.shape = Shape::image;
    work.from.first = 2;
    work.from.nodes = 1;
    work.from.bytes = 12;
    work.from.extent = 40;
    work.from.by_bytes = Divisor::of(12);
    const ImageView image = {reinterpret_cast<const ImageNode *>(nodes.at()),
                             reinterpret_cast<const int64_t *>(side.at())};
    work.from.image = image;
    work.from.runs = {.displs = reinterpret_cast<const int64_t *>(list_displs.at()),
                      .prefix = reinterpret_cast<const int64_t *>(list_prefix.at()),
                      .entries = reinterpret_cast<const uint64_t *>(list_entries.at()),
                      .tile = reinterpret_cast<const int32_t *>(tile.at()),
                      .count = 3,
                      .bytes = 12,
                      .extent = 40,
                      .by_bytes = Divisor::of(12),
                      .most = 3,
                      .longest = 5};
    work.to = dense(to.at());
    work.bytes = 30;
    const std::vector<char> expected = packed_spans(source, displs, prefix);
    OK(run(Kernel::any, work));
    same(to.bytes() == expected, true, "by the image");
    const DeviceBytes other(size_t{30});
    work.to.base = other.at();
    work.from.image = {nullptr, nullptr};
    OK(run(Kernel::runs, work));
    same(other.bytes() == expected, true, "by the run list");
    OK(sim.configure("launch_ns=1000"));
    OK(run(Kernel::runs, work));
    work.from.image = image;
    OK(run(Kernel::any, work));
    OK(sim.configure("launch_ns=0"));

    work.from.runs.entries = reinterpret_cast<const uint64_t *>(wrong_entries.at());
    fails_for_good(Kernel::runs, work, "a wrong entry");
    work.from.runs.entries = reinterpret_cast<const uint64_t *>(list_entries.at());
    work.from.runs.most = 2;
    fails_for_good(Kernel::runs, work, "wrong runs");
    work.from.image = {reinterpret_cast<const ImageNode *>(&node),
                       reinterpret_cast<const int64_t *>(side.at())};
    fails_for_good(Kernel::any, work, "pageable");
}

void reductions()
{
    const std::vector<int32_t> a{1, -2, 3, INT32_MAX}, b{10, 20, -30, 1};
    const DeviceBytes from(as_bytes(a)), to(as_bytes(b));
    Work work;
    work.from = dense(from.at(), 16);
    work.to = dense(to.at(), 16);
    work.bytes = 16;
    work.op = HEDDLE_OP_SUM;
    work.basic = HEDDLE_INT32;
    OK(run(Kernel::reduce, work));
    same(to.bytes() == as_bytes(std::vector<int32_t>{11, 18, -27, INT32_MIN}), true, "sums");
    /* Packed pairs of a double and an int, 12 bytes each, onto pairs in memory, 16 bytes each. */
    const auto pair = [](double value, int32_t index, size_t size) {
        std::vector<char> bytes(size);
        std::memcpy(bytes.data(), &value, 8);
        std::memcpy(bytes.data() + 8, &index, 4);
        return bytes;
    };
    const DeviceBytes packed(pair(2.0, 7, 12)), located(pair(2.0, 9, 16));
    work.from = dense(packed.at(), 4);
    work.to = strided(located.at(), 12, 16, 4);
    work.bytes = 12;
    work.op = HEDDLE_OP_MAXLOC;
    work.basic = HEDDLE_DOUBLE_INT;
    OK(run(Kernel::reduce, work));
    same(located.bytes() == pair(2.0, 7, 16), true, "the lower index of equal values");
    work.op = HEDDLE_OP_BAND;
    same(run(Kernel::reduce, work), int{HEDDLE_ERR_DEVICE}, "an operator that pairs do not have");
}

void what_a_gpu_cannot_do()
{
    const DeviceBytes from(pattern(64)), to(size_t{64});
    std::vector<char> ordinary(64);
    Work work;
    work.from = dense(from.at());
    work.bytes = 64;
    work.to = dense(ordinary.data());
    fails_for_good(Kernel::any, work, "pageable");
    work.to = dense(to.at() + 1);
    fails_for_good(Kernel::any, work, "beyond");
    work.to = dense(to.at() + 1, 8);
    work.bytes = 32;
    work.from.word = 8;
    fails_for_good(Kernel::any, work, "misaligned");
    void *gone = nullptr;
    OK(sim.malloc(0, 64, &gone));
    OK(sim.free(gone));
    work.to = dense(gone);
    fails_for_good(Kernel::any, work, "freed");
    OK(sim.configure("fail=execute:1"));
    work.to = dense(to.at());
    fails_for_good(Kernel::any, work, "asked to fail");
    const int64_t before = sim.count("kernel:any");
    OK(run(Kernel::runs, work)); /* which cannot take it */
    same(sim.count("kernel:any") - before, int64_t{1}, "works by the kernel for any sides");
}

void copies()
{
    const DeviceBytes a(pattern(100)), b(std::vector<char>(100), 1);
    OK(sim.backend->copy(0, nullptr, {b.at(), 10, 4, a.at(), 20, 4, 5, 4, 1, false}, nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    std::vector<char> expected(100);
    for (size_t i = 0; i < 20; ++i)
        expected[i / 5 * 10 + i % 5] = pattern(100)[i / 5 * 20 + i % 5];
    same(b.bytes() == expected, true, "rows");
    std::vector<char> ordinary(8);
    OK(sim.backend->copy(0, nullptr, contiguous_copy(ordinary.data(), a.at(), 8), nullptr));
    OK(sim.backend->stream_synchronize(0, nullptr));
    same(std::equal(ordinary.begin(), ordinary.end(), pattern(8).begin()), true,
         "copied to pageable memory");
    OK(sim.configure("pageable_copy=0"));
    OK(sim.backend->copy(0, nullptr, contiguous_copy(ordinary.data(), a.at(), 8), nullptr));
    same(sim.backend->stream_synchronize(0, nullptr).code(), int{HEDDLE_ERR_DEVICE},
         "a copy to pageable memory, forbidden");
    OK(sim.configure("reset"));
}

const ::gpu::AddTests tests{{"strided kernels", strided_kernels},
                            {"image and run list", image_and_run_list},
                            {"reductions", reductions},
                            {"what a GPU cannot do", what_a_gpu_cannot_do},
                            {"copies", copies}};

} // namespace
} // namespace sim_test
