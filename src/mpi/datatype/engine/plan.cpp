// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include "checked.hpp"
#include "predefined.hpp"

#include <unordered_map>

namespace heddle {

namespace {

// Serializes a layout in preorder. A node that occurs several times is written once; only members of a
// concat can.
class Serializer {
public:
    explicit Serializer(Image &image) : image_(image) {}

    int32_t write(const Node &n)
    {
        const bool repeatable = in_concat_ && n.depth > 1;
        if (repeatable) {
            auto it = done_.find(&n);
            if (it != done_.end())
                return it->second;
        }
        if (image_.nodes.size() > INT32_MAX - 1)
            throw Error{HEDDLE_ERR_OVERFLOW};
        const auto k = static_cast<int32_t>(image_.nodes.size());
        image_.nodes.push_back(fixed(n));
        if (n.form == Form::concat) {
            links(n, k);
        } else if (n.child && image_.nodes[static_cast<size_t>(k)].kind != NodeKind::spans) {
            const int32_t child = write(*n.child);
            image_.nodes[static_cast<size_t>(k)].child = child;
        }
        if (repeatable)
            done_.emplace(&n, k);
        return k;
    }

private:
    ImageNode fixed(const Node &n)
    {
        ImageNode f{};
        f.count = n.count;
        f.stride = n.stride;
        f.label = n.label;
        f.child = -1;
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
            f.side = append(n.blocks->displs);
            break;
        case Form::runs:
            f.kind = c.form == Form::dense && c.bytes == 1 && n.stride == 1 ? NodeKind::spans : NodeKind::runs;
            f.side = append(n.blocks->displs);
            append(n.blocks->prefix);
            break;
        case Form::concat:
            f.kind = NodeKind::concat;
            break;
        }
        return f;
    }

    void links(const Node &n, int32_t k)
    {
        in_concat_ = true;
        const auto &members = n.blocks->members;
        const size_t count = members.size();
        std::vector<int64_t> a(4 * count + 2);
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
        for (size_t i = 0; i < count; ++i)
            a[3 * count + 2 + i] = write(*members[i].node);
        image_.nodes[static_cast<size_t>(k)].side = append(a);
    }

    int64_t append(const std::vector<int64_t> &a)
    {
        const auto at = static_cast<int64_t>(image_.side.size());
        image_.side.insert(image_.side.end(), a.begin(), a.end());
        return at;
    }

    Image &image_;
    bool in_concat_ = false;
    std::unordered_map<const Node *, int32_t> done_;
};

uint8_t word_of(const Image &image, int64_t displ)
{
    auto bits = static_cast<uint64_t>(displ);
    for (const ImageNode &n : image.nodes) {
        if (n.kind == NodeKind::dense)
            bits |= static_cast<uint64_t>(n.bytes);
        if (n.kind == NodeKind::stream || n.kind == NodeKind::runs)
            bits |= static_cast<uint64_t>(n.stride);
        const ImageView v = image.view();
        if (n.kind == NodeKind::gather || n.kind == NodeKind::spans || n.kind == NodeKind::runs ||
            n.kind == NodeKind::concat)
            for (int64_t i = 0; i < n.count; ++i)
                bits |= static_cast<uint64_t>(v.displs(n)[i]);
        if (n.kind == NodeKind::spans)
            for (int64_t i = 0; i <= n.count; ++i)
                bits |= static_cast<uint64_t>(v.prefix(n)[i]);
    }
    return widest_word(bits);
}

} // namespace

Image::Image(const NodePtr &layout)
{
    nodes.reserve(static_cast<size_t>(layout->depth));
    Serializer(*this).write(*layout);
    nodes.shrink_to_fit();
    side.shrink_to_fit();
}

int64_t Image::memory() const
{
    return static_cast<int64_t>(nodes.capacity() * sizeof(ImageNode) + side.capacity() * sizeof(int64_t));
}

Plan::Plan(const Placed &layout, int64_t extent_)
    : Plan(layout, erase(layout), extent_)
{
}

Plan::Plan(const Placed &layout, const Placed &erased, int64_t extent_)
    : image(erased.node), displ(erased.displ), typed_displ(layout.displ), bytes(layout.node->bytes),
      runs(erased.node->runs), extent(extent_), grain(0), dimensions(0), kind(HEDDLE_PLAN_GENERAL), word(0),
      contiguous(false)
{
    if (layout.node->label == HEDDLE_MIXED && bytes > 0)
        typed = std::make_unique<Image>(layout.node);
    else if (bytes > 0)
        grain = static_cast<int16_t>(predefined_info(static_cast<heddle_predefined>(layout.node->label)).size);

    const ImageNode *n = image.nodes.data();
    while (n->kind == NodeKind::stream)
        n = &image.nodes[static_cast<size_t>(n->child)];
    if (n->kind == NodeKind::dense) {
        dimensions = static_cast<int16_t>(n - image.nodes.data());
        kind = dimensions == 0 ? HEDDLE_PLAN_CONTIGUOUS : HEDDLE_PLAN_STRIDED;
    }
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
