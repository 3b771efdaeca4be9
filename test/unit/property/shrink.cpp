/* SPDX-License-Identifier: BSD-3-Clause */
#include "shrink.hpp"

#include <vector>

namespace property {
namespace {

using oracle::Expr;
using oracle::ExprPtr;

template <class Change> ExprPtr changed(const Expr &from, Change &&change)
{
    auto copy = std::make_shared<Expr>(from);
    change(*copy);
    return copy;
}

/* Blocks [begin, end) of an indexed type or a struct, left out. */
ExprPtr without_blocks(const Expr &e, size_t begin, size_t end)
{
    return changed(e, [&](Expr &c) {
        const auto cut = [&](auto &items) {
            items.erase(items.begin() + static_cast<std::ptrdiff_t>(begin),
                        items.begin() + static_cast<std::ptrdiff_t>(end));
        };
        cut(c.displacements);
        if (!c.blocklengths.empty())
            cut(c.blocklengths);
        if (c.maker == oracle::Maker::Struct)
            cut(c.children);
    });
}

/* Simpler types, the boldest first. */
std::vector<ExprPtr> candidates(const Expr &e)
{
    std::vector<ExprPtr> result(e.children.begin(), e.children.end());
    const size_t blocks = e.displacements.size();
    if (blocks > 3) {
        result.push_back(without_blocks(e, 0, blocks / 2));
        result.push_back(without_blocks(e, blocks / 2, blocks));
    }
    if (blocks > 1)
        for (size_t i = 0; i < blocks; ++i)
            result.push_back(without_blocks(e, i, i + 1));
    const auto smaller = [&](int64_t Expr::*field) {
        for (const int64_t value : {int64_t{1}, e.*field / 2, e.*field - 1})
            if (value > 0 && value < e.*field)
                result.push_back(changed(e, [&](Expr &c) { c.*field = value; }));
    };
    smaller(&Expr::count);
    smaller(&Expr::blocklength);
    const auto smaller_each = [&](std::vector<int64_t> Expr::*field, int64_t least) {
        for (size_t i = 0; i < (e.*field).size(); ++i)
            for (const int64_t value : {least, (e.*field)[i] / 2, (e.*field)[i] - 1})
                if (value >= least && value < (e.*field)[i])
                    result.push_back(changed(e, [&](Expr &c) { (c.*field)[i] = value; }));
    };
    smaller_each(&Expr::blocklengths, 1);
    smaller_each(&Expr::displacements, 0);
    smaller_each(&Expr::subsizes, 1);
    smaller_each(&Expr::starts, 0);
    if (e.maker == oracle::Maker::Predefined && e.predefined != HEDDLE_BYTE)
        result.push_back(oracle::predefined(HEDDLE_BYTE));
    for (size_t i = 0; i < e.children.size(); ++i)
        for (const ExprPtr &child : candidates(*e.children[i]))
            result.push_back(changed(e, [&](Expr &c) { c.children[i] = child; }));
    return result;
}

} // namespace

ExprPtr shrink(ExprPtr failing, const std::function<bool(const ExprPtr &)> &fails, int attempts)
{
    for (bool progress = true; progress;) {
        progress = false;
        for (const ExprPtr &candidate : candidates(*failing)) {
            if (attempts-- == 0)
                return failing;
            if (fails(candidate)) {
                failing = candidate;
                progress = true;
                break;
            }
        }
    }
    return failing;
}

} // namespace property
