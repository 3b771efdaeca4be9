// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/core/warnings.hpp"

#include "heddle.h"

#include <atomic>
#include <cstdio>

namespace heddle::gpu {

namespace {

void print(const char *text)
{
    const std::string line = std::string("heddle: ") + text + "\n"; // one write: lines of several
                                                                    // processes do not mix
    std::fputs(line.c_str(), stderr);
}

std::atomic<heddle_warning> tell{print};

} // namespace

void warn(const std::string &text) { tell.load()(text.c_str()); }

} // namespace heddle::gpu

void heddle_on_warning(heddle_warning warning)
{
    heddle::gpu::tell = warning ? warning : heddle::gpu::print;
}
