/* SPDX-License-Identifier: BSD-3-Clause */
#include "random_type.hpp"

#include "basics.hpp"

#include <algorithm>
#include <cstdlib>

namespace oracle {
namespace {

/* Beyond this, types could no longer be nested or repeated without overflow. */
constexpr int64_t farthest = int64_t{1} << 46;

/* The bytes that `blocklength` instances touch, relative to the first instance. */
Range block_range(const Typemap &old, int64_t blocklength)
{
    if (blocklength == 0)
        return {};
    Range range{std::min(old.lb, true_lb(old)), std::max(old.ub, true_ub(old))};
    if (!old.entries.empty())
        range = touched(old, 1);
    const int64_t last = (blocklength - 1) * old.extent();
    return {range.low + std::min<int64_t>(0, last), range.high + std::max<int64_t>(0, last)};
}

class Generator {
public:
    Generator(Rng &rng, const Recipe &recipe) : rng_(rng), recipe_(recipe) {}

    Sample tree(int depth, int64_t budget)
    {
        if (depth == 0)
            return sample(predefined(rng_.pick(recipe_.leaves)), {});
        if (rng_.percent(22))
            return structure_of(depth, budget);
        Sample old = tree(depth - 1, budget);
        return wrap(std::move(old), budget, depth);
    }

private:
    static Sample sample(ExprPtr expr, const std::vector<const Typemap *> &olds)
    {
        Typemap map = expand(*expr, olds);
        return {std::move(expr), std::move(map)};
    }

    /* How many more entries per old entry this level may make; deep trees must share the budget. */
    int64_t factor(const Sample &old, int64_t budget, int levels)
    {
        const auto entries = std::max<int64_t>(1, static_cast<int64_t>(old.map.entries.size()));
        int64_t most = std::max<int64_t>(1, budget / entries);
        if (levels > 2 && !rng_.percent(20))
            most = std::min<int64_t>(most, rng_.in(1, 6));
        return rng_.scaled(most);
    }

    Sample wrap(Sample old, int64_t budget, int levels)
    {
        const int64_t n = factor(old, budget, levels);
        ExprPtr expr;
        switch (rng_.in(0, 13)) {
        case 0:
            expr = contiguous(zero_at_times(n), old.expr);
            break;
        case 1:
        case 2:
            expr = any_vector(old, n, false);
            break;
        case 3:
        case 4:
            expr = any_vector(old, n, true);
            break;
        case 5:
            expr = any_indexed(old, n, false);
            break;
        case 6:
            expr = any_indexed(old, n, true);
            break;
        case 7:
            expr = any_block(old, n, false);
            break;
        case 8:
            expr = any_block(old, n, true);
            break;
        case 9:
        case 10:
            expr = resize(old);
            break;
        case 11:
            expr = rng_.percent(30) ? dup(old.expr) : resize(old);
            break;
        default:
            expr = any_subarray(old, n);
            break;
        }
        try {
            Sample made = sample(expr, {&old.map});
            const Range range = touched(made.map, 1);
            const auto within = [](int64_t x) { return x > -farthest && x < farthest; };
            if (within(made.map.lb) && within(made.map.ub) && within(range.low) &&
                within(range.high))
                return made;
        } catch (const Overflow &) {
        }
        return old;
    }

    Sample structure_of(int depth, int64_t budget)
    {
        const int64_t members =
            rng_.percent(3) ? rng_.scaled(200) : rng_.in(rng_.percent(3) ? 0 : 1, 5);
        const int64_t share = std::max<int64_t>(1, budget / std::max<int64_t>(1, members));
        std::vector<Sample> olds;
        std::vector<int64_t> lengths;
        for (int64_t i = 0; i < members; ++i) {
            if (i > 0 && rng_.percent(30)) {
                olds.push_back(olds[static_cast<size_t>(rng_.in(0, i - 1))]); /* one type twice */
            } else {
                const int below = members > 8 ? std::min(depth - 1, 2) : depth - 1;
                olds.push_back(tree(i == 0 ? below : static_cast<int>(rng_.in(0, below)), share));
            }
            lengths.push_back(rng_.percent(6) ? 0 : factor(olds.back(), share, depth));
        }

        std::vector<Range> ranges;
        for (size_t i = 0; i < olds.size(); ++i)
            ranges.push_back(block_range(olds[i].map, lengths[i]));
        std::vector<int64_t> displacements = places(ranges, 1);

        std::vector<ExprPtr> exprs;
        std::vector<const Typemap *> maps;
        for (const Sample &old : olds) {
            exprs.push_back(old.expr);
            maps.push_back(&old.map);
        }
        try {
            Sample made = sample(structure(lengths, displacements, exprs), maps);
            if (std::abs(made.map.lb) < farthest && std::abs(made.map.ub) < farthest)
                return made;
        } catch (const Overflow &) {
        }
        return olds.front();
    }

    /* Byte displacements for blocks of these ranges, each a multiple of `unit`. */
    std::vector<int64_t> places(const std::vector<Range> &ranges, int64_t unit)
    {
        const int64_t blocks = static_cast<int64_t>(ranges.size());
        std::vector<int64_t> result(ranges.size());
        if (!recipe_.tidy && rng_.percent(60)) {
            const int64_t reach = std::min<int64_t>(recipe_.span, 16 * blocks) + 8;
            for (int64_t &place : result)
                place = snap(rng_.in(-reach, reach), unit);
        } else {
            std::vector<size_t> order(ranges.size());
            for (size_t i = 0; i < order.size(); ++i)
                order[i] = i;
            if (rng_.percent(30))
                rng_.shuffle(order);
            else if (rng_.percent(15))
                std::reverse(order.begin(), order.end());
            const int64_t regular = gap();
            const bool is_regular = rng_.percent(40);
            int64_t next = rng_.percent(40) ? 0 : rng_.in(-200, 200);
            for (const size_t i : order) {
                result[i] = snap_up(next - ranges[i].low, unit);
                next = result[i] + ranges[i].high + (is_regular ? regular : gap());
            }
        }
        if (recipe_.far)
            for (int64_t &place : result)
                if (rng_.percent(15))
                    place = snap(place + far_step(), unit);
        return result;
    }

    static int64_t snap(int64_t place, int64_t unit) { return place / unit * unit; }
    static int64_t snap_up(int64_t place, int64_t unit)
    {
        const int64_t rest = place % unit;
        return rest == 0 ? place : place - rest + (rest > 0 ? unit : 0);
    }

    int64_t gap()
    {
        if (rng_.percent(35))
            return 0;
        return rng_.percent(70) ? 4 * rng_.in(0, 8) : rng_.in(1, 40);
    }

    int64_t far_step()
    {
        const int64_t step = (int64_t{1} << rng_.in(31, 36)) + rng_.in(-5000, 5000);
        return rng_.percent(35) ? -step : step;
    }

    int64_t zero_at_times(int64_t n) { return rng_.percent(2) ? 0 : n; }

    /* Splits n into a count and a block length of about that product. */
    std::pair<int64_t, int64_t> split(int64_t n)
    {
        const int64_t length = rng_.percent(40) ? 1 : rng_.scaled(n);
        return {zero_at_times(std::max<int64_t>(1, n / length)), zero_at_times(length)};
    }

    ExprPtr any_vector(const Sample &old, int64_t n, bool bytes)
    {
        const auto [count, length] = split(n);
        const int64_t unit = bytes ? 1 : old.map.extent();
        const Range range = block_range(old.map, length);
        const int64_t covered = range.high - range.low;
        int64_t step = 0;
        if (rng_.percent(20)) {
            step = bytes ? length * old.map.extent() : length; /* one block after the other */
        } else if (!recipe_.tidy && rng_.percent(60)) {
            step = rng_.in(-20, 20);
        } else {
            const int64_t wanted = covered + (covered > recipe_.span ? 0 : gap());
            step = unit == 0 ? rng_.in(-3, 3) : (wanted + std::abs(unit) - 1) / std::abs(unit);
        }
        if (rng_.percent(20))
            step = -step;
        if (recipe_.far && rng_.percent(25))
            step = unit == 0 ? step : far_step() / unit;
        return bytes ? hvector(count, length, step, old.expr)
                     : vector(count, length, step, old.expr);
    }

    std::vector<int64_t> placed_blocks(const Sample &old, const std::vector<int64_t> &lengths,
                                       bool bytes)
    {
        std::vector<Range> ranges;
        for (const int64_t length : lengths)
            ranges.push_back(block_range(old.map, length));
        const int64_t unit = bytes ? 1 : std::abs(old.map.extent());
        std::vector<int64_t> result = places(ranges, std::max<int64_t>(1, unit));
        if (!bytes)
            for (int64_t &place : result)
                place = unit == 0 ? rng_.in(-5, 5) : place / old.map.extent();
        return result;
    }

    ExprPtr any_indexed(const Sample &old, int64_t n, bool bytes)
    {
        std::vector<int64_t> lengths;
        const int64_t longest = rng_.scaled(std::min<int64_t>(n, 40));
        for (int64_t left = zero_at_times(n); left > 0;) {
            const int64_t length = rng_.percent(5) ? 0 : std::min(left, rng_.in(1, longest));
            lengths.push_back(length);
            left -= std::max<int64_t>(1, length);
        }
        std::vector<int64_t> displacements = placed_blocks(old, lengths, bytes);
        return bytes ? hindexed(lengths, displacements, old.expr)
                     : indexed(lengths, displacements, old.expr);
    }

    ExprPtr any_block(const Sample &old, int64_t n, bool bytes)
    {
        const auto [count, length] = split(n);
        const std::vector<int64_t> lengths(static_cast<size_t>(count), length);
        std::vector<int64_t> displacements = placed_blocks(old, lengths, bytes);
        return bytes ? hindexed_block(length, displacements, old.expr)
                     : indexed_block(length, displacements, old.expr);
    }

    ExprPtr resize(const Sample &old)
    {
        const Range range = touched(old.map, 1);
        const int64_t covered = range.high - range.low;
        int64_t lb = rng_.percent(50)   ? old.map.lb
                     : rng_.percent(50) ? range.low
                                        : rng_.in(-64, 64);
        int64_t extent = 0;
        switch (rng_.in(0, 7)) {
        case 0:
        case 1:
            extent = covered;
            break;
        case 2:
            extent = covered + gap();
            break;
        case 3:
            extent = covered <= recipe_.span ? covered + rng_.in(0, 200) : covered;
            break;
        case 4: /* small: instances interleave, like the columns of a matrix */
            extent = old.map.entries.empty() ? 4 : primitive_size(old.map.entries.front().kind);
            break;
        case 5:
            extent = recipe_.tidy ? old.map.extent() : rng_.in(0, 30);
            break;
        case 6:
            extent = recipe_.tidy ? -covered : -rng_.in(0, 30);
            break;
        case 7:
            extent = recipe_.far && rng_.percent(50) ? far_step() : covered;
            break;
        }
        return resized(old.expr, lb, extent);
    }

    ExprPtr any_subarray(const Sample &old, int64_t n)
    {
        const int64_t ndims = rng_.in(1, 4);
        std::vector<int64_t> sizes, subsizes, starts;
        const bool tight = std::abs(old.map.extent()) * n > recipe_.span;
        for (int64_t i = 0; i < ndims; ++i) {
            const int64_t subsize = i + 1 == ndims ? n : rng_.percent(30) ? 1 : rng_.scaled(n);
            n = std::max<int64_t>(1, n / subsize);
            const int64_t spare = tight || rng_.percent(40) ? 0 : rng_.in(0, 6);
            subsizes.push_back(subsize);
            sizes.push_back(subsize + spare);
            starts.push_back(rng_.in(0, spare));
        }
        if (recipe_.far && rng_.percent(20)) /* rows far apart */
            sizes[static_cast<size_t>(rng_.in(0, ndims - 1))] += int64_t{1} << rng_.in(20, 31);
        const int order = rng_.percent(50) ? HEDDLE_ORDER_C : HEDDLE_ORDER_FORTRAN;
        return subarray(sizes, subsizes, starts, order, old.expr);
    }

    Rng &rng_;
    const Recipe &recipe_;
};

} // namespace

std::vector<heddle_predefined> random_leaves(Rng &rng)
{
    if (rng.percent(25))
        return all_basics();
    std::vector<heddle_predefined> leaves;
    for (int64_t i = rng.percent(60) ? 1 : rng.in(2, 4); i > 0; --i)
        leaves.push_back(rng.pick(all_basics()));
    return leaves;
}

Recipe random_recipe(Rng &rng, int max_depth)
{
    Recipe recipe;
    const int deep = rng.percent(25) ? max_depth : rng.percent(60) ? 4 : 2;
    recipe.depth = static_cast<int>(rng.in(rng.percent(5) ? 0 : 1, std::min(deep, max_depth)));
    recipe.entries = rng.percent(3) ? rng.scaled(8000) : rng.scaled(400);
    if (rng.percent(1)) { /* long messages: beyond every tile of the engine */
        recipe.entries = 12000;
        recipe.depth = std::min(recipe.depth, 3);
    }
    recipe.tidy = !rng.percent(25);
    recipe.far = rng.percent(6);
    recipe.leaves = random_leaves(rng);
    return recipe;
}

Sample random_type(Rng &rng, const Recipe &recipe)
{
    return Generator(rng, recipe).tree(recipe.depth, recipe.entries);
}

Sample scattered(Rng &rng, heddle_predefined leaf, int64_t elements)
{
    const int64_t extent = basic(leaf).extent;
    std::vector<int64_t> lengths, displacements;
    const int64_t longest = rng.scaled(8);
    int64_t next = rng.in(-50, 50);
    for (int64_t left = elements; left > 0;) {
        const int64_t length = std::min(left, rng.in(1, longest));
        lengths.push_back(length);
        displacements.push_back(next);
        next += length * extent + rng.in(0, 12);
        left -= length;
    }
    /* The places go to other blocks of the same length only, so that none overlaps. */
    for (size_t i = 1; i < lengths.size(); ++i) {
        const auto j = static_cast<size_t>(rng.in(0, static_cast<int64_t>(i)));
        if (lengths[i] == lengths[j] && rng.percent(50))
            std::swap(displacements[i], displacements[j]);
    }
    ExprPtr expr = hindexed(lengths, displacements, predefined(leaf));
    Typemap map = expand(*expr);
    return {std::move(expr), std::move(map)};
}

} // namespace oracle
