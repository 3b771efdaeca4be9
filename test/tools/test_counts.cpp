// SPDX-License-Identifier: BSD-3-Clause
// What heddle_info counted between two moments.
#include "counts.hpp"

#include <catch2/catch.hpp>

using heddle::tools::done_between;

TEST_CASE("what was counted between two texts is named")
{
    const std::string none =
        "heddle 0.1.0\nsim\nmethods: host 0 kernel 2\nkernels: strided 1 runs 1\n";
    const std::string some =
        "heddle 0.1.0\nsim\nmethods: host 0 kernel 3\nkernels: strided 1 runs 2\n";
    CHECK(done_between(none, some) == "method kernel, kernel runs");
    CHECK(done_between(none, none).empty());
    CHECK(done_between("", some) == "method kernel, kernel runs, kernel strided");
    CHECK(done_between(some, "no device is open\n").empty());
    CHECK(done_between("methods: copy_engine 9", "methods: copy_engine 10") ==
          "method copy_engine");
}
