/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random types: every constructor, nested as deep as asked, with the arguments that break engines:
 * zeros, negative strides and bounds, blocks that touch, overlap or run backwards, addresses beyond
 * 2^31.
 */
#pragma once

#include "rng.hpp"
#include "typemap.hpp"

#include <vector>

namespace oracle {

/* A type's description with its typemap. */
struct Sample {
    ExprPtr expr;
    Typemap map;
};

struct Recipe {
    int depth = 3;                         /* levels of constructors */
    int64_t entries = 200;                 /* about how many typemap entries at most */
    int64_t span = 64 * 1024;              /* from about this span on, steps are kept tight */
    bool tidy = true;                      /* mostly no byte twice, as receives need it */
    bool far = false;                      /* displacements and strides beyond 2^31 */
    std::vector<heddle_predefined> leaves; /* what it is made of */
};

/* A recipe as a test wants it: mostly small and shallow, at times deep, large, untidy or far. */
Recipe random_recipe(Rng &rng, int max_depth);

/* All leaves of a random recipe: anything, a few kinds, or one. */
std::vector<heddle_predefined> random_leaves(Rng &rng);

Sample random_type(Rng &rng, const Recipe &recipe);

/* `elements` instances of one predefined type in distinct places, in no particular order. */
Sample scattered(Rng &rng, heddle_predefined leaf, int64_t elements);

} // namespace oracle
