// SPDX-License-Identifier: BSD-3-Clause
// heddle-info's text for people.
#include "built.hpp"
#include "heddle.h"
#include "info.hpp"

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
    for (const std::string &nic : info.nics)
        line(out, "NIC", nic);
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

} // namespace heddle::tools
