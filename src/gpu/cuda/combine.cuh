// SPDX-License-Identifier: BSD-3-Clause
// target op source for one element, as the engine's reduce_kernels.cpp computes it on the host, to
// the bit: the files that include this are compiled without contraction to fused multiply-adds.
#pragma once

#include "elements.hpp"

#include <cstdint>
#include <cuda_fp16.h>
#include <type_traits>

namespace heddle::gpu::cuda {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

template <class Part> struct alignas(2 * sizeof(Part)) Complex {
    Part re, im;
};

template <class T> struct IsComplex : std::false_type {
};
template <class Part> struct IsComplex<Complex<Part>> : std::true_type {
};

// Annex G of C: where both parts of a product came out as NaN although a factor is infinite, it is
// infinite.
template <class Part>
__device__ __noinline__ Complex<Part> recover_product(Complex<Part> x, Complex<Part> y)
{
    const auto box = [](Part v) { return copysign(isinf(v) ? Part(1) : Part(0), v); };
    const auto zero_if_nan = [](Part v) { return isnan(v) ? copysign(Part(0), v) : v; };
    const Part ac = x.re * y.re, bd = x.im * y.im, ad = x.re * y.im, bc = x.im * y.re;
    Part a = x.re, b = x.im, c = y.re, d = y.im;
    bool again = false;
    if (isinf(a) || isinf(b)) {
        a = box(a);
        b = box(b);
        c = zero_if_nan(c);
        d = zero_if_nan(d);
        again = true;
    }
    if (isinf(c) || isinf(d)) {
        c = box(c);
        d = box(d);
        a = zero_if_nan(a);
        b = zero_if_nan(b);
        again = true;
    }
    if (!again && (isinf(ac) || isinf(bd) || isinf(ad) || isinf(bc))) {
        a = zero_if_nan(a);
        b = zero_if_nan(b);
        c = zero_if_nan(c);
        d = zero_if_nan(d);
        again = true;
    }
    if (!again)
        return {ac - bd, ad + bc};
    constexpr auto infinity = static_cast<Part>(__builtin_huge_val());
    return {infinity * (a * c - b * d), infinity * (a * d + b * c)};
}

template <class Part> __device__ Complex<Part> product(Complex<Part> a, Complex<Part> b)
{
    const Complex<Part> p{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return isnan(p.re) && isnan(p.im) ? recover_product(a, b) : p;
}

// An unsigned type in which the sum and the product of two Ts wrap around.
template <class T> using Wrapping =
    std::conditional_t<sizeof(T) <= 4, uint32_t,
                       std::conditional_t<sizeof(T) == 8, uint64_t, uint128>>;

// The operator is the same for all threads, so this switch costs no divergence.
template <class T> __device__ T combine(heddle_op op, T a, T b)
{
    if constexpr (std::is_same_v<T, __half>) {
        // A float holds the exact sum or product, or enough of it that rounding twice makes no
        // difference.
        const float x = __half2float(a);
        const float y = __half2float(b);
        switch (op) {
        case HEDDLE_OP_SUM:
            return __float2half_rn(x + y);
        case HEDDLE_OP_PROD:
            return __float2half_rn(x * y);
        case HEDDLE_OP_MAX:
            return x > y ? a : b;
        default:
            return x < y ? a : b;
        }
    } else if constexpr (IsComplex<T>::value) {
        if (op == HEDDLE_OP_SUM)
            return {a.re + b.re, a.im + b.im};
        return product(a, b);
    } else if constexpr (std::is_floating_point_v<T>) {
        switch (op) {
        case HEDDLE_OP_SUM:
            return a + b;
        case HEDDLE_OP_PROD:
            return a * b;
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        default:
            return a < b ? a : b;
        }
    } else {
        switch (op) {
        case HEDDLE_OP_SUM:
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        case HEDDLE_OP_PROD:
            return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
        case HEDDLE_OP_MAX:
            return a > b ? a : b;
        case HEDDLE_OP_MIN:
            return a < b ? a : b;
        case HEDDLE_OP_LAND:
            return static_cast<T>((a != 0) & (b != 0));
        case HEDDLE_OP_LOR:
            return static_cast<T>((a | b) != 0);
        case HEDDLE_OP_LXOR:
            return static_cast<T>((a != 0) != (b != 0));
        case HEDDLE_OP_BAND:
            return static_cast<T>(a & b);
        case HEDDLE_OP_BOR:
            return static_cast<T>(a | b);
        default:
            return static_cast<T>(a ^ b);
        }
    }
}

} // namespace heddle::gpu::cuda
