/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What must hold of every type. Each property compares one operation of the engine with the oracle
 * on one random type, throws Failure where they differ, and says whether it applied at all.
 */
#pragma once

#include "../oracle/random_type.hpp"
#include "../oracle/reference.hpp"
#include "failure.hpp"

#include <span>

namespace property {

/* One type, by the oracle and by the engine. */
struct Subject {
    explicit Subject(oracle::Sample made);

    oracle::ExprPtr expr;
    oracle::Typemap map;
    oracle::Type type;            /* committed */
    heddle_type_info info_before; /* its commit */
    heddle_type_info info;

    /* How many instances to try: few of large types, at times hundreds of small ones. */
    int64_t random_count(oracle::Rng &rng) const;
};

using Check = bool (*)(const Subject &, oracle::Rng &);

struct Property {
    const char *name;
    Check check;
};

/* All of them. */
std::span<const Property> all();

bool order_kept(const Subject &, oracle::Rng &);
bool canonical_out(const Subject &, oracle::Rng &);
bool canonical_in(const Subject &, oracle::Rng &);
bool info(const Subject &, oracle::Rng &);
bool ranges(const Subject &, oracle::Rng &);
bool iov(const Subject &, oracle::Rng &);
bool iov_bytes(const Subject &, oracle::Rng &);
bool locate(const Subject &, oracle::Rng &);
bool elements(const Subject &, oracle::Rng &);
bool pack(const Subject &, oracle::Rng &);
bool unpack(const Subject &, oracle::Rng &);
bool copy_in(const Subject &, oracle::Rng &);
bool copy_same(const Subject &, oracle::Rng &);
bool copy_out(const Subject &, oracle::Rng &);
bool flatten(const Subject &, oracle::Rng &);
bool accumulate(const Subject &, oracle::Rng &);
bool pack_external(const Subject &, oracle::Rng &);
bool unpack_external(const Subject &, oracle::Rng &);

} // namespace property
