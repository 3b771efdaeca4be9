// SPDX-License-Identifier: BSD-3-Clause
// target op source for one element, as engine/operators.hpp says. Here is what needs CUDA's own
// types. The files that include this are compiled without contraction to fused multiply-adds, so
// results are the host's to the bit.
#pragma once

#include "gpu/cuda/kernels/operators.hpp"

#include <cstdint>
#include <cuda_fp16.h>
#include <type_traits>

namespace heddle::gpu::cuda {

__extension__ typedef __int128 int128;

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
    } else {
        constexpr Category c = std::is_floating_point_v<T> ? Category::floating : Category::integer;
        return evaluate<c>(op, a, b);
    }
}

} // namespace heddle::gpu::cuda
