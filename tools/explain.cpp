// SPDX-License-Identifier: BSD-3-Clause
// heddle-explain: what Heddle makes of a type.
#include "information.hpp"
#include "report.hpp"
#include "settings.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using namespace heddle::tools;

constexpr const char *description =
    "Shows what Heddle makes of a datatype: its size and extent, its layout as written and after\n"
    "canonicalization, the plan that moves it and, where a device is open, how long that takes "
    "there.\n";

constexpr const char *footer = R"(
A type is written as MPI's constructors take it; counts that an array's length tells are left out:
  contiguous(COUNT, TYPE)                        vector(COUNT, BLOCKLENGTH, STRIDE, TYPE)
  hvector(COUNT, BLOCKLENGTH, BYTES, TYPE)       indexed([LENGTHS], [DISPLS], TYPE)
  hindexed([LENGTHS], [BYTES], TYPE)             indexed_block(LENGTH, [DISPLS], TYPE)
  hindexed_block(LENGTH, [BYTES], TYPE)          struct([LENGTHS], [BYTES], [TYPES])
  subarray([SIZES], [SUBSIZES], [STARTS], C|FORTRAN, TYPE)
  resized(TYPE, LB, EXTENT)                      dup(TYPE)
with predefined types as double, int, char, float, byte, int64, double_int. # begins a comment.

Examples:
  heddle-explain 'hvector(1000, 1, 512, double)'
  heddle-explain --count 10000 'struct([1, 1, 1, 1], [0, 8, 12, 16], [double, int, int, char])'
  heddle-explain 'subarray([64, 64, 64, 64], [32, 32, 32, 32], [16, 16, 16, 16], C, double)'
  heddle-explain --json -f halo.type
  echo 'vector(3, 2, 4, int)' | heddle-explain -f -

Exit status: 0 explained, 1 the type is wrong, 2 the command line or the file is.)";

struct Options {
    std::string text, file;
    int64_t count = 1;
    bool json = false, whole = false, no_measure = false, settings = false, measure = false;
};

int failed(const Options &options, const TextError &error)
{
    std::cerr << "heddle-explain: " << (options.file.empty() ? "" : options.file + ": ")
              << show(error, options.text);
    return 1;
}

bool read(Options &options)
{
    std::ifstream opened;
    if (options.file != "-")
        opened.open(options.file, std::ios::binary);
    std::istream &in = options.file == "-" ? std::cin : opened;
    if (!in)
        return false;
    try {
        options.text.assign(std::istreambuf_iterator<char>(in), {});
        return true;
    } catch (const std::ios_base::failure &) { // a folder
        return false;
    }
}

// What device 0's tables are, from the line "device 0: ...; tables: ...; slabs: ...".
std::string tables_in(const std::string &text)
{
    const std::string begin = "; tables: ";
    const size_t at = text.find(begin);
    if (at == std::string::npos)
        return {};
    const size_t first = at + begin.size();
    return text.substr(first, text.find("; slabs: ", first) - first);
}

void measure_all(const Options &options, Report &report)
{
    report.measured = measure(report.built->type, report.facts, report.not_measured);
    report.methods =
        method_times(report.built->type, report.facts, options.measure, report.no_methods);
    report.tables = tables_in(information());
}

int explain(const Options &options)
{
    const auto parsed = parse(options.text);
    if (const auto *error = std::get_if<TextError>(&parsed))
        return failed(options, *error);
    const auto built = build(std::get<Tree>(parsed));
    if (const auto *error = std::get_if<TextError>(&built))
        return failed(options, *error);
    Report report{.built = &std::get<Built>(built),
                  .facts = {},
                  .measured = {},
                  .not_measured = {},
                  .methods = {},
                  .no_methods = {},
                  .tables = {},
                  .whole = options.whole};
    auto facts = facts_of(report.built->type, options.count);
    if (auto *error = std::get_if<TextError>(&facts)) {
        error->at = report.built->tree->at;
        return failed(options, *error);
    }
    report.facts = std::get<Facts>(std::move(facts));
    if (options.no_measure)
        report.not_measured = "--no-measure";
    else
        measure_all(options, report);
    (options.json ? print_json : print_text)(std::cout, report);
    return std::cout.flush() ? 0 : 2;
}

int run(int argc, char **argv)
{
    Options options;
    CLI::App app(description, "heddle-explain");
    app.footer(footer);
    auto *text = app.add_option("TYPE", options.text, "The type");
    auto *file = app.add_option("-f,--file", options.file,
                                "Read the type from a file; - is the standard input");
    file->excludes(text);
    app.add_option("-n,--count", options.count, "Instances to move (default 1)")
        ->check(CLI::Range(int64_t{0}, INT64_MAX));
    app.add_flag("--json", options.json, "Write JSON");
    app.add_flag("--whole", options.whole, "Write long arrays and layouts in full");
    app.add_flag("--no-measure", options.no_measure, "Leave devices alone");
    app.add_flag("--measure", options.measure, "Time each method that can do it, too")
        ->excludes("--no-measure");
    app.add_flag("--settings", options.settings,
                 "Write the table of Heddle's settings, in Markdown, instead");
    app.set_version_flag("--version", std::string("heddle-explain ") + heddle_version());
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (options.settings) {
        print_settings(std::cout);
        return std::cout.flush() ? 0 : 2;
    }
    if (file->count() == 0 && text->count() == 0) {
        std::cerr << "heddle-explain: give a type or --file; --help shows how\n";
        return 2;
    }
    if (file->count() && !read(options)) {
        std::cerr << "heddle-explain: " << options.file << " cannot be read\n";
        return 2;
    }
    return explain(options);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "heddle-explain: %s\n", error.what());
        return 2;
    }
}
