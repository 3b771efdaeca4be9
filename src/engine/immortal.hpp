// SPDX-License-Identifier: BSD-3-Clause
// An object that is never destroyed. Threads and other static objects may use it until the process
// ends. A device's library may be gone before static objects end.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace heddle {

template <class T> class Immortal {
public:
    template <class... Arguments> explicit Immortal(Arguments &&...arguments)
        : object_(new (room_) T(std::forward<Arguments>(arguments)...))
    {
    }
    Immortal(const Immortal &) = delete;
    Immortal &operator=(const Immortal &) = delete;

    T &operator*() { return *object_; }
    T *operator->() { return object_; }

private:
    alignas(T) std::byte room_[sizeof(T)];
    T *object_;
};

// The one T of the process.
template <class T> T &immortal()
{
    static Immortal<T> object;
    return *object;
}

} // namespace heddle
