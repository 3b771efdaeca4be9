/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The laws of the layout algebra (src/engine/layout.hpp), each a property by its name. The layout
 * is read from its text, so no code of the engine judges itself.
 */
#include "../oracle/basics.hpp"
#include "properties.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace property {
namespace {

struct Layout {
    std::string form; /* dense, stream, gather, runs, concat */
    int64_t count = 0, stride = 0;
    std::vector<int64_t> displs, lens;
    std::vector<Layout> children; /* of a concat one for each displacement, else at most one */

    bool operator==(const Layout &) const = default;

    int64_t bytes() const
    {
        int64_t sum = 0;
        if (form == "dense")
            return count;
        if (form == "concat") {
            for (const Layout &each : children)
                sum += each.bytes();
            return sum;
        }
        for (const int64_t n : lens)
            sum += n;
        const int64_t times = form == "stream"   ? count
                              : form == "gather" ? static_cast<int64_t>(displs.size())
                                                 : sum;
        return times * children[0].bytes();
    }
};

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    int64_t number()
    {
        int64_t n = 0;
        const auto end = std::from_chars(text_.data(), text_.data() + text_.size(), n).ptr;
        text_.remove_prefix(static_cast<size_t>(end - text_.data()));
        return n;
    }

    bool skip(char c)
    {
        const bool is = !text_.empty() && text_[0] == c;
        text_.remove_prefix(is);
        return is;
    }

    Layout node()
    {
        Layout n;
        const size_t open = text_.find('(');
        n.form = text_.substr(0, open);
        text_.remove_prefix(open + 1);
        if (n.form == "dense" || n.form == "stream")
            n.count = number();
        if (skip(',') && n.form == "stream") {
            n.stride = number();
            skip(',');
            n.children.push_back(node());
        }
        if (n.form == "gather" || n.form == "runs")
            blocks(n);
        while (n.form == "concat" && !skip(')')) {
            skip(',');
            n.displs.push_back(number());
            skip('+');
            n.children.push_back(node());
        }
        if (n.form != "concat")
            same(skip(')'), true, "the text of a ", n.form, " is closed");
        return n;
    }

private:
    void blocks(Layout &n)
    {
        for (skip('['); !skip(']'); skip(',')) {
            n.displs.push_back(number());
            if (skip(':'))
                n.lens.push_back(number());
        }
        skip(',');
        if (n.form == "runs") {
            n.stride = number();
            skip(',');
        }
        n.children.push_back(node());
    }

    std::string_view text_;
};

/* Where each byte lies, in pack order. */
void expand(const Layout &n, int64_t displ, std::vector<int64_t> &bytes)
{
    if (n.form == "dense") {
        for (int64_t i = 0; i < n.count; ++i)
            bytes.push_back(displ + i);
    } else if (n.form == "stream") {
        for (int64_t i = 0; i < n.count; ++i)
            expand(n.children[0], displ + i * n.stride, bytes);
    } else {
        for (size_t i = 0; i < n.displs.size(); ++i)
            for (int64_t k = 0; k < (n.form == "runs" ? n.lens[i] : 1); ++k)
                expand(n.children[n.form == "concat" ? i : 0], displ + n.displs[i] + k * n.stride,
                       bytes);
    }
}

/* A block seen as a run of units, as the header defines it. */
struct Units {
    int64_t length, stride;
    Layout unit;
};

Units units_of(const Layout &n)
{
    if (n.form == "dense")
        return {n.count, 1, {"dense", 1, 0, {}, {}, {}}};
    if (n.form == "stream")
        return {n.count, n.stride, n.children[0]};
    return {1, 0, n};
}

bool is_progression(const std::vector<int64_t> &d)
{
    for (size_t i = 2; i < d.size(); ++i)
        if (d[i] - d[i - 1] != d[1] - d[0])
            return false;
    return true;
}

void check_concat(const Layout &n)
{
    constexpr size_t small = 16;
    same(n.children.size() > 1, true, "a concat has several members");
    bool alike = true;
    for (size_t i = 0; i < n.children.size(); ++i) {
        const Layout &member = n.children[i];
        same(member.form != "concat" || member.children.size() > small, true,
             "no small struct stands in a struct");
        if (i == 0)
            continue;
        const Units before = units_of(n.children[i - 1]), now = units_of(member);
        const bool fits = before.stride == now.stride && before.unit == now.unit;
        alike = alike && fits;
        same(fits && now.stride != 0 &&
                 n.displs[i] == n.displs[i - 1] + before.length * before.stride,
             false, "no member continues the one before it");
    }
    same(alike, false, "the members of a concat are not all runs of one unit");
}

void check_canonical(const Layout &n)
{
    same(n.bytes() > 0, true, "nothing empty stands in a layout");
    if (n.form == "dense")
        return;
    if (n.form != "stream")
        same(n.displs.at(0), 0, "the first displacement is 0");
    const Layout &child = n.children[0];
    if (n.form == "stream") {
        same(n.count > 1, true, "a stream has several children");
        same(child.form == "dense" && n.stride == child.count, false,
             "a stream of touching bytes is dense");
        same(child.form == "stream" && n.stride == child.count * child.stride, false,
             "a stream of touching streams is one stream");
    } else if (n.form == "gather") {
        same(is_progression(n.displs), false, "evenly spaced blocks are a stream");
        for (size_t i = 1; i < n.displs.size(); ++i)
            same(child.form == "dense" && n.displs[i] == n.displs[i - 1] + child.count, false,
                 "no block of bytes continues the one before it");
    } else if (n.form == "runs") {
        same(std::all_of(n.lens.begin(), n.lens.end(), [&](auto l) { return l == n.lens[0]; }),
             false, "blocks of one length are a gather");
        for (size_t i = 1; i < n.displs.size(); ++i)
            same(n.displs[i] == n.displs[i - 1] + n.lens[i - 1] * n.stride, false,
                 "no block continues the one before it");
    } else {
        check_concat(n);
    }
    for (const Layout &each : n.children)
        check_canonical(each);
}

/* The type that the constructors make of a layout. */
oracle::Type made_of(const Layout &n)
{
    const auto count = static_cast<int64_t>(n.displs.size());
    if (n.form == "dense")
        return oracle::Type::from(
            [&](auto **t) {
                return heddle_type_contiguous(n.count, heddle_type_predefined(HEDDLE_BYTE), t);
            },
            "contiguous");
    std::vector<oracle::Type> children;
    std::vector<heddle_type *> handles;
    for (const Layout &each : n.children)
        children.push_back(made_of(each));
    for (const oracle::Type &each : children)
        handles.push_back(each.get());
    return oracle::Type::from(
        [&](heddle_type **t) {
            if (n.form == "stream")
                return heddle_type_hvector(n.count, 1, n.stride, handles[0], t);
            if (n.form == "gather")
                return heddle_type_hindexed_block(count, 1, n.displs.data(), handles[0], t);
            if (n.form == "concat")
                return heddle_type_struct(count, std::vector<int64_t>(n.displs.size(), 1).data(),
                                          n.displs.data(), handles.data(), t);
            const oracle::Type spaced = oracle::Type::from(
                [&](auto **s) { return heddle_type_resized(handles[0], 0, n.stride, s); },
                "resized");
            return heddle_type_hindexed(count, n.lens.data(), n.displs.data(), spaced.get(), t);
        },
        n.form.c_str());
}

/* The layout of a subject with data, where it is short enough to be looked at whole. */
struct Read {
    bool applies = false;
    std::string text;
    int64_t displ = 0;
    Layout node;

    explicit Read(const Subject &s)
    {
        constexpr int64_t most_bytes = 100'000;
        constexpr size_t most_text = 50'000;
        if (s.info.size == 0 || s.info.size > most_bytes)
            return;
        text = s.type.describe();
        if (text.size() > most_text)
            return;
        Reader reader(text);
        displ = reader.number();
        same(reader.skip('+'), true, "a displacement stands before the layout");
        node = reader.node();
        applies = true;
    }
};

} // namespace

bool order_kept(const Subject &s, oracle::Rng &)
{
    const Read layout(s);
    if (!layout.applies)
        return false;
    std::vector<int64_t> bytes, expected;
    expand(layout.node, layout.displ, bytes);
    for (const oracle::Entry &entry : s.map.entries)
        for (int64_t i = 0; i < oracle::primitive_size(entry.kind); ++i)
            expected.push_back(entry.displacement + i);
    same(bytes == expected, true, "the layout's bytes are the typemap's, in its order");
    return true;
}

bool canonical_out(const Subject &s, oracle::Rng &)
{
    const Read layout(s);
    if (layout.applies)
        check_canonical(layout.node);
    return layout.applies;
}

bool canonical_in(const Subject &s, oracle::Rng &)
{
    const Read layout(s);
    if (!layout.applies)
        return false;
    same(made_of(layout.node).describe(), layout.text.substr(layout.text.find('+')).insert(0, "0"),
         "what the constructors make of a canonical layout");
    return true;
}

} // namespace property
