// SPDX-License-Identifier: BSD-3-Clause
#include "type.hpp"

#include "make_type.hpp"
#include "owner.hpp"

namespace bench {
namespace {

std::vector<int64_t> copied(Numbers numbers) { return {numbers.begin(), numbers.end()}; }

int64_t count_of(Numbers numbers) { return static_cast<int64_t>(numbers.size()); }

rival_type made_by(rival_maker maker, int64_t count = 0)
{
    rival_type recipe{};
    recipe.maker = maker;
    recipe.count = count;
    return recipe;
}

} // namespace

Type Type::finish(rival_type recipe, std::shared_ptr<Made> made, std::span<const Type> old)
{
    std::vector<heddle_type *> raw;
    for (const Type &each : old) {
        raw.push_back(each.get());
        made->old.push_back(each.made_);
        made->old_recipes.push_back(&each.made_->recipe);
    }
    recipe.lengths = made->lengths.data();
    recipe.displs = made->displs.data();
    recipe.sizes = made->sizes.data();
    recipe.subsizes = made->subsizes.data();
    recipe.starts = made->starts.data();
    recipe.old = made->old_recipes.data();
    made->recipe = recipe;
    heddle_type *type = nullptr;
    BENCH_HEDDLE(make_type(recipe, raw, &type));
    Type result;
    result.raw_ = std::shared_ptr<heddle_type>(type, heddle_type_release);
    result.made_ = std::move(made);
    BENCH_HEDDLE(heddle_type_commit(type));
    return result;
}

Type Type::predefined(heddle_predefined which)
{
    rival_type recipe = made_by(RIVAL_PREDEFINED);
    recipe.predefined = which;
    return finish(recipe, std::make_shared<Made>(), {});
}

Type Type::contiguous(int64_t count, const Type &old)
{
    return finish(made_by(RIVAL_CONTIGUOUS, count), std::make_shared<Made>(), {&old, 1});
}

Type Type::hvector(int64_t count, int64_t blocklength, int64_t hstride, const Type &old)
{
    rival_type recipe = made_by(RIVAL_HVECTOR, count);
    recipe.blocklength = blocklength;
    recipe.hstride = hstride;
    return finish(recipe, std::make_shared<Made>(), {&old, 1});
}

Type Type::indexed(Numbers lengths, Numbers displs, const Type &old)
{
    auto made = std::make_shared<Made>();
    made->lengths = copied(lengths);
    made->displs = copied(displs);
    return finish(made_by(RIVAL_INDEXED, count_of(displs)), std::move(made), {&old, 1});
}

Type Type::hindexed(Numbers lengths, Numbers hdispls, const Type &old)
{
    auto made = std::make_shared<Made>();
    made->lengths = copied(lengths);
    made->displs = copied(hdispls);
    return finish(made_by(RIVAL_HINDEXED, count_of(hdispls)), std::move(made), {&old, 1});
}

Type Type::hindexed_block(int64_t blocklength, Numbers hdispls, const Type &old)
{
    auto made = std::make_shared<Made>();
    made->displs = copied(hdispls);
    rival_type recipe = made_by(RIVAL_HINDEXED_BLOCK, count_of(hdispls));
    recipe.blocklength = blocklength;
    return finish(recipe, std::move(made), {&old, 1});
}

Type Type::structure(Numbers lengths, Numbers hdispls, std::span<const Type> old)
{
    auto made = std::make_shared<Made>();
    made->lengths = copied(lengths);
    made->displs = copied(hdispls);
    return finish(made_by(RIVAL_STRUCT, count_of(hdispls)), std::move(made), old);
}

Type Type::resized(const Type &old, int64_t lb, int64_t extent)
{
    rival_type recipe = made_by(RIVAL_RESIZED);
    recipe.lb = lb;
    recipe.extent = extent;
    return finish(recipe, std::make_shared<Made>(), {&old, 1});
}

Type Type::subarray(Numbers sizes, Numbers subsizes, Numbers starts, const Type &old)
{
    auto made = std::make_shared<Made>();
    made->sizes = copied(sizes);
    made->subsizes = copied(subsizes);
    made->starts = copied(starts);
    return finish(made_by(RIVAL_SUBARRAY, count_of(sizes)), std::move(made), {&old, 1});
}

} // namespace bench
