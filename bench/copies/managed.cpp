// SPDX-License-Identifier: BSD-3-Clause
#include "managed.hpp"

#include <unistd.h>

namespace bench {
namespace {

void prefetch(const Managed &memory, int64_t bytes, const Place &to, cudaStream_t on)
{
    cudaMemLocation location{};
    location.type = to.gpu    ? cudaMemLocationTypeDevice
                    : to.node ? cudaMemLocationTypeHostNuma
                              : cudaMemLocationTypeHost;
    location.id = to.gpu ? *to.gpu : to.node.value_or(0);
#if CUDART_VERSION >= 13000
    BENCH_CUDA(cudaMemPrefetchAsync(memory.get(), static_cast<size_t>(bytes), location, 0, on));
#else
    BENCH_CUDA(cudaMemPrefetchAsync_v2(memory.get(), static_cast<size_t>(bytes), location, 0, on));
#endif
}

void touch_pages(const char *at, int64_t bytes)
{
    static const int64_t page = sysconf(_SC_PAGESIZE);
    const volatile char *const memory = at;
    for (int64_t i = 0; i < bytes; i += page)
        static_cast<void>(memory[i]);
}

} // namespace

void measure_managed(const Managed &memory, const Place &from, const Place &to,
                     const Device *target, const Limits &limits)
{
    const OnGpu current(to.gpu ? *to.gpu : *from.gpu);
    const Stream stream;
    const auto place = [&](int64_t bytes, const Place &where) {
        prefetch(memory, bytes, where, stream);
        stream.wait();
    };
    const auto before = [&](int64_t bytes) { place(bytes, from); };
    const auto touch = [&](int64_t bytes) {
        if (!to.gpu)
            return touch_pages(memory.get(), bytes);
        copy_by_kernel(target->get(), memory.get(), bytes, stream);
        stream.wait();
    };
    measure({{"managed, demand", from.name, to.name, 1},
             {{memory.get(), to.gpu ? target->get() : memory.get()}},
             nullptr,
             touch,
             before},
            limits);
    measure({{"managed, prefetch", from.name, to.name, 1},
             {{memory.get(), memory.get()}},
             nullptr,
             [&](int64_t bytes) { place(bytes, to); },
             before},
            limits);
}

} // namespace bench
