// SPDX-License-Identifier: BSD-3-Clause
// The adapter to TEMPI's 2-D pack kernels: nvcc -shared -Xcompiler -fPIC -I.. -I../../../include
// -ITEMPI/include tempi.cu. Blocks at one stride alone; its offsets have 32 bits.
#include "rival.h"

#include "pack_kernels.cuh"

#include <cstdio>
#include <new>

namespace {

struct Made {
    Pack2DConfig config;
    unsigned offset, block, count, stride;
    int instances;
    uint64_t extent;
};

} // namespace

void *rival_make(const rival_type *, int64_t count, const char *layout, int64_t extent)
{
    long long offset = 0, blocks = 0, stride = 0, block = 0;
    char end = 0;
    if (std::sscanf(layout, "%lld+stream(%lld,%lld,dense(%lld))%c", &offset, &blocks, &stride,
                    &block, &end) != 4 ||
        offset < 0 || stride <= 0 || blocks * stride > INT64_C(0xffffffff) || count > 65535)
        return nullptr;
    const auto narrow = [](long long value) { return static_cast<unsigned>(value); };
    return new (std::nothrow) Made{Pack2DConfig(narrow(offset), narrow(block), narrow(blocks)),
                                   narrow(offset),
                                   narrow(block),
                                   narrow(blocks),
                                   narrow(stride),
                                   static_cast<int>(count),
                                   static_cast<uint64_t>(extent)};
}

int rival_move(void *handle, void *user, void *packed, int64_t, int pack, void *stream)
{
    const Made &m = *static_cast<Made *>(handle);
    const auto on = static_cast<cudaStream_t>(stream);
    char *const at = static_cast<char *>(user) + m.offset;
    const dim3 grid = m.config.dim_grid(m.instances), threads = m.config.dim_block();
    if (pack)
        m.config.packfn<<<grid, threads, 0, on>>>(packed, at, static_cast<unsigned>(m.instances),
                                                  m.block, m.count, m.stride, m.extent);
    else
        m.config.unpackfn<<<grid, threads, 0, on>>>(at, packed, m.instances, m.block, m.count,
                                                    m.stride, m.extent);
    return cudaGetLastError();
}

void rival_free(void *handle) { delete static_cast<Made *>(handle); }
