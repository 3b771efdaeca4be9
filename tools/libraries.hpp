// SPDX-License-Identifier: BSD-3-Clause
// The libraries that a tool finds when it runs: its own libheddle, and the MPI beside that.
#pragma once

#include <dlfcn.h>
#include <string>

namespace heddle::tools {

// The file that libheddle was loaded from. Empty where the loader does not say.
std::string own_library();

// The MPI in the folder of that library, if one is installed there.
std::string mpi_library(const std::string &library);

// Null where the library has no function of that name.
template <class Function> Function *function(void *library, const char *name)
{
    return reinterpret_cast<Function *>(dlsym(library, name));
}

} // namespace heddle::tools
