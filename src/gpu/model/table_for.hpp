// SPDX-License-Identifier: BSD-3-Clause
// Which tables are a device's.
#pragma once

#include "gpu/core/backend.hpp"
#include "gpu/model/tables.hpp"

namespace heddle::gpu::model {

// The tables of `file` (HEDDLE_TUNING; empty: none), if they are sound and of this device. Else
// those that come with Heddle: as they are for the device that they were measured on; for others by
// what their driver says, with link and memory in proportion. `warning` says what is wrong with the
// file; empty where nothing is.
Tables tables_for(const Facts &device, const std::string &file, std::string &warning);

} // namespace heddle::gpu::model
