// SPDX-License-Identifier: BSD-3-Clause
#include "tune_links.hpp"

#include "tune_measure.hpp"
#include "tune_nodes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace heddle::tools {
namespace {

using Json = nlohmann::ordered_json;
using gpu::model::Path;
using Clock = std::chrono::steady_clock;

// Each of what is exported is an allocation of the driver's own, not a part of one that is open.
constexpr int allocations_opened = 5;
constexpr int64_t least_exported_bytes = int64_t{4} << 20;

const char *name(Path path) { return gpu::model::path_names[static_cast<size_t>(path)]; }

std::vector<heddle_move> copy(void *to, void *from, int64_t bytes)
{
    const heddle_type *const byte = heddle_type_predefined(HEDDLE_BYTE);
    return {{{from, bytes, byte, 0}, {to, bytes, byte, 0}, bytes, HEDDLE_OP_REPLACE}};
}

// Null where it cannot be opened.
heddle_import *opened(const heddle_exported &exported, void *near, int64_t bytes)
{
    const heddle_side side{near, bytes, heddle_type_predefined(HEDDLE_BYTE), 0};
    heddle_buffer buffer;
    heddle_import *import = nullptr;
    return heddle_buffer_describe(&side, bytes, &buffer) == HEDDLE_SUCCESS &&
                   heddle_import_open(&exported, &buffer, &import) == HEDDLE_SUCCESS
               ? import
               : nullptr;
}

} // namespace

std::vector<Link> LinkBench::links(LinkKind kind) const
{
    std::vector<Link> all;
    const int devices = memory_.devices();
    std::vector<int> nodes = memory_nodes();
    if (nodes.empty())
        nodes.push_back(-1);
    for (int from = 0; from < devices; ++from) {
        for (int to = 0; kind != LinkKind::nodes && to < devices; ++to)
            if (kind == LinkKind::imports)
                all.push_back({kind, from, to, "", {}});
            else if (from != to)
                for (const char *method : {"copy_engine", "kernel"})
                    all.push_back({kind, from, to, method, {}});
        for (const int node : nodes)
            for (const Path path : {Path::to_host, Path::from_host})
                if (kind == LinkKind::nodes)
                    all.push_back({kind, from, node, "", path});
    }
    return all;
}

void *LinkBench::on_device(int device)
{
    const auto [found, is_new] = of_devices_.try_emplace(device, nullptr);
    if (is_new)
        found->second = memory_.on_device(static_cast<size_t>(most_bytes_), device);
    return found->second;
}

// Null where the kernel gives memory of another node. Where there is one node alone, all is of it.
void *LinkBench::on_node(int node)
{
    const auto [found, is_new] = of_nodes_.try_emplace(node, nullptr);
    if (!is_new)
        return found->second;
    const auto size = static_cast<size_t>(most_bytes_);
    if (node < 0 || memory_nodes().size() == 1)
        return found->second = memory_.pinned(size);
    const OnNode bound(node);
    char *const at = static_cast<char *>(memory_.pinned(size));
    if (!at)
        return nullptr;
    std::memset(at, 0, size);
    return found->second = node_of(at) == node && node_of(at + size - 1) == node ? at : nullptr;
}

const Exporter *LinkBench::exporter(int device)
{
    const auto [found, is_new] = exporters_.try_emplace(device, nullptr);
    std::string reason;
    if (is_new)
        found->second = Exporter::start(
            {device, std::max(most_bytes_, least_exported_bytes), allocations_opened}, reason);
    return found->second.get();
}

const LinkBench::Imported &LinkBench::imported(const Link &link)
{
    const auto [found, is_new] = imported_.try_emplace({link.from, link.to});
    Imported &its = found->second;
    if (!is_new)
        return its;
    const Exporter *const exporting = exporter(link.from);
    void *const near = on_device(link.to);
    if (!exporting || !near)
        return its;
    timed(copy(static_cast<char *>(near) + 1, near, 1)); // the device is in use, and its first use
                                                         // is not measured
    std::vector<double> seconds;
    for (const heddle_exported &each : exporting->exported()) {
        const auto begin = Clock::now();
        heddle_import *const import = opened(each, near, most_bytes_);
        if (!import)
            break;
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
        its.open.emplace_back(import);
    }
    if (!seconds.empty())
        its.seconds = median_of(seconds);
    return its;
}

std::optional<double> LinkBench::open_seconds(const Link &link)
{
    const Imported &its = imported(link);
    return its.open.empty() ? std::nullopt : std::optional<double>(its.seconds);
}

bool LinkBench::ends(const Link &link, void *&from, void *&to)
{
    if (link.kind == LinkKind::imports) {
        const Imported &its = imported(link);
        from = its.open.empty() ? nullptr : heddle_import_address(its.open.front().get());
        to = on_device(link.to);
    } else {
        from = on_device(link.from);
        to = link.kind == LinkKind::peers ? on_device(link.to) : on_node(link.to);
        if (link.kind == LinkKind::nodes && link.path == Path::from_host)
            std::swap(from, to);
    }
    return from && to;
}

std::optional<Measurement> LinkBench::time(const Link &link, int64_t bytes)
{
    void *from = nullptr, *to = nullptr;
    if (bytes > most_bytes_ || !ends(link, from, to))
        return std::nullopt;
    return time_by(link.kind == LinkKind::peers ? link.method.c_str() : "copy_engine",
                   copy(to, from, bytes), trials_);
}

std::vector<int64_t> link_sizes(bool quick, int64_t most_bytes)
{
    std::vector<int64_t> sizes;
    for (int64_t each = 4096; each <= std::min(most_bytes, int64_t{64} << 20);
         each *= quick ? 16 : 4)
        sizes.push_back(each);
    return sizes;
}

Json measured_link(LinkBench &bench, const Link &link, const std::vector<int64_t> &sizes,
                   const std::function<void(const Measurement &, const std::string &)> &counted)
{
    Json entry;
    if (link.kind == LinkKind::nodes)
        entry = {{"device", link.from}, {"node", link.to}, {"path", name(link.path)}};
    else
        entry = {{"from", link.from}, {"to", link.to}};
    if (link.kind == LinkKind::peers)
        entry["method"] = link.method;
    if (link.kind == LinkKind::imports) {
        const auto seconds = bench.open_seconds(link);
        if (!seconds)
            return nullptr;
        entry["open_us"] = rounded_us(*seconds);
    }
    Json us = Json::array();
    for (const int64_t bytes : sizes) {
        const auto measured = bench.time(link, bytes);
        if (!measured)
            return nullptr;
        counted(*measured, words(link) + ", " + std::to_string(bytes));
        us.push_back(rounded_us(measured->median));
    }
    entry["bytes"] = sizes;
    entry["us"] = us;
    return entry;
}

Link link_of(LinkKind kind, const Json &entry)
{
    const bool is_node = kind == LinkKind::nodes;
    Link link{
        kind, entry.at(is_node ? "device" : "from"), entry.at(is_node ? "node" : "to"), "", {}};
    if (kind == LinkKind::peers)
        link.method = entry.at("method");
    if (is_node)
        link.path = entry.at("path") == name(Path::from_host) ? Path::from_host : Path::to_host;
    return link;
}

std::string words(const Link &link)
{
    const std::string from = std::to_string(link.from), to = std::to_string(link.to);
    switch (link.kind) {
    case LinkKind::peers:
        return link.method + " from device " + from + " to " + to;
    case LinkKind::nodes:
        return std::string(name(link.path)) + ", device " + from + " and node " + to;
    default:
        return "another process's memory of device " + from + " to " + to;
    }
}

} // namespace heddle::tools
