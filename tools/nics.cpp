// SPDX-License-Identifier: BSD-3-Clause
#include "nics.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace heddle::tools {

namespace {

namespace fs = std::filesystem;

int node_of(const fs::path &device)
{
    int node = -1;
    std::ifstream file(device / "numa_node");
    return file >> node ? node : -1;
}

void add(std::vector<Nic> &nics, const fs::path &folder, bool is_infiniband)
{
    std::vector<Nic> found;
    std::error_code none; // the folder may be missing
    for (fs::directory_iterator it(folder, none), end; it != end; it.increment(none)) {
        const fs::path device = it->path() / "device";
        if (fs::exists(device, none))
            found.push_back({it->path().filename(), is_infiniband, node_of(device)});
    }
    std::ranges::sort(found, {}, &Nic::name);
    nics.insert(nics.end(), found.begin(), found.end());
}

} // namespace

std::vector<Nic> find_nics(const fs::path &classes)
{
    std::vector<Nic> nics;
    add(nics, classes / "infiniband", true);
    add(nics, classes / "net", false);
    return nics;
}

std::string described(const Nic &nic)
{
    const std::string kind = nic.is_infiniband ? " (InfiniBand), " : ", ";
    return nic.name + kind + "NUMA node " + (nic.node < 0 ? "unknown" : std::to_string(nic.node));
}

} // namespace heddle::tools
