// SPDX-License-Identifier: BSD-3-Clause
// A datatype of MPI's as the engine's. It is rebuilt at the first use with device memory, not at
// commit: a program that moves no device memory pays nothing. It is kept as an attribute of the
// datatype, and goes with it. Operations that are under way hold it, too.
#pragma once

#include "interpose/handles.hpp"
#include "interpose/type_ref.hpp"

#include <memory>
#include <mutex>

namespace heddle::interpose {

class Shape {
public:
    // `element`: the predefined type that it consists of; MPI_DATATYPE_NULL where it is mixed.
    Shape(TypeRef type, MPI_Datatype element);
    Shape(const Shape &) = delete;
    Shape &operator=(const Shape &) = delete;
    ~Shape();

    heddle_type *type() const { return type_.get(); }
    const heddle_type_info &info() const { return info_; }
    MPI_Datatype element() const { return element_; }

    // A committed datatype of the same signature and size without gaps: one packed instance. Of a
    // mixed type: bytes. MPI_DATATYPE_NULL where MPI refuses to make it.
    MPI_Datatype dense() const;

    // Of predefined pairs with a gap inside, which MPI's operators take in no other form.
    bool is_of_gaps() const;

private:
    TypeRef type_;
    heddle_type_info info_;
    MPI_Datatype element_;
    mutable std::once_flag once_;
    mutable MPI_Datatype dense_ = MPI_DATATYPE_NULL;
    mutable bool is_own_ = false; // `dense_` was made here
};

using ShapePtr = std::shared_ptr<const Shape>;

// Null where it cannot be rebuilt.
ShapePtr shape_of(MPI_Datatype type);
bool can_be_rebuilt(MPI_Datatype type);

// Gives up those of predefined types: in MPI_Finalize.
void forget_shapes();

// A committed datatype of `n` elements in a row, which the caller frees.
MPI_Datatype make_dense(int64_t n, MPI_Datatype element);

} // namespace heddle::interpose
