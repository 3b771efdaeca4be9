/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a failing type smaller while it still fails.
 */
#pragma once

#include "../oracle/expr.hpp"

#include <functional>

namespace property {

/* `fails` tells whether a type still shows the failure; it is asked at most `attempts` times. */
oracle::ExprPtr shrink(oracle::ExprPtr failing,
                       const std::function<bool(const oracle::ExprPtr &)> &fails,
                       int attempts = 4000);

} // namespace property
