// SPDX-License-Identifier: BSD-3-Clause
// A grid is a Cartesian product of paths and cycles, and each edge is of one dimension. Opposite
// edges of a square are of the same. So are two edges of a vertex, unless they are in exactly one
// square without a chord (T. Feder, Product Graph Representations, J. Graph Theory 16, 1992).
// Without its edges the graph falls into the layers of a dimension.
#include "placement/lattice.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

namespace heddle::placement {

namespace {

constexpr size_t kMostDimensions = 8;
constexpr size_t kMostCuts = 6;

// A neighbour along an axis, and the number of the edge to it.
struct Link {
    int32_t to;
    int32_t edge;
};

// The edges along the axes.
class Axes {
public:
    // `is_along(v, arc)` is the same from both ends.
    Axes(const Graph &graph, int32_t used,
         const std::function<bool(int32_t, const Arc &)> &is_along)
        : links_(static_cast<size_t>(used))
    {
        for (int32_t v = 0; v < used; ++v)
            for (const Arc &arc : graph.of(v))
                if (v < arc.to && is_along(v, arc)) {
                    links_[static_cast<size_t>(v)].push_back({arc.to, edges_});
                    links_[static_cast<size_t>(arc.to)].push_back({v, edges_++});
                }
    }

    std::span<const Link> of(int32_t v) const { return links_[static_cast<size_t>(v)]; }
    int32_t vertices() const { return static_cast<int32_t>(links_.size()); }
    int32_t edges() const { return edges_; }
    // For two links of each vertex, how the links of their ends meet.
    int64_t steps() const
    {
        int64_t sum = 0;
        for (const auto &links : links_) {
            const auto squared = static_cast<int64_t>(links.size() * links.size());
            sum += squared * squared / 2;
        }
        return sum;
    }
    // Each vertex has neighbours, and not more than a grid's.
    bool may_be_grid() const
    {
        return std::all_of(links_.begin(), links_.end(), [](const auto &links) {
            return !links.empty() && links.size() <= 2 * kMostDimensions;
        });
    }

private:
    std::vector<std::vector<Link>> links_;
    int32_t edges_ = 0;
};

// Sets of edges, or of vertices, that are joined.
class Sets {
public:
    explicit Sets(int32_t n) : parent_(static_cast<size_t>(n))
    {
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    int32_t of(int32_t i)
    {
        while (parent(i) != i)
            i = parent(i) = parent(parent(i));
        return i;
    }
    void join(int32_t a, int32_t b) { parent(of(a)) = of(b); }
    // The sets' numbers, from 0 on; how many there are.
    int32_t number(std::vector<int32_t> &numbers)
    {
        int32_t count = 0;
        numbers.assign(parent_.size(), -1);
        for (int32_t i = 0; i < static_cast<int32_t>(parent_.size()); ++i) {
            int32_t &of_set = numbers[static_cast<size_t>(of(i))];
            of_set = of_set < 0 ? count++ : of_set;
            numbers[static_cast<size_t>(i)] = of_set;
        }
        return count;
    }

private:
    int32_t &parent(int32_t i) { return parent_[static_cast<size_t>(i)]; }

    std::vector<int32_t> parent_;
};

// The dimension of each edge; empty where there are too many of them.
class Classes {
public:
    explicit Classes(const Axes &axes) : axes_(axes), sets_(axes.edges())
    {
        for (int32_t v = 0; v < axes.vertices(); ++v) {
            const auto links = axes.of(v);
            for (size_t i = 0; i < links.size(); ++i)
                for (size_t j = i + 1; j < links.size(); ++j)
                    relate(v, links[i], links[j]);
        }
    }

    int32_t number(std::vector<int32_t> &classes) { return sets_.number(classes); }

private:
    const Link *link(int32_t from, int32_t to) const
    {
        for (const Link &each : axes_.of(from))
            if (each.to == to)
                return &each;
        return nullptr;
    }

    void relate(int32_t v, const Link &a, const Link &b)
    {
        const Link *across_a = nullptr, *across_b = nullptr;
        int squares = 0;
        for (const Link &each : axes_.of(a.to))
            if (const Link *other = each.to == v ? nullptr : link(b.to, each.to)) {
                ++squares;
                across_a = other; // beside b, so opposite to a
                across_b = &each;
            }
        if (squares != 1 || link(a.to, b.to) || link(v, across_b->to)) {
            sets_.join(a.edge, b.edge);
            return;
        }
        sets_.join(a.edge, across_a->edge);
        sets_.join(b.edge, across_b->edge);
    }

    const Axes &axes_;
    Sets sets_;
};

// Layers that follow each other along one dimension: the place of each, if they form a path or a
// cycle.
std::optional<std::vector<int32_t>> line_up(const std::vector<std::vector<int32_t>> &neighbours)
{
    size_t at = 0;
    for (size_t i = neighbours.size(); i-- > 0;) {
        if (neighbours[i].empty() || neighbours[i].size() > 2)
            return {};
        at = neighbours[i].size() == 1 ? i : at;
    }
    std::vector<int32_t> place(neighbours.size(), -1);
    for (int32_t next = 0;; ++next) {
        place[at] = next;
        const auto found =
            std::find_if(neighbours[at].begin(), neighbours[at].end(),
                         [&](int32_t layer) { return place[static_cast<size_t>(layer)] < 0; });
        if (found == neighbours[at].end())
            break;
        at = static_cast<size_t>(*found);
    }
    if (std::find(place.begin(), place.end(), -1) != place.end())
        return {};
    return place;
}

// The place of each vertex along one dimension, and how many there are.
std::optional<int32_t> coordinates(const Axes &axes, const std::vector<int32_t> &classes,
                                   int32_t dimension, std::vector<int32_t> &coordinate)
{
    const auto is_in = [&](const Link &link) {
        return classes[static_cast<size_t>(link.edge)] == dimension;
    };
    Sets sets(axes.vertices());
    for (int32_t v = 0; v < axes.vertices(); ++v)
        for (const Link &link : axes.of(v))
            if (!is_in(link))
                sets.join(v, link.to);
    std::vector<int32_t> layer;
    const int32_t layers = sets.number(layer);
    std::vector<std::vector<int32_t>> neighbours(static_cast<size_t>(layers));
    for (int32_t v = 0; v < axes.vertices(); ++v)
        for (const Link &link : axes.of(v)) {
            auto &known = neighbours[static_cast<size_t>(layer[static_cast<size_t>(v)])];
            const int32_t other = layer[static_cast<size_t>(link.to)];
            if (!is_in(link) || std::find(known.begin(), known.end(), other) != known.end())
                continue;
            if (other == layer[static_cast<size_t>(v)] || known.size() == 2)
                return {};
            known.push_back(other);
        }
    const auto place = line_up(neighbours);
    if (!place)
        return {};
    coordinate.resize(layer.size());
    for (size_t v = 0; v < layer.size(); ++v)
        coordinate[v] = (*place)[static_cast<size_t>(layer[v])];
    return layers;
}

std::optional<Lattice> lattice_of(const Axes &axes, Budget &budget)
{
    if (!axes.may_be_grid() || !budget.take(axes.steps()))
        return {};
    std::vector<int32_t> classes;
    const int32_t dimensions = Classes(axes).number(classes);
    if (dimensions > static_cast<int32_t>(kMostDimensions))
        return {};
    Lattice made;
    made.number.assign(static_cast<size_t>(axes.vertices()), 0);
    int64_t cells = 1;
    for (int32_t d = 0; d < dimensions; ++d) {
        std::vector<int32_t> coordinate;
        const auto extent = coordinates(axes, classes, d, coordinate);
        cells *= extent.value_or(0);
        if (!extent || cells > axes.vertices())
            return {};
        made.extents.push_back(*extent);
        for (size_t v = 0; v < coordinate.size(); ++v)
            made.number[v] = made.number[v] * *extent + coordinate[v];
    }
    std::vector<bool> is_taken(made.number.size(), false);
    for (const int32_t number : made.number)
        is_taken[static_cast<size_t>(number)] = true;
    if (cells != axes.vertices() || !std::all_of(is_taken.begin(), is_taken.end(), std::identity()))
        return {};
    return made;
}

// Weights that are at least twice the next smaller one, the largest first.
std::vector<int64_t> cuts_of(const Graph &graph, int32_t used)
{
    std::vector<int64_t> weights;
    for (int32_t v = 0; v < used; ++v)
        for (const Arc &arc : graph.of(v))
            weights.push_back(arc.weight);
    std::sort(weights.begin(), weights.end(), std::greater());
    std::vector<int64_t> cuts;
    for (size_t i = 0; i < weights.size() && cuts.size() < kMostCuts; ++i)
        if (i + 1 == weights.size() || weights[i + 1] <= weights[i] / 2)
            cuts.push_back(weights[i]);
    return cuts;
}

// The edges along the axes of a grid that has those across corners, too, all of one weight: what is
// left without the others is its Cartesian skeleton (R. Hammack, W. Imrich, On Cartesian Skeletons
// of Graphs, Ars Math. Contemp. 2, 2009). Sets of neighbours are compared by their sizes.
class Skeleton {
public:
    Skeleton(const Graph &graph, int32_t used) : graph_(graph)
    {
        for (int32_t v = 0; v < used; ++v)
            for (const Arc &arc : graph.of(v)) {
                size_t common = 2; // the two themselves
                each_common(v, arc.to, [&](size_t, size_t) { ++common; });
                common_.push_back(common);
            }
    }

    bool has(int32_t x, const Arc &arc) const
    {
        const int32_t y = arc.to;
        const size_t here = common_[number(arc)], at_x = around(x), at_y = around(y);
        bool is_needed = true;
        each_common(x, y, [&](size_t from_x, size_t from_y) {
            const size_t to_x = common_[from_x], to_y = common_[from_y];
            const size_t at_z = around(arcs_at(from_x).to);
            const bool is_between_up = to_x == at_x && at_x < at_z && to_y == at_z && at_z < at_y;
            const bool is_between_down = to_y == at_y && at_y < at_z && to_x == at_z && at_z < at_x;
            if ((to_x > here || is_between_up) && (to_y > here || is_between_down))
                is_needed = false;
        });
        return is_needed;
    }

private:
    // The neighbours of a vertex, and itself.
    size_t around(int32_t v) const { return graph_.of(v).size() + 1; }
    const Arc &arcs_at(size_t number) const { return graph_.of(0).data()[number]; }
    size_t number(const Arc &arc) const { return static_cast<size_t>(&arc - graph_.of(0).data()); }

    // The numbers of the arcs to each common neighbour.
    template <class Function> void each_common(int32_t v, int32_t u, Function function) const
    {
        const auto a = graph_.of(v), b = graph_.of(u);
        for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
            if (a[i].to == b[j].to)
                function(number(a[i++]), number(b[j++]));
            else if (a[i].to < b[j].to)
                ++i;
            else
                ++j;
        }
    }

    const Graph &graph_;
    std::vector<size_t> common_; // of each arc's ends
};

} // namespace

std::optional<Lattice> lattice(const Graph &graph, int32_t used, Budget &budget)
{
    const auto arcs = static_cast<int64_t>(graph.arcs());
    if (!budget.take(20 * arcs))
        return {};
    for (const int64_t least : cuts_of(graph, used)) {
        if (!budget.take(20 * arcs))
            return {};
        const Axes axes(graph, used, [&](int32_t, const Arc &arc) { return arc.weight >= least; });
        if (auto found = lattice_of(axes, budget))
            return found;
    }
    int64_t squares = 0; // it looks at the neighbours of neighbours
    for (int32_t v = 0; v < used; ++v)
        squares += static_cast<int64_t>(graph.of(v).size() * graph.of(v).size());
    if (!budget.take(4 * squares + 20 * arcs))
        return {};
    const Skeleton skeleton(graph, used);
    const Axes axes(graph, used, [&](int32_t v, const Arc &arc) { return skeleton.has(v, arc); });
    return lattice_of(axes, budget);
}

} // namespace heddle::placement
