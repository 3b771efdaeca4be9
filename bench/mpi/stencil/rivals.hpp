// SPDX-License-Identifier: BSD-3-Clause
// What a program does by hand with CUDA. Where this is built without it, there are none.
#pragma once

#include "../../../examples/stencil3d/exchange.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bench {

// A halo exchange. It needs the processes' parts to stay as their ranks are.
class Rival {
public:
    virtual ~Rival() = default;
    virtual void exchange(int which) = 0; // of the two states
};

// A kernel packs all regions into the neighbours' memory (CUDA IPC); messages of no bytes; a kernel
// unpacks.
std::unique_ptr<Rival> halo_by_hand(const stencil::Parts &parts, const stencil::Shape &shape,
                                    const stencil::Quantities &quantities);
// A copy for each field and side, into the neighbour's halo; messages of no bytes.
std::unique_ptr<Rival> halo_by_copies(const stencil::Parts &parts, const stencil::Shape &shape,
                                      const stencil::Quantities &quantities);

// SHOC's Stencil2D: edges of a block of rows travel through host memory. `elements` are of `size`
// bytes; a row is `pitch` of them, its first and last are halo, and so are the first and last row.
struct Plane {
    char *at;
    int64_t rows, columns, size;  // without halo
    int north, south, west, east; // ranks, or MPI_PROC_NULL
    int64_t pitch() const { return columns + 2; }
};
std::function<void()> edges_through_host(const Plane &plane); // null: there is no CUDA

// Pinned where there is CUDA.
char *host_memory(size_t bytes);
void free_host_memory(char *memory);

} // namespace bench
