// SPDX-License-Identifier: BSD-3-Clause
// From the tree to the engine's types.
#pragma once

#include "handle.hpp"
#include "type_text.hpp"

namespace heddle::tools {

// The type of a tree and, in `old`, of what it was made from. Refers to the tree.
struct Built {
    const Tree *tree = nullptr;
    Type type;
    std::vector<Built> old;
};

// Nothing is committed. The error names the constructor that the engine refused.
std::variant<Built, TextError> build(const Tree &tree);

} // namespace heddle::tools
