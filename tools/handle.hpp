// SPDX-License-Identifier: BSD-3-Clause
// One reference to a heddle_type, given back when the handle goes.
#pragma once

#include <heddle.h>

#include <utility>

namespace heddle::tools {

class Type {
public:
    Type() = default;
    explicit Type(heddle_type *owned) : raw_(owned) {}
    Type(Type &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Type &operator=(Type &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Type() { heddle_type_release(raw_); }

    heddle_type *get() const { return raw_; }

private:
    heddle_type *raw_ = nullptr;
};

} // namespace heddle::tools
