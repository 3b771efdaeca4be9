// SPDX-License-Identifier: BSD-3-Clause
// A reference to a type of the engine's, given back when it goes.
#pragma once

#include <heddle.h>

#include <memory>

namespace heddle::interpose {

struct ReleaseType {
    void operator()(heddle_type *type) const { heddle_type_release(type); }
};
using TypeRef = std::unique_ptr<heddle_type, ReleaseType>;

// What a constructor of heddle.h makes: make_type(heddle_type_contiguous, 3, oldtype). Null where
// it refuses.
template <class Constructor, class... Arguments>
TypeRef make_type(Constructor constructor, Arguments... arguments)
{
    heddle_type *made = nullptr;
    if (constructor(arguments..., &made) != HEDDLE_SUCCESS)
        return nullptr;
    return TypeRef(made);
}

inline heddle_type_info info_of(const heddle_type *type)
{
    heddle_type_info info;
    if (heddle_type_get_info(type, &info) != HEDDLE_SUCCESS)
        info = {};
    return info;
}

} // namespace heddle::interpose
