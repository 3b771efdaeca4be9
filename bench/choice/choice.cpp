// SPDX-License-Identifier: BSD-3-Clause
// Whether the method that Heddle chooses is the soonest: over cases that no table was made of, each
// method is forced in turn beside the choice, in one process. bench/choice/run builds it.
#include "../../tools/tune_measure.hpp"

#include "../../src/gpu/model/question.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>

namespace {

using namespace heddle::tools;
using heddle::gpu::model::path_names;
using heddle::gpu::model::pattern_names;
using Json = nlohmann::ordered_json;

struct Case {
    Pattern pattern;
    Path path;
    int64_t bytes, block, spread;
};

struct Result {
    Case of;
    std::string chosen, best;
    std::map<std::string, double> seconds; // medians
    double ratio = 1;                      // the chosen method's time by the best one's
};

// Sizes, blocks and spreads lie between those of the tables (tools/tune_cases.cpp).
std::vector<Case> all_cases(int64_t most_bytes)
{
    constexpr int64_t Ki = 1 << 10;
    const std::vector<int64_t> sizes{6 * Ki,     24 * Ki,    90 * Ki,   360 * Ki,
                                     700 * Ki,   1400 * Ki,  2900 * Ki, 5600 * Ki,
                                     11800 * Ki, 23000 * Ki, 45000 * Ki};
    struct Kind {
        Pattern pattern;
        std::vector<int64_t> blocks, spreads;
        std::vector<Path> paths;
    };
    using enum Path;
    const std::vector<Kind> kinds{
        {Pattern::dense, {1}, {0}, {to_host, from_host, pack}},
        {Pattern::strided,
         {12, 24, 40, 80, 112, 224, 320, 448, 640, 900, 1500, 5000},
         {3},
         {to_host, from_host}},
        {Pattern::strided, {20, 300, 840}, {7}, {to_host, from_host}},
        {Pattern::odd, {7, 29, 111, 451}, {7}, {to_host, from_host}},
        {Pattern::records, {7, 29, 111, 451}, {3}, {to_host, from_host}},
        {Pattern::runs, {24, 200, 760, 3000}, {0}, {to_host, from_host}},
        {Pattern::strided, {24, 200, 900}, {3}, {to_host_layout, from_host_layout}},
        {Pattern::runs, {24, 400}, {0}, {to_host_layout, from_host_layout}}};
    std::vector<Case> cases;
    for (const Kind &kind : kinds)
        for (const Path path : kind.paths)
            for (const int64_t block : kind.blocks)
                for (const int64_t spread : kind.spreads)
                    for (const int64_t bytes : sizes)
                        if (bytes <= most_bytes && block <= bytes &&
                            (kind.pattern != Pattern::runs || bytes / block < 1 << 20))
                            cases.push_back({kind.pattern, path, bytes, block, spread});
    return cases;
}

// All methods and the choice in turn, in another order each time. So nothing that changes with time
// favours one, nor what another one leaves in the processor's caches (a write to lines that the
// processor has just written takes half as long again). What was
// chosen is a method that is forced, too: its samples are those of both.
Result measure(Bench &bench, const Case &of, int rounds)
{
    const Layout layout = layout_of(of.pattern, of.path, of.bytes, of.block, of.spread);
    Result result{of, bench.chosen(layout, of.path), "", {}, 1};
    TrialOptions once;
    once.samples = 5;
    once.most_trials = 1;
    std::map<std::string, std::vector<double>> samples;
    for (const char *const method : modelled_methods)
        if (const auto can = bench.time(layout, of.path, method, once))
            if (can->median < 0.1) // what takes far too long is no rival
                samples[method];
    std::vector<std::string> turns{""}; // the choice
    for (const auto &[method, times] : samples)
        turns.push_back(method);
    std::mt19937 random(1);
    for (int i = 0; i < rounds; ++i) {
        std::shuffle(turns.begin(), turns.end(), random);
        for (const std::string &turn : turns)
            samples[turn.empty() ? result.chosen : turn].push_back(
                bench.once(layout, of.path, turn.empty() ? nullptr : turn.c_str()));
    }
    double least = 0;
    for (const auto &[method, times] : samples) {
        const double time = result.seconds[method] = median_of(times);
        if (result.best.empty() || time < least) {
            least = time;
            result.best = method;
        }
    }
    result.ratio = result.seconds[result.chosen] / least;
    return result;
}

Json as_json(const Result &result)
{
    Json us = Json::object();
    for (const auto &[method, seconds] : result.seconds)
        us[method] = 1e6 * seconds;
    return {{"pattern", pattern_names[static_cast<size_t>(result.of.pattern)]},
            {"path", path_names[static_cast<size_t>(result.of.path)]},
            {"bytes", result.of.bytes},
            {"block", result.of.block},
            {"spread", result.of.spread},
            {"chosen", result.chosen},
            {"best", result.best},
            {"ratio", result.ratio},
            {"us", us}};
}

void print(std::vector<Result> results)
{
    std::sort(results.begin(), results.end(),
              [](const Result &a, const Result &b) { return a.ratio > b.ratio; });
    const auto within = std::count_if(results.begin(), results.end(),
                                      [](const Result &each) { return each.ratio <= 1.05; });
    const auto n = static_cast<double>(results.size());
    std::printf("%zu cases: chosen within 1.05 of the best in %.1f %%, worst %.3f\n",
                results.size(), 100 * static_cast<double>(within) / n, results[0].ratio);
    for (size_t i = 0; i < results.size() && results[i].ratio > 1.05 && i < 30; ++i) {
        const Result &each = results[i];
        std::printf("  %.3f  %s %s, %lld bytes in %lld, %lld times as far apart: %s %.1f us, "
                    "not %s %.1f us\n",
                    each.ratio, pattern_names[static_cast<size_t>(each.of.pattern)],
                    path_names[static_cast<size_t>(each.of.path)],
                    static_cast<long long>(each.of.bytes), static_cast<long long>(each.of.block),
                    static_cast<long long>(each.of.spread), each.chosen.c_str(),
                    1e6 * each.seconds.at(each.chosen), each.best.c_str(),
                    1e6 * each.seconds.at(each.best));
    }
}

int run(int argc, char **argv)
{
    std::string out;
    int64_t most_bytes = int64_t{64} << 20;
    int rounds = 15;
    CLI::App app("Measures whether the method that Heddle chooses is the soonest.\n", "choice");
    app.footer("\nExit status: 0 measured, 2 something failed.");
    app.add_option("--out", out, "Write every case as JSON");
    app.add_option("--most", most_bytes, "No amounts above so many bytes (default 67108864)");
    app.add_option("--rounds", rounds, "Samples of each method (default 15)")
        ->check(CLI::Range(1, 1000));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    Bench bench;
    std::vector<Result> results;
    Json all = Json::array();
    const std::vector<Case> cases = all_cases(most_bytes);
    for (const Case &each : cases) {
        if (results.size() % 50 == 0)
            std::fprintf(stderr, "case %zu of %zu\n", results.size() + 1, cases.size());
        results.push_back(measure(bench, each, rounds));
        all.push_back(as_json(results.back()));
    }
    print(results);
    if (!out.empty())
        std::ofstream(out) << Json{{"device", bench.device()}, {"cases", all}}.dump(1) << '\n';
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "choice: %s\n", error.what());
        return 2;
    }
}
