/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Catch2 alone: it takes long to compile, and never changes.
 */
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
