// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark prints of a case: one line of JSON, which bench/mpi/run reads.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <iostream>

namespace bench {

using Row = nlohmann::ordered_json;

// Microseconds to two decimals: the clock tells no more.
inline double rounded(double us) { return std::round(100 * us) / 100; }

// The case, and what `who` took for it, in microseconds.
template <class Who> Row timed(Row row, const Who &who, double median, double low, double high)
{
    row["who"] = who;
    row["median"] = rounded(median);
    row["low"] = rounded(low);
    row["high"] = rounded(high);
    return row;
}

inline void print(const Row &row) { std::cout << row.dump() << std::endl; }

} // namespace bench
