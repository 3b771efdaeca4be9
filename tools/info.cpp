// SPDX-License-Identifier: BSD-3-Clause
// heddle-info: what is installed, what opens on this node, and which settings are in force.
#include "info.hpp"

#include "heddle.h"
#include "information.hpp"
#include "libraries.hpp"
#include "nics.hpp"
#include "settings.hpp"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string_view>

namespace {

using namespace heddle::tools;

constexpr const char *usage =
    "Usage: heddle-info [--json | --mpi FILE]\n"
    "\n"
    "Shows Heddle's version and how it was built; the plug-in for devices and the devices, or why\n"
    "none is open; the NICs, and the NUMA node of each; the MPI and the UCX beside it, and the\n"
    "kinds of memory that this UCX takes; and each setting: its value, who said so, and what it\n"
    "does.\n"
    "\n"
    "  --json     write JSON\n"
    "  --mpi FILE show what the interposer finds under the MPI whose library is FILE, and no more\n"
    "  --version  write the version alone\n"
    "  --help     write this\n"
    "\n"
    "Exit status: 0 all was shown, 2 the command line is wrong or the output cannot be written.\n";

constexpr std::string_view of_engine = "HEDDLE_";

std::vector<std::string> &warnings()
{
    static std::vector<std::string> all;
    return all;
}

// MPI's control variable of the same name comes first, as in MPI_Init.
std::string control_variable(const std::string &name) { return "MPIR_CVAR_" + name; }

const char *environment(const std::string &name)
{
    const char *const value = std::getenv(name.c_str());
    return value && *value ? value : nullptr;
}

void set_as_mpi_does()
{
    for (const heddle_setting &each : all_settings())
        if (std::string_view(each.name).starts_with(of_engine))
            if (const char *const value = environment(control_variable(each.name)))
                heddle_set(each.name, value);
}

SettingInfo shown(const heddle_setting &setting)
{
    SettingInfo made{.name = setting.name,
                     .value = setting.value,
                     .origin = "default",
                     .fallback = std::string(default_of(setting)),
                     .values = setting.values,
                     .meaning = setting.meaning,
                     .advice = setting.advice};
    if (!made.name.starts_with(of_engine)) { // MPICH reads it
        if (const char *const value = environment(made.name)) {
            made.value = value;
            made.origin = "environment";
        }
    } else if (setting.origin == HEDDLE_ORIGIN_PROGRAM) {
        made.origin = "environment: " + control_variable(made.name);
    } else if (setting.origin == HEDDLE_ORIGIN_ENVIRONMENT) {
        made.origin = "environment";
    }
    if (made.value.empty())
        made.value = made.fallback;
    return made;
}

// What the program keeps on a device says nothing here.
std::string without_slabs(const std::string &device)
{
    return device.substr(0, device.find("; slabs:"));
}

// Which plug-in is open, or why none is, is the second line of what the library says.
void read_devices(Info &info)
{
    std::istringstream lines(information());
    std::string line;
    std::getline(lines, line);
    std::getline(lines, info.status);
    while (std::getline(lines, line))
        if (line.starts_with("device "))
            info.devices.push_back(without_slabs(line.substr(line.find(": ") + 2)));
}

Info gathered()
{
    Info info;
    heddle_on_warning([](const char *text) { warnings().emplace_back(text); });
    set_as_mpi_does();
    read_devices(info);
    for (const Nic &nic : find_nics())
        info.nics.push_back(described(nic));
    info.library = own_library();
    info.mpi = mpi_beside(info.library);
    for (const heddle_setting &each : all_settings())
        info.settings.push_back(shown(each));
    info.warnings = warnings();
    return info;
}

int show(bool as_json)
{
    if (!as_json) {
        print_text(std::cout, gathered());
    } else if (!print_json(std::cout, gathered())) {
        std::cerr << "heddle-info: it was built without nlohmann-json, so it writes no JSON "
                     "(Debian: apt-get install nlohmann-json3-dev, then configure again)\n";
        return 2;
    }
    return std::cout.flush() ? 0 : 2;
}

} // namespace

int main(int argc, char **argv)
try {
    const std::string_view option = argc > 1 ? argv[1] : "";
    const bool is_alone = option == "--json" || option == "--help" || option == "-h" ||
                          option == "--version" || option.empty();
    if (option == "--mpi" ? argc != 3 : argc > 2 || !is_alone) {
        std::cerr << usage;
        return 2;
    }
    if (option == "--help" || option == "-h")
        std::cout << usage;
    else if (option == "--version")
        std::cout << "heddle-info " << heddle_version() << '\n';
    else if (option == "--mpi")
        print_interposed(std::cout, gathered(), argv[2]);
    else
        return show(option == "--json");
    return std::cout.flush() ? 0 : 2;
} catch (const std::exception &e) {
    std::cerr << "heddle-info: " << e.what() << '\n';
    return 2;
}
