// SPDX-License-Identifier: BSD-3-Clause
//
// The layouts that the host benchmarks move, each as an MPI datatype and as the loop that a user
// would write.
#ifndef HEDDLE_BENCH_LAYOUTS_HPP
#define HEDDLE_BENCH_LAYOUTS_HPP

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline void check(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        throw std::runtime_error(std::string(call) + " failed");
}
#define BENCH_CHECK(call) ::bench::check((call), #call)

// Owns an MPI datatype.
class Type {
public:
    Type() = default;
    explicit Type(MPI_Datatype type) : type_(type) {}
    Type(Type &&other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
    Type &operator=(Type &&other) noexcept
    {
        std::swap(type_, other.type_);
        return *this;
    }
    ~Type()
    {
        if (type_ != MPI_DATATYPE_NULL)
            MPI_Type_free(&type_);
    }

    MPI_Datatype get() const { return type_; }
    Type commit() &&
    {
        BENCH_CHECK(MPI_Type_commit(&type_));
        return std::move(*this);
    }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// A layout at one size: `count` instances of `type`, and the same by hand.
struct Case {
    Type type;
    int count = 1;
    std::size_t packed = 0; // bytes of data
    std::size_t span = 0;   // bytes of the user's buffer
    std::function<void(void *user, void *packed)> hand_pack{}, hand_unpack{};
};

struct Layout {
    std::string name;
    bool strided;                    // a block repeated at strides, in any number of dimensions
    Case (*make)(std::size_t bytes); // with about `bytes` bytes of data
    std::size_t least = 1024;        // bytes; it cannot be smaller
};

std::vector<Layout> layouts();

// What the types of the creation benchmarks are made of.
struct Hindexed {
    std::vector<int> lengths;
    std::vector<MPI_Aint> displacements; // in bytes
    std::size_t elements = 0, span = 0;  // doubles; bytes
};
// `count` blocks of 1 to 15 doubles, 1 to 16 doubles apart; the same at every call.
Hindexed irregular_blocks(int count);

} // namespace bench

#endif
