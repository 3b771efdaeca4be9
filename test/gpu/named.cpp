/* SPDX-License-Identifier: BSD-3-Clause */
#include "named.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace gpu {

std::vector<Named> &named_tests()
{
    static std::vector<Named> all;
    return all;
}

void run_named(const std::string &filter, Tally &tally)
{
    for (const Named &test : named_tests()) {
        const bool inside = strncmp(test.name, "inside:", 7) == 0; /* of a test's process */
        if (!strstr(test.name, filter.c_str()) || (inside && filter.empty()))
            continue;
        const auto began = std::chrono::steady_clock::now();
        const auto tell = [&](const char *verdict, const char *why) {
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
            printf("%-7s %6.2f s  %s%s%s\n", verdict, seconds.count(), test.name, *why ? ": " : "",
                   why);
            fflush(stdout);
        };
        try {
            test.run();
            ++tally.passed;
            tell("passed", "");
        } catch (const Skip &reason) {
            ++tally.skipped;
            tell("skipped", reason.what());
        } catch (const std::exception &failure) {
            ++tally.failed;
            tell("FAILED", failure.what());
        }
    }
}

} // namespace gpu
