/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers on memory of every kind, against the oracle, on the device that HEDDLE_DEVICE names.
 */
#include "case.hpp"
#include "named.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace gpu {
namespace {

struct Options {
    uint64_t cases = 2000;
    uint64_t seed = 0;
    uint64_t case_seed = 0;
    bool one_case = false;
    unsigned threads = 1;
    bool shrink = true;
    bool print = false;
    std::string named;
    bool only_named = false;
    bool no_named = false;
    bool scarce = false;
    std::string switches = "reorder=1";
};

/* For the last words of a process that is killed by a signal. */
thread_local uint64_t current_case = 0;

void last_words()
{
    char words[200];
    const int length = snprintf(words, sizeof words, "\ngpu: died; again: gpu --case-seed %llu\n",
                                static_cast<unsigned long long>(current_case));
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
    for (const int signal : {SIGABRT, SIGTERM})
        std::signal(signal, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(last_words);
        return;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
        std::signal(signal, on_signal);
}

class Run {
public:
    explicit Run(const Options &options) : options_(options) {}

    bool execute()
    {
        if (options_.one_case) {
            check_case(options_.case_seed);
        } else {
            std::vector<std::jthread> workers;
            for (unsigned i = 0; i < options_.threads; ++i)
                workers.emplace_back([this] { work(); });
        }
        if (failed_)
            tell_failure();
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

    void check_case(uint64_t seed)
    {
        current_case = seed;
        Case made;
        try {
            made = random_case(seed);
            if (options_.print)
                printf("%llu: %s", static_cast<unsigned long long>(seed), to_text(made).c_str());
            tried_ += run_case(made);
        } catch (const std::exception &failure) {
            if (options_.scarce && may_lack_memory(made) &&
                strstr(failure.what(), heddle_strerror(HEDDLE_ERR_NO_MEMORY)))
                return;
            const std::lock_guard lock(mutex_);
            if (!failed_.exchange(true)) {
                failed_seed_ = seed;
                failure_ = failure.what();
            }
        }
    }

    static bool may_lack_memory(const Case &made)
    {
        return made.mode == Mode::stream &&
               std::any_of(made.jobs.begin(), made.jobs.end(),
                           [](const Job &job) { return job.op != HEDDLE_OP_REPLACE; });
    }

    void tell_failure()
    {
        fprintf(stderr, "\nFAILED: %s\n  again: gpu --case-seed %llu\n", failure_.c_str(),
                static_cast<unsigned long long>(failed_seed_));
        if (!options_.shrink)
            return;
        const Case least = shrink_case(random_case(failed_seed_), failure_);
        fprintf(stderr, "  shrunk: %s\n  %s", failure_.c_str(), to_text(least).c_str());
    }

    void report_progress(uint64_t done)
    {
        const auto now = std::chrono::steady_clock::now();
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock || now < next_report_)
            return;
        const bool terminal = isatty(STDERR_FILENO);
        next_report_ = now + (terminal ? std::chrono::milliseconds(500) : std::chrono::seconds(20));
        fprintf(stderr, terminal ? "\r[%llu/%llu] cases" : "[%llu/%llu] cases\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(options_.cases));
        fflush(stderr);
    }

    void finish() const
    {
        const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        const uint64_t cases = options_.one_case ? 1 : done_.load();
        fprintf(stderr, "%s", isatty(STDERR_FILENO) ? "\r" : "");
        printf("%s: %llu random cases in %.1f s, seed %llu; %llu too large to try\n",
               failed_ ? "FAILED" : "passed", static_cast<unsigned long long>(cases), seconds,
               static_cast<unsigned long long>(options_.seed),
               static_cast<unsigned long long>(cases - std::min<uint64_t>(cases, tried_)));
    }

    const Options &options_;
    std::atomic<uint64_t> next_{0}, done_{0}, tried_{0};
    std::atomic<bool> failed_{false};
    std::mutex mutex_; /* guards what follows, and the output */
    uint64_t failed_seed_ = 0;
    std::string failure_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point next_report_ = began_ + std::chrono::milliseconds(500);
};

void print_info()
{
    std::string info(4096, '\0');
    size_t length = 0;
    if (heddle_info(info.data(), info.size(), &length) == HEDDLE_SUCCESS)
        printf("%s", info.c_str());
    fflush(stdout);
}

int run(const Options &options)
{
    Machine &machine = Machine::get();
    print_info();
    machine.switches = options.switches;
    machine.reset();
    Tally tally;
    if (!options.only_named && options.named.empty()) {
        const bool passed = Run(options).execute();
        ++(passed ? tally.passed : tally.failed);
        machine.reset();
        if (!passed || options.one_case || options.no_named)
            return passed ? 0 : 1;
    }
    run_named(options.named, tally);
    print_info();
    printf("%s\n", tally.line().c_str());
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}

} // namespace
} // namespace gpu

int main(int argc, char **argv)
{
    gpu::Options options;
    options.seed = std::random_device{}();
    CLI::App app{
        "Compares transfers on memory of every kind with an oracle: random cases, then tests with names.\n"
        "HEDDLE_DEVICE says which device: auto, none, or a plug-in's path. Exits 1 where something is "
        "wrong."};
    app.option_defaults()->always_capture_default();
    app.add_option("--cases", options.cases, "random cases to try");
    app.add_option("--seed", options.seed, "of the whole run; random unless given");
    auto *one = app.add_option("--case-seed", options.case_seed, "try this one case, as a failure names it");
    app.add_option("--threads", options.threads, "threads that share the cases")->check(CLI::Range(1u, 256u));
    app.add_option("--named", options.named, "only tests whose name contains this");
    app.add_flag("--only-named", options.only_named, "no random cases");
    app.add_flag("--no-named", options.no_named, "random cases alone");
    app.add_flag("--scarce", options.scarce,
                 "operators on streams may run out of memory: there is no other way for them");
    app.add_option("--switches", options.switches, "of the simulated device during the random cases (sim.h)");
    app.add_flag("!--no-shrink", options.shrink, "do not look for a smaller failing case");
    app.add_flag("--print", options.print, "print each case");
    CLI11_PARSE(app, argc, argv);
    options.one_case = one->count() > 0;

    printf("gpu: seed %llu\n", static_cast<unsigned long long>(options.seed));
    gpu::arrange_last_words();
    try {
        return gpu::run(options);
    } catch (const std::exception &failure) {
        fprintf(stderr, "gpu: %s\n", failure.what());
        return 1;
    }
}
