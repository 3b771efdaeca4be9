// SPDX-License-Identifier: BSD-3-Clause
// Whether an address sanitizer watches this build: gcc and clang say it in two ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif
