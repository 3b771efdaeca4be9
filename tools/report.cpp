// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include "names.hpp"
#include "sectors.hpp"

#include <cstdio>
#include <ostream>

namespace heddle::tools {
namespace {

constexpr size_t few_values = 6, short_layout = 600;

size_t longest(const Report &report) { return report.whole ? SIZE_MAX : few_values; }

std::string format(const char *form, double value)
{
    char text[64];
    std::snprintf(text, sizeof text, form, value);
    return text;
}

std::string bytes(int64_t value)
{
    std::string text = std::to_string(value) + " B";
    if (value >= 1 << 20)
        text += format(" (%.1f MiB)", static_cast<double>(value) / (1 << 20));
    return text;
}

// "hvector: count 1000, block length 1, stride 512 bytes"
std::string words(const Tree &tree, size_t most)
{
    if (tree.maker == Maker::predefined)
        return std::string(name_of(tree.predefined));
    const Constructor &constructor = constructor_of(tree.maker);
    std::string text(constructor.name);
    const char *between = ": ";
    for (const Argument &each : constructor.arguments) {
        if (each.kind == Argument::Kind::type || each.kind == Argument::Kind::types)
            continue;
        std::string_view what = each.what;
        what.remove_prefix(what.starts_with("the ") ? 4 : 0);
        text += between + std::string(what) + ' ';
        between = ", ";
        if (each.kind == Argument::Kind::number)
            text += std::to_string(tree.*each.number);
        else if (each.kind == Argument::Kind::numbers)
            text += write(tree.*each.numbers, most);
        else
            text += tree.order == HEDDLE_ORDER_C ? "C" : "FORTRAN";
        if (!each.unit.empty() && each.unit != "instances" && each.unit != "elements")
            text += ' ' + std::string(each.unit);
    }
    return text;
}

void print_tree(std::ostream &out, const Built &built, int depth, size_t most)
{
    heddle_type_info info{};
    heddle_type_get_info(built.type.get(), &info);
    out << std::string(2 + 2 * static_cast<size_t>(depth), ' ') << words(*built.tree, most) << "  ("
        << info.size << " B";
    if (info.size != info.extent || info.lb != 0)
        out << " in extent " << info.extent << (info.lb ? " from " + std::to_string(info.lb) : "");
    out << ")\n";
    size_t shown = 0;
    for (const Built &each : built.old) {
        if (shown++ == most) {
            out << std::string(4 + 2 * static_cast<size_t>(depth), ' ') << "... "
                << built.old.size() << " in all\n";
            break;
        }
        print_tree(out, each, depth + 1, most);
    }
}

void print_time(std::ostream &out, const char *what, const Timing &timing, const Report &report)
{
    // Read and written once each.
    const double rate = 2e-9 * static_cast<double>(report.facts.bytes) / timing.gpu;
    out << "  " << what << format("%10.2f us on the GPU", 1e6 * timing.gpu)
        << format(", %8.1f GB/s", rate);
    if (timing.wall > 0)
        out << format(", %.2f of the memory's limit", report.measured->limit.gpu / timing.gpu)
            << format("; the call %.2f us", 1e6 * timing.wall)
            << (timing.by.empty() ? "" : ", by " + timing.by);
    out << '\n';
}

std::string microseconds(const std::optional<double> &seconds)
{
    return seconds ? format("%12.2f us", 1e6 * *seconds) : std::string(14, ' ') + "-";
}

void print_methods(std::ostream &out, const Report &report)
{
    if (report.methods.empty()) {
        if (!report.no_methods.empty())
            out << "no methods: " << report.no_methods << '\n';
        return;
    }
    if (!report.tables.empty())
        out << "tables         " << report.tables << '\n';
    out << "methods (a blocking call; * is chosen)   expected       measured\n";
    const std::string *last = nullptr;
    for (const MethodTime &each : report.methods) {
        const bool same = last && *last == each.way;
        std::string line = "  " + (same ? "" : each.way);
        line.resize(23, ' ');
        line += (each.chosen ? "* " : "  ") + each.method;
        line.resize(37, ' ');
        out << line << microseconds(each.expected) << microseconds(each.measured) << '\n';
        last = &each.way;
    }
    out << '\n';
}

} // namespace

void print_text(std::ostream &out, const Report &report)
{
    const Facts &facts = report.facts;
    const heddle_type_info &info = facts.info;
    out << "as written\n";
    print_tree(out, *report.built, 0, longest(report));
    out << "canonical\n  "
        << (report.whole || facts.layout.size() <= short_layout
                ? facts.layout
                : facts.layout.substr(0, short_layout) + "... " +
                      std::to_string(facts.layout.size()) + " characters in all (--whole)")
        << "\n\n";
    out << "size           " << bytes(info.size) << ", " << info.elements
        << " predefined elements (" << name_of(info.basic) << ")\n";
    out << "extent         " << bytes(info.extent) << " from " << info.lb << "; true extent "
        << bytes(info.true_extent) << " from " << info.true_lb << "; alignment " << info.alignment
        << '\n';
    out << "plan           " << name_of_plan(info.plan);
    if (info.plan == HEDDLE_PLAN_STRIDED)
        out << ", " << info.dimensions << (info.dimensions == 1 ? " dimension" : " dimensions");
    out << "; words of " << info.word << " B; " << info.runs << (info.runs == 1 ? " run" : " runs")
        << (info.contiguous ? "; contiguous for any count" : "") << '\n';
    out << "metadata       " << bytes(info.memory) << "; on a GPU " << bytes(facts.device_memory)
        << '\n';
    out << "moved          " << facts.count << (facts.count == 1 ? " instance" : " instances")
        << ", " << bytes(facts.bytes) << ", in bytes [" << facts.begin << ", " << facts.end
        << ") of the buffer\n";
    if (facts.touched)
        out << "touched        " << bytes(*facts.touched) << " in sectors of " << sector << '\n';
    out << '\n';
    print_methods(out, report);
    if (!report.measured) {
        out << "not measured: " << report.not_measured << '\n';
        return;
    }
    out << "measured on " << report.measured->device
        << " (medians; rates count bytes read and written)\n";
    print_time(out, "pack    ", report.measured->pack, report);
    print_time(out, "unpack  ", report.measured->unpack, report);
    print_time(out, "copy    ", report.measured->copy, report);
    out << "  limit   " << format("%10.2f us on the GPU", 1e6 * report.measured->limit.gpu)
        << (facts.touched
                ? ": a copy that moves as much as those sectors and the packed bytes\n"
                : ": a copy of as many bytes, for there are too many runs to count sectors\n");
}

} // namespace heddle::tools
