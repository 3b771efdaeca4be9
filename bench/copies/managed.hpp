// SPDX-License-Identifier: BSD-3-Clause
// Managed memory that changes its place: because somebody touches it, or by a prefetch.
#pragma once

#include "method.hpp"

#include <optional>

namespace bench {

// A GPU, or the host: a node of it, if one is named.
struct Place {
    std::string name;
    std::optional<int> gpu, node;
};

// From one place to another, by demand and by prefetch.
// `target` is as much memory of the GPU that touches the data, where `to` is a GPU.
void measure_managed(const Managed &memory, const Place &from, const Place &to,
                     const Device *target, const Limits &limits);

} // namespace bench
