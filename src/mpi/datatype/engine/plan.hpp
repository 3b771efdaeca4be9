// SPDX-License-Identifier: BSD-3-Clause
// Plans: how a committed type is moved. A plan is the image of the type's layout with what was learnt
// about it; mixed types have a second image whose leaves keep their labels.
#pragma once

#include "image.hpp"
#include "layout.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace heddle {

struct Image {
    std::vector<ImageNode> nodes;
    std::vector<int64_t> side;

    explicit Image(const NodePtr &layout);
    ImageView view() const { return {nodes.data(), side.data()}; }
    int64_t memory() const;
};

// The widest power of two, at most 16, that divides all of the numbers or'ed into `bits`.
inline uint8_t widest_word(uint64_t bits)
{
    bits |= 16;
    return static_cast<uint8_t>(bits & -bits);
}

// What others keep with a plan (images in a device's memory); it ends with the plan.
struct Attachment {
    virtual ~Attachment() = default;
};

struct Plan {
    Image image;                  // of the bytes alone; its labels are right where `typed` is null
    std::unique_ptr<Image> typed; // only where the type holds more than one predefined type
    int64_t displ;                // of the image's first packed byte
    int64_t typed_displ;
    int64_t bytes;                // of one instance
    int64_t runs;                 // of one instance
    int64_t extent;
    Divisor by_bytes{};
    int64_t grain; // bytes of a primitive where all are alike, else 0
    int16_t dimensions;
    uint8_t kind;  // enum heddle_plan_kind
    uint8_t word;
    bool contiguous; // any number of instances are one block
    mutable std::atomic<Attachment *> attachment{nullptr}; // owned; set once

    Plan(const Plan &) = delete;
    Plan &operator=(const Plan &) = delete;
    ~Plan()
    {
        ended.fetch_add(1, std::memory_order_relaxed);
        delete attachment.load(std::memory_order_relaxed);
    }
    Plan(const Placed &layout, int64_t extent);
    // Plans that are no more. While it stays the same, what was a committed type's address is that type's still.
    static inline std::atomic<uint64_t> ended{0};
    int64_t memory() const;
    const Image &typed_image() const { return typed ? *typed : image; }

private:
    Plan(const Placed &layout, const Placed &erased, int64_t extent);
};

} // namespace heddle
