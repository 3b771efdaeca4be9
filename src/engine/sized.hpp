// SPDX-License-Identifier: BSD-3-Clause
// Structs of the C API that may grow: they begin with their size, which the caller sets to what the
// struct has in the version it was compiled with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace heddle {

template <class T> size_t size_of(const T &of)
{
    static_assert(std::is_trivially_copyable_v<T>);
    size_t size;
    std::memcpy(&size, &of, sizeof size);
    return size;
}

// Whether there is a struct, of at least so many bytes; at the least it says its size.
template <class T> bool is_sized(const T *of, size_t least = sizeof(size_t))
{
    return of && size_of(*of) >= least;
}

// Reads what is known of the struct here. False where the caller's is shorter.
template <class T> bool read_sized(const T *from, T &to)
{
    if (!is_sized(from, sizeof to))
        return false;
    std::memcpy(static_cast<void *>(&to), from, sizeof to);
    return true;
}

// Writes what both versions have of the struct, and zeros to what only the caller's has.
template <class T> void write_sized(T from, T *to)
{
    const size_t size = size_of(*to), known = std::min(size, sizeof from);
    std::memcpy(static_cast<void *>(&from), &size, sizeof size);
    std::memcpy(static_cast<void *>(to), &from, known);
    std::memset(reinterpret_cast<std::byte *>(to) + known, 0, size - known);
}

} // namespace heddle
