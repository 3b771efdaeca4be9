// SPDX-License-Identifier: BSD-3-Clause
// What heddle-info finds out about an installation, and the two forms in which it is written.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace heddle::tools {

struct SettingInfo {
    std::string name, value, origin, fallback, values, meaning, advice;
};

// The MPI beside libheddle, and the UCX that it is linked with.
struct MpiInfo {
    std::string library;                                    // its file; empty where there is none
    std::string missing;                                    // why
    std::vector<std::pair<std::string, std::string>> facts; // what MPI_Get_library_version says
    std::string ucx, ucx_library;
    std::vector<std::string> ucx_memory; // the kinds of memory that UCX takes
};

struct Info {
    std::string library; // libheddle's file
    std::string status;  // the open plug-in, or why there is none
    std::vector<std::string> devices, nics, warnings;
    MpiInfo mpi;
    std::vector<SettingInfo> settings;
};

// Loads the MPI that lies in the folder of `library`, and initializes UCX, but not MPI.
MpiInfo mpi_beside(const std::string &library);

// What another MPI says of itself, in a line. Throws std::runtime_error where `library` is none.
std::string version_of_mpi(const std::string &library);

// What the interposer would find: that MPI, and the devices.
void print_interposed(std::ostream &out, const Info &info, const std::string &library);

void print_text(std::ostream &out, const Info &info);
// False, and nothing written, where it was built without nlohmann-json.
bool print_json(std::ostream &out, const Info &info);

} // namespace heddle::tools
