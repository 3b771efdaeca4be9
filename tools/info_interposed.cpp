// SPDX-License-Identifier: BSD-3-Clause
// Asks another MPI, under which the interposer is to work, for its version. heddle-run --check
// shows it.
#include "info.hpp"

#include <array>
#include <dlfcn.h>
#include <stdexcept>

namespace heddle::tools {

std::string version_of_mpi(const std::string &library)
{
    using Version = int(char *, int *);
    // For good, and for all: an MPI's parts find each other so.
    void *const opened = dlopen(library.c_str(), RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE);
    if (!opened)
        throw std::runtime_error(dlerror());
    const auto version = reinterpret_cast<Version *>(dlsym(opened, "MPI_Get_library_version"));
    if (!version)
        throw std::runtime_error(library + " is no MPI of version 3 or newer");
    std::array<char, 8192> text{}; // MPI_MAX_LIBRARY_VERSION_STRING
    int length = 0;
    version(text.data(), &length);
    const std::string all = text.data();
    std::string first = all.substr(0, all.find('\n'));
    for (char &c : first)
        c = c == '\t' ? ' ' : c;
    return first;
}

} // namespace heddle::tools
