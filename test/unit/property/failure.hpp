/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a property says that it does not hold.
 */
#pragma once

#include <heddle.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace property {

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class... Parts> std::string text(const Parts &...parts)
{
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

template <class... Parts> [[noreturn]] void fail(const Parts &...parts)
{
    throw Failure(text(parts...));
}

/* `where` tells what was compared; it is put together only on failure. */
template <class A, class B, class... Where>
void same(const A &got, const B &expected, const Where &...where)
{
    if (!(got == expected))
        fail(where..., ": got ", got, ", expected ", expected);
}

template <class... Where> void succeeds(int error, const Where &...where)
{
    if (error != HEDDLE_SUCCESS)
        fail(where..., ": ", heddle_strerror(error));
}

} // namespace property
