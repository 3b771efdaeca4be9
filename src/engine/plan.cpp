// SPDX-License-Identifier: BSD-3-Clause
#include "engine/plan.hpp"

#include "engine/checked.hpp"
#include "engine/predefined.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

namespace heddle {

namespace {

// Where in an image that stands which may occur again.
struct Repeats {
    std::array<int32_t, 64> leaves{}; // 0: the root, which is no leaf of a concat
    std::unordered_map<const Node *, int32_t> done;
};

} // namespace

// Serializes a layout in preorder. What occurs several times is written once; only members of a
// concat can.
class Serializer {
public:
    explicit Serializer(Image &image) : image_(image) {}

    int32_t write(const NodePtr &node)
    {
        const Node &n = *node;
        const bool repeatable = repeats_ && n.depth > 1 && !node.is_alone();
        if (repeatable) {
            auto it = repeats_->done.find(&n);
            if (it != repeats_->done.end())
                return it->second;
        }
        if (image_.nodes.size() > INT32_MAX - 1)
            throw Error{HEDDLE_ERR_OVERFLOW};
        const auto k = static_cast<int32_t>(image_.nodes.size());
        image_.nodes.push_back(fixed(node));
        if (n.form == Form::concat) {
            links(n, k);
        } else if (n.child && image_.nodes[static_cast<size_t>(k)].kind != NodeKind::spans) {
            const int32_t child = write(n.child);
            image_.nodes[static_cast<size_t>(k)].child = child;
        }
        if (repeatable)
            repeats_->done.emplace(&n, k);
        return k;
    }

private:
    ImageNode fixed(const NodePtr &node)
    {
        const Node &n = *node;
        ImageNode f{};
        f.count = n.count;
        f.stride = n.stride;
        f.label = n.label;
        f.child = -1;
        if (n.blocks) {
            f.displ_bits = n.blocks->displ_bits;
            f.prefix_bits = n.blocks->prefix_bits;
        }
        const Node &c = n.child ? *n.child : n;
        f.bytes = c.bytes;
        f.runs = c.runs;
        if (f.bytes > 0)
            f.by_bytes = Divisor::of(f.bytes);
        switch (n.form) {
        case Form::dense:
            f.kind = NodeKind::dense;
            break;
        case Form::stream:
            f.kind = NodeKind::stream;
            break;
        case Form::gather:
            f.kind = NodeKind::gather;
            f.side = append(node);
            break;
        case Form::runs:
            f.kind = c.form == Form::dense && c.bytes == 1 && n.stride == 1 ? NodeKind::spans
                                                                            : NodeKind::runs;
            f.side = append(node);
            break;
        case Form::concat:
            f.kind = NodeKind::concat;
            break;
        }
        return f;
    }

    void links(const Node &n, int32_t k)
    {
        if (!repeats_)
            repeats_.emplace();
        take_back();
        const auto &members = n.blocks->members;
        const size_t count = members.size(), at = image_.copied_.size();
        image_.nodes[static_cast<size_t>(k)].side = static_cast<int64_t>(at);
        image_.copied_.resize(at + 4 * count + 2);
        int64_t *const a = image_.copied_.data() + at;
        int64_t bytes = 0, runs = 0;
        for (size_t i = 0; i < count; ++i) {
            a[i] = members[i].displ;
            a[count + i] = bytes;
            a[2 * count + 1 + i] = runs;
            bytes += members[i].node->bytes;
            runs += members[i].node->runs;
        }
        a[2 * count] = bytes;
        a[3 * count + 1] = runs;
        for (size_t i = 0; i < count; ++i) {
            const NodePtr &m = members[i].node;
            const int32_t link = m->form == Form::dense ? leaf(m) : write(m); // appends to `side`
            image_.copied_[at + 3 * count + 2 + i] = link;
        }
    }

    // Leaves that look alike are one, but for those that the table forgot.
    int32_t leaf(const NodePtr &n)
    {
        auto &leaves = repeats_->leaves;
        int32_t &known = leaves[(static_cast<size_t>(n->bytes) * 37 + n->label) % leaves.size()];
        if (known > 0) {
            const ImageNode &l = image_.nodes[static_cast<size_t>(known)];
            if (l.bytes == n->bytes && l.label == n->label)
                return known;
        }
        return known = write(n);
    }

    int64_t append(const NodePtr &node)
    {
        if (!image_.lender_ && image_.copied_.empty()) {
            image_.lender_ = node;
            return 0;
        }
        take_back();
        const std::span<const int64_t> words = node->blocks->words.all();
        const auto at = static_cast<int64_t>(image_.copied_.size());
        image_.copied_.insert(image_.copied_.end(), words.begin(), words.end());
        return at;
    }

    // What one node lent is copied, for there are more.
    void take_back()
    {
        if (const NodePtr lender = std::exchange(image_.lender_, {})) {
            const std::span<const int64_t> words = lender->blocks->words.all();
            image_.copied_.assign(words.begin(), words.end());
        }
    }

    Image &image_;
    std::optional<Repeats> repeats_; // once there is a concat
};

namespace {

uint8_t word_of(const Image &image, int64_t displ)
{
    auto bits = static_cast<uint64_t>(displ);
    for (const ImageNode &n : image.nodes) {
        if (n.kind == NodeKind::dense)
            bits |= static_cast<uint64_t>(n.bytes);
        else if (n.kind == NodeKind::stream)
            bits |= static_cast<uint64_t>(n.stride);
        else
            bits |= n.displ_bits;
        if (n.kind == NodeKind::runs)
            bits |= static_cast<uint64_t>(n.stride);
        if (n.kind == NodeKind::spans)
            bits |= n.prefix_bits;
    }
    return widest_word(bits);
}

bool is_strided(const Node *n)
{
    while (n->form == Form::stream)
        n = n->child.get();
    return n->form == Form::dense;
}

// A list of so many runs takes 100 KiB on a device, and to make it longer than some launches.
bool has_members(const Node &n, int64_t runs)
{
    constexpr size_t few = 8;
    constexpr int64_t many_runs = 4096;
    if (n.form != Form::concat || runs < many_runs || n.blocks->members.size() > few)
        return false;
    return std::all_of(n.blocks->members.begin(), n.blocks->members.end(),
                       [](const Placed &m) { return is_strided(m.node.get()); });
}

} // namespace

Image::Image(const NodePtr &layout)
{
    nodes.reserve(static_cast<size_t>(layout->depth));
    Serializer(*this).write(layout);
    nodes.shrink_to_fit();
    copied_.shrink_to_fit();
}

int64_t Image::memory() const
{
    return static_cast<int64_t>(nodes.capacity() * sizeof(ImageNode) +
                                copied_.capacity() * sizeof(int64_t)) +
           (lender_ && lender_.is_alone() ? lender_->memory() : 0);
}

Plan::Plan(const Placed &layout, const Placed &erased, int64_t extent_)
    : image(erased.node),
      displ(erased.displ),
      typed_displ(layout.displ),
      bytes(layout.node->bytes),
      runs(erased.node->runs),
      extent(extent_),
      grain(0),
      dimensions(0),
      kind(HEDDLE_PLAN_GENERAL),
      word(0),
      contiguous(false),
      by_members(false)
{
    if (layout.node->label == HEDDLE_MIXED && bytes > 0)
        typed = std::make_unique<Image>(layout.node);
    else if (bytes > 0)
        grain = static_cast<int16_t>(
            predefined_info(static_cast<heddle_predefined>(layout.node->label)).size);

    const ImageNode *n = image.nodes.data();
    while (n->kind == NodeKind::stream)
        n = &image.nodes[static_cast<size_t>(n->child)];
    if (n->kind == NodeKind::dense) {
        dimensions = static_cast<int16_t>(n - image.nodes.data());
        kind = dimensions == 0 ? HEDDLE_PLAN_CONTIGUOUS : HEDDLE_PLAN_STRIDED;
    }
    by_members = kind == HEDDLE_PLAN_GENERAL && has_members(*layout.node, runs);
    contiguous = bytes == 0 || (kind == HEDDLE_PLAN_CONTIGUOUS && extent == bytes);
    if (bytes > 0) {
        by_bytes = Divisor::of(bytes);
        word = word_of(image, displ);
    }
}

int64_t Plan::memory() const
{
    int64_t m = static_cast<int64_t>(sizeof(Plan)) + image.memory();
    if (typed)
        m += static_cast<int64_t>(sizeof(Image)) + typed->memory();
    return m;
}

} // namespace heddle
