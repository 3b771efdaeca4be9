// SPDX-License-Identifier: BSD-3-Clause
// A value that is owned: it moves, and is released once, by its last owner.
#pragma once

#include <utility>

namespace heddle::gpu {

// `Value` is false where it owns nothing, as when it is made without arguments; `Release` is called
// with all others.
template <class Value, class Release> class Owned {
public:
    Owned() = default;
    explicit Owned(Value value) : value_(std::move(value)) {}
    Owned(Owned &&other) noexcept : value_(std::exchange(other.value_, Value{})) {}
    Owned &operator=(Owned &&other) noexcept
    {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Owned()
    {
        if (value_)
            Release{}(value_);
    }

    explicit operator bool() const { return static_cast<bool>(value_); }

protected:
    Value value_{};
};

} // namespace heddle::gpu
