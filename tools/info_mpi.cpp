// SPDX-License-Identifier: BSD-3-Clause
// Asks the MPI beside libheddle, which is loaded for that: heddle-info works where there is none.
#include "info.hpp"
#include "libraries.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <sstream>
#include <string_view>

#if HAVE_UCX
#include <ucp/api/ucp.h>
#endif

namespace heddle::tools {
namespace {

std::string file_of(void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

std::string_view trimmed(std::string_view text)
{
    constexpr const char *blanks = " \t";
    const size_t first = std::min(text.find_first_not_of(blanks), text.size());
    text.remove_prefix(first);
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// Lines like "MPICH Device:    ch4:ucx".
void read_version(void *library, MpiInfo &info)
{
    const auto version = function<int(char *, int *)>(library, "MPI_Get_library_version");
    std::array<char, 8192> text{}; // MPI_MAX_LIBRARY_VERSION_STRING
    int length = 0;
    if (!version || version(text.data(), &length) != 0)
        return;
    std::istringstream lines(text.data());
    for (std::string line; std::getline(lines, line);)
        if (const size_t colon = line.find(':'); colon != line.npos)
            info.facts.emplace_back(trimmed(std::string_view(line).substr(0, colon)),
                                    trimmed(std::string_view(line).substr(colon + 1)));
}

#if HAVE_UCX
// What MPI hands to UCX beyond host memory depends on these bits.
void read_memory(void *library, MpiInfo &info)
{
    const auto init = function<decltype(ucp_init_version)>(library, "ucp_init_version");
    const auto query = function<decltype(ucp_context_query)>(library, "ucp_context_query");
    const auto cleanup = function<decltype(ucp_cleanup)>(library, "ucp_cleanup");
    const auto names = function<const char *>(library, "ucs_memory_type_names");
    if (!init || !query || !cleanup || !names)
        return;
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    ucp_context_h context = nullptr;
    if (init(UCP_API_MAJOR, UCP_API_MINOR, &params, nullptr, &context) != UCS_OK)
        return;
    ucp_context_attr_t attributes{};
    attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
    if (query(context, &attributes) == UCS_OK)
        for (int type = 0; type < UCS_MEMORY_TYPE_LAST; ++type)
            if (attributes.memory_types & (uint64_t{1} << type))
                info.ucx_memory.emplace_back(names[type]);
    cleanup(context);
}
#endif

void read_ucx(void *library, MpiInfo &info)
{
    const auto version = function<const char *()>(library, "ucp_get_version_string");
    if (!version)
        return;
    info.ucx = version();
    info.ucx_library = file_of(reinterpret_cast<void *>(version));
#if HAVE_UCX
    read_memory(library, info);
#endif
}

} // namespace

MpiInfo mpi_beside(const std::string &library)
{
    MpiInfo info;
    const std::string path = mpi_library(library);
    void *const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        info.missing = dlerror();
        return info;
    }
    info.library = path;
    read_version(opened, info);
    read_ucx(opened, info);
    return info;
}

} // namespace heddle::tools
