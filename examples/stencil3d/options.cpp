// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "picture.hpp"
#include "update.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace stencil {

const char *const usage =
    "usage: mpiexec -n N stencil3d [options]\n"
    "Sound in a gas on a periodic grid that is split among N processes, a GPU each.\n"
    "\n"
    "  --each N             cells of each process along each axis (default 32)\n"
    "  --size NX,NY,NZ      cells of the whole grid, in place of --each\n"
    "  --steps N            of time (default 20)\n"
    "  --quantities N       density, three velocities, and dyes (default 8; 4 to 16)\n"
    "  --shape WORD         a cell looks over faces, edges or corners (default faces)\n"
    "  --radius N           how far (default 3)\n"
    "  --radius-of X,Y,Z=N  how far in one direction, for example 1,0,0=2 (may be given again)\n"
    "  --memory WHERE       host, or device: a GPU's, or the simulated device's (default host)\n"
    "  --exchange HOW       messages, or alltoallw: one collective call (default messages)\n"
    "  --no-overlap         update all cells when the whole halo has come\n"
    "  --no-reorder         MPI must not move parts to other processes\n"
    "  --check              compute every part again without neighbours, and compare all bits\n"
    "  --test               --check with an explosion on every boundary in turn, both exchanges\n"
    "  --break N            spoil N values of part 0 before they are compared, to see it fail\n"
    "  --picture FILE.png   a slice of the density at the end\n"
    "  --help               this text\n";

namespace {

// Whole numbers between commas.
template <class Number> std::array<Number, 3> three(const std::string &text, const char **rest)
{
    std::array<Number, 3> numbers{};
    const char *at = text.c_str();
    for (size_t i = 0; i < 3; ++i) {
        char *end;
        numbers[i] = static_cast<Number>(std::strtol(at, &end, 10));
        if (end == at || (i < 2 && *end != ','))
            throw UsageError("three numbers were expected: " + text);
        at = i < 2 ? end + 1 : end;
    }
    *rest = at;
    return numbers;
}

int number(const std::string &text, int least, int most)
{
    char *end;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < least || value > most)
        throw UsageError("a number from " + std::to_string(least) + " to " + std::to_string(most) +
                         " was expected: " + text);
    return static_cast<int>(value);
}

std::string word(const std::string &text, std::initializer_list<const char *> words)
{
    for (const char *each : words)
        if (text == each)
            return text;
    throw UsageError("not known: " + text);
}

Options::OfDirection radius_of(const std::string &text)
{
    const char *rest;
    const Side side = three<int>(text, &rest);
    for (const int component : side)
        if (std::abs(component) > 1)
            throw UsageError("a direction has components of -1, 0 and 1: " + text);
    if (*rest != '=' || number_of(side) == kMiddle)
        throw UsageError("a direction and a radius were expected: " + text);
    return {side, number(rest + 1, 0, 64)};
}

Cells size_of(const std::string &text)
{
    const char *rest;
    const Cells size = three<int64_t>(text, &rest);
    if (*rest != '\0' || *std::min_element(size.begin(), size.end()) < 1)
        throw UsageError("not a size: " + text);
    return size;
}

struct Known {
    std::string name;
    bool takes_value;
    std::function<void(Options &, const std::string &)> set;
};

const std::vector<Known> &all_known()
{
    using O = Options;
    using S = const std::string;
    static const std::vector<Known> all = {
        {"--each", true, [](O &o, S &value) { o.each = number(value, 1, 1 << 12); }},
        {"--size", true, [](O &o, S &value) { o.size = size_of(value); }},
        {"--steps", true, [](O &o, S &value) { o.steps = number(value, 0, 1 << 30); }},
        {"--quantities", true,
         [](O &o, S &value) { o.quantities = number(value, kFewestQuantities, kMostQuantities); }},
        {"--shape", true,
         [](O &o, S &value) {
             o.shape = word(value, {"faces", "edges", "corners"});
         }},
        {"--radius", true, [](O &o, S &value) { o.radius = number(value, 1, 64); }},
        {"--radius-of", true, [](O &o, S &value) { o.radii.push_back(radius_of(value)); }},
        {"--memory", true,
         [](O &o, S &value) {
             o.memory = word(value, {"host", "device"});
         }},
        {"--exchange", true,
         [](O &o, S &value) {
             o.exchange = word(value, {"messages", "alltoallw"});
         }},
        {"--picture", true, [](O &o, S &value) { o.picture = value; }},
        {"--break", true, [](O &o, S &value) { o.broken = number(value, 0, 1 << 20); }},
        {"--no-overlap", false, [](O &o, S &) { o.overlaps = false; }},
        {"--no-reorder", false, [](O &o, S &) { o.reorders = false; }},
        {"--check", false, [](O &o, S &) { o.checks = true; }},
        {"--test", false, [](O &o, S &) { o.tests = true; }},
        {"--help", false, [](O &o, S &) { o.helps = true; }},
    };
    return all;
}

} // namespace

Options parse(int argc, char **argv)
{
    Options options;
    for (int i = 1; i < argc; ++i) {
        const auto &all = all_known();
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Known &each) { return each.name == argv[i]; });
        if (found == all.end())
            throw UsageError(std::string("not known: ") + argv[i]);
        if (found->takes_value && ++i == argc)
            throw UsageError(found->name + " needs a value");
        found->set(options, found->takes_value ? argv[i] : "");
    }
    if (!options.picture.empty() && !has_pictures())
        throw UsageError("--picture: this program was built without libpng");
    return options;
}

Shape shape_of(const Options &options)
{
    Shape shape(options.shape, options.radius);
    for (const auto &each : options.radii)
        shape.set(each.side, each.radius);
    return shape;
}

} // namespace stencil
