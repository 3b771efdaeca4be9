// SPDX-License-Identifier: BSD-3-Clause
// What every function of the C API begins and ends with: checks that answer with an error's code,
// and the place where the engine's own exceptions end.
#pragma once

#include "engine/checked.hpp"
#include "engine/type.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace heddle {

// What `f` returns or throws; it may return nothing: success.
template <class F> Error caught(F &&f) noexcept
{
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<F>>)
            return f(), HEDDLE_SUCCESS;
        else
            return f();
    } catch (const Error &e) {
        return e;
    } catch (const std::bad_alloc &) {
        return HEDDLE_ERR_NO_MEMORY;
    } catch (const std::length_error &) {
        return HEDDLE_ERR_NO_MEMORY;
    }
}

// The same for the C API; `f` may deal in its integers itself.
template <class F> int guard(F &&f) noexcept
{
    if constexpr (std::is_same_v<std::invoke_result_t<F>, int>) {
        int code = HEDDLE_SUCCESS;
        const Error e = caught([&] { code = f(); });
        return e ? e.code() : code;
    } else {
        return caught(std::forward<F>(f)).code();
    }
}

inline Error check_type(const heddle_type *type) noexcept
{
    if (!type)
        return HEDDLE_ERR_TYPE;
    return heddle_type::is_freed(type) ? HEDDLE_ERR_FREED : HEDDLE_SUCCESS;
}

// Writes as snprintf does: at most `capacity` bytes with the final zero. Returns the whole length.
inline size_t write_text(const std::string &from, char *text, size_t capacity)
{
    if (capacity > 0) {
        const size_t n = std::min(capacity - 1, from.size());
        std::memcpy(text, from.data(), n);
        text[n] = '\0';
    }
    return from.size();
}

// `count` instances of a type that are to be moved.
struct Message {
    const Plan *plan = nullptr;
    int64_t count = 0;
    int64_t bytes = 0;

    Error set(int64_t count_, const heddle_type *type) noexcept
    {
        if (const Error e = check_type(type))
            return e;
        if (count_ < 0)
            return HEDDLE_ERR_COUNT;
        plan = type->plan.load(std::memory_order_acquire);
        if (!plan)
            return HEDDLE_ERR_NOT_COMMITTED;
        count = count_;
        int64_t span, furthest; // the furthest displacement must exist, too
        if (__builtin_mul_overflow(count, plan->bytes, &bytes) ||
            __builtin_mul_overflow(count - (count > 0), plan->extent, &span) ||
            __builtin_add_overflow(span, span < 0 ? type->bounds.true_lb : type->bounds.true_ub,
                                   &furthest))
            return HEDDLE_ERR_OVERFLOW;
        return HEDDLE_SUCCESS;
    }

    Error check_offset(int64_t offset) const noexcept
    {
        return offset < 0 || offset > bytes ? HEDDLE_ERR_RANGE : HEDDLE_SUCCESS;
    }
};

} // namespace heddle
