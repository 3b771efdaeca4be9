/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A random case: transfers between memory of all kinds, as plain data that can be printed, run, and
 * made smaller.
 */
#pragma once

#include "../unit/oracle/random_type.hpp"
#include "device_memory.hpp"

#include <heddle.h>

#include <string>
#include <vector>

namespace gpu {

struct SideSpec {
    oracle::ExprPtr type;
    int64_t count = 1;
    int64_t offset = 0;
    Place place;
    int misaligned = 0;
};

/* One transfer, asked for in pieces: piece i ends at packed byte ends[i] of it. */
struct Job {
    SideSpec from, to;
    int64_t bytes = 0;
    heddle_op op = HEDDLE_OP_REPLACE;
    heddle_predefined basic = HEDDLE_BYTE; /* with an operator */
    std::vector<int64_t> ends;
    int call = 0; /* which of the case's calls makes it */
};

enum class Mode { blocking, test, wait, stream };

struct Case {
    std::vector<Job> jobs;
    int calls = 1;
    Mode mode = Mode::blocking;
    int device = 0;             /* of the stream */
    bool release_early = false; /* the types go right after the calls that use them */
    uint64_t seed = 0;          /* of the data */
};

Case random_case(uint64_t seed);

/* Floating point of more than 64 bits is the host's, which a stream cannot call. */
bool devices_compute(heddle_predefined basic);

std::string to_text(const Case &);

/* Throws property::Failure where the results are wrong.
 * False where it could not be tried: too large. */
bool run_case(const Case &);

/* A smaller case that fails as well; `what` becomes how. */
Case shrink_case(Case failing, std::string &what);

} // namespace gpu
