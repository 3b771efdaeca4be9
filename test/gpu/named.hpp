/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tests with names: each is a function that throws property::Failure where something is wrong, or
 * Skip where it cannot be tried on this machine.
 */
#pragma once

#include "../unit/property/failure.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace gpu {

using property::fail;
using property::same;
using property::succeeds;
using property::text;

struct Skip : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* Under a tool that slows everything down, what takes long is skipped. */
inline bool quick = false;
inline void takes_long()
{
    if (quick)
        throw Skip("takes long");
}

struct Named {
    const char *name;
    void (*run)();
};

/* All that were added by objects of AddTests. */
std::vector<Named> &named_tests();

struct AddTests {
    AddTests(std::initializer_list<Named> tests)
    {
        named_tests().insert(named_tests().end(), tests.begin(), tests.end());
    }
};

struct Tally {
    int passed = 0, failed = 0, skipped = 0;

    std::string line() const
    {
        return text(passed, " passed, ", failed, " failed, ", skipped, " skipped");
    }
};

/* Runs all whose name contains `filter`, and says how each went. Those of names that begin with
 * "inside:" run only where the filter asks for them. */
void run_named(const std::string &filter, Tally &tally);

} // namespace gpu
