// SPDX-License-Identifier: BSD-3-Clause
// heddle-info's two forms: text for people, and JSON without a library for it.
#include "built.hpp"
#include "heddle.h"
#include "info.hpp"

#include <cstdio>
#include <iomanip>
#include <ostream>
#include <string_view>

namespace heddle::tools {
namespace {

void line(std::ostream &out, std::string_view name, std::string_view value)
{
    out << std::left << std::setw(12) << name << value << '\n';
}

// "a, b, c"
std::string joined(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::string json(std::string_view text)
{
    std::string made = "\"";
    for (const char c : text) {
        char code[8];
        if (c == '"' || c == '\\')
            made += {'\\', c};
        else if (static_cast<unsigned char>(c) < ' ')
            made.append(code, static_cast<size_t>(std::snprintf(code, sizeof code, "\\u%04x", c)));
        else
            made += c;
    }
    return made + '"';
}

using Members = std::vector<std::pair<std::string, std::string>>; // names, and values as JSON

std::string object(const Members &members)
{
    std::string text;
    for (const auto &[name, value] : members)
        text += (text.empty() ? "" : ", ") + json(name) + ": " + value;
    return "{" + text + "}";
}

std::string list(const std::vector<std::string> &words)
{
    std::vector<std::string> made;
    made.reserve(words.size());
    for (const std::string &word : words)
        made.push_back(json(word));
    return "[" + joined(made) + "]";
}

std::string built_json()
{
    return object({{"prefix", json(built::prefix)},
                   {"compiler", json(built::compiler)},
                   {"configure", json(built::options)},
                   {"cuda", json(built::plugin)}});
}

std::string mpi_json(const MpiInfo &mpi)
{
    if (mpi.library.empty())
        return object({{"library", "null"}, {"missing", json(mpi.missing)}});
    Members members{{"library", json(mpi.library)}};
    for (const auto &[name, value] : mpi.facts)
        members.emplace_back(name, json(value));
    return object(members);
}

std::string ucx_json(const MpiInfo &mpi)
{
    if (mpi.ucx.empty())
        return "null";
    return object({{"version", json(mpi.ucx)},
                   {"library", json(mpi.ucx_library)},
                   {"memory", list(mpi.ucx_memory)}});
}

std::string setting_json(const SettingInfo &setting)
{
    return object({{"name", json(setting.name)},
                   {"value", json(setting.value)},
                   {"origin", json(setting.origin)},
                   {"default", json(setting.fallback)},
                   {"values", json(setting.values)},
                   {"meaning", json(setting.meaning)},
                   {"advice", json(setting.advice)}});
}

void print_mpi(std::ostream &out, const MpiInfo &mpi)
{
    line(out, "MPI", mpi.library.empty() ? "none: " + mpi.missing : mpi.library);
    for (const auto &[name, value] : mpi.facts)
        out << "    " << name << ": " << value << '\n';
    if (mpi.ucx.empty())
        return;
    line(out, "UCX", mpi.ucx + ", " + mpi.ucx_library);
    if (!mpi.ucx_memory.empty())
        out << "    takes memory: " << joined(mpi.ucx_memory) << '\n';
}

} // namespace

void print_interposed(std::ostream &out, const Info &info, const std::string &library)
{
    line(out, "MPI", library);
    line(out, "version", version_of_mpi(library));
    line(out, "plug-in", info.status);
    for (const std::string &device : info.devices)
        line(out, "device", device);
    for (const SettingInfo &setting : info.settings)
        if (setting.name == "HEDDLE_INTERPOSE_GPU_AWARE")
            line(out, "GPU-aware",
                 setting.value + " (" + setting.name + ", " + setting.origin + ")");
}

void print_text(std::ostream &out, const Info &info)
{
    line(out, "heddle", heddle_version());
    line(out, "library", info.library);
    line(out, "compiler", built::compiler);
    line(out, "configure", built::options);
    line(out, "CUDA", *built::plugin ? built::plugin : "the plug-in was not built");
    line(out, "plug-in", info.status);
    for (size_t i = 0; i < info.devices.size(); ++i)
        line(out, "device " + std::to_string(i), info.devices[i]);
    print_mpi(out, info.mpi);
    for (const std::string &warning : info.warnings)
        line(out, "warning", warning);
    out << "\nSettings, as an MPI program takes them that starts here:\n";
    for (const SettingInfo &setting : info.settings)
        out << '\n'
            << setting.name << " = " << setting.value << " (" << setting.origin << ")\n    "
            << setting.meaning << "\n    Values: " << setting.values
            << ". Default: " << setting.fallback << ".\n    Change it: " << setting.advice << '\n';
}

void print_json(std::ostream &out, const Info &info)
{
    out << "{\"version\": " << json(heddle_version()) << ",\n \"library\": " << json(info.library)
        << ",\n \"built\": " << built_json() << ",\n \"plugin\": " << json(heddle_device_plugin())
        << ",\n \"status\": " << json(info.status) << ",\n \"devices\": " << list(info.devices)
        << ",\n \"warnings\": " << list(info.warnings) << ",\n \"mpi\": " << mpi_json(info.mpi)
        << ",\n \"ucx\": " << ucx_json(info.mpi) << ",\n \"settings\": [";
    for (size_t i = 0; i < info.settings.size(); ++i)
        out << (i ? ",\n  " : "\n  ") << setting_json(info.settings[i]);
    out << "]}\n";
}

} // namespace heddle::tools
