// SPDX-License-Identifier: BSD-3-Clause
// The NICs that heddle-info finds, in a tree that is laid out as Linux's /sys/class is.
#include "nics.hpp"

#include <cstdlib>
#include <fstream>

#include <catch2/catch.hpp>

namespace fs = std::filesystem;
using heddle::tools::described;
using heddle::tools::find_nics;

namespace {

class Tree {
public:
    Tree() { REQUIRE(mkdtemp(name_)); }
    Tree(const Tree &) = delete;
    Tree &operator=(const Tree &) = delete;
    ~Tree() { fs::remove_all(name_); }

    fs::path top() const { return name_; }
    void add(const char *nic, const char *node) const
    {
        fs::create_directories(top() / nic / "device");
        if (node)
            std::ofstream(top() / nic / "device" / "numa_node") << node << '\n';
    }

private:
    char name_[32] = "/tmp/heddle-nics-XXXXXX";
};

} // namespace

TEST_CASE("NICs are found with their NUMA nodes")
{
    const Tree tree;
    tree.add("net/eth1", "1");
    tree.add("net/eth0", "-1");
    tree.add("infiniband/mlx5_1", "1");
    tree.add("infiniband/mlx5_0", nullptr);
    fs::create_directories(tree.top() / "net/lo"); // no hardware
    std::vector<std::string> texts;
    for (const auto &nic : find_nics(tree.top()))
        texts.push_back(described(nic));
    CHECK(texts == std::vector<std::string>{"mlx5_0 (InfiniBand), NUMA node unknown",
                                            "mlx5_1 (InfiniBand), NUMA node 1",
                                            "eth0, NUMA node unknown", "eth1, NUMA node 1"});
}

TEST_CASE("a node without NICs has none") { CHECK(find_nics("/nonexistent").empty()); }
