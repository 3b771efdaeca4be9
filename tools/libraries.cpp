// SPDX-License-Identifier: BSD-3-Clause
#include "libraries.hpp"

#include "heddle.h"

#include <filesystem>

namespace heddle::tools {

std::string own_library()
{
    Dl_info found;
    if (!dladdr(reinterpret_cast<void *>(&heddle_version), &found) || !found.dli_fname)
        return {};
    const std::filesystem::path path = found.dli_fname;
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::canonical(path.parent_path(), error);
    return error ? path.string() : (folder / path.filename()).string();
}

std::string mpi_library(const std::string &library)
{
    return library.substr(0, library.rfind('/') + 1) + "libmpi.so.12";
}

} // namespace heddle::tools
