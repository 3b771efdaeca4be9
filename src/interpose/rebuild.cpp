// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/rebuild.hpp"

#include "interpose/contents.hpp"
#include "interpose/darray.hpp"
#include "interpose/predefined.hpp"

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

namespace heddle::interpose {

namespace {

int64_t size_of(MPI_Datatype type)
{
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return size;
}

Rebuilt named(MPI_Datatype type, heddle_predefined which)
{
    heddle_type *const predefined = heddle_type_predefined(which);
    if (which == HEDDLE_MIXED || !predefined)
        return {};
    return {make_type(heddle_type_dup, predefined), type};
}

TypeRef make_subarray(const Contents &contents, heddle_type *oldtype)
{
    const bool large = contents.is_large();
    const int ndims = contents.ints()[0];
    const ptrdiff_t n = ndims;
    const int64_t *const sizes = contents.numbers().data() + (large ? 0 : 1);
    const int order = contents.ints()[static_cast<size_t>(large ? 1 : 1 + 3 * n)];
    return make_type(heddle_type_subarray, ndims, sizes, sizes + n, sizes + 2 * n,
                     order == MPI_ORDER_C ? int{HEDDLE_ORDER_C} : int{HEDDLE_ORDER_FORTRAN},
                     oldtype);
}

// The constructors with one old type. Numbers: a count first, then as the constructor has them.
TypeRef make_of_one(const Contents &contents, heddle_type *old)
{
    const int64_t *const n = contents.numbers().data();
    switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
        return make_type(heddle_type_dup, old);
    case MPI_COMBINER_CONTIGUOUS:
        return make_type(heddle_type_contiguous, n[0], old);
    case MPI_COMBINER_VECTOR:
        return make_type(heddle_type_vector, n[0], n[1], n[2], old);
    case MPI_COMBINER_INDEXED:
        return make_type(heddle_type_indexed, n[0], n + 1, n + 1 + n[0], old);
    case MPI_COMBINER_INDEXED_BLOCK:
        return make_type(heddle_type_indexed_block, n[0], n[1], n + 2, old);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_type(heddle_type_hindexed_block, n[0], n[1], n + 2, old);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(contents, old);
    case MPI_COMBINER_DARRAY:
        return make_darray(contents, old);
    case MPI_COMBINER_RESIZED:
        return make_type(heddle_type_resized, old, n[0], n[1]);
#if defined(HEDDLE_OLD_COMBINERS)
    case MPI_COMBINER_HVECTOR_INTEGER: // Fortran's old forms: displacements are integers
#endif
    case MPI_COMBINER_HVECTOR:
        return make_type(heddle_type_hvector, n[0], n[1], n[2], old);
#if defined(HEDDLE_OLD_COMBINERS)
    case MPI_COMBINER_HINDEXED_INTEGER:
#endif
    case MPI_COMBINER_HINDEXED:
        return make_type(heddle_type_hindexed, n[0], n + 1, n + 1 + n[0], old);
    default:
        return nullptr;
    }
}

bool is_struct(int combiner)
{
#if defined(HEDDLE_OLD_COMBINERS)
    if (combiner == MPI_COMBINER_STRUCT_INTEGER)
        return true;
#endif
    return combiner == MPI_COMBINER_STRUCT;
}

// MPI's bounds are the truth: how a struct is padded is the MPI's own affair.
TypeRef with_bounds_of(MPI_Datatype original, TypeRef made)
{
    if (!made)
        return nullptr;
    const heddle_type_info info = info_of(made.get());
    MPI_Count lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    PMPI_Type_get_extent_x(original, &lb, &extent);
    PMPI_Type_get_true_extent_x(original, &true_lb, &true_extent);
    const bool same_data =
        info.size == size_of(original) &&
        (info.size == 0 || (info.true_lb == true_lb && info.true_extent == true_extent));
    if (!same_data)
        return nullptr;
    if (info.lb == lb && info.extent == extent)
        return made;
    return make_type(heddle_type_resized, made.get(), int64_t{lb}, int64_t{extent});
}

// One rebuilding. Members that stand in several places are rebuilt once: their handles are kept
// until the end, so that none comes again for another type.
class Rebuilder {
public:
    const Rebuilt &of(MPI_Datatype type)
    {
        const auto [place, is_new] = known_.try_emplace(key_of(type));
        if (is_new) {
            Rebuilt made = make(type); // adds others
            return known_[key_of(type)] = std::move(made);
        }
        return place->second;
    }

private:
    Rebuilt make(MPI_Datatype type)
    {
        const Contents &contents = *contents_.emplace_back(std::make_unique<Contents>(type));
        if (contents.error() != MPI_SUCCESS)
            return {};
        switch (contents.combiner()) {
        case MPI_COMBINER_NAMED:
            return named(type, predefined_of(type));
        case MPI_COMBINER_F90_INTEGER:
            return named(type, integer_of(size_of(type)));
        case MPI_COMBINER_F90_REAL:
            return named(type, real_of(size_of(type)));
        case MPI_COMBINER_F90_COMPLEX:
            return named(type, complex_of(size_of(type)));
        default:
            break;
        }
        Rebuilt made =
            is_struct(contents.combiner()) ? make_struct(contents) : make_other(contents);
        made.type = with_bounds_of(type, std::move(made.type));
        return made;
    }

    Rebuilt make_other(const Contents &contents)
    {
        const Rebuilt &old = of(contents.types().front());
        if (!old.type)
            return {};
        return {make_of_one(contents, old.type.get()), old.element};
    }

    Rebuilt make_struct(const Contents &contents)
    {
        const int64_t *const n = contents.numbers().data();
        std::vector<heddle_type *> members;
        MPI_Datatype element = MPI_DATATYPE_NULL;
        bool is_first = true, is_mixed = false;
        for (size_t i = 0; i < contents.types().size(); ++i) {
            const Rebuilt &member = of(contents.types()[i]);
            if (!member.type)
                return {};
            members.push_back(member.type.get());
            if (n[1 + i] == 0 || size_of(contents.types()[i]) == 0)
                continue;
            is_mixed |= !is_first && element != member.element;
            element = member.element;
            is_first = false;
        }
        TypeRef type = make_type(heddle_type_struct, n[0], n + 1, n + 1 + n[0], members.data());
        return {std::move(type), is_mixed ? MPI_DATATYPE_NULL : element};
    }

    std::unordered_map<HandleKey, Rebuilt> known_;
    std::vector<std::unique_ptr<Contents>> contents_;
};

} // namespace

Rebuilt rebuild(MPI_Datatype type)
{
    Rebuilder rebuilder;
    const Rebuilt &made = rebuilder.of(type);
    if (!made.type)
        return {};
    return {make_type(heddle_type_dup, made.type.get()), made.element};
}

} // namespace heddle::interpose
