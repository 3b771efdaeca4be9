// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/table_for.hpp"

#include "gpu/model/builtin.hpp"
#include "gpu/model/read_tables.hpp"

#include <algorithm>
#include <cmath>

namespace heddle::gpu::model {
namespace {

// What the driver says of the device that the built-in tables were measured on.
const Facts h100{"NVIDIA H100", 3352, 63, 132};

double ratio(double ours, double theirs) { return theirs > 0 ? ours / theirs : 1; }

std::string rounded(double number) { return std::to_string(std::lround(number)); }

// Tables of the H100 for a GPU that is not one. What takes a constant time stays; the rest grows
// as the memory or the link is slower. Within a device a kernel is bound by the memory or by its
// multiprocessors, whichever are fewer.
void adapt(Tables &tables, const Facts &device)
{
    const double memory = std::max(ratio(h100.memory_rate, device.memory_rate),
                                   ratio(h100.processors, device.processors));
    const double link = ratio(h100.link_rate, device.link_rate);
    for (unsigned m = 0; m < static_cast<unsigned>(Method::count); ++m)
        for (unsigned p = 0; p < static_cast<unsigned>(Pattern::count); ++p)
            for (const Path path : {Path::pack, Path::unpack, Path::to_host, Path::from_host,
                                    Path::to_host_layout, Path::from_host_layout}) {
                const bool within = path == Path::pack || path == Path::unpack;
                tables.grid(static_cast<Method>(m), static_cast<Pattern>(p), path)
                    .scale(within ? memory : link);
            }
    tables.origin = "built in: the H100's";
    if (device.memory_rate > 0)
        tables.origin += ", for memory of " + rounded(device.memory_rate) + " GB/s";
    if (device.link_rate > 0)
        tables.origin += ", for a link of " + rounded(device.link_rate) + " GB/s";
}

} // namespace

Tables made(const Builtin &from)
{
    Tables tables;
    tables.device = from.device;
    tables.together_most_bytes = from.together_most_bytes;
    tables.together_link_most_bytes = from.together_link_most_bytes;
    for (const Constant &each : from.grids) {
        std::vector<double> seconds;
        seconds.reserve(each.us.size());
        for (const float us : each.us)
            seconds.push_back(1e-6 * static_cast<double>(us));
        tables.grid(each.method, each.pattern, each.path) =
            Grid({each.bytes.begin(), each.bytes.end()}, {each.blocks.begin(), each.blocks.end()},
                 seconds);
    }
    tables.origin = std::string("built in, measured on ") + from.device;
    return tables;
}

Tables tables_for(const Facts &device, const std::string &file, std::string &warning)
{
    warning.clear();
    if (!file.empty()) {
        Tables read;
        std::string wrong = read_tables(file, read);
        if (wrong.empty() && read.device != device.name)
            wrong = "it was measured on " + read.device + ", and this is " + device.name;
        if (wrong.empty())
            return read;
        warning = "HEDDLE_TUNING=" + file + " is ignored: " + wrong;
    }
    Tables tables = made(h100_pcie5);
    if (device.name != tables.device)
        adapt(tables, device);
    return tables;
}

} // namespace heddle::gpu::model
