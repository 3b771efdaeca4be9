// SPDX-License-Identifier: BSD-3-Clause
// Memory of one call's lists, on its stack as long as they are short: then nothing is allocated on
// the path of a transfer.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace heddle::gpu {

template <size_t bytes> class Arena {
public:
    // Memory beyond it is allocated by new, whatever resource the program made its default.
    Arena() : memory_(room_, bytes, std::pmr::new_delete_resource()) {}
    std::pmr::memory_resource *memory() { return &memory_; }

private:
    alignas(std::max_align_t) std::byte room_[bytes];
    std::pmr::monotonic_buffer_resource memory_;
};

} // namespace heddle::gpu
