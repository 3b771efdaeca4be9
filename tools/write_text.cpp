// SPDX-License-Identifier: BSD-3-Clause
// The way back: a tree as text.
#include "names.hpp"
#include "type_text.hpp"

#include <algorithm>

namespace heddle::tools {
namespace {

template <class Items, class One>
void write_list(std::string &out, const Items &items, size_t longest, One &&one)
{
    out += '[';
    const size_t shown = std::min(items.size(), longest);
    for (size_t i = 0; i < shown; ++i) {
        out += i ? ", " : "";
        one(items[i]);
    }
    if (shown < items.size())
        out += std::string(shown ? ", " : "") + "... " + std::to_string(items.size()) + " in all";
    out += ']';
}

void write(std::string &out, const Tree &tree, size_t longest)
{
    if (tree.maker == Maker::predefined) {
        out += name_of(tree.predefined);
        return;
    }
    const Constructor &constructor = constructor_of(tree.maker);
    out += constructor.name;
    out += '(';
    for (const Argument &each : constructor.arguments) {
        out += &each == &constructor.arguments.front() ? "" : ", ";
        switch (each.kind) {
        case Argument::Kind::number:
            out += std::to_string(tree.*each.number);
            break;
        case Argument::Kind::numbers:
            write_list(out, tree.*each.numbers, longest,
                       [&](int64_t value) { out += std::to_string(value); });
            break;
        case Argument::Kind::order:
            out += tree.order == HEDDLE_ORDER_C ? "C" : "FORTRAN";
            break;
        case Argument::Kind::type:
            write(out, tree.old.front(), longest);
            break;
        case Argument::Kind::types:
            write_list(out, tree.old, longest, [&](const Tree &old) { write(out, old, longest); });
            break;
        }
    }
    out += ')';
}

} // namespace

std::string write(const Tree &tree, size_t longest)
{
    std::string out;
    write(out, tree, longest);
    return out;
}

std::string write(std::span<const int64_t> values, size_t longest)
{
    std::string out;
    write_list(out, values, longest, [&](int64_t value) { out += std::to_string(value); });
    return out;
}

} // namespace heddle::tools
