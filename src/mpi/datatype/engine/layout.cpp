// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include "checked.hpp"
#include "digest.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace heddle {

namespace {

// A block seen as a run of units: what blocks, runs and concat merge by. A dense block is a run of
// bytes.
struct Run {
    int64_t len;
    int64_t stride;
    const NodePtr *unit; // of the block, or static
};

NodePtr make_dense(int64_t bytes, uint8_t label)
{
    auto n = std::make_shared<Node>();
    n->label = label;
    n->consecutive = true;
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

bool is_byte_unit(const NodePtr &n) { return n->form == Form::dense && n->bytes == 1; }

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
        return {n->bytes, 1, &byte_unit(n->label)};
    if (n->form == Form::stream)
        return {n->count, n->stride, &n->child};
    return {1, 0, &n};
}

Placed from_run(int64_t displ, const Run &r)
{
    const NodePtr &unit = *r.unit;
    if (is_byte_unit(unit) && r.stride == 1)
        return {displ, make_dense(r.len, unit->label)};
    return stream(r.len, r.stride, {displ, unit});
}

bool same_units(const Run &a, const Run &b)
{
    return a.stride == b.stride && equal(*a.unit, *b.unit);
}

// Whether a block at `next` continues the run that begins at `displ`.
bool continues(int64_t displ, const Run &r, int64_t next)
{
    return r.stride != 0 && next == add(displ, mul(r.len, r.stride));
}

// The steps of the first group of a nested arithmetic progression: m displacements one step apart,
// then the next group. Returns m where every group looks so and none continues the one before,
// else 1.
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
Placed gather(std::vector<int64_t> d, const NodePtr &block)
{
    // Below this many blocks a group, an irregular list of groups is no better than one of blocks.
    constexpr size_t worthwhile = 4;
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
    if (first != 0)
        for (int64_t &x : d)
            x = sub(x, first);
    d.shrink_to_fit();
    const auto n = static_cast<int64_t>(d.size());
    auto node = make(Form::gather, child->label, mul(n, child->bytes), mul(n, child->runs),
                     child->depth + 1);
    node->count = n;
    node->child = std::move(child);
    node->blocks = std::make_unique<Blocks>();
    node->blocks->displs = std::move(d);
    return {first, node};
}

// Blocks of `lens[i]` units, nonempty all: neighbours that touch merge, then the simplest form
// serves.
Placed runs(std::vector<int64_t> displs, std::vector<int64_t> lens, int64_t stride,
            const NodePtr &unit)
{
    size_t n = 0;
    bool alike = true;
    for (size_t i = 1; i < displs.size(); ++i) {
        if (displs[i] == add(displs[n], mul(lens[n], stride))) {
            lens[n] = add(lens[n], lens[i]);
        } else {
            alike = alike && lens[n] == lens[0];
            ++n;
            displs[n] = displs[i];
            lens[n] = lens[i];
        }
    }
    alike = alike && lens[n] == lens[0];
    ++n;
    displs.resize(n);
    if (alike) {
        const Placed block = from_run(0, {lens[0], stride, &unit});
        return gather(std::move(displs), block.node);
    }
    // Of lengths to the sums of those before.
    lens.resize(n + 1);
    int64_t total = 0;
    for (int64_t &l : lens)
        l = std::exchange(total, add(total, l));
    const int64_t first = displs[0];
    if (first != 0)
        for (int64_t &x : displs)
            x = sub(x, first);
    displs.shrink_to_fit();
    lens.shrink_to_fit();
    total = lens.back();
    const bool bytes = is_byte_unit(unit) && stride == 1;
    auto node = make(Form::runs, unit->label, mul(total, unit->bytes),
                     bytes ? static_cast<int64_t>(n) : mul(total, unit->runs), unit->depth + 1);
    node->count = static_cast<int64_t>(n);
    node->stride = stride;
    node->child = unit;
    node->blocks = std::make_unique<Blocks>();
    node->blocks->displs = std::move(displs);
    node->blocks->prefix = std::move(lens);
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
    n->consecutive = c->consecutive && stride == c->bytes;
    n->count = count;
    n->stride = stride;
    n->child = c;
    return {child.displ, n};
}

Placed blocks(std::vector<int64_t> displs, std::span<const int64_t> lens, int64_t len,
              int64_t stride, const Placed &child)
{
    if (child.node->bytes == 0 || (lens.empty() && len == 0))
        return empty();
    std::vector<int64_t> l;
    bool single = len == 1;
    if (!lens.empty()) { // those of the nonempty blocks
        single = true;
        l.reserve(lens.size() + 1); // runs() makes sums of them
        for (size_t i = 0; i < lens.size(); ++i) {
            if (lens[i] == 0)
                continue;
            single = single && lens[i] == 1;
            displs[l.size()] = displs[i];
            l.push_back(lens[i]);
        }
        displs.resize(l.size());
    }
    if (displs.empty())
        return empty();
    if (child.displ != 0)
        for (int64_t &d : displs)
            d = add(d, child.displ);
    // The units of a block: the children themselves, or their parts where these follow one another
    // evenly.
    Run unit = as_run(child.node);
    if (!single && (unit.stride == 0 || stride != mul(unit.len, unit.stride)))
        unit = {1, stride, &child.node};
    if (lens.empty()) {
        const int64_t n = mul(len, unit.len), length = mul(n, unit.stride);
        const auto touch = [&](int64_t a, int64_t b) { return b == add(a, length); };
        if (std::adjacent_find(displs.begin(), displs.end(), touch) == displs.end()) {
            const Placed block = from_run(0, {n, unit.stride, unit.unit});
            return gather(std::move(displs), block.node);
        }
        l.assign(displs.size(), n);
    } else if (unit.len != 1) {
        for (int64_t &n : l)
            n = mul(n, unit.len);
    }
    return runs(std::move(displs), std::move(l), unit.stride, *unit.unit);
}

namespace {

// Members that are small structs themselves are spliced in. What results is no small one unless it
// has few members, so a list cannot double with every level of nesting.
std::vector<Placed> spliced(std::vector<Placed> members)
{
    constexpr size_t splice_limit = 16;
    const auto is_small = [](const Node &n) {
        return n.form == Form::concat && n.blocks->members.size() <= splice_limit;
    };
    const auto is_member = [&](const Placed &m) { return m.node->bytes > 0 && !is_small(*m.node); };
    if (std::all_of(members.begin(), members.end(), is_member))
        return members;
    std::vector<Placed> flat;
    flat.reserve(members.size());
    for (Placed &m : members) {
        if (is_member(m))
            flat.push_back(std::move(m));
        else if (m.node->bytes > 0)
            for (const Placed &inner : m.node->blocks->members)
                flat.push_back({add(m.displ, inner.displ), inner.node});
    }
    return flat;
}

// Neighbours that touch become one.
void merge_neighbours(std::vector<Placed> &members)
{
    size_t n = 0;
    for (size_t i = 0; i < members.size(); ++n) {
        const int64_t displ = members[i].displ;
        Run all = as_run(members[i].node);
        size_t end = i + 1;
        for (; end < members.size(); ++end) {
            const Run next = as_run(members[end].node);
            if (!same_units(all, next) || !continues(displ, all, members[end].displ))
                break;
            all.len = add(all.len, next.len);
        }
        if (end - i > 1)
            members[n] = from_run(displ, all);
        else if (n != i)
            members[n] = std::move(members[i]);
        i = end;
    }
    members.resize(n);
}

Placed make_concat(std::vector<Placed> members)
{
    const int64_t first = members[0].displ;
    int64_t bytes = 0, count_runs = 0;
    int depth = 0;
    uint8_t label = members[0].node->label;
    bool consecutive = true;
    for (Placed &m : members) {
        m.displ = sub(m.displ, first);
        consecutive = consecutive && m.node->consecutive && m.displ == bytes;
        bytes = add(bytes, m.node->bytes);
        count_runs = add(count_runs, m.node->runs);
        depth = std::max<int>(depth, m.node->depth);
        if (m.node->label != label)
            label = HEDDLE_MIXED;
    }
    members.shrink_to_fit();
    auto node = make(Form::concat, label, bytes, count_runs, depth + 1);
    node->consecutive = consecutive;
    node->count = static_cast<int64_t>(members.size());
    node->blocks = std::make_unique<Blocks>();
    node->blocks->members = std::move(members);
    return {first, node};
}

} // namespace

Placed concat(std::vector<Placed> members)
{
    members = spliced(std::move(members));
    if (members.empty())
        return empty();
    bool uniform = true; // every member is a run of the same unit
    bool touch = false;  // some member continues the one before it
    for (size_t i = 1; i < members.size(); ++i) {
        const Run last = as_run(members[i - 1].node);
        const bool same = same_units(last, as_run(members[i].node));
        uniform = uniform && same;
        touch = touch || (same && continues(members[i - 1].displ, last, members[i].displ));
    }
    if (uniform && members.size() > 1) {
        std::vector<int64_t> d, l;
        d.reserve(members.size());
        l.reserve(members.size() + 1);
        for (const Placed &m : members) {
            d.push_back(m.displ);
            l.push_back(as_run(m.node).len);
        }
        const Run unit = as_run(members[0].node);
        return runs(std::move(d), std::move(l), unit.stride, *unit.unit);
    }
    if (touch)
        merge_neighbours(members);
    return members.size() == 1 ? members[0] : make_concat(std::move(members));
}

namespace {

// Shared nodes are erased once: a type may hold itself many times over.
struct Eraser {
    std::unordered_map<const Node *, Placed> done;

    Placed operator()(const Placed &p)
    {
        if (p.node.use_count() == 1) // occurs here alone
            return moved(rebuild(*p.node), p.displ);
        auto it = done.find(p.node.get());
        if (it == done.end())
            it = done.emplace(p.node.get(), rebuild(*p.node)).first;
        return moved(it->second, p.displ);
    }

    static Placed moved(Placed p, int64_t displ)
    {
        p.displ = add(p.displ, displ);
        return p;
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
        case Form::concat:
            return rebuild(n.blocks->members);
        }
        return empty();
    }

    Placed rebuild(const std::vector<Placed> &members)
    {
        if (std::all_of(members.begin(), members.end(),
                        [](const Placed &m) { return m.node->form == Form::dense; }))
            return runs_of_bytes(members);
        std::vector<Placed> erased;
        erased.reserve(members.size());
        for (const Placed &m : members)
            erased.push_back((*this)(m));
        return concat(std::move(erased));
    }

    static Placed runs_of_bytes(const std::vector<Placed> &members)
    {
        std::vector<int64_t> displs, lens;
        displs.reserve(members.size());
        lens.reserve(members.size() + 1);
        for (const Placed &m : members) {
            displs.push_back(m.displ);
            lens.push_back(m.node->bytes);
        }
        return runs(std::move(displs), std::move(lens), 1, byte_unit(HEDDLE_BYTE));
    }
};

} // namespace

Placed erase(const Placed &layout)
{
    if (layout.node->label != HEDDLE_MIXED)
        return layout;
    if (layout.node->consecutive)
        return {layout.displ, make_dense(layout.node->bytes, HEDDLE_BYTE)};
    return Eraser{}(layout);
}

namespace {

Digest digest_of(const Node &n);

Digest compute_digest(const Node &n)
{
    Digester d;
    d.add(static_cast<uint64_t>(n.form) | static_cast<uint64_t>(n.label) << 8 |
          static_cast<uint64_t>(n.depth) << 16);
    for (const int64_t word : {n.bytes, n.runs, n.count, n.stride})
        d.add(word);
    if (n.child)
        d.add(digest_of(*n.child));
    if (n.blocks) {
        for (const auto *words : {&n.blocks->displs, &n.blocks->prefix})
            for (const int64_t word : *words)
                d.add(word);
        for (const Placed &m : n.blocks->members) {
            d.add(m.displ);
            d.add(digest_of(*m.node));
        }
    }
    return d.digest();
}

Digest digest_of(const Node &n)
{
    constexpr uint64_t known = uint64_t{1} << 63;
    if (!n.blocks)
        return compute_digest(n);
    const uint64_t high = n.blocks->digest_high.load(std::memory_order_acquire);
    if (high & known)
        return {n.blocks->digest_low.load(std::memory_order_relaxed), high & ~known};
    const Digest d = compute_digest(n); // of threads that do so at once, each computes the same
    n.blocks->digest_low.store(d.low, std::memory_order_relaxed);
    n.blocks->digest_high.store(d.high | known, std::memory_order_release);
    return d;
}

bool look_alike(const Node &a, const Node &b)
{
    return a.form == b.form && a.label == b.label && a.bytes == b.bytes && a.runs == b.runs &&
           a.count == b.count && a.stride == b.stride && a.depth == b.depth;
}

} // namespace

bool equal(const NodePtr &a, const NodePtr &b)
{
    const Node *x = a.get(), *y = b.get();
    while (x != y && look_alike(*x, *y)) {
        if (x->blocks)
            return digest_of(*x) == digest_of(*y);
        x = x->child.get();
        y = y->child.get();
    }
    return x == y;
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
