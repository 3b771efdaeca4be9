// SPDX-License-Identifier: BSD-3-Clause
// Makes a table of this machine, and compares one with the machine as it is now.
#pragma once

#include "tune_measure.hpp"
#include "tune_messages.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <iosfwd>

namespace heddle::tools {

// Told of each step, for people: "pass 1 of 3, grid 3 of 30: ...".
using Progress = std::function<void(const std::string &)>;

struct TuneOptions {
    bool quick = false;
    int passes = 3;          // of all grids: the middle time of each entry counts
    double most_seconds = 0; // no pass begins that would end later; 0: all begin
    int64_t most_bytes = int64_t{64} << 20;
    std::vector<std::string> only; // patterns, kinds of links and messages; empty: all
    TrialOptions trials;
};

// Measures a whole table, in the form that src/gpu/model/read_tables.hpp describes. Messages come
// first, so that no rank of the job (which may be null) waits beside what is measured on the
// device.
nlohmann::ordered_json tune(Bench &bench, Job *job, const TuneOptions &options,
                            const Progress &progress);

struct Comparison {
    int entries = 0;
    double median = 0;          // of now's times by the table's, each so that it is 1 or more
    double ninth = 0, most = 0; // nine of ten are no larger; the largest
    std::string worst;          // where
};

// Measures some entries of each grid of a table again, and messages in a job. Throws
// std::runtime_error where the table makes no sense.
Comparison compare(Bench &bench, Job *job, const nlohmann::ordered_json &table,
                   const TuneOptions &options, const Progress &progress);

// Writes it as JSON with a grid's row a line.
void write_table(std::ostream &out, const nlohmann::ordered_json &table);

} // namespace heddle::tools
