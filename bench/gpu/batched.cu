// SPDX-License-Identifier: BSD-3-Clause
#include "batched.hpp"

#include <cub/device/device_memcpy.cuh>

namespace bench {
namespace {

struct Lists {
    Device from, to, sizes, scratch;
    size_t scratch_bytes = 0;
    unsigned count = 0;
};

void copy_batch(void *scratch, size_t &scratch_bytes, const Lists &lists, cudaStream_t stream)
{
    BENCH_CUDA(cub::DeviceMemcpy::Batched(
        scratch, scratch_bytes, reinterpret_cast<char **>(lists.from.get()),
        reinterpret_cast<char **>(lists.to.get()), reinterpret_cast<unsigned *>(lists.sizes.get()),
        lists.count, stream));
}

} // namespace

Mover batched_mover(const Case &made, const Ends &ends)
{
    int64_t count = 0;
    BENCH_HEDDLE(heddle_iov_len(made.count, made.type.get(), INT64_MAX, &count, nullptr));
    if (count > most_batched)
        return {};
    std::vector<iovec> runs(static_cast<size_t>(count));
    BENCH_HEDDLE(heddle_iov(ends.user, made.count, made.type.get(), 0, runs.data(), count, &count));
    std::vector<void *> user, packed;
    std::vector<unsigned> sizes;
    char *next = ends.packed;
    for (const iovec &run : runs) {
        user.push_back(run.iov_base);
        packed.push_back(next);
        sizes.push_back(static_cast<unsigned>(run.iov_len));
        next += run.iov_len;
    }
    auto lists = std::make_shared<Lists>();
    lists->from = on_device(ends.pack ? user : packed);
    lists->to = on_device(ends.pack ? packed : user);
    lists->sizes = on_device(sizes);
    lists->count = static_cast<unsigned>(count);
    copy_batch(nullptr, lists->scratch_bytes, *lists, nullptr);
    lists->scratch = Device(static_cast<int64_t>(lists->scratch_bytes));
    return [lists](const Ends &, cudaStream_t stream) {
        copy_batch(lists->scratch.get(), lists->scratch_bytes, *lists, stream);
    };
}

} // namespace bench
