// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other processes, for callers that access it without a message: windows of
// one-sided communication.
#pragma once

#include "gpu/core/backend.hpp"

#include <heddle_message.h>

namespace heddle::pipeline {

// Whose memory an import is. False where that is not known.
bool memory_of(const heddle_import &import, gpu::Memory &memory);

} // namespace heddle::pipeline
