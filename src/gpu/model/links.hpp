// SPDX-License-Identifier: BSD-3-Clause
// Measured times of contiguous data over the links of a machine, by size, and of messages.
#pragma once

#include "gpu/model/grid.hpp"
#include "gpu/model/question.hpp"

#include <vector>

namespace heddle::gpu::model {

// Between two devices of a process, by a method.
struct PeerLink {
    Method method;
    int from, to;
    Grid times;
};

// Between a device and pinned memory of a NUMA node; -1: the node is not known.
struct NodeLink {
    int device, node;
    Path path; // to_host or from_host
    Grid times;
};

// Another process's memory on device `from`, read by device `to`. It is opened once.
struct ImportLink {
    int from, to;
    double open_seconds;
    Grid times;
};

// Two ranks of one node, or of two.
enum class Where : uint8_t { local, remote, count };
inline constexpr const char *where_names[] = {"local", "remote"};
static_assert(std::size(where_names) == static_cast<size_t>(Where::count));

// A message between two ranks' host buffers, by MPI's own transport: half of the time there and
// back.
struct MessageLink {
    Where where;
    Grid times;
};

class Links {
public:
    int devices = 0; // that the process saw which measured; it numbers them
    std::vector<PeerLink> peers;
    std::vector<NodeLink> nodes;
    std::vector<ImportLink> imports;
    std::vector<MessageLink> messages;

    // Apart from messages.
    bool empty() const { return peers.empty() && nodes.empty() && imports.empty(); }
    // Seconds; infinity where nothing is known of it.
    double peer(Method method, int from, int to, int64_t bytes) const;
    // Bytes a second of large amounts between two devices, at the slowest such link; 0: none is
    // known.
    double slowest_between_devices() const;
    // Seconds between a device and the node whose memory takes the least.
    double host(Path path, int64_t bytes) const;
    // Null: it was not measured.
    const Grid *transport(Where where) const;
    // Of messages between nodes, or, where these were not measured, within a node.
    const Grid *transport() const;
};

} // namespace heddle::gpu::model
