// SPDX-License-Identifier: BSD-3-Clause
// The layouts that are moved: each as a Heddle type, as the simplest good kernel for exactly its
// shape and, where CUDA's copies can express it, as those.
#pragma once

#include "owner.hpp"
#include "type.hpp"

#include <functional>
#include <memory>

namespace bench {

struct Ends {
    char *user;   // device memory
    char *packed; // device memory, or pinned memory of the host
    bool pack;    // else unpack
};

// Puts what moves the data on a stream.
using Mover = std::function<void(const Ends &, cudaStream_t)>;

// Programs that do the same; the fastest counts.
struct Programs {
    std::vector<Mover> pack, unpack;

    const std::vector<Mover> &of(bool packs) const { return packs ? pack : unpack; }
};

struct Case {
    Type type;
    int64_t count = 1;   // instances
    int64_t bytes = 0;   // packed
    int64_t span = 0;    // of the user's memory, from the buffer's address
    int64_t sectors = 0; // bytes of the 32-byte sectors of user memory that hold data
    Mover hand;
    Mover copy;                 // cudaMemcpy*Async; may be empty
    Programs limit;             // what the memory must do, without waiting for it (limits.cuh)
    Programs alone;             // the user's side of it: gather (pack) and scatter (unpack)
    std::shared_ptr<void> kept; // what the movers use
};

struct Layout {
    std::string name;
    bool strided; // or contiguous: the targets of small messages differ
    std::vector<int64_t> sizes;
    std::function<Case(int64_t size)> make;
    int64_t block = 0, stride = 0; // where it is blocks at one stride
    bool copies = false;           // there is a `copy`
    bool hands = true;             // there is a `hand`
    bool limits = false;           // there is a `limit`
    bool alone = false;            // there is an `alone`
};

std::vector<Layout> block_layouts();     // blocks at one stride, and one block
std::vector<Layout> grid_layouts();      // parts of 3-D and 4-D arrays, nested vectors
std::vector<Layout> irregular_layouts(); // hindexed and hindexed_block
std::vector<Layout> record_layouts();    // arrays of structs
std::vector<Layout> transpose_layouts();

std::vector<Layout> layouts();

// Bytes of the sectors that the runs of `count` instances touch; runs come in ascending order.
int64_t sectors_of(const Type &type, int64_t count);

} // namespace bench
