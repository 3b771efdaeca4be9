// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/image/extents.hpp"

#include <algorithm>
#include <vector>

namespace heddle::gpu {

namespace {

constexpr Reach everywhere{INT64_MIN, INT64_MAX};
constexpr Reach unknown{0, -1};

Reach moved(const Reach &reach, int64_t displ)
{
    Reach r{};
    const bool low = __builtin_add_overflow(reach.low, displ, &r.low),
               high = __builtin_add_overflow(reach.high, displ, &r.high);
    return low || high ? everywhere : r;
}

Reach both(const Reach &a, const Reach &b)
{
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

class Reaches : public Attachment {
public:
    explicit Reaches(const Image &image) : view_(image.view()), of_(image.nodes.size(), unknown)
    {
        find(0);
    }

    std::span<const Reach> all() const { return of_; }

private:
    // Members can occur several times; each node is looked at once.
    const Reach &find(int64_t k)
    {
        Reach &reach = of_[static_cast<size_t>(k)];
        if (reach.low > reach.high)
            reach = of(view_.nodes[k]);
        return reach;
    }

    Reach of(const ImageNode &n)
    {
        if (n.kind == NodeKind::dense)
            return {0, n.bytes};
        if (n.kind == NodeKind::stream)
            return find(n.child).repeated(n.count, n.stride);
        Reach all = block(n, 0);
        for (int64_t i = 1; i < n.count; ++i)
            all = both(all, block(n, i));
        return all;
    }

    Reach block(const ImageNode &n, int64_t i)
    {
        const int64_t displ = view_.displs(n)[i];
        const auto length = [&] { return view_.prefix(n)[i + 1] - view_.prefix(n)[i]; };
        switch (n.kind) {
        case NodeKind::gather:
            return moved(find(n.child), displ);
        case NodeKind::spans:
            return moved({0, length()}, displ);
        case NodeKind::runs:
            return moved(find(n.child).repeated(length(), n.stride), displ);
        default:
            return moved(find(view_.links(n)[i]), displ);
        }
    }

    const ImageView view_;
    std::vector<Reach> of_;
};

} // namespace

Reach Reach::repeated(int64_t count, int64_t stride) const
{
    int64_t way = 0;
    if (__builtin_mul_overflow(count - 1, stride, &way))
        return everywhere;
    return both(*this, moved(*this, way));
}

std::span<const Reach> reaches_of(const Plan &plan)
{
    return plan
        .attached<Reaches>(Attached::reaches, [&] { return std::make_unique<Reaches>(plan.image); })
        .all();
}

} // namespace heddle::gpu
