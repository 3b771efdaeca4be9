/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs every property on random types.
 */
#include "failure.hpp"
#include "properties.hpp"
#include "random_run.hpp"
#include "shrink.hpp"

#include <cstring>

namespace property {
namespace {

struct Options {
    RunOptions run{20000};
    int max_depth = 12;
    std::string only;
};

constexpr const char *making = "making the type";

oracle::Sample make_case(uint64_t case_seed, int max_depth)
{
    oracle::Rng rng(case_seed);
    return oracle::random_type(rng, oracle::random_recipe(rng, max_depth));
}

/* Empty where the property holds. */
std::string try_property(const Property &property, const Subject &subject, uint64_t seed,
                         bool &applied)
{
    LastWords::doing = property.name;
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
    explicit Run(const Options &options)
        : options_(options), run_(options.run), applied_(all().size())
    {
    }

    bool execute()
    {
        const bool passed = run_.execute([this](uint64_t seed) { check_case(seed); });
        run_.print_summary("types");
        printf("\n");
        size_t tried = 0;
        for (size_t i = 0; i < all().size(); ++i) {
            if (!wants(all()[i]))
                continue;
            ++tried;
            if (passed)
                printf("ok      %s: applied to %llu types\n", all()[i].name,
                       static_cast<unsigned long long>(applied_[i].load()));
        }
        if (tried == 0)
            fprintf(stderr, "no property has \"%s\" in its name\n", options_.only.c_str());
        // All stop at the first that fails: the others are not known to hold.
        printf("%zu passed, %d failed, 0 skipped\n", passed ? tried : 0, passed ? 0 : 1);
        return passed && tried > 0;
    }

private:
    bool wants(const Property &property) const
    {
        return strstr(property.name, options_.only.c_str());
    }

    void check_case(uint64_t case_seed)
    {
        LastWords::doing = making;
        oracle::Sample sample = make_case(case_seed, options_.max_depth);
        if (options_.run.print)
            printf("%s\n", oracle::to_text(*sample.expr).c_str());
        const oracle::ExprPtr expr = sample.expr;
        try {
            const Subject subject(std::move(sample));
            for (size_t i = 0; i < all().size(); ++i) {
                if (!wants(all()[i]))
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
        const std::lock_guard lock(run_.output());
        if (!run_.fails_first())
            return;
        fprintf(stderr, "\nFAILED: %s\n  %s\n  type: %s\n  again: property --case-seed %llu\n",
                property.name, what.c_str(), oracle::to_text(*expr).c_str(),
                static_cast<unsigned long long>(case_seed));
        if (!options_.run.shrink)
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

    const Options &options_;
    RandomRun run_;
    std::vector<std::atomic<uint64_t>> applied_;
};

} // namespace
} // namespace property

int main(int argc, char **argv)
{
    property::Options options;
    CLI::App app{
        "Compares the engine with an oracle on random datatypes: each case is one type, and every\n"
        "property (pack, unpack, iov, flatten, ...) is tried on it. Exits 1 at the first "
        "difference."};
    app.option_defaults()->always_capture_default();
    options.run.add_to(app);
    app.add_option("--max-depth", options.max_depth, "levels of constructors")
        ->check(CLI::Range(0, 64));
    app.add_option("--only", options.only, "only properties whose name contains this");
    CLI11_PARSE(app, argc, argv);

    printf("property: seed %llu\n", static_cast<unsigned long long>(options.run.seed));
    fflush(stdout);
    property::LastWords::arrange("property");
    return property::Run(options).execute() ? 0 : 1;
}
