// SPDX-License-Identifier: BSD-3-Clause
#include "names.hpp"
#include "report.hpp"

#include <nlohmann/json.hpp>

#include <ostream>

namespace heddle::tools {

void print_json(std::ostream &out, const Report &report)
{
    const Facts &facts = report.facts;
    const heddle_type_info &info = facts.info;
    nlohmann::ordered_json json{
        {"type", write(*report.built->tree)},
        {"layout", facts.layout},
        {"size", info.size},
        {"lb", info.lb},
        {"extent", info.extent},
        {"true_lb", info.true_lb},
        {"true_extent", info.true_extent},
        {"alignment", info.alignment},
        {"elements", info.elements},
        {"basic", name_of(info.basic)},
        {"plan", name_of_plan(info.plan)},
        {"dimensions", info.dimensions},
        {"word", info.word},
        {"runs", info.runs},
        {"contiguous", info.contiguous != 0},
        {"metadata_bytes", info.memory},
        {"metadata_gpu_bytes", facts.device_memory},
        {"count", facts.count},
        {"bytes", facts.bytes},
        {"begin", facts.begin},
        {"end", facts.end},
    };
    if (facts.touched)
        json["touched_bytes"] = *facts.touched;
    if (report.measured) {
        const Measured &m = *report.measured;
        json["measured"] = {
            {"device", m.device},
            {"pack_gpu_seconds", m.pack.gpu},
            {"pack_wall_seconds", m.pack.wall},
            {"pack_by", m.pack.by},
            {"unpack_gpu_seconds", m.unpack.gpu},
            {"unpack_wall_seconds", m.unpack.wall},
            {"unpack_by", m.unpack.by},
            {"copy_gpu_seconds", m.copy.gpu},
            {"limit_gpu_seconds", m.limit.gpu},
        };
    } else {
        json["measured"] = nullptr;
        json["not_measured"] = report.not_measured;
    }
    json["methods"] = nlohmann::ordered_json::array();
    const auto seconds = [](const std::optional<double> &time) {
        return time ? nlohmann::ordered_json(*time) : nlohmann::ordered_json(nullptr);
    };
    for (const MethodTime &each : report.methods)
        json["methods"].push_back({{"way", each.way},
                                   {"method", each.method},
                                   {"chosen", each.chosen},
                                   {"expected_seconds", seconds(each.expected)},
                                   {"measured_seconds", seconds(each.measured)}});
    json["tables"] = report.tables;
    out << json.dump(1) << '\n';
}

} // namespace heddle::tools
