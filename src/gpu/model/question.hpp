// SPDX-License-Identifier: BSD-3-Clause
// What the model is asked about a transfer: how its data lie, which way they go, and how much it
// is. The names are those of the tables' files.
#pragma once

#include "gpu/core/method.hpp"

#include <cstdint>
#include <iterator>

namespace heddle::gpu::model {

// How the data of the side that is not packed lie. Each is what one kind of kernel is for.
enum class Pattern : uint8_t {
    dense,
    strided,    // blocks at constant strides, in words of eight bytes and more
    words,      // the same, in words of four bytes
    odd,        // the same, in shorter words
    near,       // short strided ones in host memory, at strides of less than near_stride_bytes
    records,    // short records in a row, at poor alignment
    runs,       // irregular blocks
    transposed, // neighbours in memory are far apart in pack order
    count
};
inline constexpr const char *pattern_names[] = {"dense", "strided", "words", "odd",
                                                "near",  "records", "runs",  "transposed"};
static_assert(std::size(pattern_names) == static_cast<size_t>(Pattern::count));
// Over the link to the host a kernel reads near blocks in fewer pieces than there are blocks.
// Their tables are of blocks that begin `near_spread` lengths apart.
inline constexpr int64_t near_stride_bytes = 512, near_spread = 3;

// Which way the data go. "Host" is pinned memory.
enum class Path : uint8_t {
    pack,             // within a device, out of a layout
    unpack,           // within a device, into a layout
    to_host,          // out of a layout on a device, packed on the host
    from_host,        // packed on the host, into a layout on a device
    to_host_layout,   // packed on a device, into a layout on the host
    from_host_layout, // out of a layout on the host, packed on a device
    count
};
inline constexpr const char *path_names[] = {"pack",      "unpack",         "to_host",
                                             "from_host", "to_host_layout", "from_host_layout"};
static_assert(std::size(path_names) == static_cast<size_t>(Path::count));

struct Question {
    Pattern pattern = Pattern::dense;
    Path path = Path::pack;
    int64_t bytes = 0; // packed
    int64_t block = 0; // bytes of a block or, on average, of a run
};

// A set of methods: bit m stands for method m.
using Methods = uint32_t;
constexpr Methods set_of(Method method) { return Methods{1} << static_cast<unsigned>(method); }

} // namespace heddle::gpu::model
