// SPDX-License-Identifier: BSD-3-Clause
#include "type_text.hpp"

#include "names.hpp"

#include <algorithm>
#include <charconv>

namespace heddle::tools {

std::span<const Constructor> constructors()
{
    using enum Argument::Kind;
    static const Argument count{number, "the count", "", &Tree::count};
    static const Argument blocklength{number, "the block length", "instances", &Tree::blocklength};
    static const Argument blocklengths{
        numbers, "the block lengths", "instances", {}, &Tree::blocklengths};
    static const Argument displs{numbers, "the displacements", "extents", {}, &Tree::displacements};
    static const Argument hdispls{numbers, "the displacements", "bytes", {}, &Tree::displacements};
    static const Argument old{type, "the old type", ""};
    static const std::vector<Constructor> all{
        {Maker::contiguous, "contiguous", {count, old}},
        {Maker::vector,
         "vector",
         {count, blocklength, {number, "the stride", "extents", &Tree::stride}, old}},
        {Maker::hvector,
         "hvector",
         {count, blocklength, {number, "the stride", "bytes", &Tree::stride}, old}},
        {Maker::indexed, "indexed", {blocklengths, displs, old}},
        {Maker::hindexed, "hindexed", {blocklengths, hdispls, old}},
        {Maker::indexed_block, "indexed_block", {blocklength, displs, old}},
        {Maker::hindexed_block, "hindexed_block", {blocklength, hdispls, old}},
        {Maker::structure, "struct", {blocklengths, hdispls, {types, "the member types", ""}}},
        {Maker::resized,
         "resized",
         {old,
          {number, "the lower bound", "bytes", &Tree::lb},
          {number, "the extent", "bytes", &Tree::extent}}},
        {Maker::dup, "dup", {old}},
        {Maker::subarray,
         "subarray",
         {{numbers, "the array's sizes", "elements", {}, &Tree::sizes},
          {numbers, "the subarray's sizes", "elements", {}, &Tree::subsizes},
          {numbers, "the starts", "elements", {}, &Tree::starts},
          {order, "the order", ""},
          old}},
    };
    return all;
}

const Constructor &constructor_of(Maker maker)
{
    const auto all = constructors();
    return *std::find_if(all.begin(), all.end(),
                         [&](const Constructor &each) { return each.maker == maker; });
}

namespace {

bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> all_names()
{
    std::vector<std::string_view> all = predefined_names();
    for (const Constructor &each : constructors())
        all.push_back(each.name);
    return all;
}

// Recursive descent. Each member function reads one thing from the place it stands at; false means
// that `error` says what was wrong.
class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    TextError error;

    bool whole(Tree &tree)
    {
        if (!type(tree, "a type", 0))
            return false;
        skip();
        return at_ == text_.size() || expected("the end of the text after the type");
    }

private:
    std::string_view text_;
    size_t at_ = 0;

    void skip()
    {
        while (at_ < text_.size()) {
            if (text_[at_] == '#')
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))
                ++at_;
            else
                break;
        }
    }

    // The word, number or sign that comes next, to look at.
    std::string_view next()
    {
        skip();
        size_t end = at_;
        if (end < text_.size() && (text_[end] == '-' || text_[end] == '+'))
            ++end;
        while (end < text_.size() && is_word(text_[end]))
            ++end;
        if (end == at_) // another sign, in UTF-8
            while (++end < text_.size() && (text_[end] & 0xC0) == 0x80) {
            }
        return text_.substr(at_, end - at_);
    }

    bool fail(size_t at, std::string message)
    {
        error = {at, std::move(message)};
        return false;
    }

    bool expected(const std::string &what)
    {
        const std::string_view found = next();
        return fail(at_,
                    "expected " + what + ", found " +
                        (found.empty() ? "the end of the text" : "'" + std::string(found) + "'"));
    }

    bool take(std::string_view sign)
    {
        if (next() != sign)
            return false;
        at_ += sign.size();
        return true;
    }

    bool number(int64_t &value, const std::string &what)
    {
        std::string_view word = next();
        const std::string_view digits = word.substr(word.starts_with('+'));
        const auto [end, status] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (status == std::errc::result_out_of_range)
            return fail(at_, what + ": " + std::string(word) + " does not fit in 64 bits");
        if (status != std::errc{} || end != digits.data() + digits.size() ||
            digits.starts_with('+'))
            return expected(what);
        at_ += word.size();
        return true;
    }

    // "[" item {"," item} "]", where braces serve as well.
    template <class Item> bool list(const std::string &what, Item &&item)
    {
        const bool braces = next() == "{";
        const std::string_view close = braces ? "}" : "]";
        if (!take(braces ? "{" : "["))
            return expected(what + " in [ ]");
        if (take(close))
            return true;
        for (;;) {
            if (!item())
                return false;
            if (take(close))
                return true;
            if (!take(","))
                return expected("',' or '" + std::string(close) + "' in " + what);
        }
    }

    bool order(Tree &tree)
    {
        const std::string word = lower(next());
        if (word == "c" || word == "order_c" || word == "mpi_order_c")
            tree.order = HEDDLE_ORDER_C;
        else if (word == "fortran" || word == "order_fortran" || word == "mpi_order_fortran")
            tree.order = HEDDLE_ORDER_FORTRAN;
        else
            return expected("the order, C or FORTRAN");
        at_ += word.size();
        return true;
    }

    // Arrays of one constructor are equally long, the list of a struct's types included.
    bool equally_long(size_t at, const Argument &argument, size_t length, const Argument *&first,
                      size_t &count)
    {
        if (!first) {
            first = &argument;
            count = length;
        }
        return length == count ||
               fail(at, std::string(argument.what) + ": expected " + std::to_string(count) +
                            ", as many as " + std::string(first->what) + ", found " +
                            std::to_string(length));
    }

    bool argument(Tree &tree, const Argument &argument, const Argument *&first, size_t &count,
                  int depth)
    {
        std::string what(argument.what);
        if (!argument.unit.empty())
            what += " (" + std::string(argument.unit) + ")";
        skip();
        const size_t at = at_;
        switch (argument.kind) {
        case Argument::Kind::number:
            return number(tree.*argument.number, what);
        case Argument::Kind::numbers: {
            auto &values = tree.*argument.numbers;
            if (!list(what, [&] { return number(values.emplace_back(), "a number in " + what); }))
                return false;
            if (tree.maker == Maker::subarray && values.empty())
                return fail(at, what + ": expected at least one dimension");
            return equally_long(at, argument, values.size(), first, count);
        }
        case Argument::Kind::order:
            return order(tree);
        case Argument::Kind::type:
            return type(tree.old.emplace_back(), what, depth + 1);
        case Argument::Kind::types:
            return list(what, [&] { return type(tree.old.emplace_back(), "a type", depth + 1); }) &&
                   equally_long(at, argument, tree.old.size(), first, count);
        }
        return false;
    }

    bool type(Tree &tree, const std::string &what, int depth)
    {
        const std::string_view word = next();
        tree.at = at_;
        if (word.empty() || !is_word(word[0]))
            return expected(what);
        if (const auto which = predefined_named(word)) {
            tree.predefined = *which;
            at_ += word.size();
            return next() != "(" ||
                   fail(at_, "'" + std::string(word) + "' is predefined: it takes no arguments");
        }
        const std::string small = lower(word);
        const auto all = constructors();
        const auto found = std::find_if(all.begin(), all.end(), [&](const Constructor &each) {
            return each.name == small || (each.maker == Maker::structure && small == "structure");
        });
        if (found == all.end())
            return unknown(word, what);
        if (depth > max_nesting)
            return fail(at_,
                        "more than " + std::to_string(max_nesting) + " constructors in each other");
        tree.maker = found->maker;
        at_ += word.size();
        const std::string name(found->name);
        if (!take("("))
            return expected("'(' after " + name);
        const Argument *first = nullptr;
        size_t count = 0;
        for (const Argument &each : found->arguments) {
            if (&each != &found->arguments.front() && !take(","))
                return expected("',' and then " + std::string(each.what) + " of " + name);
            if (!argument(tree, each, first, count, depth))
                return false;
        }
        return take(")") || expected("')' to close " + name);
    }

    bool unknown(std::string_view word, const std::string &what)
    {
        if (word[0] >= '0' && word[0] <= '9')
            return expected(what);
        const std::string_view guess = nearest(word, all_names());
        return fail(at_, "expected " + what + ", and no type is called '" + std::string(word) +
                             "'" +
                             (guess.empty() ? "" : "; did you mean '" + std::string(guess) + "'?"));
    }
};

} // namespace

std::variant<Tree, TextError> parse(std::string_view text)
{
    Parser parser(text);
    Tree tree;
    if (parser.whole(tree))
        return tree;
    return parser.error;
}

std::string show(const TextError &error, std::string_view text)
{
    const size_t at = std::min(error.at, text.size());
    const size_t begin = at ? text.rfind('\n', at - 1) + 1 : 0; // npos + 1 is 0
    const size_t column = at - begin;
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    std::string where = "column " + std::to_string(column + 1);
    if (text.find('\n') < text.find_last_not_of(" \t\r\n"))
        where = "line " + std::to_string(1 + std::count(text.begin(), text.begin() + begin, '\n')) +
                ", " + where;

    // Long lines are shown around the place.
    constexpr size_t before = 60, after = 40;
    const size_t from = column > before ? column - before : 0;
    std::string shown(line.substr(from, before + after));
    std::string mark(column - from, ' ');
    for (size_t i = 0; i < mark.size(); ++i)
        if (shown[i] == '\t')
            mark[i] = '\t';
    return where + ": " + error.message + "\n  " + shown + "\n  " + mark + "^\n";
}

} // namespace heddle::tools
