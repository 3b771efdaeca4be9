// SPDX-License-Identifier: BSD-3-Clause
// Tables of the process. They are never destroyed: MPI's callbacks and other threads may come late.
#pragma once

#include <cstddef>
#include <memory>

namespace heddle::interpose {

// The one T.
template <class T> T &immortal()
{
    alignas(T) static std::byte room[sizeof(T)];
    static T *const object = std::construct_at(reinterpret_cast<T *>(room));
    return *object;
}

} // namespace heddle::interpose
