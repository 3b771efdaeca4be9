/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One reference to a heddle_type, given back when the handle goes.
 */
#pragma once

#include <heddle.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace oracle {

class Type {
public:
    Type() = default;
    explicit Type(heddle_type *owned) : raw_(owned) {}
    Type(const Type &other) : raw_(other.raw_) { heddle_type_retain(raw_); }
    Type(Type &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    Type &operator=(Type other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~Type() { heddle_type_release(raw_); }

    heddle_type *get() const { return raw_; }

    heddle_type_info info() const
    {
        heddle_type_info answer{};
        check(heddle_type_get_info(raw_, &answer), "heddle_type_get_info");
        return answer;
    }

    std::string describe() const
    {
        size_t length = 0;
        check(heddle_type_describe(raw_, nullptr, 0, &length), "heddle_type_describe");
        std::string text(length + 1, '\0');
        check(heddle_type_describe(raw_, text.data(), text.size(), &length),
              "heddle_type_describe");
        text.resize(length);
        return text;
    }

    Type &commit()
    {
        check(heddle_type_commit(raw_), "heddle_type_commit");
        return *this;
    }

    static void check(int error, const std::string &call)
    {
        if (error != HEDDLE_SUCCESS)
            throw std::runtime_error(call + ": " + heddle_strerror(error));
    }

    /* Runs a constructor, `make(&raw)`, and keeps what it returns. */
    template <class Make> static Type from(Make &&make, const char *call)
    {
        heddle_type *raw = nullptr;
        check(make(&raw), call);
        return Type(raw);
    }

private:
    heddle_type *raw_ = nullptr;
};

} // namespace oracle
