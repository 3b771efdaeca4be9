// SPDX-License-Identifier: BSD-3-Clause
// Parts of 3-D and 4-D arrays of doubles, and nested vectors whose strides no two levels share.
#include "move_words.cuh"

#include <array>
#include <type_traits>

namespace bench {
namespace {

constexpr int halo = 3;

// One face, 3 cells deep in x, of a cube of N cells with a halo of 3.
template <unsigned N> struct Face {
    static constexpr unsigned row = N + 2 * halo;
    __device__ size_t operator()(unsigned i) const
    {
        const unsigned x = i % halo, y = i / halo % N, z = i / (halo * N);
        return (size_t{z + halo} * row + y + halo) * row + x + halo;
    }
};

template <unsigned N> Case face()
{
    constexpr int64_t n = N, row = Face<N>::row;
    const std::array<int64_t, 3> sizes{row, row, row}, counts{n, n, halo}, starts{halo, halo, halo};
    Case made;
    made.type = Type::subarray(sizes, counts, starts, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = halo * n * n * 8;
    made.span = row * row * row * 8;
    made.sectors = sectors_of(made.type, 1);
    made.hand = words_mover<double>(halo * n * n, Face<N>{});
    made.copy = [](const Ends &ends, cudaStream_t stream) {
        cudaMemcpy3DParms copy{};
        const auto array = make_cudaPitchedPtr(ends.user, row * 8, row * 8, row);
        const auto packed = make_cudaPitchedPtr(ends.packed, halo * 8, halo * 8, n);
        const auto inside = make_cudaPos(halo * 8, halo, halo);
        copy.extent = make_cudaExtent(halo * 8, n, n);
        copy.srcPtr = ends.pack ? array : packed;
        copy.dstPtr = ends.pack ? packed : array;
        (ends.pack ? copy.srcPos : copy.dstPos) = inside;
        copy.kind = cudaMemcpyDefault;
        BENCH_CUDA(cudaMemcpy3DAsync(&copy, stream));
    };
    return made;
}

// The middle S^4 of N^4 doubles.
template <unsigned N, unsigned S> struct Middle {
    static constexpr unsigned start = (N - S) / 2;
    using Word = std::conditional_t<N % 2 == 0 && S % 2 == 0 && start % 2 == 0, double2, double>;
    static constexpr unsigned lanes = sizeof(Word) / 8, per_row = S / lanes;
    __device__ size_t operator()(unsigned i) const
    {
        const unsigned x = i % per_row, y = i / per_row % S, z = i / (per_row * S) % S,
                       w = i / (per_row * S * S);
        return (((size_t{w + start} * N + z + start) * N + y + start) * N + start) / lanes + x;
    }
};

template <unsigned N, unsigned S> Case middle()
{
    using Shape = Middle<N, S>;
    constexpr int64_t n = N, s = S, start = Shape::start;
    const std::array<int64_t, 4> sizes{n, n, n, n}, counts{s, s, s, s},
        starts{start, start, start, start};
    Case made;
    made.type = Type::subarray(sizes, counts, starts, Type::predefined(HEDDLE_DOUBLE));
    made.bytes = s * s * s * s * 8;
    made.span = n * n * n * n * 8;
    made.sectors = sectors_of(made.type, 1);
    made.hand = words_mover<typename Shape::Word>(
        made.bytes / static_cast<int64_t>(sizeof(typename Shape::Word)), Shape{});
    // A 3-D copy for each index of the first dimension.
    made.copy = [](const Ends &ends, cudaStream_t stream) {
        for (int64_t w = 0; w < s; ++w) {
            cudaMemcpy3DParms copy{};
            const auto array =
                make_cudaPitchedPtr(ends.user + (w + start) * n * n * n * 8, n * 8, n * 8, n);
            const auto packed =
                make_cudaPitchedPtr(ends.packed + w * s * s * s * 8, s * 8, s * 8, s);
            copy.extent = make_cudaExtent(s * 8, s, s);
            copy.srcPtr = ends.pack ? array : packed;
            copy.dstPtr = ends.pack ? packed : array;
            (ends.pack ? copy.srcPos : copy.dstPos) = make_cudaPos(start * 8, start, start);
            copy.kind = cudaMemcpyDefault;
            BENCH_CUDA(cudaMemcpy3DAsync(&copy, stream));
        }
    };
    return made;
}

constexpr int64_t nested_strides[4] = {226, 50, 10, 2}; // doubles, outermost first
constexpr int64_t nested_inner = 4;

struct Nested {
    __device__ size_t operator()(unsigned i) const
    {
        return size_t{i >> 6} * 226 + (i >> 4 & 3) * 50 + (i >> 2 & 3) * 10 + (i & 3) * 2;
    }
};

Case nested(int64_t bytes)
{
    const int64_t outer = bytes / (nested_inner * nested_inner * nested_inner * 8);
    Case made;
    for (int level = 3; level >= 0; --level)
        made.type = Type::hvector(level ? nested_inner : outer, 1, nested_strides[level] * 8,
                                  level == 3 ? Type::predefined(HEDDLE_DOUBLE) : made.type);
    made.bytes = bytes;
    made.span = nested_strides[0] * outer * 8;
    made.sectors = sectors_of(made.type, 1);
    made.hand = words_mover<double>(bytes / 8, Nested{});
    return made;
}

Case face_of(int64_t size)
{
    switch (size) {
    case 16:
        return face<16>();
    case 26:
        return face<26>();
    case 64:
        return face<64>();
    case 256:
        return face<256>();
    default:
        return face<848>();
    }
}

Case half_of(int64_t size)
{
    switch (size) {
    case 8:
        return middle<8, 4>();
    case 12:
        return middle<12, 6>();
    case 32:
        return middle<32, 16>();
    case 64:
        return middle<64, 32>();
    default:
        return middle<128, 64>();
    }
}

Case most_of(int64_t size)
{
    switch (size) {
    case 8:
        return middle<8, 6>();
    case 32:
        return middle<32, 24>();
    case 64:
        return middle<64, 48>();
    default:
        return middle<96, 72>();
    }
}

} // namespace

// The sizes are those of the grid's edge, of the array's edge, and bytes.
std::vector<Layout> grid_layouts()
{
    constexpr int64_t Ki = 1 << 10, Mi = 1 << 20;
    std::vector<Layout> all{
        {.name = "halo-face-24", .strided = true, .sizes = {16, 26, 64, 256, 848}, .make = face_of},
        {.name = "subarray-4d-half",
         .strided = true,
         .sizes = {8, 12, 32, 64, 128},
         .make = half_of},
        {.name = "subarray-4d-most", .strided = true, .sizes = {8, 32, 64, 96}, .make = most_of}};
    for (Layout &each : all)
        each.copies = true;
    all.push_back({.name = "nested-hvectors-4",
                   .strided = false,
                   .sizes = {Ki, 16 * Ki, Mi, 16 * Mi, 64 * Mi},
                   .make = nested});
    return all;
}

} // namespace bench
