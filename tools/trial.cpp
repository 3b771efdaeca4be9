// SPDX-License-Identifier: BSD-3-Clause
#include "trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace heddle::tools {
namespace {

constexpr int permutations = 1000;
constexpr size_t least_samples = 8;

// How many equal neighbours there are in a row: how many such rows, and the longest.
struct Runs {
    double count = 0, longest = 0;
};

Runs runs_of(const std::vector<bool> &signs)
{
    Runs runs;
    double length = 0;
    for (size_t i = 0; i < signs.size(); ++i) {
        const bool goes_on = i > 0 && signs[i] == signs[i - 1];
        length = goes_on ? length + 1 : 1;
        runs.count += goes_on ? 0 : 1;
        runs.longest = std::max(runs.longest, length);
    }
    return runs;
}

double covariance(const std::vector<double> &s, size_t lag)
{
    double sum = 0;
    for (size_t i = 0; i + lag < s.size(); ++i)
        sum += s[i] * s[i + lag];
    return sum;
}

constexpr size_t statistics = 8;

// The excursion, runs up and down, steps up, runs about the median, covariances.
std::array<double, statistics> statistics_of(const std::vector<double> &s, double mean,
                                             double median)
{
    double sum = 0, excursion = 0, ups = 0;
    std::vector<bool> rises, above;
    for (size_t i = 0; i < s.size(); ++i) {
        sum += s[i] - mean;
        excursion = std::max(excursion, std::abs(sum));
        above.push_back(s[i] >= median);
        if (i > 0) {
            rises.push_back(s[i] >= s[i - 1]);
            ups += rises.back() ? 1 : 0;
        }
    }
    const Runs directions = runs_of(rises), sides = runs_of(above);
    const auto steps = static_cast<double>(rises.size());
    return {excursion,   directions.count, directions.longest, std::max(ups, steps - ups),
            sides.count, sides.longest,    covariance(s, 1),   covariance(s, 2)};
}

} // namespace

double median_of(std::vector<double> s)
{
    const auto middle = s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2);
    std::nth_element(s.begin(), middle, s.end());
    return *middle;
}

bool looks_iid(const std::vector<double> &samples, uint64_t seed)
{
    if (samples.size() < least_samples)
        return true;
    const double mean =
        std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
    const double median = median_of(samples);
    const auto own = statistics_of(samples, mean, median);
    std::array<int, statistics> above{}, equal{};
    std::vector<double> mixed = samples;
    std::mt19937_64 random(seed);
    for (int i = 0; i < permutations; ++i) {
        std::shuffle(mixed.begin(), mixed.end(), random);
        const auto theirs = statistics_of(mixed, mean, median);
        for (size_t k = 0; k < statistics; ++k) {
            above[k] += own[k] > theirs[k] ? 1 : 0;
            equal[k] += own[k] == theirs[k] ? 1 : 0;
        }
    }
    // An order that is as rare as one in a thousand permutations, at either end, is no accident.
    for (size_t k = 0; k < statistics; ++k)
        if (above[k] + equal[k] <= permutations / 1000 || above[k] >= permutations - 1)
            return false;
    return true;
}

double rounded_us(double seconds)
{
    const double us = 1e6 * seconds;
    const double digits = std::clamp(3 - std::floor(std::log10(us)), 0.0, 4.0);
    const double unit = std::pow(10.0, digits);
    return std::max(std::round(us * unit), 1.0) / unit;
}

Measurement measure_trials(const std::function<double()> &once, const TrialOptions &options)
{
    constexpr int fewest = 5;
    for (int i = 0; i < options.warm_up; ++i)
        once();
    Measurement measured;
    while (!measured.iid && measured.trials < options.most_trials) {
        std::vector<double> samples;
        double spent = 0;
        for (int i = 0; i < options.samples && (i < fewest || spent < options.enough); ++i) {
            samples.push_back(once());
            spent += samples.back();
        }
        measured.iid = looks_iid(samples, static_cast<uint64_t>(++measured.trials));
        measured.median = median_of(samples);
        measured.samples = static_cast<int>(samples.size());
    }
    return measured;
}

} // namespace heddle::tools
