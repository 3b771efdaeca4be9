// SPDX-License-Identifier: BSD-3-Clause
// The innermost loops: equal blocks between two strided sequences of addresses. Everything that the
// host moves ends here.
#pragma once

#include <cstdint>
#include <cstring>

namespace heddle {

// One end of a transfer holds user memory, the other the packed form; `same` moves between two user
// buffers of one layout.
enum class Dir { pack, unpack, same };

// Addresses are integers here: displacements may lead far outside of any one object (MPI_BOTTOM).
using Address = uintptr_t;

inline Address at(Address a, int64_t displ)
{
    return a + static_cast<Address>(displ);
}

template <Dir D> inline void move(Address memory, Address packed, size_t bytes)
{
    auto *m = reinterpret_cast<char *>(memory);
    auto *p = reinterpret_cast<char *>(packed);
    if constexpr (D == Dir::unpack)
        std::memcpy(m, p, bytes);
    else
        std::memcpy(p, m, bytes);
}

// A block of exactly B bytes.
template <size_t B> struct Exactly {
    template <Dir D> void block(Address m, Address p) const { move<D>(m, p, B); }
};

// A block of Half to 2 * Half bytes, as two pieces of Half that overlap.
template <size_t Half> struct UpTo {
    size_t bytes;
    template <Dir D> void block(Address m, Address p) const
    {
        if constexpr (Half <= 16) {
            char low[Half], high[Half]; // both loaded before either is stored: `m` and `p` may alias for gcc
            const auto *from = reinterpret_cast<const char *>(D == Dir::unpack ? p : m);
            auto *to = reinterpret_cast<char *>(D == Dir::unpack ? m : p);
            std::memcpy(low, from, Half);
            std::memcpy(high, from + bytes - Half, Half);
            std::memcpy(to, low, Half);
            std::memcpy(to + bytes - Half, high, Half);
        } else {
            Exactly<Half>{}.template block<D>(m, p);
            Exactly<Half>{}.template block<D>(m + bytes - Half, p + bytes - Half);
        }
    }
};

struct AnySize {
    size_t bytes;
    template <Dir D> void block(Address m, Address p) const { move<D>(m, p, bytes); }
};

// Calls `f` with the mover that suits blocks of `bytes` bytes.
template <class F> inline void with_mover(int64_t bytes, F &&f)
{
    const auto b = static_cast<size_t>(bytes);
    switch (b) {
    case 1:
        return f(Exactly<1>{});
    case 2:
        return f(Exactly<2>{});
    case 4:
        return f(Exactly<4>{});
    case 8:
        return f(Exactly<8>{});
    case 16:
        return f(Exactly<16>{});
    case 24:
        return f(Exactly<24>{});
    case 32:
        return f(Exactly<32>{});
    case 64:
        return f(Exactly<64>{});
    case 128:
        return f(Exactly<128>{});
    default:
        if (b <= 4)
            return f(UpTo<2>{b});
        if (b <= 8)
            return f(UpTo<4>{b});
        if (b <= 16)
            return f(UpTo<8>{b});
        if (b <= 32)
            return f(UpTo<16>{b});
        if (b <= 64)
            return f(UpTo<32>{b});
        if (b <= 128)
            return f(UpTo<64>{b});
        return f(AnySize{b});
    }
}

// `n` blocks: block i at memory + i * ms and packed + i * ps.
struct Strides {
    int64_t n;
    int64_t ms;
    int64_t ps;
};

// How many blocks ahead to prefetch: strides beyond a cache line defeat the hardware's prefetcher at
// every page, and a load from memory takes as long as some dozens of these copies.
constexpr int64_t prefetch_blocks = 32;
constexpr int64_t prefetch_stride = 128;

template <Dir D, bool Prefetch, class Mover>
inline void copy_row(const Mover &mover, const Strides &s, Address m, Address p)
{
    for (int64_t i = 0; i < s.n; ++i) {
        if constexpr (Prefetch)
            __builtin_prefetch(reinterpret_cast<const void *>(at(m, prefetch_blocks * s.ms)), D == Dir::unpack);
        mover.template block<D>(m, p);
        m = at(m, s.ms);
        p = at(p, s.ps);
    }
}

// Blocks of `bytes` in two dimensions, `inner` varying fastest.
template <Dir D>
inline void copy_blocks(int64_t bytes, const Strides &outer, const Strides &inner, Address m, Address p)
{
    const bool far = (inner.ms >= prefetch_stride || inner.ms <= -prefetch_stride) && inner.n >= prefetch_blocks;
    with_mover(bytes, [&](auto mover) {
        for (int64_t i = 0; i < outer.n; ++i) {
            const Address mi = at(m, i * outer.ms);
            const Address pi = at(p, i * outer.ps);
            if (far)
                copy_row<D, true>(mover, inner, mi, pi);
            else
                copy_row<D, false>(mover, inner, mi, pi);
        }
    });
}

// Blocks of `bytes` at memory + displs[i], one after the other in the packed form.
template <Dir D>
inline void copy_gathered(int64_t bytes, const int64_t *displs, int64_t n, Address m, Address p)
{
    with_mover(bytes, [&](auto mover) {
        for (int64_t i = 0; i < n; ++i)
            mover.template block<D>(at(m, displs[i]), at(p, D == Dir::same ? displs[i] : i * bytes));
    });
}

// A block of a size that changes from call to call: short ones without a call to memcpy.
template <Dir D> inline void copy_span(Address m, Address p, size_t bytes)
{
    if (bytes > 128)
        return move<D>(m, p, bytes);
    if (bytes > 32)
        return bytes > 64 ? UpTo<64>{bytes}.block<D>(m, p) : UpTo<32>{bytes}.block<D>(m, p);
    if (bytes > 16)
        return UpTo<16>{bytes}.block<D>(m, p);
    if (bytes >= 8)
        return UpTo<8>{bytes}.block<D>(m, p);
    if (bytes >= 4)
        return UpTo<4>{bytes}.block<D>(m, p);
    if (bytes >= 2)
        return UpTo<2>{bytes}.block<D>(m, p);
    if (bytes == 1)
        return Exactly<1>{}.block<D>(m, p);
}

} // namespace heddle
