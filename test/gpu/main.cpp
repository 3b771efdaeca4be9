/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers on memory of every kind, against the oracle, on the device that HEDDLE_DEVICE names.
 */
#include "../unit/property/random_run.hpp"
#include "case.hpp"
#include "named.hpp"

#include <algorithm>
#include <cstring>

namespace gpu {
namespace {

using property::LastWords;
using property::RandomRun;

struct Options {
    property::RunOptions run{2000};
    std::string named;
    bool only_named = false;
    bool no_named = false;
    bool scarce = false;
    std::string switches = "reorder=1";
};

class Run {
public:
    explicit Run(const Options &options) : options_(options), run_(options.run) {}

    bool execute()
    {
        const bool passed = run_.execute([this](uint64_t seed) { check_case(seed); });
        if (!passed)
            tell_failure();
        run_.print_summary("cases");
        printf(
            "; %llu too large to try\n",
            static_cast<unsigned long long>(run_.done() - std::min<uint64_t>(run_.done(), tried_)));
        return passed;
    }

private:
    void check_case(uint64_t seed)
    {
        Case made;
        try {
            made = random_case(seed);
            if (options_.run.print)
                printf("%llu: %s", static_cast<unsigned long long>(seed), to_text(made).c_str());
            tried_ += run_case(made);
        } catch (const std::exception &failure) {
            if (options_.scarce && may_lack_memory(made) &&
                strstr(failure.what(), heddle_strerror(HEDDLE_ERR_NO_MEMORY)))
                return;
            const std::lock_guard lock(run_.output());
            if (run_.fails_first()) {
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
        if (!options_.run.shrink)
            return;
        const Case least = shrink_case(random_case(failed_seed_), failure_);
        fprintf(stderr, "  shrunk: %s\n  %s", failure_.c_str(), to_text(least).c_str());
    }

    const Options &options_;
    RandomRun run_;
    std::atomic<uint64_t> tried_{0};
    uint64_t failed_seed_ = 0; /* guarded by the run's output, with the next */
    std::string failure_;
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
    // EXPECTED_REASON: a test that goes on without a device,
    // and looks at why (test_environment.cpp).
    const char *const wanted = getenv("HEDDLE_DEVICE");
    if (wanted && strchr(wanted, '/') && machine.devices() == 0 && !getenv("EXPECTED_REASON")) {
        fprintf(stderr, "FAILED: %s has no device\n", wanted);
        return 1;
    }
    machine.switches = options.switches;
    machine.reset();
    Tally tally;
    if (!options.only_named && options.named.empty()) {
        const bool passed = Run(options).execute();
        ++(passed ? tally.passed : tally.failed);
        printf("%-7s random cases\n", passed ? "ok" : "FAILED");
        machine.reset();
        if (!passed || options.run.one_case || options.no_named)
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
    CLI::App app{"Compares transfers on memory of every kind with an oracle: random cases, then "
                 "tests with names.\n"
                 "HEDDLE_DEVICE says which device: auto, none, or a plug-in's path. Exits 1 where "
                 "something is "
                 "wrong."};
    app.option_defaults()->always_capture_default();
    options.run.add_to(app);
    app.add_option("--named", options.named, "only tests whose name contains this");
    app.add_flag("--only-named", options.only_named, "no random cases");
    app.add_flag("--no-named", options.no_named, "random cases alone");
    app.add_flag("--quick", gpu::quick, "leave out tests with names that take long");
    app.add_flag("--scarce", options.scarce,
                 "operators on streams may run out of memory: there is no other way for them");
    app.add_option("--switches", options.switches,
                   "of the simulated device during the random cases (sim.h)");
    CLI11_PARSE(app, argc, argv);

    printf("gpu: seed %llu\n", static_cast<unsigned long long>(options.run.seed));
    gpu::LastWords::arrange("gpu");
    try {
        return gpu::run(options);
    } catch (const std::exception &failure) {
        fprintf(stderr, "gpu: %s\n", failure.what());
        return 1;
    }
}
