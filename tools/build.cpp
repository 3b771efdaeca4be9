// SPDX-License-Identifier: BSD-3-Clause
#include "build.hpp"

#include <map>

namespace heddle::tools {
namespace {

int make(const Tree &t, const std::vector<heddle_type *> &old, heddle_type **type)
{
    const auto blocks = static_cast<int64_t>(t.displacements.size());
    switch (t.maker) {
    case Maker::predefined:
        *type = heddle_type_predefined(t.predefined);
        return *type ? HEDDLE_SUCCESS : HEDDLE_ERR_TYPE;
    case Maker::contiguous:
        return heddle_type_contiguous(t.count, old[0], type);
    case Maker::vector:
        return heddle_type_vector(t.count, t.blocklength, t.stride, old[0], type);
    case Maker::hvector:
        return heddle_type_hvector(t.count, t.blocklength, t.stride, old[0], type);
    case Maker::indexed:
        return heddle_type_indexed(blocks, t.blocklengths.data(), t.displacements.data(), old[0],
                                   type);
    case Maker::hindexed:
        return heddle_type_hindexed(blocks, t.blocklengths.data(), t.displacements.data(), old[0],
                                    type);
    case Maker::indexed_block:
        return heddle_type_indexed_block(blocks, t.blocklength, t.displacements.data(), old[0],
                                         type);
    case Maker::hindexed_block:
        return heddle_type_hindexed_block(blocks, t.blocklength, t.displacements.data(), old[0],
                                          type);
    case Maker::structure:
        return heddle_type_struct(blocks, t.blocklengths.data(), t.displacements.data(), old.data(),
                                  type);
    case Maker::resized:
        return heddle_type_resized(old[0], t.lb, t.extent, type);
    case Maker::dup:
        return heddle_type_dup(old[0], type);
    case Maker::subarray:
        return heddle_type_subarray(static_cast<int>(t.sizes.size()), t.sizes.data(),
                                    t.subsizes.data(), t.starts.data(), t.order, old[0], type);
    }
    return HEDDLE_ERR_ARG;
}

bool build(const Tree &tree, Built &built, TextError &error)
{
    built.tree = &tree;
    std::vector<heddle_type *> old;
    // Members of a struct that read alike are one and the same type, which its extent depends on.
    std::map<std::string, heddle_type *> members;
    for (const Tree &each : tree.old) {
        if (!build(each, built.old.emplace_back(), error))
            return false;
        Type &type = built.old.back().type;
        if (tree.maker == Maker::structure && each.maker != Maker::predefined) {
            const auto [known, fresh] = members.emplace(write(each), type.get());
            if (!fresh) {
                heddle_type_retain(known->second);
                type = Type(known->second);
            }
        }
        old.push_back(type.get());
    }
    heddle_type *type = nullptr;
    if (const int status = make(tree, old, &type); status != HEDDLE_SUCCESS) {
        error = {tree.at,
                 std::string(constructor_of(tree.maker).name) + ": " + heddle_strerror(status)};
        return false;
    }
    built.type = Type(type);
    return true;
}

} // namespace

std::variant<Built, TextError> build(const Tree &tree)
{
    Built built;
    TextError error;
    if (build(tree, built, error))
        return built;
    return error;
}

} // namespace heddle::tools
