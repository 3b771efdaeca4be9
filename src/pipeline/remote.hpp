// SPDX-License-Identifier: BSD-3-Clause
// Device memory of other processes, for callers that access it without a message: windows of
// one-sided communication.
#pragma once

#include "pipeline/peer_memory/imports.hpp"

#include <heddle_message.h>

struct heddle_import : heddle::pipeline::Import {};
