/* SPDX-License-Identifier: BSD-3-Clause */
#include "expr.hpp"

#include "basics.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <sstream>
#include <utility>

namespace oracle {
namespace {

template <class Fill> ExprPtr make(Maker maker, Fill &&fill)
{
    auto expr = std::make_shared<Expr>();
    expr->maker = maker;
    fill(*expr);
    return expr;
}

void write(std::ostream &out, const std::vector<int64_t> &values)
{
    out << '[';
    for (size_t i = 0; i < values.size(); ++i)
        out << (i ? ", " : "") << values[i];
    out << ']';
}

void write(std::ostream &out, const Expr &e)
{
    const auto old = [&] {
        out << ", ";
        write(out, *e.children.front());
        out << ')';
    };
    switch (e.maker) {
    case Maker::Predefined:
        out << basic(e.predefined).name;
        return;
    case Maker::Contiguous:
        out << "contiguous(" << e.count;
        return old();
    case Maker::Vector:
    case Maker::Hvector:
        out << (e.maker == Maker::Vector ? "vector(" : "hvector(") << e.count << ", "
            << e.blocklength << ", " << e.stride;
        return old();
    case Maker::Indexed:
    case Maker::Hindexed:
        out << (e.maker == Maker::Indexed ? "indexed(" : "hindexed(");
        write(out, e.blocklengths);
        out << ", ";
        write(out, e.displacements);
        return old();
    case Maker::IndexedBlock:
    case Maker::HindexedBlock:
        out << (e.maker == Maker::IndexedBlock ? "indexed_block(" : "hindexed_block(")
            << e.blocklength << ", ";
        write(out, e.displacements);
        return old();
    case Maker::Struct:
        out << "structure(";
        write(out, e.blocklengths);
        out << ", ";
        write(out, e.displacements);
        out << ", {";
        for (size_t i = 0; i < e.children.size(); ++i) {
            out << (i ? ", " : "");
            write(out, *e.children[i]);
        }
        out << "})";
        return;
    case Maker::Resized:
        out << "resized(";
        write(out, *e.children.front());
        out << ", " << e.lb << ", " << e.extent << ')';
        return;
    case Maker::Dup:
        out << "dup(";
        write(out, *e.children.front());
        out << ')';
        return;
    case Maker::Subarray:
        out << "subarray(";
        write(out, e.sizes);
        out << ", ";
        write(out, e.subsizes);
        out << ", ";
        write(out, e.starts);
        out << (e.order == HEDDLE_ORDER_C ? ", C" : ", FORTRAN");
        return old();
    }
}

} // namespace

ExprPtr predefined(heddle_predefined which)
{
    return make(Maker::Predefined, [&](Expr &e) { e.predefined = which; });
}

ExprPtr contiguous(int64_t count, ExprPtr old)
{
    return make(Maker::Contiguous, [&](Expr &e) {
        e.count = count;
        e.children = {std::move(old)};
    });
}

static ExprPtr any_vector(Maker maker, int64_t count, int64_t blocklength, int64_t stride,
                          ExprPtr old)
{
    return make(maker, [&](Expr &e) {
        e.count = count;
        e.blocklength = blocklength;
        e.stride = stride;
        e.children = {std::move(old)};
    });
}

ExprPtr vector(int64_t count, int64_t blocklength, int64_t stride, ExprPtr old)
{
    return any_vector(Maker::Vector, count, blocklength, stride, std::move(old));
}

ExprPtr hvector(int64_t count, int64_t blocklength, int64_t hstride, ExprPtr old)
{
    return any_vector(Maker::Hvector, count, blocklength, hstride, std::move(old));
}

static ExprPtr any_indexed(Maker maker, std::vector<int64_t> blocklengths,
                           std::vector<int64_t> displacements, std::vector<ExprPtr> olds)
{
    return make(maker, [&](Expr &e) {
        e.blocklengths = std::move(blocklengths);
        e.displacements = std::move(displacements);
        e.children = std::move(olds);
    });
}

ExprPtr indexed(std::vector<int64_t> blocklengths, std::vector<int64_t> displacements, ExprPtr old)
{
    return any_indexed(Maker::Indexed, std::move(blocklengths), std::move(displacements),
                       {std::move(old)});
}

ExprPtr hindexed(std::vector<int64_t> blocklengths, std::vector<int64_t> hdisplacements,
                 ExprPtr old)
{
    return any_indexed(Maker::Hindexed, std::move(blocklengths), std::move(hdisplacements),
                       {std::move(old)});
}

ExprPtr structure(std::vector<int64_t> blocklengths, std::vector<int64_t> hdisplacements,
                  std::vector<ExprPtr> olds)
{
    return any_indexed(Maker::Struct, std::move(blocklengths), std::move(hdisplacements),
                       std::move(olds));
}

static ExprPtr any_block(Maker maker, int64_t blocklength, std::vector<int64_t> displacements,
                         ExprPtr old)
{
    return make(maker, [&](Expr &e) {
        e.blocklength = blocklength;
        e.displacements = std::move(displacements);
        e.children = {std::move(old)};
    });
}

ExprPtr indexed_block(int64_t blocklength, std::vector<int64_t> displacements, ExprPtr old)
{
    return any_block(Maker::IndexedBlock, blocklength, std::move(displacements), std::move(old));
}

ExprPtr hindexed_block(int64_t blocklength, std::vector<int64_t> hdisplacements, ExprPtr old)
{
    return any_block(Maker::HindexedBlock, blocklength, std::move(hdisplacements), std::move(old));
}

ExprPtr resized(ExprPtr old, int64_t lb, int64_t extent)
{
    return make(Maker::Resized, [&](Expr &e) {
        e.lb = lb;
        e.extent = extent;
        e.children = {std::move(old)};
    });
}

ExprPtr dup(ExprPtr old)
{
    return make(Maker::Dup, [&](Expr &e) { e.children = {std::move(old)}; });
}

ExprPtr subarray(std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                 std::vector<int64_t> starts, int order, ExprPtr old)
{
    return make(Maker::Subarray, [&](Expr &e) {
        e.sizes = std::move(sizes);
        e.subsizes = std::move(subsizes);
        e.starts = std::move(starts);
        e.order = order;
        e.children = {std::move(old)};
    });
}

std::string to_text(const Expr &expr)
{
    std::ostringstream out;
    write(out, expr);
    return out.str();
}

int depth(const Expr &expr)
{
    int deepest = -1;
    for (const ExprPtr &child : expr.children)
        deepest = std::max(deepest, depth(*child));
    return deepest + 1;
}

ExprPtr undup(ExprPtr expr)
{
    while (expr->maker == Maker::Dup)
        expr = expr->children.front();
    return expr;
}

namespace {

bool fits_int(int64_t n) { return n >= INT_MIN && n <= INT_MAX; }

/* By the call with arrays of int, where these can hold the numbers, of every other number of
 * blocks. */
int make_indexed(const std::vector<int64_t> &lengths, const std::vector<int64_t> &displacements,
                 heddle_type *old, heddle_type **made)
{
    const auto blocks = static_cast<int64_t>(displacements.size());
    if (blocks % 2 == 0 || !std::all_of(lengths.begin(), lengths.end(), fits_int) ||
        !std::all_of(displacements.begin(), displacements.end(), fits_int))
        return heddle_type_indexed(blocks, lengths.data(), displacements.data(), old, made);
    const std::vector<int> short_lengths(lengths.begin(), lengths.end()),
        short_displacements(displacements.begin(), displacements.end());
    return heddle_type_indexed_int(blocks, short_lengths.data(), short_displacements.data(), old,
                                   made);
}

/* The call that makes `e` of its old types. */
int construct(const Expr &e, const std::vector<heddle_type *> &olds, heddle_type **made)
{
    heddle_type *const old = olds.empty() ? nullptr : olds.front(); // a struct may have none
    const auto blocks = static_cast<int64_t>(e.displacements.size());
    const int64_t *const lengths = e.blocklengths.data();
    const int64_t *const displacements = e.displacements.data();
    switch (e.maker) {
    case Maker::Predefined:
        break;
    case Maker::Contiguous:
        return heddle_type_contiguous(e.count, old, made);
    case Maker::Vector:
        return heddle_type_vector(e.count, e.blocklength, e.stride, old, made);
    case Maker::Hvector:
        return heddle_type_hvector(e.count, e.blocklength, e.stride, old, made);
    case Maker::Indexed:
        return make_indexed(e.blocklengths, e.displacements, old, made);
    case Maker::Hindexed:
        return heddle_type_hindexed(blocks, lengths, displacements, old, made);
    case Maker::IndexedBlock:
        return heddle_type_indexed_block(blocks, e.blocklength, displacements, old, made);
    case Maker::HindexedBlock:
        return heddle_type_hindexed_block(blocks, e.blocklength, displacements, old, made);
    case Maker::Struct:
        return heddle_type_struct(blocks, lengths, displacements, olds.data(), made);
    case Maker::Resized:
        return heddle_type_resized(old, e.lb, e.extent, made);
    case Maker::Dup:
        return heddle_type_dup(old, made);
    case Maker::Subarray:
        return heddle_type_subarray(static_cast<int>(e.sizes.size()), e.sizes.data(),
                                    e.subsizes.data(), e.starts.data(), e.order, old, made);
    }
    throw std::logic_error("unknown constructor");
}

using Built = std::map<const Expr *, Type>;

Type build(const Expr &e, Built &built)
{
    if (e.maker == Maker::Predefined)
        return Type(heddle_type_predefined(e.predefined));
    if (const auto known = built.find(&e); known != built.end())
        return known->second;

    std::vector<Type> olds;
    std::vector<heddle_type *> raw;
    for (const ExprPtr &child : e.children) {
        olds.push_back(build(*child, built));
        raw.push_back(olds.back().get());
        built[child.get()] = olds.back();
    }
    heddle_type *made = nullptr;
    if (const int error = construct(e, raw, &made))
        throw std::runtime_error(to_text(e) + ": " + heddle_strerror(error));
    return Type(made);
}

} // namespace

Type build(const Expr &expr)
{
    Built built;
    return build(expr, built);
}

} // namespace oracle
