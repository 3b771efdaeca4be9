/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run of random cases: numbered, shared by threads, each tried by its own seed, until one fails.
 * What the programs that do so have in common.
 */
#pragma once

#include "../oracle/rng.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace property {

struct RunOptions {
    explicit RunOptions(uint64_t how_many) : cases(how_many) {}

    uint64_t cases;
    uint64_t seed = std::random_device{}();
    uint64_t case_seed = 0;
    bool one_case = false; /* that of case_seed */
    unsigned threads = 1;
    bool shrink = true;
    bool print = false;

    void add_to(CLI::App &app)
    {
        app.add_option("--cases", cases, "random cases to try");
        app.add_option("--seed", seed, "of the whole run; random unless given");
        app.add_option("--case-seed", case_seed, "try this one case, as a failure names it")
            ->each([this](const std::string &) { one_case = true; });
        app.add_option("--threads", threads, "threads that share the cases")
            ->check(CLI::Range(1u, 256u));
        app.add_flag("!--no-shrink", shrink, "do not look for a smaller failing case");
        app.add_flag("--print", print, "print each case");
    }
};

/* What a thread is at, for the last words of a process that is killed by a signal. */
class LastWords {
public:
    static inline thread_local uint64_t current_case = 0;
    static inline thread_local const char *doing = nullptr;

    static void arrange(const char *program)
    {
        program_ = program;
        for (const int signal : {SIGABRT, SIGTERM})
            std::signal(signal, on_signal);
        if (__sanitizer_set_death_callback) {
            __sanitizer_set_death_callback(say);
            return;
        }
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
            std::signal(signal, on_signal);
    }

private:
    static void say()
    {
        char words[200];
        int length = snprintf(words, sizeof words, "\n%s: died%s%s\n", program_,
                              doing ? " in " : "", doing ? doing : "");
        if (current_case != 0) /* else it is no thread of the run's that got the signal */
            length = snprintf(words, sizeof words, "\n%s: died%s%s; again: %s --case-seed %llu\n",
                              program_, doing ? " in " : "", doing ? doing : "", program_,
                              static_cast<unsigned long long>(current_case));
        if (write(STDERR_FILENO, words, static_cast<size_t>(length)) < 0)
            _exit(3);
    }

    static void on_signal(int signal)
    {
        say();
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }

    static inline const char *program_ = "";
};

class RandomRun {
public:
    explicit RandomRun(const RunOptions &options) : options_(options) {}

    /* Calls check(seed) for each case, of threads that share them. False where one failed. */
    bool execute(const std::function<void(uint64_t)> &check)
    {
        const auto check_case = [&](uint64_t seed) {
            LastWords::current_case = seed;
            check(seed);
            ++done_;
        };
        if (options_.one_case) {
            check_case(options_.case_seed);
            return !failed_;
        }
        std::vector<std::jthread> workers;
        for (unsigned i = 0; i < options_.threads; ++i)
            workers.emplace_back([&] {
                for (uint64_t k = next_++; k < options_.cases && !failed_; k = next_++) {
                    check_case(oracle::Rng::mix(options_.seed, k));
                    report_progress();
                }
            });
        workers.clear();
        return !failed_;
    }

    /* Whether it is the first to fail: the others stop. */
    bool fails_first() { return !failed_.exchange(true); }
    /* Held by who writes about a failure. */
    std::mutex &output() { return output_; }
    uint64_t done() const { return done_; }

    /* One line without its end. */
    void print_summary(const char *cases) const
    {
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began_;
        fprintf(stderr, "%s", isatty(STDERR_FILENO) ? "\r" : "");
        printf("%s: %llu random %s in %.1f s, seed %llu", failed_ ? "FAILED" : "passed",
               static_cast<unsigned long long>(done()), cases, taken.count(),
               static_cast<unsigned long long>(options_.seed));
    }

private:
    void report_progress()
    {
        const auto now = std::chrono::steady_clock::now();
        const std::unique_lock lock(output_, std::try_to_lock);
        if (!lock || now < next_report_)
            return;
        const bool terminal = isatty(STDERR_FILENO);
        next_report_ = now + (terminal ? std::chrono::milliseconds(500) : std::chrono::seconds(20));
        fprintf(stderr, terminal ? "\r[%llu/%llu] cases" : "[%llu/%llu] cases\n",
                static_cast<unsigned long long>(done()),
                static_cast<unsigned long long>(options_.cases));
        fflush(stderr);
    }

    const RunOptions &options_;
    std::atomic<uint64_t> next_{0}, done_{0};
    std::atomic<bool> failed_{false};
    std::mutex output_; /* guards the next report's time as well */
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point next_report_ = began_ + std::chrono::milliseconds(500);
};

} // namespace property
