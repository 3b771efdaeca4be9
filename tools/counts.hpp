// SPDX-License-Identifier: BSD-3-Clause
// By what a transfer was done, as heddle_info counts it.
#pragma once

#include <string>
#include <string_view>

namespace heddle::tools {

// The methods and kernels that were chosen between two texts of heddle_info: "method kernel, kernel
// strided". Empty where none was.
std::string done_between(std::string_view before, std::string_view after);

} // namespace heddle::tools
