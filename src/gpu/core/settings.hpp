// SPDX-License-Identifier: BSD-3-Clause
// What the environment says, or the program before it (heddle_set), read once, by the table of
// settings (settings_table.hpp), which says what each does. What makes no sense is warned of
// (warnings.hpp), and the default counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::gpu {

enum class Method : uint8_t;
enum class Kernel : uint8_t;
struct Setting;

struct Settings {
    std::string device; // HEDDLE_DEVICE
    Method method;      // HEDDLE_METHOD; count: none is forced
    Kernel kernel;      // HEDDLE_KERNEL; count: none is forced
    bool copy_engine;   // HEDDLE_COPY_ENGINE
    std::string tuning; // HEDDLE_TUNING; empty: none
    size_t slab_limit;  // HEDDLE_SLAB_LIMIT
    int64_t chunk;      // HEDDLE_CHUNK

    // Of messages (heddle_port_options)
    int64_t message_chunk;    // HEDDLE_MESSAGE_CHUNK; -1: not said
    int64_t message_window;   // HEDDLE_MESSAGE_WINDOW; -1: not said
    int64_t message_staging;  // HEDDLE_MESSAGE_STAGING
    int64_t message_in_place; // HEDDLE_MESSAGE_IN_PLACE
    size_t message_open;      // HEDDLE_MESSAGE_OPEN
    int64_t message_timeout;  // HEDDLE_MESSAGE_TIMEOUT, microseconds
    int peer;                 // HEDDLE_PEER: enum heddle_peer

    int64_t placement; // HEDDLE_PLACEMENT, milliseconds

    bool affinity; // HEDDLE_AFFINITY

    uint32_t log_topics; // HEDDLE_LOG: a bit for each Topic (log.hpp)

    static const Settings &get();
};

// The value in force of a setting: what was set, if it makes sense, or the default. Empty where the
// default is no value, and for what another part reads.
std::string setting_value(const Setting &setting);

} // namespace heddle::gpu
