// SPDX-License-Identifier: BSD-3-Clause
// Samples of a time, taken as paper 004 (section 5.8.4) takes them: a trial is some samples, which
// should be independent and identically distributed. A trial that does not look so is repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace heddle::tools {

// The middle one; of an even number the upper. There is at least one.
double median_of(std::vector<double> samples);

// As tables have it: microseconds, to four digits, and no more than four behind the point.
double rounded_us(double seconds);

struct Measurement {
    double median = 0; // seconds
    int samples = 0;   // of the trial that counts
    int trials = 0;
    bool iid = false; // the trial that counts passed; else all failed, and the last one counts
};

// Whether samples look independent and identically distributed: each of several statistics of
// their order is compared with those of their permutations (as NIST SP 800-90B, section 5.1, does).
// Of fewer than 8 samples nothing can be said, and the answer is yes. `seed` draws the
// permutations.
bool looks_iid(const std::vector<double> &samples, uint64_t seed);

struct TrialOptions {
    int samples = 21;
    int most_trials = 10; // as paper 004
    double enough = 0.2;  // seconds for a trial, from which on 5 samples are enough
    int warm_up = 2;      // calls that do not count
};

// Measures what `once` answers, in seconds. What it throws goes to the caller.
Measurement measure_trials(const std::function<double()> &once, const TrialOptions &options);

} // namespace heddle::tools
