/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs every property on random types.
 */
#include "failure.hpp"
#include "properties.hpp"
#include "shrink.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace property {
namespace {

struct Options {
    uint64_t cases = 20000;
    uint64_t seed = 0;
    uint64_t case_seed = 0;
    bool one_case = false;
    unsigned threads = 1;
    int max_depth = 12;
    bool shrink = true;
    bool print = false;
    std::string only;
};

/* What a thread is at, for the last words of a process that is killed by a signal. */
thread_local uint64_t current_case = 0;
thread_local const char *current_property = "making the type";

void last_words()
{
    char words[200];
    const int length =
        snprintf(words, sizeof words, "\nproperty: died in \"%s\"; again: property --case-seed %llu\n",
                 current_property, static_cast<unsigned long long>(current_case));
    if (write(STDERR_FILENO, words, static_cast<size_t>(length)) < 0)
        _exit(3);
}

void on_signal(int signal)
{
    last_words();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void arrange_last_words()
{
    std::signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(last_words);
        return;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        std::signal(signal, on_signal);
}

oracle::Sample make_case(uint64_t case_seed, int max_depth)
{
    oracle::Rng rng(case_seed);
    return oracle::random_type(rng, oracle::random_recipe(rng, max_depth));
}

/* Empty where the property holds. */
std::string try_property(const Property &property, const Subject &subject, uint64_t seed, bool &applied)
{
    current_property = property.name;
    try {
        oracle::Rng rng(seed);
        applied = property.check(subject, rng);
        return {};
    } catch (const std::exception &failure) {
        return failure.what();
    }
}

/* Whether a type, or the making of it, fails the property for one of a few seeds. */
std::string fails_somehow(const oracle::ExprPtr &expr, const Property &property, uint64_t seed)
{
    try {
        oracle::Typemap map = oracle::expand(*expr);
        const Subject subject({expr, std::move(map)});
        for (uint64_t i = 0; i < 6; ++i) {
            bool applied = false;
            std::string what =
                try_property(property, subject, i == 0 ? seed : oracle::Rng::mix(seed, i), applied);
            if (!what.empty())
                return what;
        }
    } catch (const oracle::Overflow &) {
    } catch (const std::exception &failure) {
        return failure.what();
    }
    return {};
}

class Run {
public:
    explicit Run(const Options &options) : options_(options), applied_(all().size()) {}

    bool execute()
    {
        if (options_.one_case) {
            check_case(options_.case_seed);
        } else {
            std::vector<std::jthread> workers;
            for (unsigned i = 0; i < options_.threads; ++i)
                workers.emplace_back([this] { work(); });
        }
        finish();
        return !failed_;
    }

private:
    void work()
    {
        for (uint64_t i = next_++; i < options_.cases && !failed_; i = next_++) {
            check_case(oracle::Rng::mix(options_.seed, i));
            report_progress(++done_);
        }
    }

    void check_case(uint64_t case_seed)
    {
        current_case = case_seed;
        current_property = "making the type";
        oracle::Sample sample = make_case(case_seed, options_.max_depth);
        if (options_.print)
            printf("%s\n", oracle::to_text(*sample.expr).c_str());
        const oracle::ExprPtr expr = sample.expr;
        try {
            const Subject subject(std::move(sample));
            for (size_t i = 0; i < all().size(); ++i) {
                if (!options_.only.empty() && options_.only != all()[i].name)
                    continue;
                bool applied = false;
                const uint64_t seed = oracle::Rng::mix(case_seed, i);
                const std::string what = try_property(all()[i], subject, seed, applied);
                applied_[i] += applied;
                if (!what.empty())
                    return tell_failure(expr, case_seed, all()[i], seed, what);
            }
        } catch (const std::exception &failure) {
            tell_failure(expr, case_seed, all()[0], case_seed, failure.what());
        }
    }

    void tell_failure(const oracle::ExprPtr &expr, uint64_t case_seed, const Property &property,
                      uint64_t seed, const std::string &what)
    {
        const std::lock_guard lock(output_);
        if (failed_.exchange(true))
            return;
        fprintf(stderr, "\nFAILED: %s\n  %s\n  type: %s\n  again: property --case-seed %llu\n", property.name,
                what.c_str(), oracle::to_text(*expr).c_str(), static_cast<unsigned long long>(case_seed));
        if (!options_.shrink)
            return;
        std::string least = what;
        const oracle::ExprPtr small = shrink(expr, [&](const oracle::ExprPtr &candidate) {
            std::string how = fails_somehow(candidate, property, seed);
            if (how.empty())
                return false;
            least = std::move(how);
            return true;
        });
        fprintf(stderr, "  shrunk: %s\n  %s\n", oracle::to_text(*small).c_str(), least.c_str());
        try {
            fprintf(stderr, "  layout: %s\n", oracle::build(*small).describe().c_str());
        } catch (const std::exception &) {
        }
    }

    void report_progress(uint64_t done)
    {
        const auto now = std::chrono::steady_clock::now();
        const std::unique_lock lock(output_, std::try_to_lock);
        if (!lock || now < next_report_)
            return;
        const bool terminal = isatty(STDERR_FILENO);
        next_report_ = now + (terminal ? std::chrono::milliseconds(500) : std::chrono::seconds(20));
        fprintf(stderr, terminal ? "\r[%llu/%llu] cases" : "[%llu/%llu] cases\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(options_.cases));
        fflush(stderr);
    }

    void finish()
    {
        const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        const uint64_t cases = options_.one_case ? 1 : done_.load();
        fprintf(stderr, "%s", isatty(STDERR_FILENO) ? "\r" : "");
        printf("%s: %llu random types in %.1f s, seed %llu\n", failed_ ? "FAILED" : "passed",
               static_cast<unsigned long long>(cases), seconds,
               static_cast<unsigned long long>(options_.seed));
        for (size_t i = 0; i < all().size(); ++i)
            printf("  %-16s %10llu\n", all()[i].name, static_cast<unsigned long long>(applied_[i].load()));
    }

    const Options &options_;
    std::atomic<uint64_t> next_{0}, done_{0};
    std::atomic<bool> failed_{false};
    std::vector<std::atomic<uint64_t>> applied_;
    std::mutex output_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point next_report_ = began_ + std::chrono::milliseconds(500);
};

} // namespace
} // namespace property

int main(int argc, char **argv)
{
    property::Options options;
    options.seed = std::random_device{}();
    CLI::App app{
        "Compares the engine with an oracle on random datatypes: each case is one type, and every\n"
        "property (pack, unpack, iov, flatten, ...) is tried on it. Exits 1 at the first difference."};
    app.option_defaults()->always_capture_default();
    app.add_option("--cases", options.cases, "random types to try");
    app.add_option("--seed", options.seed, "of the whole run; random unless given");
    auto *one = app.add_option("--case-seed", options.case_seed, "try this one case, as a failure names it");
    app.add_option("--threads", options.threads, "threads that share the cases")->check(CLI::Range(1u, 256u));
    app.add_option("--max-depth", options.max_depth, "levels of constructors")->check(CLI::Range(0, 64));
    app.add_option("--only", options.only, "one property by its name");
    app.add_flag("!--no-shrink", options.shrink, "do not look for a smaller failing type");
    app.add_flag("--print", options.print, "print each type");
    CLI11_PARSE(app, argc, argv);
    options.one_case = one->count() > 0;

    printf("property: seed %llu\n", static_cast<unsigned long long>(options.seed));
    fflush(stdout);
    property::arrange_last_words();
    return property::Run(options).execute() ? 0 : 1;
}
