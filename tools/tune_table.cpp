// SPDX-License-Identifier: BSD-3-Clause
#include "tune_table.hpp"

#include "gpu/model/question.hpp"
#include "gpu/model/read_tables.hpp"
#include "tune_links.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <map>
#include <ostream>
#include <stdexcept>

namespace heddle::tools {
namespace {

using Json = nlohmann::ordered_json;
using gpu::model::path_names;
using gpu::model::pattern_names;
using gpu::model::where_names;

constexpr int64_t most_runs = 1 << 20; // irregular types of more take too long to make

// An entry may be measured several times.
struct Counts {
    std::map<std::string, bool> entries; // where; whether one of its trials looked i.i.d.
    int64_t trials = 0;

    void add(const Measurement &measured, const std::string &where)
    {
        bool &is_good = entries[where];
        is_good = is_good || measured.iid;
        trials += measured.trials;
    }
    std::vector<std::string> not_iid() const
    {
        std::vector<std::string> all;
        for (const auto &[where, is_good] : entries)
            if (!is_good)
                all.push_back(where);
        return all;
    }
};

const char *name(Pattern pattern) { return pattern_names[static_cast<size_t>(pattern)]; }
const char *name(Path path) { return path_names[static_cast<size_t>(path)]; }
const char *name(Where where) { return where_names[static_cast<size_t>(where)]; }

std::string words(const char *method, Pattern pattern, Path path, int64_t bytes, int64_t block)
{
    return std::string(method) + " " + name(pattern) + " " + name(path) + " " +
           std::to_string(bytes) + " in " + std::to_string(block);
}

bool is_wanted(const TuneOptions &options, const char *what)
{
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), what) != options.only.end();
}

// The times of a grid, in us: [method][bytes][block]; 0: not measured.
using Times = std::vector<std::vector<std::vector<double>>>;

// An entry that cannot be measured is like its neighbour: of a smaller amount in proportion, or of
// the next smaller block. False where there is none at all.
bool fill(std::vector<std::vector<double>> &times, const std::vector<int64_t> &bytes)
{
    const size_t columns = times[0].size();
    for (size_t r = 0; r < times.size(); ++r)
        for (size_t c = 0; c < columns; ++c)
            if (times[r][c] == 0 && r > 0)
                times[r][c] = times[r - 1][c] * static_cast<double>(bytes[r]) /
                              static_cast<double>(bytes[r - 1]);
    for (size_t r = times.size(); r-- > 0;)
        for (size_t c = 0; c < columns; ++c) {
            if (times[r][c] == 0 && c > 0)
                times[r][c] = times[r][c - 1];
            if (times[r][c] == 0 && r + 1 < times.size())
                times[r][c] = times[r + 1][c];
        }
    return std::all_of(times.begin(), times.end(), [](const std::vector<double> &row) {
        return std::all_of(row.begin(), row.end(), [](double each) { return each > 0; });
    });
}

Json grid_of(const GridPlan &plan, const char *method, const std::vector<std::vector<double>> &us)
{
    Json rows = Json::array();
    for (const std::vector<double> &row : us) {
        Json numbers = Json::array();
        for (const double each : row)
            numbers.push_back(rounded_us(1e-6 * each));
        rows.push_back(numbers);
    }
    return {{"method", method},    {"pattern", name(plan.pattern)}, {"path", name(plan.path)},
            {"bytes", plan.bytes}, {"blocks", plan.blocks},         {"us", rows}};
}

bool fits(Pattern pattern, int64_t bytes, int64_t block)
{
    return block <= bytes && (pattern != Pattern::runs || bytes / block <= most_runs);
}

Times not_measured(const GridPlan &plan)
{
    return Times(plan.methods.size(),
                 std::vector<std::vector<double>>(plan.bytes.size(),
                                                  std::vector<double>(plan.blocks.size())));
}

Times measure(Bench &bench, const GridPlan &plan, const TuneOptions &options, Counts &counts)
{
    Times times = not_measured(plan);
    for (size_t r = 0; r < plan.bytes.size(); ++r)
        for (size_t c = 0; c < plan.blocks.size(); ++c) {
            const int64_t bytes = plan.bytes[r], block = plan.blocks[c];
            if (!fits(plan.pattern, bytes, block))
                continue;
            const Layout layout = layout_of(plan.pattern, plan.path, bytes, block);
            for (size_t m = 0; m < plan.methods.size(); ++m) {
                const auto measured =
                    bench.time(layout, plan.path, plan.methods[m], options.trials);
                if (!measured)
                    continue;
                // as if it were the whole amount
                times[m][r][c] = 1e6 * measured->median * static_cast<double>(bytes) /
                                 static_cast<double>(layout.bytes);
                counts.add(*measured,
                           words(plan.methods[m], plan.pattern, plan.path, bytes, block));
            }
        }
    return times;
}

// Each entry's middle time, of the passes that have one.
Times middle_of(const GridPlan &plan, const std::vector<Times> &passes)
{
    Times times = not_measured(plan);
    for (size_t m = 0; m < plan.methods.size(); ++m)
        for (size_t r = 0; r < plan.bytes.size(); ++r)
            for (size_t c = 0; c < plan.blocks.size(); ++c) {
                std::vector<double> all;
                for (const Times &pass : passes)
                    if (pass[m][r][c] > 0)
                        all.push_back(pass[m][r][c]);
                std::sort(all.begin(), all.end());
                if (!all.empty()) // of an even number the lower
                    times[m][r][c] = all[(all.size() - 1) / 2];
            }
    return times;
}

// All grids. What disturbs the machine for a while is in one pass of them.
Json grids_of(Bench &bench, const TuneOptions &options, const Progress &progress, Counts &counts)
{
    std::vector<GridPlan> plans = grid_plans(options.quick, options.most_bytes);
    std::erase_if(plans,
                  [&](const GridPlan &plan) { return !is_wanted(options, name(plan.pattern)); });
    std::vector<std::vector<Times>> passes(plans.size());
    const auto begin = std::chrono::steady_clock::now();
    for (int pass = 1; pass <= options.passes; ++pass) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (pass > 1 && options.most_seconds > 0 &&
            spent.count() * pass > options.most_seconds * (pass - 1)) {
            progress("pass " + std::to_string(pass) +
                     " is left out: this machine is slow (--passes has all measured)");
            break;
        }
        for (size_t i = 0; i < plans.size(); ++i) {
            progress("pass " + std::to_string(pass) + " of " + std::to_string(options.passes) +
                     ", grid " + std::to_string(i + 1) + " of " + std::to_string(plans.size()) +
                     ": " + name(plans[i].pattern) + " " + name(plans[i].path));
            passes[i].push_back(measure(bench, plans[i], options, counts));
        }
    }
    Json grids = Json::array();
    for (size_t i = 0; i < plans.size(); ++i) {
        Times times = middle_of(plans[i], passes[i]);
        for (size_t m = 0; m < plans[i].methods.size(); ++m)
            if (fill(times[m], plans[i].bytes))
                grids.push_back(grid_of(plans[i], plans[i].methods[m], times[m]));
    }
    return grids;
}

// Up to which size several copies of one call are sooner in one kernel than by the copy engine, on
// each of the paths.
int64_t together_most(Bench &bench, const TuneOptions &options, const std::vector<Path> &paths)
{
    int64_t most = 0;
    for (const int64_t bytes : together_sizes(options.most_bytes)) {
        const Layout layout = layout_of(Pattern::dense, Path::pack, bytes, bytes);
        for (const Path path : paths) {
            const auto time = [&](const char *method) {
                const auto measured =
                    bench.time(layout, path, method, options.trials, copies_together);
                return measured ? measured->median : INFINITY;
            };
            if (!(time("kernel") < time("copy_engine")))
                return most;
        }
        most = bytes;
    }
    return most;
}

// ---- links ----

std::vector<LinkKind> wanted_links(const TuneOptions &options)
{
    std::vector<LinkKind> kinds{LinkKind::peers, LinkKind::nodes, LinkKind::imports};
    std::erase_if(kinds, [&](LinkKind kind) {
        return !is_wanted(options, link_names[static_cast<size_t>(kind)]);
    });
    return kinds;
}

int64_t most_over_links(const TuneOptions &options)
{
    return link_sizes(options.quick, options.most_bytes).back();
}

// What cannot be measured is told of, and is not in the table.
Json links_of(LinkBench &links, LinkKind kind, const TuneOptions &options, const Progress &progress,
              Counts &counts)
{
    const auto counted = [&](const Measurement &measured, const std::string &where) {
        counts.add(measured, where);
    };
    Json list = Json::array();
    for (const Link &link : links.links(kind)) {
        progress(words(link));
        const Json entry =
            measured_link(links, link, link_sizes(options.quick, options.most_bytes), counted);
        if (entry.is_null())
            progress("  not measured: it is not possible here");
        else
            list.push_back(entry);
    }
    return list;
}

// ---- messages ----

std::vector<Where> reached(const Job &job)
{
    std::vector<Where> all{Where::local, Where::remote};
    std::erase_if(all, [&](Where where) { return !job.reaches(where); });
    return all;
}

std::string words(Where where, int64_t bytes)
{
    return std::string(where == Where::local ? "a message within the node, "
                                             : "a message to another node, ") +
           std::to_string(bytes);
}

Json messages_of(Job &job, const TuneOptions &options, const Progress &progress, Counts &counts)
{
    const std::vector<int64_t> sizes = message_bytes(options.quick, options.most_bytes);
    Json list = Json::array();
    for (const Where where : reached(job)) {
        progress(std::string(messages_name) + ", " + name(where));
        Json us = Json::array();
        for (const int64_t bytes : sizes) {
            const Measurement measured = job.time(where, bytes, options.trials);
            counts.add(measured, words(where, bytes));
            us.push_back(rounded_us(measured.median));
        }
        list.push_back({{"where", name(where)}, {"bytes", sizes}, {"us", us}});
    }
    return list;
}

std::string today()
{
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    return std::strftime(text, sizeof text, "%Y-%m-%d", gmtime_r(&now, &parts)) ? text : "";
}

} // namespace

Json tune(Bench &bench, Job *job, const TuneOptions &options, const Progress &progress)
{
    Counts counts;
    Json messages;
    if (job) {
        if (is_wanted(options, messages_name))
            messages = messages_of(*job, options, progress, counts);
        job->end();
    }
    const Json grids = grids_of(bench, options, progress, counts);
    progress("contiguous copies that share a call");
    const int64_t together = together_most(bench, options, {Path::pack}),
                  over_link = together_most(bench, options, {Path::to_host, Path::from_host});
    LinkBench links(bench.memory(), options.trials, most_over_links(options));
    Json lists = Json::object();
    for (const LinkKind kind : wanted_links(options))
        lists[link_names[static_cast<size_t>(kind)]] =
            links_of(links, kind, options, progress, counts);
    Json table{{"heddle_tuning", gpu::model::tables_version},
               {"device", bench.device()},
               {"made", today()},
               {"heddle", heddle_version()},
               {"quick", options.quick},
               {"entries", counts.entries.size()},
               {"trials", counts.trials},
               {"not_iid", counts.not_iid()},
               {"together_most_bytes", together},
               {"together_link_most_bytes", over_link},
               {"grids", grids}};
    table["devices"] = bench.memory().devices();
    table.update(lists);
    if (!messages.is_null())
        table[messages_name] = messages;
    return table;
}

namespace {

template <size_t N> size_t index_of(const char *const (&names)[N], const std::string &name)
{
    const auto found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names))
        throw std::runtime_error("the table names \"" + name + "\", which nobody knows");
    return static_cast<size_t>(found - std::begin(names));
}

struct Entry {
    std::string method;
    Pattern pattern;
    Path path;
    int64_t bytes, block;
    double us;
};

// The least, a middle and the largest of so many.
std::vector<size_t> least_middle_largest(size_t count)
{
    if (count == 0)
        return {};
    std::vector<size_t> some{0, (count - 1) / 2, count - 1};
    some.erase(std::unique(some.begin(), some.end()), some.end());
    return some;
}

int64_t positive(const Json &amount)
{
    const auto value = amount.get<int64_t>();
    if (value < 1)
        throw std::runtime_error("the table has an amount or a block of " + std::to_string(value));
    return value;
}

// A few of each grid: every third block of the least, a middle and the largest amount.
std::vector<Entry> some_entries(const Json &table, const TuneOptions &options)
{
    std::vector<Entry> entries;
    for (const Json &grid : table.at("grids")) {
        if (!is_wanted(options, grid.at("pattern").get<std::string>().c_str()))
            continue;
        const auto pattern = static_cast<Pattern>(index_of(pattern_names, grid.at("pattern")));
        const auto path = static_cast<Path>(index_of(path_names, grid.at("path")));
        const size_t rows = grid.at("bytes").size(), columns = grid.at("blocks").size();
        for (const size_t r : least_middle_largest(rows))
            for (size_t c = 0; c < columns; c += 3) {
                const int64_t bytes = positive(grid.at("bytes").at(r)),
                              block = positive(grid.at("blocks").at(c));
                if (bytes <= options.most_bytes && fits(pattern, bytes, block))
                    entries.push_back({grid.at("method"), pattern, path, bytes, block,
                                       grid.at("us").at(r).at(c)});
            }
    }
    return entries;
}

using Compared = std::function<void(double now, double then, const std::string &where)>;

// Some amounts of an entry, each with its place there.
template <class Each> void for_some_amounts(const Json &entry, Each each)
{
    for (const size_t i : least_middle_largest(entry.at("bytes").size()))
        each(positive(entry.at("bytes").at(i)), i);
}

void compare_messages(Job &job, const Json &table, const TuneOptions &options,
                      const Compared &compared)
{
    const int64_t most = message_bytes(options.quick, options.most_bytes).back();
    for (const Json &entry : table.value(messages_name, Json::array())) {
        const auto where = static_cast<Where>(index_of(where_names, entry.at("where")));
        for_some_amounts(entry, [&](int64_t bytes, size_t i) {
            if (job.reaches(where) && bytes <= most)
                compared(1e6 * job.time(where, bytes, options.trials).median, entry.at("us").at(i),
                         words(where, bytes));
        });
    }
}

// Of links what opening them takes, too.
void compare_links(Bench &bench, const Json &table, const TuneOptions &options,
                   const Compared &compared)
{
    LinkBench links(bench.memory(), options.trials, most_over_links(options));
    for (const LinkKind kind : wanted_links(options))
        for (const Json &entry :
             table.value(link_names[static_cast<size_t>(kind)], Json::array())) {
            const Link link = link_of(kind, entry);
            for_some_amounts(entry, [&](int64_t bytes, size_t i) {
                if (const auto measured = links.time(link, bytes))
                    compared(1e6 * measured->median, entry.at("us").at(i), words(link));
            });
            const auto opening =
                kind == LinkKind::imports ? links.open_seconds(link) : std::nullopt;
            if (opening)
                compared(1e6 * *opening, entry.at("open_us"), "opening " + words(link));
        }
}

} // namespace

Comparison compare(Bench &bench, Job *job, const Json &table, const TuneOptions &options,
                   const Progress &progress)
{
    std::vector<double> ratios;
    Comparison found;
    const auto compared = [&](double now, double then, const std::string &where) {
        ratios.push_back(std::max(now / then, then / now));
        if (ratios.back() > found.most) {
            found.most = ratios.back();
            found.worst = where;
        }
    };
    if (job) {
        if (is_wanted(options, messages_name))
            compare_messages(*job, table, options, compared);
        job->end();
    }
    compare_links(bench, table, options, compared);
    const std::vector<Entry> entries = some_entries(table, options);
    for (size_t i = 0; i < entries.size(); ++i) {
        const Entry &each = entries[i];
        if (i % 50 == 0)
            progress("entry " + std::to_string(i + 1) + " of " + std::to_string(entries.size()));
        const Layout layout = layout_of(each.pattern, each.path, each.bytes, each.block);
        const auto measured = bench.time(layout, each.path, each.method.c_str(), options.trials);
        if (!measured)
            continue;
        const double now = 1e6 * measured->median * static_cast<double>(each.bytes) /
                           static_cast<double>(layout.bytes);
        compared(now, each.us,
                 words(each.method.c_str(), each.pattern, each.path, each.bytes, each.block));
    }
    if (ratios.empty())
        throw std::runtime_error("nothing of the table could be measured");
    std::sort(ratios.begin(), ratios.end());
    found.entries = static_cast<int>(ratios.size());
    found.median = ratios[ratios.size() / 2];
    found.ninth = ratios[ratios.size() * 9 / 10];
    return found;
}

namespace {

// A list of objects has a line for each.
void write_member(std::ostream &out, const std::string &key, const Json &value)
{
    out << " " << Json(key) << ": ";
    if (value.is_array() && !value.empty() && value.front().is_object()) {
        const char *between = "[\n  ";
        for (const Json &each : value) {
            out << between << each;
            between = ",\n  ";
        }
        out << "]";
    } else {
        out << value;
    }
    out << ",\n";
}

} // namespace

void write_table(std::ostream &out, const Json &table)
{
    out << "{\n";
    for (const auto &[key, value] : table.items())
        if (key != "grids")
            write_member(out, key, value);
    out << " \"grids\": [";
    const char *between = "\n";
    for (const Json &grid : table.at("grids")) {
        out << between << "  {";
        for (const auto &[key, value] : grid.items())
            if (key != "us")
                out << Json(key) << ": " << value << ", ";
        out << "\n   \"us\": [";
        const char *comma = "";
        for (const Json &row : grid.at("us")) {
            out << comma << "\n    " << row;
            comma = ",";
        }
        out << "]}";
        between = ",\n";
    }
    out << "\n ]\n}\n";
}

} // namespace heddle::tools
