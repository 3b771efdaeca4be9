// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/shape.hpp"

#include "interpose/contents.hpp"
#include "interpose/rebuild.hpp"

#include "engine/immortal.hpp"

#include <array>
#include <atomic>
#include <unordered_map>
#include <utility>

namespace heddle::interpose {

Shape::Shape(TypeRef type, MPI_Datatype element)
    : type_(std::move(type)), info_(info_of(type_.get())), element_(element)
{
}

Shape::~Shape()
{
    if (is_own_) // in a callback of MPI_Type_free, perhaps
        free_type_later(dense_);
}

MPI_Datatype Shape::dense() const
{
    std::call_once(once_, [this] {
        int bytes = 1;
        if (element_ != MPI_DATATYPE_NULL)
            PMPI_Type_size(element_, &bytes);
        if (element_ != MPI_DATATYPE_NULL && info_.size == bytes &&
            info_of(type_.get()).contiguous) {
            dense_ = element_;
            return;
        }
        const bool is_bytes = element_ == MPI_DATATYPE_NULL || bytes == 0 || is_of_gaps();
        dense_ =
            make_dense(is_bytes ? info_.size : info_.size / bytes, is_bytes ? MPI_BYTE : element_);
        is_own_ = dense_ != MPI_DATATYPE_NULL;
    });
    return dense_;
}

bool Shape::is_of_gaps() const
{
    if (element_ == MPI_DATATYPE_NULL)
        return false;
    int bytes = 0;
    MPI_Count lb = 0, extent = 0;
    PMPI_Type_size(element_, &bytes);
    PMPI_Type_get_extent_x(element_, &lb, &extent);
    return extent != bytes;
}

MPI_Datatype make_dense(int64_t n, MPI_Datatype element)
{
    constexpr int64_t chunk = int64_t{1} << 30; // elements: what an int holds
    MPI_Datatype made = MPI_DATATYPE_NULL, chunks = MPI_DATATYPE_NULL;
    if (n < chunk) {
        PMPI_Type_contiguous(static_cast<int>(n), element, &made);
    } else {
        MPI_Count lb = 0, extent = 1;
        PMPI_Type_get_extent_x(element, &lb, &extent);
        PMPI_Type_contiguous(static_cast<int>(chunk), element, &chunks);
        const int lengths[] = {static_cast<int>(n / chunk), static_cast<int>(n % chunk)};
        const MPI_Aint places[] = {0, static_cast<MPI_Aint>(n / chunk * chunk * extent)};
        const MPI_Datatype types[] = {chunks, element};
        PMPI_Type_create_struct(2, lengths, places, types, &made);
        PMPI_Type_free(&chunks);
    }
    if (made != MPI_DATATYPE_NULL)
        PMPI_Type_commit(&made);
    return made;
}

namespace {

ShapePtr make_shape(MPI_Datatype type)
{
    Rebuilt made = rebuild(type);
    if (!made.type || heddle_type_commit(made.type.get()) != HEDDLE_SUCCESS)
        return nullptr;
    return std::make_shared<const Shape>(std::move(made.type), made.element);
}

// The attribute. It holds a shape, or null for a type that cannot be rebuilt.
struct Kept {
    ShapePtr shape;
};

int delete_kept(MPI_Datatype, int, void *kept, void *)
{
    const std::unique_ptr<Kept> gone(static_cast<Kept *>(kept));
    return MPI_SUCCESS;
}

class Cache {
public:
    ShapePtr find(MPI_Datatype type)
    {
        void *kept = nullptr;
        int there = 0;
        if (const Given *const given = find_quickly(type))
            return given->second;
        std::call_once(once_, [this] {
            PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_kept, &key_, nullptr);
        });
        PMPI_Type_get_attr(type, key_, &kept, &there);
        if (there)
            return static_cast<Kept *>(kept)->shape;
        const std::lock_guard lock(mutex_); // two threads must not keep two
        if (const auto given = given_.find(key_of(type)); given != given_.end())
            return given->second;
        PMPI_Type_get_attr(type, key_, &kept, &there);
        if (there)
            return static_cast<Kept *>(kept)->shape;
        ShapePtr made = make_shape(type);
        if (is_given(type)) // which live as long as the process, and may refuse attributes
            return keep_given(type, made);
        auto keep = std::make_unique<Kept>(Kept{made});
        if (PMPI_Type_set_attr(type, key_, keep.get()) == MPI_SUCCESS)
            static_cast<void>(keep.release()); // delete_kept does it
        return made;
    }

    bool can_find(MPI_Datatype type)
    {
        const Given *const given = find_quickly(type); // no count of its owners is touched
        return given ? given->second != nullptr : find(type) != nullptr;
    }

    void forget()
    {
        const std::lock_guard lock(mutex_);
        for (auto &each : quick_)
            each.store(nullptr);
        given_.clear();
    }

private:
    using Given = std::pair<const HandleKey, ShapePtr>;

    // Where one of `given_` may be found without a lock.
    std::atomic<const Given *> &quick(MPI_Datatype type)
    {
        return quick_[hash_of(key_of(type), log_quick)];
    }
    const Given *find_quickly(MPI_Datatype type)
    {
        const Given *const given = quick(type).load(std::memory_order_acquire);
        return given && given->first == key_of(type) ? given : nullptr;
    }
    ShapePtr keep_given(MPI_Datatype type, const ShapePtr &shape)
    {
        const Given &kept = *given_.emplace(key_of(type), shape).first;
        const Given *none = nullptr;
        quick(type).compare_exchange_strong(none, &kept, std::memory_order_release);
        return shape;
    }

    static constexpr int log_quick = 6;
    std::array<std::atomic<const Given *>, size_t{1} << log_quick> quick_{};
    std::once_flag once_;
    std::mutex mutex_;
    int key_ = MPI_KEYVAL_INVALID;
    std::unordered_map<HandleKey, ShapePtr> given_;
};

} // namespace

void forget_shapes() { immortal<Cache>().forget(); }

ShapePtr shape_of(MPI_Datatype type) { return immortal<Cache>().find(type); }

bool can_be_rebuilt(MPI_Datatype type) { return immortal<Cache>().can_find(type); }

} // namespace heddle::interpose
