// SPDX-License-Identifier: BSD-3-Clause
// Heddle's types, each with how it was made, for rivals that make it their own way.
#pragma once

#include "rival.h"

#include <memory>
#include <span>
#include <vector>

namespace bench {

using Numbers = std::span<const int64_t>;

class Type {
public:
    heddle_type *get() const { return raw_.get(); }
    const rival_type &recipe() const { return made_->recipe; }

    // Each is committed. The arguments are MPI's; counts that an array's length tells are left out.
    static Type predefined(heddle_predefined which);
    static Type contiguous(int64_t count, const Type &old);
    static Type hvector(int64_t count, int64_t blocklength, int64_t hstride, const Type &old);
    static Type indexed(Numbers lengths, Numbers displs, const Type &old);
    static Type hindexed(Numbers lengths, Numbers hdispls, const Type &old);
    static Type hindexed_block(int64_t blocklength, Numbers hdispls, const Type &old);
    static Type structure(Numbers lengths, Numbers hdispls, std::span<const Type> old);
    static Type resized(const Type &old, int64_t lb, int64_t extent);
    static Type subarray(Numbers sizes, Numbers subsizes, Numbers starts, const Type &old);

private:
    struct Made {
        rival_type recipe{};
        std::vector<int64_t> lengths, displs, sizes, subsizes, starts;
        std::vector<std::shared_ptr<const Made>> old;
        std::vector<const rival_type *> old_recipes;
    };
    // Points the recipe at what it owns, and makes the type.
    static Type finish(rival_type recipe, std::shared_ptr<Made> made, std::span<const Type> old);

    std::shared_ptr<heddle_type> raw_;
    std::shared_ptr<const Made> made_;
};

} // namespace bench
