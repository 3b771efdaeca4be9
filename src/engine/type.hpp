// SPDX-License-Identifier: BSD-3-Clause
// Types: MPI's constructors on layouts. A type holds its canonical layout, not the calls that made
// it, and the bounds that only MPI knows of. Immutable but for its plan, which commit adds once.
#pragma once

#include "engine/handle.hpp"
#include "engine/layout.hpp"
#include "engine/plan.hpp"

#include <atomic>
#include <span>
#include <vector>

// lb and ub as MPI defines them; true_lb and true_ub of the data alone, both 0 where there is none.
struct heddle_bounds {
    int64_t lb = 0;
    int64_t ub = 0;
    int64_t true_lb = 0;
    int64_t true_ub = 0;

    int64_t extent() const { return ub - lb; }
};

namespace heddle {

// What heddle_flatten writes of a type. Long ones are written anew each time.
struct Flattened {
    size_t bytes = 0;
    std::vector<int64_t> words; // none: it is long
};

} // namespace heddle

struct heddle_type : heddle::Handle<heddle_type> {
    std::atomic<int64_t> references{1};
    bool predefined = false;
    heddle_predefined basic = HEDDLE_MIXED;
    int32_t alignment = 1;
    int64_t elements = 0;
    heddle_bounds bounds;
    heddle::Placed layout;
    std::atomic<const heddle::Plan *> plan{nullptr};
    mutable std::atomic<const heddle::Flattened *> flattened{nullptr}; // since it was first asked
                                                                       // for
    int64_t own_memory = 0; // of the nodes that it does not share with the types it was made of

    heddle_type() = default;
    heddle_type(const heddle_type &) = delete;
    heddle_type &operator=(const heddle_type &) = delete;
    ~heddle_type()
    {
        delete plan.load(std::memory_order_relaxed);
        delete flattened.load(std::memory_order_relaxed);
    }

    int64_t size() const { return layout.node->bytes; }
    int64_t memory() const;
};

namespace heddle {

using TypePtr = std::unique_ptr<heddle_type>;

TypePtr make_predefined(heddle_predefined which);

// MPI's constructors (MPI 4.0, section 5.1). `displs` and `stride` in bytes. Blocks of length zero
// count for nothing. Require counts and lengths of 0 or more, arrays of one length, and a subarray
// that lies inside its array. Errors: OVERFLOW, DEPTH, NO_MEMORY. The types that they return have
// the bounds and elements of MPI's typemap, and obey the layout's laws (layout.hpp). The stride of
// a list is the old type's extent.
TypePtr make_stream(int64_t count, int64_t blocklength, int64_t stride, const heddle_type &old);
template <class Int> TypePtr make_blocks(const BlockList<Int> &list, const heddle_type &old);
TypePtr make_struct(std::span<const int64_t> lens, std::span<const int64_t> displs,
                    std::span<heddle_type *const> types);
TypePtr make_resized(const heddle_type &old, int64_t lb, int64_t extent);
TypePtr make_subarray(std::span<const int64_t> sizes, std::span<const int64_t> subsizes,
                      std::span<const int64_t> starts, bool fortran, const heddle_type &old);

void commit(heddle_type &type);
// To be called once it is made, while the types that it was made of are there.
void count_memory(heddle_type &type);

} // namespace heddle
