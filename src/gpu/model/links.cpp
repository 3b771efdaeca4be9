// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/model/links.hpp"

#include <algorithm>
#include <limits>

namespace heddle::gpu::model {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
constexpr int64_t large = int64_t{64} << 20;

double rate(const Grid &times) { return static_cast<double>(large) / times.at(large, 1); }

} // namespace

double Links::peer(Method method, int from, int to, int64_t bytes) const
{
    for (const PeerLink &each : peers)
        if (each.method == method && each.from == from && each.to == to)
            return each.times.at(bytes, 1);
    return unknown;
}

double Links::slowest_between_devices() const
{
    double slowest = unknown;
    for (const ImportLink &each : imports)
        if (each.from != each.to)
            slowest = std::min(slowest, rate(each.times));
    for (const PeerLink &each : peers)
        if (each.method == Method::copy_engine)
            slowest = std::min(slowest, rate(each.times));
    return slowest < unknown ? slowest : 0;
}

double Links::host(Path path, int64_t bytes) const
{
    double least = unknown;
    for (const NodeLink &each : nodes)
        if (each.path == path)
            least = std::min(least, each.times.at(bytes, 1));
    return least;
}

const Grid *Links::transport(Where where) const
{
    for (const MessageLink &each : messages)
        if (each.where == where)
            return &each.times;
    return nullptr;
}

const Grid *Links::transport() const
{
    const Grid *const remote = transport(Where::remote);
    return remote ? remote : transport(Where::local);
}

} // namespace heddle::gpu::model
