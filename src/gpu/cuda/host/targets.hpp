// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs the plug-in has kernels for. No CUDA in here.
#pragma once

#include <charconv>
#include <string_view>

namespace heddle::gpu::cuda {

// Whether one of `targets` runs on a GPU of that compute capability (9 and 0: 9.0). Targets are
// words such as sm_90 and compute_90. Machine code (sm_) runs on its own generation, from its own
// minor number on. The driver compiles PTX (compute_) for what is as new, or newer.
inline bool has_code_for(std::string_view targets, int major, int minor)
{
    while (!targets.empty()) {
        const std::string_view word = targets.substr(0, targets.find(' '));
        targets.remove_prefix(word.size() + (word.size() < targets.size()));
        const size_t digits = word.find('_') + 1;
        int least = 0; // 10 times the generation and the minor number
        if (std::from_chars(word.data() + digits, word.data() + word.size(), least).ec !=
                std::errc() ||
            least > 10 * major + minor)
            continue;
        if (word.starts_with("compute_") || (word.starts_with("sm_") && least / 10 == major))
            return true;
    }
    return false;
}

} // namespace heddle::gpu::cuda
