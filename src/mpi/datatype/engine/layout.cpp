// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include "checked.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace heddle {

namespace {

// A block seen as a run of units: what blocks, runs and concat merge by. A dense block is a run of bytes.
struct Run {
    int64_t len;
    int64_t stride;
    NodePtr unit;
};

NodePtr make_dense(int64_t bytes, uint8_t label)
{
    auto n = std::make_shared<Node>();
    n->label = label;
    n->bytes = bytes;
    n->runs = bytes > 0;
    return n;
}

const NodePtr &byte_unit(uint8_t label)
{
    static const auto units = [] {
        std::vector<NodePtr> v;
        for (int i = 0; i <= HEDDLE_MIXED; ++i)
            v.push_back(make_dense(1, static_cast<uint8_t>(i)));
        return v;
    }();
    return units[label];
}

bool is_byte_unit(const NodePtr &n)
{
    return n->form == Form::dense && n->bytes == 1;
}

std::shared_ptr<Node> make(Form form, uint8_t label, int64_t bytes, int64_t runs, int depth)
{
    if (depth > HEDDLE_MAX_DEPTH)
        throw Error{HEDDLE_ERR_DEPTH};
    auto n = std::make_shared<Node>();
    n->form = form;
    n->label = label;
    n->bytes = bytes;
    n->runs = runs;
    n->depth = static_cast<int16_t>(depth);
    return n;
}

// One block: a child, or several of them.
Run as_run(const NodePtr &n)
{
    if (n->form == Form::dense)
        return {n->bytes, 1, byte_unit(n->label)};
    if (n->form == Form::stream)
        return {n->count, n->stride, n->child};
    return {1, 0, n};
}

Placed from_run(int64_t displ, const Run &r)
{
    if (is_byte_unit(r.unit) && r.stride == 1)
        return {displ, make_dense(r.len, r.unit->label)};
    return stream(r.len, r.stride, {displ, r.unit});
}

// The steps of the first group of a nested arithmetic progression: m displacements one step apart,
// then the next group. Returns m where every group looks so and none continues the one before, else 1.
size_t period(std::span<const int64_t> d)
{
    const int64_t step = sub(d[1], d[0]);
    size_t m = 2;
    while (m < d.size() && sub(d[m], d[m - 1]) == step)
        ++m;
    if (m == d.size() || d.size() % m != 0)
        return m == d.size() ? m : 1;
    for (size_t i = 1; i < d.size(); ++i)
        if ((sub(d[i], d[i - 1]) == step) != (i % m != 0))
            return 1;
    return m;
}

// Equal blocks. Regular displacements become streams, nested ones nested streams.
Placed gather(std::vector<int64_t> displs, const NodePtr &block)
{
    // Below this many blocks a group, an irregular list of groups is no better than one of blocks.
    constexpr size_t worthwhile = 4;
    std::vector<int64_t> d = std::move(displs);
    NodePtr child = block;
    std::vector<int64_t> before;
    NodePtr child_before;
    while (d.size() > 1) {
        const size_t m = period(d);
        if (m == 1)
            break;
        if (m < worthwhile && m < d.size() && before.empty()) {
            before = d;
            child_before = child;
        } else if (m >= worthwhile && m < d.size()) {
            before.clear();
        }
        child = stream(static_cast<int64_t>(m), sub(d[1], d[0]), {0, child}).node;
        for (size_t i = 0; i * m < d.size(); ++i)
            d[i] = d[i * m];
        d.resize(d.size() / m);
    }
    if (d.size() == 1)
        return {d[0], child};
    if (!before.empty()) {
        d = std::move(before);
        child = child_before;
    }
    const int64_t first = d[0];
    for (int64_t &x : d)
        x = sub(x, first);
    d.shrink_to_fit();
    const auto n = static_cast<int64_t>(d.size());
    auto node = make(Form::gather, child->label, mul(n, child->bytes), mul(n, child->runs), child->depth + 1);
    node->count = n;
    node->child = child;
    node->blocks = std::make_unique<Blocks>();
    node->blocks->displs = std::move(d);
    return {first, node};
}

// Blocks of `lens[i]` units, nonempty all: neighbours that touch merge, then the simplest form serves.
Placed runs(std::vector<int64_t> displs, std::vector<int64_t> lens, int64_t stride, const NodePtr &unit)
{
    size_t n = 0;
    for (size_t i = 1; i < displs.size(); ++i) {
        if (displs[i] == add(displs[n], mul(lens[n], stride))) {
            lens[n] = add(lens[n], lens[i]);
        } else {
            ++n;
            displs[n] = displs[i];
            lens[n] = lens[i];
        }
    }
    displs.resize(n + 1);
    lens.resize(n + 1);
    if (std::all_of(lens.begin(), lens.end(), [&](int64_t l) { return l == lens[0]; })) {
        Placed block = from_run(0, {lens[0], stride, unit});
        return gather(std::move(displs), block.node);
    }
    const int64_t first = displs[0];
    std::vector<int64_t> prefix(displs.size() + 1, 0);
    for (size_t i = 0; i < displs.size(); ++i) {
        prefix[i + 1] = add(prefix[i], lens[i]);
        displs[i] = sub(displs[i], first);
    }
    displs.shrink_to_fit();
    const int64_t total = prefix.back();
    const bool bytes = is_byte_unit(unit) && stride == 1;
    auto node = make(Form::runs, unit->label, mul(total, unit->bytes),
                     bytes ? static_cast<int64_t>(displs.size()) : mul(total, unit->runs), unit->depth + 1);
    node->count = static_cast<int64_t>(displs.size());
    node->stride = stride;
    node->child = unit;
    node->blocks = std::make_unique<Blocks>();
    node->blocks->displs = std::move(displs);
    node->blocks->prefix = std::move(prefix);
    return {first, node};
}

} // namespace

int64_t Node::memory() const
{
    constexpr int64_t control = 2 * sizeof(void *); // make_shared's counters
    int64_t m = sizeof(Node) + control;
    if (blocks)
        m += static_cast<int64_t>(sizeof(Blocks) + blocks->displs.capacity() * sizeof(int64_t) +
                                  blocks->prefix.capacity() * sizeof(int64_t) +
                                  blocks->members.capacity() * sizeof(Placed));
    return m;
}

Placed empty()
{
    static const NodePtr nothing = make_dense(0, HEDDLE_MIXED);
    return {0, nothing};
}

Placed dense(int64_t bytes, heddle_predefined label)
{
    if (bytes == 0)
        return empty();
    return {0, make_dense(bytes, static_cast<uint8_t>(label))};
}

Placed stream(int64_t count, int64_t stride, const Placed &child)
{
    const NodePtr &c = child.node;
    if (count == 0 || c->bytes == 0)
        return empty();
    if (count == 1)
        return child;
    const int64_t bytes = mul(count, c->bytes);
    if (c->form == Form::dense && stride == c->bytes)
        return {child.displ, make_dense(bytes, c->label)};
    if (c->form == Form::stream && stride == mul(c->count, c->stride))
        return stream(mul(count, c->count), c->stride, {child.displ, c->child});
    auto n = make(Form::stream, c->label, bytes, mul(count, c->runs), c->depth + 1);
    n->count = count;
    n->stride = stride;
    n->child = c;
    return {child.displ, n};
}

Placed blocks(std::span<const int64_t> displs, std::span<const int64_t> lens, int64_t len, int64_t stride,
              const Placed &child)
{
    if (child.node->bytes == 0)
        return empty();
    std::vector<int64_t> d, l;
    d.reserve(displs.size());
    l.reserve(displs.size());
    bool single = true;
    for (size_t i = 0; i < displs.size(); ++i) {
        const int64_t n = lens.empty() ? len : lens[i];
        if (n == 0)
            continue;
        single = single && n == 1;
        d.push_back(add(displs[i], child.displ));
        l.push_back(n);
    }
    if (d.empty())
        return empty();
    // The units of a block: the children themselves, or their parts where these follow one another evenly.
    Run unit = as_run(child.node);
    if (single || (unit.stride != 0 && stride == mul(unit.len, unit.stride))) {
        for (int64_t &n : l)
            n = mul(n, unit.len);
    } else {
        unit = {1, stride, child.node};
    }
    return runs(std::move(d), std::move(l), unit.stride, unit.unit);
}

Placed concat(std::vector<Placed> members)
{
    // Members that are small structs themselves are spliced in. What results is no small one unless it
    // has few members, so a list cannot double with every level of nesting.
    constexpr size_t splice_limit = 8;
    std::vector<Placed> flat;
    flat.reserve(members.size());
    for (const Placed &m : members) {
        if (m.node->bytes == 0)
            continue;
        if (m.node->form == Form::concat && m.node->blocks->members.size() <= splice_limit) {
            for (const Placed &inner : m.node->blocks->members)
                flat.push_back({add(m.displ, inner.displ), inner.node});
        } else {
            flat.push_back(m);
        }
    }
    if (flat.empty())
        return empty();

    // Neighbours that touch merge.
    size_t n = 0;
    Run last = as_run(flat[0].node);
    bool uniform = true; // every member is a run of the same unit
    for (size_t i = 1; i < flat.size(); ++i) {
        Run next = as_run(flat[i].node);
        const bool same = next.stride == last.stride && equal(next.unit, last.unit);
        if (same && last.stride != 0 && flat[i].displ == add(flat[n].displ, mul(last.len, last.stride))) {
            last.len = add(last.len, next.len);
            flat[n] = from_run(flat[n].displ, last);
        } else {
            uniform = uniform && same;
            flat[++n] = flat[i];
            last = std::move(next);
        }
    }
    flat.resize(n + 1);
    if (flat.size() == 1)
        return flat[0];
    if (uniform) {
        std::vector<int64_t> d, l;
        for (const Placed &m : flat) {
            d.push_back(m.displ);
            l.push_back(as_run(m.node).len);
        }
        return runs(std::move(d), std::move(l), last.stride, last.unit);
    }

    const int64_t first = flat[0].displ;
    int64_t bytes = 0, count_runs = 0;
    int depth = 0;
    uint8_t label = flat[0].node->label;
    for (Placed &m : flat) {
        m.displ = sub(m.displ, first);
        bytes = add(bytes, m.node->bytes);
        count_runs = add(count_runs, m.node->runs);
        depth = std::max<int>(depth, m.node->depth);
        if (m.node->label != label)
            label = HEDDLE_MIXED;
    }
    flat.shrink_to_fit();
    auto node = make(Form::concat, label, bytes, count_runs, depth + 1);
    node->count = static_cast<int64_t>(flat.size());
    node->blocks = std::make_unique<Blocks>();
    node->blocks->members = std::move(flat);
    return {first, node};
}

namespace {

// Shared nodes are erased once: a type may hold itself many times over.
struct Eraser {
    std::unordered_map<const Node *, Placed> done;

    Placed operator()(const Placed &p)
    {
        auto it = done.find(p.node.get());
        if (it == done.end())
            it = done.emplace(p.node.get(), rebuild(*p.node)).first;
        return {add(p.displ, it->second.displ), it->second.node};
    }

    Placed rebuild(const Node &n)
    {
        switch (n.form) {
        case Form::dense:
            return dense(n.bytes, HEDDLE_BYTE);
        case Form::stream:
            return stream(n.count, n.stride, (*this)({0, n.child}));
        case Form::gather:
            return heddle::blocks(n.blocks->displs, {}, 1, 0, (*this)({0, n.child}));
        case Form::runs: {
            std::vector<int64_t> lens(static_cast<size_t>(n.count));
            for (size_t i = 0; i < lens.size(); ++i)
                lens[i] = n.blocks->prefix[i + 1] - n.blocks->prefix[i];
            return heddle::blocks(n.blocks->displs, lens, 0, n.stride, (*this)({0, n.child}));
        }
        case Form::concat: {
            std::vector<Placed> members;
            members.reserve(n.blocks->members.size());
            for (const Placed &m : n.blocks->members)
                members.push_back((*this)(m));
            return concat(std::move(members));
        }
        }
        return empty();
    }
};

} // namespace

Placed erase(const Placed &layout)
{
    return layout.node->label == HEDDLE_MIXED ? Eraser{}(layout) : layout;
}

namespace {

// Nodes may be shared, so that comparing them one by one could take exponential time: after `budget`
// comparisons two nodes count as different, and merely stay apart.
bool equal_within(const NodePtr &a, const NodePtr &b, int &budget)
{
    if (a == b)
        return true;
    if (--budget < 0 || a->form != b->form || a->label != b->label || a->bytes != b->bytes || a->runs != b->runs ||
        a->count != b->count || a->stride != b->stride || a->depth != b->depth)
        return false;
    if (a->child && !equal_within(a->child, b->child, budget))
        return false;
    if (!a->blocks)
        return true;
    if (a->blocks->displs != b->blocks->displs || a->blocks->prefix != b->blocks->prefix)
        return false;
    return std::equal(a->blocks->members.begin(), a->blocks->members.end(), b->blocks->members.begin(),
                      b->blocks->members.end(), [&](const Placed &x, const Placed &y) {
                          return x.displ == y.displ && equal_within(x.node, y.node, budget);
                      });
}

} // namespace

bool equal(const NodePtr &a, const NodePtr &b)
{
    int budget = 4096;
    return equal_within(a, b, budget);
}

namespace {

void write(std::string &out, const Node &n)
{
    if (out.size() > describe_limit)
        throw Error{HEDDLE_ERR_OVERFLOW};
    auto num = [&](int64_t x) { out += std::to_string(x); };
    switch (n.form) {
    case Form::dense:
        out += "dense(";
        num(n.bytes);
        break;
    case Form::stream:
        out += "stream(";
        num(n.count);
        out += ',';
        num(n.stride);
        out += ',';
        write(out, *n.child);
        break;
    case Form::gather:
    case Form::runs:
        out += n.form == Form::gather ? "gather([" : "runs([";
        for (size_t i = 0; i < n.blocks->displs.size(); ++i) {
            if (i)
                out += ',';
            num(n.blocks->displs[i]);
            if (n.form == Form::runs) {
                out += ':';
                num(n.blocks->prefix[i + 1] - n.blocks->prefix[i]);
            }
        }
        out += "],";
        if (n.form == Form::runs) {
            num(n.stride);
            out += ',';
        }
        write(out, *n.child);
        break;
    case Form::concat: {
        out += "concat(";
        bool first = true;
        for (const Placed &m : n.blocks->members) {
            if (!first)
                out += ',';
            first = false;
            num(m.displ);
            out += '+';
            write(out, *m.node);
        }
        break;
    }
    }
    out += ')';
}

} // namespace

std::string describe(const Placed &layout)
{
    std::string out = std::to_string(layout.displ) + "+";
    write(out, *layout.node);
    return out;
}

} // namespace heddle
