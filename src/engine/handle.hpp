// SPDX-License-Identifier: BSD-3-Clause
// Objects that callers hold by pointers. The memory of such an object is never given back, but kept
// for the next object of its kind. It says whether an object is there. So the use of a freed
// pointer is detected, until another object takes the place. Places are used again in the order in
// which they became free, after many others.
#pragma once

#include "engine/sanitizer.hpp"
#include "engine/spin_lock.hpp"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>

#if defined(HEDDLE_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {

// `T` derives from Handle<T>, and nothing from that.
template <class T> class Handle {
public:
    static void *operator new(size_t)
    {
        Place *place = free_place();
        if (!place)
            place = ::new Place;
        touchable(*place, true);
        place->used.store(true, std::memory_order_relaxed);
        return place->object;
    }

    static void operator delete(void *object) noexcept
    {
        Place &place = place_of(object);
        place.used.store(false, std::memory_order_relaxed);
        touchable(place, false);
        const std::lock_guard lock(lock_);
        (last_ ? last_->next : first_) = &place;
        last_ = &place;
        ++free_;
    }

    // Of one that is there or was.
    static bool is_freed(const T *handle) noexcept
    {
        return !place_of(const_cast<T *>(handle)).used.load(std::memory_order_relaxed);
    }

private:
    static constexpr size_t rest = 64; // so many are free at least before one is used again

    struct Place {
        Place *next = nullptr; // that is free
        std::atomic<bool> used{false};
        alignas(T) std::byte object[sizeof(T)];
    };

    static Place &place_of(void *object) noexcept
    {
        return *reinterpret_cast<Place *>(static_cast<std::byte *>(object) -
                                          offsetof(Place, object));
    }

    static Place *free_place() noexcept
    {
        const std::lock_guard lock(lock_);
        if (free_ <= rest)
            return nullptr;
        Place *const place = first_;
        first_ = place->next;
        place->next = nullptr;
        --free_;
        return place;
    }

    // To the address sanitizer, which sees no freeing here.
    static void touchable([[maybe_unused]] Place &place, [[maybe_unused]] bool is) noexcept
    {
#if defined(HEDDLE_ADDRESS_SANITIZER)
        if (is)
            ASAN_UNPOISON_MEMORY_REGION(place.object, sizeof place.object);
        else
            ASAN_POISON_MEMORY_REGION(place.object, sizeof place.object);
#endif
    }

    static inline constinit SpinLock lock_;
    static inline constinit Place *first_ = nullptr, *last_ = nullptr;
    static inline constinit size_t free_ = 0;
};

} // namespace heddle
