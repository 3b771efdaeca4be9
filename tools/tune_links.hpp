// SPDX-License-Identifier: BSD-3-Clause
// Measures contiguous data over the links of a machine: between devices, between a device and each
// NUMA node, and out of another process's memory.
#pragma once

#include "trial.hpp"
#include "tune_exporter.hpp"
#include "tune_memory.hpp"

#include "gpu/model/question.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <optional>

namespace heddle::tools {

enum class LinkKind : uint8_t { peers, nodes, imports };
// As tables name their lists, and options what to measure.
constexpr const char *link_names[] = {"peers", "nodes", "imports"};

struct Link {
    LinkKind kind;
    int from = 0, to = 0; // devices. nodes: `from` is the device, `to` the node; -1: not known
    std::string method;   // peers
    gpu::model::Path path = gpu::model::Path::to_host; // nodes
};

class LinkBench {
public:
    // `most_bytes`: the largest amount that is asked for.
    LinkBench(TuneMemory &memory, const TrialOptions &trials, int64_t most_bytes)
        : memory_(memory), trials_(trials), most_bytes_(most_bytes)
    {
    }

    // Those that this machine should have.
    std::vector<Link> links(LinkKind kind) const;
    // Of a call that moves so much. Nothing where the link is not there, or there is no memory.
    std::optional<Measurement> time(const Link &link, int64_t bytes);
    // Seconds that the first opening of an allocation takes; imports.
    std::optional<double> open_seconds(const Link &link);

private:
    struct Release {
        void operator()(heddle_import *import) const { heddle_import_release(import); }
    };
    struct Imported {
        std::vector<std::unique_ptr<heddle_import, Release>> open;
        double seconds = 0; // the median
    };

    void *on_device(int device);
    void *on_node(int node);
    const Exporter *exporter(int device);
    const Imported &imported(const Link &link);
    bool ends(const Link &link, void *&from, void *&to);

    TuneMemory &memory_;
    TrialOptions trials_;
    int64_t most_bytes_;
    std::map<int, void *> of_devices_, of_nodes_;
    std::map<int, std::unique_ptr<Exporter>> exporters_;
    std::map<std::pair<int, int>, Imported> imported_; // closed before its exporter ends
};

std::vector<int64_t> link_sizes(bool quick, int64_t most_bytes);

// A link's entry of a table. Null where it cannot be measured. `counted` is told of each time.
nlohmann::ordered_json measured_link(
    LinkBench &bench, const Link &link, const std::vector<int64_t> &sizes,
    const std::function<void(const Measurement &, const std::string &)> &counted);
// And back. Throws where the entry makes no sense.
Link link_of(LinkKind kind, const nlohmann::ordered_json &entry);
std::string words(const Link &link);

} // namespace heddle::tools
