// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/method.hpp"

#include <algorithm>
#include <iterator>

namespace heddle::gpu {

namespace {

constexpr const char *method_names[] = {"host",   "copy_engine", "blocks",  "kernel",
                                        "staged", "bounced",     "combined"};
static_assert(std::size(method_names) == static_cast<size_t>(Method::count));

} // namespace

const char *method_name(Method method) { return method_names[static_cast<size_t>(method)]; }

Method method_named(std::string_view name)
{
    const auto *const found = std::find(std::begin(method_names), std::end(method_names), name);
    return static_cast<Method>(found - std::begin(method_names));
}

} // namespace heddle::gpu
