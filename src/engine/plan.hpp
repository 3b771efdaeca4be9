// SPDX-License-Identifier: BSD-3-Clause
// Plans: how a committed type is moved. A plan is the image of the type's layout with what was
// learnt about it; mixed types have a second image whose leaves keep their labels.
#pragma once

#include "engine/image.hpp"
#include "engine/layout.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace heddle {

struct Image {
    std::vector<ImageNode> nodes;

    explicit Image(const NodePtr &layout);
    // The lookaside buffer: that node's arrays where one alone has some, else a copy of all.
    std::span<const int64_t> side() const
    {
        return lender_ ? lender_->blocks->words.all() : std::span<const int64_t>(copied_);
    }
    ImageView view() const { return {nodes.data(), side().data()}; }
    int64_t memory() const;

private:
    friend class Serializer;

    NodePtr lender_;
    std::vector<int64_t, Pooled<int64_t>> copied_;
};

// The widest power of two, at most 16, that divides all of the numbers or'ed into `bits`.
inline uint8_t widest_word(uint64_t bits)
{
    bits |= 16;
    return static_cast<uint8_t>(bits & -bits);
}

// What others keep with a plan, one of each kind; it ends with the plan.
struct Attachment {
    virtual ~Attachment() = default;
};
enum class Attached : uint8_t { images, reaches, decisions, members, count };

struct Plan {
    Image image;                  // of the bytes alone; its labels are right where `typed` is null
    std::unique_ptr<Image> typed; // only where the type holds more than one predefined type
    int64_t displ;                // of the image's first packed byte
    int64_t typed_displ;
    int64_t bytes; // of one instance
    int64_t runs;  // of one instance
    int64_t extent;
    Divisor by_bytes{};
    int16_t grain; // bytes of a primitive where all are alike, else 0
    int16_t dimensions;
    uint8_t kind; // enum heddle_plan_kind
    uint8_t word;
    bool contiguous; // any number of instances are one block
    bool by_members; // few members of many runs, each dense or strided (engine/members.hpp)

    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    ~Plan()
    {
        ended.fetch_add(1, std::memory_order_relaxed);
        for (const auto &each : attachments_)
            delete each.load(std::memory_order_relaxed);
    }
    Plan(const Placed &layout, const Placed &erased, int64_t extent);
    // Plans that are no more. While it stays the same, what was a committed type's address is that
    // type's still.
    static inline std::atomic<uint64_t> ended{0};
    int64_t memory() const;
    const Image &typed_image() const { return typed ? *typed : image; }

    // A T that is kept with the plan. The first thread that asks makes it; if several ask at once,
    // one of them does.
    template <class T, class Make> T &attached(Attached kind, Make make) const
    {
        std::atomic<Attachment *> &place = attachments_[static_cast<size_t>(kind)];
        Attachment *found = place.load(std::memory_order_acquire);
        if (!found) {
            std::unique_ptr<T> fresh = make();
            if (place.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
                found = fresh.release();
        }
        return static_cast<T &>(*found);
    }

private:
    mutable std::array<std::atomic<Attachment *>, static_cast<size_t>(Attached::count)>
        attachments_{}; // owned; set once
};

} // namespace heddle
