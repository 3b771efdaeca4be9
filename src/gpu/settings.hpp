// SPDX-License-Identifier: BSD-3-Clause
// What the environment says, or the program before it (heddle_set), read once. What makes no sense
// is told (warnings.hpp) and counts for nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::gpu {

enum class Method : uint8_t;
enum class Kernel : uint8_t;

struct Settings {
    std::string device; // HEDDLE_DEVICE: auto, none, or the path of a plug-in
    Method method;      // HEDDLE_METHOD: forces the method, where that can do it; count: none
    Kernel kernel;      // HEDDLE_KERNEL: forces the kernel, likewise
    bool copy_engine;   // HEDDLE_COPY_ENGINE=1: what cudaMemcpy2D can express goes to the copy
                        // engines
    size_t slab_limit;  // HEDDLE_SLAB_LIMIT: bytes of staging memory of a kind for each device
    int64_t chunk;      // HEDDLE_CHUNK: bytes of a chunk of what is staged

    // Of messages (heddle_port_options)
    int64_t message_chunk;    // HEDDLE_MESSAGE_CHUNK: most bytes of a chunk
    int64_t message_window;   // HEDDLE_MESSAGE_WINDOW: most chunks of a message on their way at a
                              // time
    int64_t message_staging;  // HEDDLE_MESSAGE_STAGING: bytes of staging memory, each way
    int64_t message_in_place; // HEDDLE_MESSAGE_IN_PLACE: once so many bytes were sent out of an
                              // allocation, dense buffers in it are lent
    size_t message_open; // HEDDLE_MESSAGE_OPEN: most allocations of one sender's that are kept open
    int64_t message_patience; // HEDDLE_MESSAGE_PATIENCE: microseconds for which one is offered
                              // before it is copied
    int peer;                 // HEDDLE_PEER: enum heddle_peer

    static const Settings &get();
};

} // namespace heddle::gpu
