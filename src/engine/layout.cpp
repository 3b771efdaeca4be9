// SPDX-License-Identifier: BSD-3-Clause
#include "engine/layout.hpp"

#include "engine/checked.hpp"
#include "engine/immortal.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
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

const NodePtr &byte_unit(uint8_t label)
{
    static Immortal<const std::vector<NodePtr>> units([] {
        std::vector<NodePtr> v;
        for (int i = 0; i <= HEDDLE_MIXED; ++i)
            v.push_back(leaf_of(1, static_cast<uint8_t>(i)));
        return v;
    }());
    return (*units)[label];
}

bool is_byte_unit(const NodePtr &n) { return n->form == Form::dense && n->bytes == 1; }

Shape make(Form form, uint8_t label, int64_t bytes, int64_t runs, int depth)
{
    if (depth > HEDDLE_MAX_DEPTH)
        throw Error{HEDDLE_ERR_DEPTH};
    Shape s;
    s.form = form;
    s.label = label;
    s.bytes = bytes;
    s.runs = runs;
    s.depth = static_cast<int16_t>(depth);
    return s;
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
        return {displ, leaf_of(r.len, unit->label)};
    return stream(r.len, r.stride, {displ, unit});
}

bool same_units(const Run &a, const Run &b) { return a.stride == b.stride && *a.unit == *b.unit; }

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

Words copy_of(const Words &words)
{
    Words copy(words.size());
    std::copy(words.all().begin(), words.all().end(), copy.data());
    return copy;
}

// Equal blocks. Regular displacements become streams, nested ones nested streams.
Placed gather(Words d, const NodePtr &block)
{
    // Below this many blocks a group, an irregular list of groups is no better than one of blocks.
    constexpr size_t worthwhile = 4;
    NodePtr child = block;
    Words before;
    NodePtr child_before;
    while (d.size() > 1) {
        const size_t m = period(d.all());
        if (m == 1)
            break;
        if (m < worthwhile && m < d.size() && before.empty()) {
            before = copy_of(d);
            child_before = child;
        } else if (m >= worthwhile && m < d.size()) {
            before = Words();
        }
        child = stream(static_cast<int64_t>(m), sub(d[1], d[0]), {0, child}).node;
        for (size_t i = 0; i * m < d.size(); ++i)
            d[i] = d[i * m];
        d.shrink(d.size() / m);
    }
    if (d.size() == 1)
        return {d[0], child};
    if (!before.empty()) {
        d = std::move(before);
        child = child_before;
    }
    const int64_t first = d[0];
    if (first != 0)
        for (size_t i = 0; i < d.size(); ++i)
            d[i] = sub(d[i], first);
    const auto n = static_cast<int64_t>(d.size());
    Shape shape = make(Form::gather, child->label, mul(n, child->bytes), mul(n, child->runs),
                       child->depth + 1);
    shape.count = n;
    shape.child = std::move(child);
    Blocks blocks;
    blocks.words = std::move(d);
    return {first, node_of(std::move(shape), std::move(blocks))};
}

// `len` units from `displ` on.
struct Block {
    int64_t displ;
    int64_t len;
};

// Merged blocks: displs[count], from the first one's on, and prefix[count + 1], as runs have them.
struct Merged {
    Words words;
    size_t count = 0;
    int64_t first = 0;

    const int64_t *displs() const { return words.data(); }
    const int64_t *prefix() const { return words.data() + count; }
};

// Of `n` blocks, block(i) each, the nonempty ones, those that touch as one. One pass without
// branches that blocks of random lengths would mislead.
template <class A, class Source> Merged merged(size_t n, int64_t stride, Source block)
{
    Merged m{Words(2 * n + 1)};
    int64_t *const displs = m.words.data(), *const prefix = displs + n;
    size_t i = 0;
    while (i < n && block(i).len == 0)
        ++i;
    if (i == n)
        return m;
    Block last = block(i);
    m.first = last.displ;
    displs[0] = 0;
    prefix[0] = 0;
    int64_t total = last.len;
    size_t begun = 1;
    for (++i; i < n; ++i) {
        const Block next = block(i);
        if (next.len == 0)
            continue;
        displs[begun] = A::sub(next.displ, m.first);
        prefix[begun] = total;
        begun += next.displ != A::add(last.displ, A::mul(last.len, stride));
        total = A::add(total, next.len);
        last = next;
    }
    prefix[begun] = total;
    m.count = begun;
    if (begun < n)
        std::copy(prefix, prefix + begun + 1, displs + begun);
    return m;
}

// The same of blocks of which none is empty and none touches the one before it: each is one. The
// loop has nothing that an iteration must wait for.
template <class Int> Merged unmerged(const BlockList<Int> &list, const Run &unit, int64_t base)
{
    const size_t n = list.displs.size();
    Merged m{Words(2 * n + 1), n, list.step * list.displs[0] + base};
    int64_t *const displs = m.words.data(), *const prefix = displs + n;
    const int64_t origin = base - m.first, step = list.step, len = unit.len;
    int64_t total = 0;
    for (size_t i = 0; i < n; ++i) {
        displs[i] = step * list.displs[i] + origin;
        prefix[i] = total;
        total += len * list.lens[i];
    }
    prefix[n] = total;
    return m;
}

bool are_alike(const Merged &m)
{
    const int64_t *const prefix = m.prefix();
    for (size_t i = 1; i < m.count; ++i)
        if (prefix[i + 1] - prefix[i] != prefix[1])
            return false;
    return true;
}

Placed moved(Placed p, int64_t displ)
{
    p.displ = add(p.displ, displ);
    return p;
}

// Merged blocks in the simplest form that serves.
Placed runs(Merged m, int64_t stride, const NodePtr &unit)
{
    if (m.count == 0)
        return empty();
    if (are_alike(m)) {
        const Placed block = from_run(0, {m.prefix()[1], stride, &unit});
        m.words.shrink(m.count);
        return moved(gather(std::move(m.words), block.node), m.first);
    }
    const int64_t total = m.prefix()[m.count];
    const auto n = static_cast<int64_t>(m.count);
    const bool bytes = is_byte_unit(unit) && stride == 1;
    Shape shape = make(Form::runs, unit->label, mul(total, unit->bytes),
                       bytes ? n : mul(total, unit->runs), unit->depth + 1);
    shape.count = n;
    shape.stride = stride;
    shape.child = unit;
    m.words.shrink(2 * m.count + 1);
    Blocks blocks;
    blocks.words = std::move(m.words);
    return {m.first, node_of(std::move(shape), std::move(blocks))};
}

template <class A, class Int>
Placed listed(const BlockList<Int> &list, const Run &unit, int64_t base)
{
    const size_t count = list.displs.size();
    const auto displ = [&](size_t i) { return A::add(A::mul(list.step, list.displs[i]), base); };
    const auto runs_of = [&](auto block) {
        return runs(merged<A>(count, unit.stride, block), unit.stride, *unit.unit);
    };
    if (!list.alike())
        return runs_of([&](size_t i) { // an empty block counts for nothing, wherever it lies
            return list.lens[i] == 0 ? Block{0, 0}
                                     : Block{displ(i), A::mul(list.lens[i], unit.len)};
        });

    const int64_t len = A::mul(list.len_of(0), unit.len), length = A::mul(len, unit.stride);
    Words d(count);
    bool touch = false;
    d[0] = displ(0);
    for (size_t i = 1; i < count; ++i) {
        d[i] = displ(i);
        touch = touch | (d[i] == A::add(d[i - 1], length));
    }
    if (touch)
        return runs_of([&](size_t i) { return Block{d[i], len}; });
    return gather(std::move(d), from_run(0, {len, unit.stride, unit.unit}).node);
}

} // namespace

Placed empty()
{
    static Immortal<const NodePtr> nothing(leaf_of(0, HEDDLE_MIXED));
    return {0, *nothing};
}

Placed dense(int64_t bytes, heddle_predefined label)
{
    assert(bytes >= 0 && label < HEDDLE_MIXED);
    if (bytes == 0)
        return empty();
    return {0, leaf_of(bytes, static_cast<uint8_t>(label))};
}

Placed stream(int64_t count, int64_t stride, const Placed &child)
{
    const NodePtr &c = child.node;
    assert(count >= 0 && c);
    if (count == 0 || c->bytes == 0)
        return empty();
    if (count == 1)
        return child;
    const int64_t bytes = mul(count, c->bytes);
    if (c->form == Form::dense && stride == c->bytes)
        return {child.displ, leaf_of(bytes, c->label)};
    if (c->form == Form::stream && stride == mul(c->count, c->stride))
        return stream(mul(count, c->count), c->stride, {child.displ, c->child});
    Shape s = make(Form::stream, c->label, bytes, mul(count, c->runs), c->depth + 1);
    s.consecutive = c->consecutive && stride == c->bytes;
    s.count = count;
    s.stride = stride;
    s.child = c;
    return {child.displ, node_of(std::move(s))};
}

namespace {

// One more block. Of its children either the first or the last lies lowest.
template <class Sums, bool Forward>
void extend(Reach &reach, int64_t displ, int64_t len, int64_t stride)
{
    if (len == 0)
        return;
    const int64_t last = Sums::add(displ, Sums::mul(len - 1, stride));
    reach.low = std::min(reach.low, Forward ? displ : last);
    reach.high = std::max(reach.high, Forward ? last : displ);
    reach.children = Sums::add(reach.children, len);
}

template <bool Forward, class Int> Reach checked_reach(const BlockList<Int> &list)
{
    Reach reach;
    for (size_t i = 0; i < list.displs.size(); ++i)
        if (const int64_t len = list.len_of(i); len > 0)
            extend<Checked, Forward>(reach, mul(list.step, list.displs[i]), len, list.stride);
    return reach;
}

} // namespace

// One pass over the arrays, for to read them takes most of the time. This one is for blocks that
// begin in steps of what their children are apart, none of them empty. It counts in these steps, in
// Int, and has no branches: compilers make vector instructions of it.
template <class Int> bool BlockList<Int>::survey_in_steps()
{
    using Bits = std::make_unsigned_t<Int>;
    constexpr Int most = std::numeric_limits<Int>::max();
    if (step != stride || stride <= 0 || lens.empty())
        return false;
    const Int *const d = displs.data(), *const l = lens.data(), first = l[0];
    Int low = d[0], high = d[0], shortest = first, displ_bits = 0, len_bits = 0, differ = 0;
    int64_t children = 0;
    for (size_t i = 0, n = lens.size(); i < n; ++i) {
        const Int displ = d[i], len = l[i];
        const auto end = static_cast<Int>(static_cast<Bits>(displ) + static_cast<Bits>(len));
        low = std::min(low, displ);
        high = std::max(high, end);
        shortest = std::min(shortest, len);
        displ_bits |= displ ^ (displ >> (sizeof(Int) * 8 - 1));
        len_bits |= len;
        differ |= len ^ first;
        children += len;
    }
    if (shortest <= 0 || displ_bits > most / 2 || len_bits > most / 2) // an end may be beyond Int
        return false;
    Int touching = 0; // not bool, which gcc makes no vectors of
    for (size_t i = 0, n = lens.size() - 1; i < n; ++i)
        touching |= d[i] + l[i] == d[i + 1] ? 1 : 0;
    apart_ = touching == 0;
    most_len_ = len_bits;
    most_displ_ = displ_bits;
    alike_ = differ == 0;
    reach_ = {Modular::mul(low, step), Modular::mul(int64_t{high} - 1, step), children};
    return true;
}

template <class Int> template <bool Forward> void BlockList<Int>::survey()
{
    Reach reach;
    int64_t most_displ = 0, bits = lens.empty() && !displs.empty() ? len : 0, differ = 0;
    for (size_t i = 0; i < displs.size(); ++i) {
        const int64_t displ = displs[i], n = len_of(i);
        most_displ |= displ ^ (displ >> 63);
        bits |= n;
        differ |= n ^ len_of(0);
        extend<Modular, Forward>(reach, Modular::mul(step, displ), n, stride);
    }
    if (bits < 0)
        throw Error{HEDDLE_ERR_COUNT};
    most_len_ = bits;
    most_displ_ = most_displ;
    alike_ = differ == 0;
    reach_ = reach;
}

template <class Int>
BlockList<Int>::BlockList(std::span<const Int> displs_, std::span<const Int> lens_, int64_t len_,
                          int64_t stride_, int64_t step_)
    : displs(displs_), lens(lens_), len(len_), stride(stride_), step(step_)
{
    if (survey_in_steps())
        return;
    if (stride < 0)
        survey<false>();
    else
        survey<true>();
}

template <class Int> bool BlockList<Int>::surely_fits(double child, double base) const
{
    constexpr double limit = 0x1p60; // what is rounded away is far less
    const double lengths = std::max(std::abs(child), 1.0) * static_cast<double>(most_len_),
                 displacement = static_cast<double>(most_displ_) + 1;
    return displacement * std::abs(static_cast<double>(step)) + std::abs(base) + lengths < limit &&
           lengths * static_cast<double>(displs.size()) < limit;
}

template <class Int> Reach BlockList<Int>::reach() const
{
    if (surely_fits(static_cast<double>(stride), 0))
        return reach_;
    return stride < 0 ? checked_reach<false>(*this) : checked_reach<true>(*this);
}

template <class Int> Placed blocks(const BlockList<Int> &list, const Placed &child)
{
    if (child.node->bytes == 0 || list.empty())
        return empty();
    // The units of a block: the children themselves, or their parts where these follow one another
    // evenly.
    Run unit = as_run(child.node);
    if (!list.single() && (unit.stride == 0 || list.stride != mul(unit.len, unit.stride)))
        unit = {1, list.stride, &child.node};
    const double units = static_cast<double>(unit.len),
                 stride_of_units = std::max(std::abs(static_cast<double>(unit.stride)), 1.0);
    if (!list.surely_fits(units * stride_of_units, static_cast<double>(child.displ)))
        return listed<Checked>(list, unit, child.displ);
    if (list.apart() && !list.alike() && unit.len * unit.stride == list.stride)
        return runs(unmerged(list, unit, child.displ), unit.stride, *unit.unit);
    return listed<Plain>(list, unit, child.displ);
}

template class BlockList<int>;
template class BlockList<int64_t>;
template Placed blocks(const BlockList<int> &list, const Placed &child);
template Placed blocks(const BlockList<int64_t> &list, const Placed &child);

namespace {

// Members that are small structs themselves are spliced in. The result is small only if it has few
// members, so a list cannot double with every level of nesting.
Members spliced(Members members)
{
    constexpr size_t splice_limit = 16;
    const auto is_small = [](const Node &n) {
        return n.form == Form::concat && n.blocks->members.size() <= splice_limit;
    };
    const auto is_member = [&](const Placed &m) { return m.node->bytes > 0 && !is_small(*m.node); };
    if (std::all_of(members.begin(), members.end(), is_member))
        return members;
    Members flat;
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
void merge_neighbours(Members &members)
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

Placed make_concat(Members members)
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
    Shape shape = make(Form::concat, label, bytes, count_runs, depth + 1);
    shape.consecutive = consecutive;
    shape.count = static_cast<int64_t>(members.size());
    Blocks blocks;
    blocks.members = std::move(members);
    return {first, node_of(std::move(shape), std::move(blocks))};
}

} // namespace

Placed concat(Members members)
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
        const Run unit = as_run(members[0].node);
        const auto block = [&](size_t i) {
            return Block{members[i].displ, as_run(members[i].node).len};
        };
        return runs(merged<Checked>(members.size(), unit.stride, block), unit.stride, *unit.unit);
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
        if (p.node.is_alone()) // occurs here alone
            return moved(rebuild(*p.node), p.displ);
        auto it = done.find(p.node.get());
        if (it == done.end())
            it = done.emplace(p.node.get(), rebuild(*p.node)).first;
        return moved(it->second, p.displ);
    }

    Placed rebuild(const Node &n)
    {
        switch (n.form) {
        case Form::dense:
            return dense(n.bytes, HEDDLE_BYTE);
        case Form::stream:
            return stream(n.count, n.stride, (*this)({0, n.child}));
        case Form::gather:
            return blocks(BlockList<int64_t>(n.displs(), {}, 1, 0), (*this)({0, n.child}));
        case Form::runs: {
            std::vector<int64_t> lens(static_cast<size_t>(n.count));
            for (size_t i = 0; i < lens.size(); ++i)
                lens[i] = n.prefix()[i + 1] - n.prefix()[i];
            return blocks(BlockList<int64_t>(n.displs(), lens, 0, n.stride), (*this)({0, n.child}));
        }
        case Form::concat:
            return rebuild(n.blocks->members);
        }
        return empty();
    }

    Placed rebuild(const Members &members)
    {
        if (std::all_of(members.begin(), members.end(),
                        [](const Placed &m) { return m.node->form == Form::dense; }))
            return runs_of_bytes(members);
        Members erased;
        erased.reserve(members.size());
        for (const Placed &m : members)
            erased.push_back((*this)(m));
        return concat(std::move(erased));
    }

    static Placed runs_of_bytes(const Members &members)
    {
        const auto block = [&](size_t i) {
            return Block{members[i].displ, members[i].node->bytes};
        };
        return runs(merged<Checked>(members.size(), 1, block), 1, byte_unit(HEDDLE_BYTE));
    }
};

} // namespace

Placed erase(const Placed &layout)
{
    if (layout.node->label != HEDDLE_MIXED)
        return layout;
    if (layout.node->consecutive)
        return {layout.displ, leaf_of(layout.node->bytes, HEDDLE_BYTE)};
    return Eraser{}(layout);
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
        for (size_t i = 0; i < n.displs().size(); ++i) {
            if (i)
                out += ',';
            num(n.displs()[i]);
            if (n.form == Form::runs) {
                out += ':';
                num(n.prefix()[i + 1] - n.prefix()[i]);
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
