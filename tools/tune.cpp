// SPDX-License-Identifier: BSD-3-Clause
// heddle-tune: measures this machine, and writes the table by which Heddle chooses methods.
#include "tune_exporter.hpp"
#include "tune_links.hpp"
#include "tune_table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

using namespace heddle::tools;
using heddle::gpu::model::pattern_names;
using Clock = std::chrono::steady_clock;

constexpr const char *description =
    "Measures this machine: how long each way of moving data between its GPU and its host takes,\n"
    "by layout, amount and block length. And its links: between each two GPUs, between each GPU\n"
    "and each NUMA node, and out of another process's device memory. Started as an MPI job, it\n"
    "measures messages of host memory, too: from the first rank to another one of its node, and\n"
    "to one of another node. Writes a table that HEDDLE_TUNING names afterwards.\n";

constexpr const char *footer = R"(
Nothing else should run on the GPU and on its cores meanwhile. Each time is the median of a trial
whose samples look independent and identically distributed. A trial that does not is repeated, up
to ten times, and then reported, if no pass had a good one. Of several passes the middle time
counts.

Examples:
  heddle-tune --out machine.json              # the whole table, in less than five minutes
  heddle-tune --quick --out machine.json      # a coarser one, in less than one
  mpiexec -n 2 heddle-tune --out machine.json # messages within this node, too
  mpiexec -hosts a:2,b -n 3 heddle-tune --out machine.json # and between the nodes a and b
  HEDDLE_TUNING=$PWD/machine.json mpiexec -n 2 ./program
  heddle-tune --check machine.json            # is the machine as it was?

Exit status: 0 done; with --check: the machine is as the table says, to 10 %. 1 with --check: it is
not. 2 something failed, or the command line is wrong.)";

struct Options {
    std::string out, check;
    TuneOptions tune;
};

struct Shown {
    Clock::time_point begin = Clock::now();
    void operator()(const std::string &step) const
    {
        const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        std::fprintf(stderr, "heddle-tune: %5.1f s  %s\n", seconds, step.c_str());
    }
};

void tell_without_room(const Bench &bench, const Shown &shown, const char *instead)
{
    if (bench.without_room())
        shown(std::to_string(bench.without_room()) +
              " times were not measured, for there is not enough memory" + instead);
}

int check(const Options &options, Job *job)
{
    const Shown shown;
    std::ifstream in(options.check);
    const auto table = nlohmann::ordered_json::parse(in, nullptr, false);
    if (!in.is_open() || table.is_discarded())
        throw std::runtime_error(options.check + " cannot be read as JSON");
    Bench bench;
    if (table.value("device", "") != bench.device())
        throw std::runtime_error(options.check + " is of " + table.value("device", "nothing") +
                                 ", and this is " + bench.device());
    const Comparison found = compare(bench, job, table, options.tune, shown);
    tell_without_room(bench, shown, "");
    std::printf("%d entries measured again. Now's time and the table's, the larger by the smaller: "
                "median %.3f, nine of ten below %.3f, most %.3f (%s)\n",
                found.entries, found.median, found.ninth, found.most, found.worst.c_str());
    constexpr double as_it_was = 1.1;
    return found.median <= as_it_was ? 0 : 1;
}

// What --out names. It is found out before anything is measured whether that can be written. A file
// that is there stays until the whole table is.
class Output {
public:
    explicit Output(const std::string &name) : name_(name)
    {
        if (name == "-")
            return;
        if (std::filesystem::is_regular_file(name))
            name_ = std::filesystem::canonical(name); // a link stays one
        if (!std::filesystem::exists(name) || std::filesystem::is_regular_file(name))
            half_ = name_ + ".half";
        file_.open(half_.empty() ? name : half_);
        if (!file_)
            throw std::runtime_error(name + " cannot be written");
    }
    Output(const Output &) = delete;
    ~Output()
    {
        if (!half_.empty())
            std::remove(half_.c_str());
    }
    void write(const nlohmann::ordered_json &table)
    {
        std::ostream &out = name_ == "-" ? std::cout : file_;
        write_table(out, table);
        if (!out.flush() || (!half_.empty() && std::rename(half_.c_str(), name_.c_str()) != 0))
            throw std::runtime_error(name_ + " cannot be written");
        half_.clear();
    }

private:
    std::string name_;
    std::string half_; // what is written first; empty: the name itself
    std::ofstream file_;
};

int measure(const Options &options, Job *job)
{
    const Shown shown;
    Output output(options.out);
    Bench bench;
    const auto table = tune(bench, job, options.tune, shown);
    output.write(table);
    tell_without_room(bench, shown, "; in their place stands what follows from smaller amounts");
    if (table.at("grids").empty())
        shown("HEDDLE_TUNING ignores a table without patterns; measure one, too: --only dense,...");
    const auto &failed = table.at("not_iid");
    shown(std::to_string(table.at("entries").get<int64_t>()) + " entries, " +
          std::to_string(table.at("trials").get<int64_t>()) + " trials; " +
          std::to_string(failed.size()) + " entries without a trial that looks i.i.d.");
    for (size_t i = 0; i < failed.size() && i < 10; ++i)
        shown("  not i.i.d.: " + failed[i].get<std::string>());
    return 0;
}

std::vector<std::string> measured_kinds()
{
    std::vector<std::string> kinds(std::begin(pattern_names), std::end(pattern_names));
    kinds.insert(kinds.end(), std::begin(link_names), std::end(link_names));
    kinds.emplace_back(messages_name);
    return kinds;
}

void complain(const std::exception &error)
{
    std::fprintf(stderr, "heddle-tune: %s\n", error.what());
}

// In the job, if this is one, where an error ends the ranks that wait for this one.
int carry_out(const Options &options)
{
    std::string reason;
    const auto job = Job::join(options.tune.most_bytes, reason);
    const auto &only = options.tune.only;
    if (!job && std::find(only.begin(), only.end(), messages_name) != only.end())
        throw std::runtime_error("messages cannot be measured: " + reason);
    if (!job && only.empty())
        Shown()("messages are not measured: " + reason);
    try {
        if (job && !job->is_first()) {
            job->answer();
            return 0;
        }
        return options.check.empty() ? measure(options, job.get()) : check(options, job.get());
    } catch (const std::exception &error) {
        complain(error);
        if (job)
            job->abort(2);
        return 2;
    }
}

int run(int argc, char **argv)
{
    Options options;
    int samples = 0, passes = 0;
    CLI::App app(description, "heddle-tune");
    app.footer(footer);
    auto *out =
        app.add_option("-o,--out", options.out, "Write the table there; - is standard output");
    auto *check_option = app.add_option("--check", options.check,
                                        "Compare a table with this machine, and write nothing");
    check_option->excludes(out);
    app.add_flag("--quick", options.tune.quick, "Fewer entries, and fewer samples of each");
    app.add_option("--most", options.tune.most_bytes,
                   "No amounts above so many bytes (default 67108864)")
        ->check(CLI::Range(int64_t{4096}, int64_t{1} << 30));
    app.add_option("--only", options.tune.only,
                   "Only these patterns of layouts, such as strided, links (peers, nodes, "
                   "imports) and messages")
        ->check(CLI::IsMember(measured_kinds()))
        ->delimiter(',');
    app.add_option("--passes", passes,
                   "How often all layouts are measured: each one's middle time counts (default 3, "
                   "or as often as 4 minutes allow; with --quick 1)")
        ->check(CLI::Range(1, 99));
    app.add_option("--samples", samples, "Samples of a trial (default 21, with --quick 11)")
        ->check(CLI::Range(5, 1000));
    app.set_version_flag("--version", std::string("heddle-tune ") + heddle_version());
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    options.tune.passes = passes ? passes : options.tune.quick ? 1 : 3;
    options.tune.most_seconds = passes ? 0 : 240; // links and messages have the fifth minute
    options.tune.trials.samples = samples ? samples : options.tune.quick ? 11 : 21;
    options.tune.trials.enough = options.tune.quick ? 0.02 : 0.1;
    if (options.check.empty() && options.out.empty()) {
        std::cerr << "heddle-tune: give --out or --check; --help shows how\n";
        return 2;
    }
    return carry_out(options);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        const bool exports = argc == 3 && std::strcmp(argv[1], export_option) == 0;
        return exports ? run_exporter(argv[2]) : run(argc, argv);
    } catch (const std::exception &error) {
        complain(error);
        return 2;
    }
}
