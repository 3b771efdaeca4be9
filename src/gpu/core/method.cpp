// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/method.hpp"

#include <iterator>

namespace heddle::gpu {

namespace {

constexpr const char *method_names[] = {"host",   "copy_engine", "blocks",  "kernel",
                                        "staged", "bounced",     "combined"};
static_assert(std::size(method_names) == static_cast<size_t>(Method::count));

} // namespace

const char *method_name(Method method) { return method_names[static_cast<size_t>(method)]; }

} // namespace heddle::gpu
