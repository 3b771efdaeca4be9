// SPDX-License-Identifier: BSD-3-Clause
#include "layouts.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

namespace bench {
namespace {

constexpr std::size_t word = sizeof(double);

// One element, or one block, in the direction that `packing` (a std::bool_constant) says.
template <class Packing, class T> inline void move(Packing, T &user, T &packed)
{
    if constexpr (Packing::value)
        packed = user;
    else
        user = packed;
}
template <class Packing>
inline void move_block(Packing, void *user, void *packed, std::size_t bytes)
{
    if constexpr (Packing::value)
        std::memcpy(packed, user, bytes);
    else
        std::memcpy(user, packed, bytes);
}

// A case whose hand-written loop is `loop(packing, user, packed)`, on elements of type T.
template <class T = double, class Loop>
Case make_case(Type type, int count, std::size_t packed, std::size_t span, Loop loop)
{
    Case made{.type = std::move(type).commit(), .count = count, .packed = packed, .span = span};
    made.hand_pack = [loop](void *user, void *packed_to) {
        loop(std::true_type{}, static_cast<T *>(user), static_cast<T *>(packed_to));
    };
    made.hand_unpack = [loop](void *user, void *packed_from) {
        loop(std::false_type{}, static_cast<T *>(user), static_cast<T *>(packed_from));
    };
    return made;
}

Case contiguous(std::size_t bytes)
{
    int n = static_cast<int>(bytes / word);
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_contiguous(n, MPI_DOUBLE, &type));
    return make_case<char>(Type(type), 1, bytes, bytes,
                           [bytes](auto packing, char *user, char *packed) {
                               move_block(packing, user, packed, bytes);
                           });
}

// Blocks of `Block` doubles, `Stride` doubles from one to the next.
template <int Block, int Stride> Case vector(std::size_t bytes)
{
    int n = static_cast<int>(bytes / (Block * word));
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_vector(n, Block, Stride, MPI_DOUBLE, &type));
    std::size_t span = ((n - 1) * std::size_t{Stride} + Block) * word;
    return make_case(Type(type), 1, bytes, span,
                     [n](auto packing, double *__restrict user, double *__restrict packed) {
                         for (std::ptrdiff_t i = 0; i < n; i++)
                             if constexpr (Block <= 16)
                                 for (int j = 0; j < Block; j++)
                                     move(packing, user[i * Stride + j], packed[i * Block + j]);
                             else
                                 move_block(packing, user + i * Stride, packed + i * Block,
                                            Block * word);
                     });
}

// One face, 3 cells deep in x, of an array of doubles with a halo of 3.
Case halo_face(std::size_t bytes)
{
    constexpr int depth = 3, halo = 3, row = 64 + 2 * halo;
    int n = static_cast<int>(std::sqrt(static_cast<double>(bytes / (depth * word))));
    std::array<int, 3> sizes{n + 2 * halo, n + 2 * halo, row}, counts{n, n, depth},
        starts{halo, halo, halo};
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_create_subarray(3, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C,
                                         MPI_DOUBLE, &type));
    std::ptrdiff_t plane = std::ptrdiff_t{row} * sizes[1];
    std::size_t packed_bytes = std::size_t{depth} * n * n * word;
    return make_case(Type(type), 1, packed_bytes, static_cast<std::size_t>(plane) * sizes[0] * word,
                     [=](auto packing, double *__restrict user, double *__restrict packed) {
                         for (int z = halo; z < n + halo; z++)
                             for (int y = halo; y < n + halo; y++)
                                 for (int x = halo; x < halo + depth; x++)
                                     move(packing, user[z * plane + y * std::ptrdiff_t{row} + x],
                                          *packed++);
                     });
}

Case subarray4(std::array<int, 4> sizes, std::array<int, 4> counts, std::array<int, 4> starts)
{
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_create_subarray(4, sizes.data(), counts.data(), starts.data(), MPI_ORDER_C,
                                         MPI_DOUBLE, &type));
    std::size_t packed_bytes = word, span = word;
    for (int axis = 0; axis < 4; axis++) {
        packed_bytes *= counts[axis];
        span *= sizes[axis];
    }
    return make_case(Type(type), 1, packed_bytes, span,
                     [=](auto packing, double *__restrict user, double *__restrict packed) {
                         std::ptrdiff_t s3 = sizes[3], s2 = s3 * sizes[2], s1 = s2 * sizes[1];
                         for (int a = starts[0]; a < starts[0] + counts[0]; a++)
                             for (int b = starts[1]; b < starts[1] + counts[1]; b++)
                                 for (int c = starts[2]; c < starts[2] + counts[2]; c++)
                                     for (int d = starts[3]; d < starts[3] + counts[3]; d++)
                                         move(packing, user[a * s1 + b * s2 + c * s3 + d],
                                              *packed++);
                     });
}

// Half of the array along each of 4 axes, as 32^4 of 64^4.
Case subarray4_half(std::size_t bytes)
{
    std::array<int, 4> sizes{}, counts{}, starts{};
    int exponent = std::bit_width(bytes / word) - 1;
    for (int axis = 3, left = exponent; axis >= 0; left -= (left + axis) / (axis + 1), axis--) {
        counts[axis] = 1 << ((left + axis) / (axis + 1)); // what is left, shared out evenly, the
                                                          // rest to the last
        sizes[axis] = 2 * counts[axis];
        starts[axis] = counts[axis] / 2;
    }
    return subarray4(sizes, counts, starts);
}

// Three quarters of it, as 48^4 of 64^4.
Case subarray4_most(std::size_t bytes)
{
    int n =
        4 * static_cast<int>(std::lround(std::pow(static_cast<double>(bytes / word), 0.25) / 3));
    int most = n / 4 * 3, start = n / 8;
    return subarray4({n, n, n, n}, {most, most, most, most}, {start, start, start, start});
}

// Strides that no two levels share, so that nothing collapses.
Case nested_hvectors(std::size_t bytes)
{
    constexpr int inner = 4;
    constexpr std::ptrdiff_t strides[4] = {226, 50, 10, 2}; // doubles, outermost first
    int n = static_cast<int>(bytes / (inner * inner * inner * word));
    Type type;
    for (int level = 3; level >= 0; level--) {
        MPI_Datatype outer;
        BENCH_CHECK(MPI_Type_create_hvector(level ? inner : n, 1, strides[level] * MPI_Aint{word},
                                            level == 3 ? MPI_DOUBLE : type.get(), &outer));
        type = Type(outer);
    }
    return make_case(std::move(type), 1, bytes, static_cast<std::size_t>(strides[0]) * n * word,
                     [=](auto packing, double *__restrict user, double *__restrict packed) {
                         for (std::ptrdiff_t a = 0; a < n; a++)
                             for (int b = 0; b < inner; b++)
                                 for (int c = 0; c < inner; c++)
                                     for (int d = 0; d < inner; d++)
                                         move(packing,
                                              user[a * strides[0] + b * strides[1] +
                                                   c * strides[2] + d * strides[3]],
                                              *packed++);
                     });
}

Case hindexed(std::size_t bytes)
{
    auto blocks =
        std::make_shared<const Hindexed>(irregular_blocks(static_cast<int>(bytes / (8 * word))));
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_create_hindexed(static_cast<int>(blocks->lengths.size()),
                                         blocks->lengths.data(), blocks->displacements.data(),
                                         MPI_DOUBLE, &type));
    return make_case(Type(type), 1, blocks->elements * word, blocks->span,
                     [blocks](auto packing, double *__restrict user, double *__restrict packed) {
                         for (std::size_t i = 0; i < blocks->lengths.size(); i++) {
                             double *block = user + blocks->displacements[i] / MPI_Aint{word};
                             for (int j = 0; j < blocks->lengths[i]; j++)
                                 move(packing, block[j], *packed++);
                         }
                     });
}

Case hindexed_block(std::size_t bytes)
{
    constexpr int length = 4;
    auto blocks =
        std::make_shared<Hindexed>(irregular_blocks(static_cast<int>(bytes / (length * word))));
    for (std::size_t i = 0; i < blocks->displacements.size(); i++)
        // room for blocks of one length
        blocks->displacements[i] += static_cast<MPI_Aint>(i * length * word);
    std::size_t span = blocks->span + blocks->lengths.size() * length * word;
    MPI_Datatype type;
    BENCH_CHECK(MPI_Type_create_hindexed_block(static_cast<int>(blocks->lengths.size()), length,
                                               blocks->displacements.data(), MPI_DOUBLE, &type));
    return make_case(Type(type), 1, blocks->lengths.size() * length * word, span,
                     [blocks](auto packing, double *__restrict user, double *__restrict packed) {
                         for (MPI_Aint displacement : blocks->displacements) {
                             for (int j = 0; j < length; j++)
                                 move(packing, user[displacement / MPI_Aint{word} + j], packed[j]);
                             packed += length;
                         }
                     });
}

// An array of struct {double, int, int, char}: 17 bytes of data in 24.
Case records(std::size_t bytes)
{
    struct Record {
        double a;
        int b, c;
        char d;
    };
    constexpr std::size_t data = sizeof(double) + 2 * sizeof(int) + 1;
    std::array<int, 4> lengths{1, 1, 1, 1};
    std::array<MPI_Aint, 4> displacements{offsetof(Record, a), offsetof(Record, b),
                                          offsetof(Record, c), offsetof(Record, d)};
    std::array<MPI_Datatype, 4> types{MPI_DOUBLE, MPI_INT, MPI_INT, MPI_CHAR};
    MPI_Datatype members, type;
    BENCH_CHECK(
        MPI_Type_create_struct(4, lengths.data(), displacements.data(), types.data(), &members));
    Type owner(members);
    BENCH_CHECK(MPI_Type_create_resized(members, 0, sizeof(Record), &type));
    int n = static_cast<int>(bytes / data);
    return make_case<char>(Type(type), n, n * data, n * sizeof(Record),
                           [n](auto packing, char *__restrict user, char *__restrict packed) {
                               for (int i = 0; i < n; i++, user += sizeof(Record), packed += data)
                                   // the members lie in one piece
                                   move_block(packing, user, packed, data);
                           });
}

// A row-major square matrix, taken column by column.
Case transpose(std::size_t bytes)
{
    int n = static_cast<int>(std::sqrt(static_cast<double>(bytes / word)));
    MPI_Datatype column, narrow, type;
    BENCH_CHECK(MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column));
    Type column_owner(column);
    BENCH_CHECK(MPI_Type_create_resized(column, 0, word, &narrow));
    Type narrow_owner(narrow);
    BENCH_CHECK(MPI_Type_contiguous(n, narrow, &type));
    std::size_t matrix = std::size_t{word} * n * n;
    return make_case(Type(type), 1, matrix, matrix,
                     [n](auto packing, double *__restrict user, double *__restrict packed) {
                         for (std::ptrdiff_t column_at = 0; column_at < n; column_at++)
                             for (std::ptrdiff_t row = 0; row < n; row++)
                                 move(packing, user[row * n + column_at], *packed++);
                     });
}

} // namespace

Hindexed irregular_blocks(int count)
{
    Hindexed blocks;
    std::mt19937 random(12345);
    std::size_t at = 0;
    for (int i = 0; i < count; i++) {
        int length = 1 + static_cast<int>(random() % 15), gap = 1 + static_cast<int>(random() % 16);
        at += static_cast<std::size_t>(gap);
        blocks.lengths.push_back(length);
        blocks.displacements.push_back(static_cast<MPI_Aint>(at * word));
        at += static_cast<std::size_t>(length);
        blocks.elements += static_cast<std::size_t>(length);
    }
    blocks.span = at * word;
    return blocks;
}

std::vector<Layout> layouts()
{
    return {
        {"contiguous", false, contiguous},
        {"blocks-8-stride-512", true, vector<1, 64>},
        {"blocks-16-stride-512", true, vector<2, 64>},
        {"blocks-64-stride-512", true, vector<8, 64>},
        {"blocks-128-stride-512", true, vector<16, 64>},
        {"blocks-4096-stride-8192", true, vector<512, 1024>, 4096},
        {"halo-face-24", true, halo_face},
        {"subarray-4d-half", true, subarray4_half},
        {"subarray-4d-most", true, subarray4_most},
        {"nested-hvectors-4", true, nested_hvectors},
        {"hindexed-1-to-15", false, hindexed},
        {"hindexed-block-32", false, hindexed_block},
        {"struct-diic", false, records},
        {"transpose", true, transpose},
    };
}

} // namespace bench
