// SPDX-License-Identifier: BSD-3-Clause
// The innermost loops: equal blocks between two strided sequences of addresses. Everything that the
// host moves ends here.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace heddle {

// One end of a transfer holds user memory, the other the packed form; `same` moves between two user
// buffers of one layout.
enum class Dir { pack, unpack, same };

// Addresses are integers here: displacements may lead far outside of any one object (MPI_BOTTOM).
using Address = uintptr_t;

inline Address at(Address a, int64_t displ) { return a + static_cast<Address>(displ); }

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
    static constexpr int64_t size() { return B; }
    template <Dir D> void block(Address m, Address p) const { move<D>(m, p, B); }
};

// A block of Half to 2 * Half bytes, as two pieces of Half that overlap.
template <size_t Half> struct UpTo {
    size_t bytes;
    int64_t size() const { return static_cast<int64_t>(bytes); }
    template <Dir D> void block(Address m, Address p) const
    {
        if constexpr (Half <= 16) {
            char low[Half], high[Half]; // both loaded before either is stored: `m` and `p` may
                                        // alias for gcc
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
    int64_t size() const { return static_cast<int64_t>(bytes); }
    template <Dir D> void block(Address m, Address p) const { move<D>(m, p, bytes); }
};

// A block of exactly 2 * B bytes, stored as two pieces. It is for blocks of which each has a cache
// line of its own. Zen 5 takes a line that is stored to twice from the second-level cache in less
// than half of the time.
template <class Half> struct Twice {
    template <Dir D> void block(Address m, Address p) const
    {
        const auto *from = reinterpret_cast<const char *>(D == Dir::unpack ? p : m);
        auto *to = reinterpret_cast<char *>(D == Dir::unpack ? m : p);
        Half low, high;
        std::memcpy(&low, from, sizeof low);
        std::memcpy(&high, from + sizeof low, sizeof high);
        std::memcpy(to, &low, sizeof low);
        asm("" ::: "memory"); // or gcc makes one store of the two
        std::memcpy(to + sizeof low, &high, sizeof high);
    }
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

// How many blocks ahead to prefetch. Strides beyond a cache line defeat the hardware's prefetcher
// at every page. A load from memory takes as long as some dozens of these copies. Data that the
// second-level cache may hold already are only slowed by it.
constexpr int64_t prefetch_blocks = 32;
constexpr int64_t prefetch_stride = 128;
constexpr int64_t prefetch_span = int64_t{2} << 20; // of reads
constexpr int64_t prefetch_write_span = int64_t{32} << 20;
constexpr int64_t cache_line = 64;

inline int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

// Arguments by value, here and below. A store through `m` or `p` might change anything that the
// compiler sees by reference. It would load the strides anew for every block.
template <Dir D, bool Prefetch, class Mover>
inline void copy_row(Mover mover, Strides s, Address m, Address p)
{
    for (; s.n > 0; --s.n) {
        if constexpr (Prefetch)
            __builtin_prefetch(reinterpret_cast<const void *>(at(m, prefetch_blocks * s.ms)),
                               D == Dir::unpack);
        mover.template block<D>(m, p);
        m = at(m, s.ms);
        p = at(p, s.ps);
    }
}

template <Dir D, class Mover> inline void copy_plane(Mover mover, bool prefetch, Strides outer,
                                                     Strides inner, Address m, Address p)
{
    for (; outer.n > 0; --outer.n) {
        if (prefetch)
            copy_row<D, true>(mover, inner, m, p);
        else
            copy_row<D, false>(mover, inner, m, p);
        m = at(m, outer.ms);
        p = at(p, outer.ps);
    }
}

// Blocks of `bytes` in two dimensions, `inner` varying fastest.
template <Dir D>
inline void copy_blocks(int64_t bytes, Strides outer, Strides inner, Address m, Address p)
{
    constexpr int64_t span = D == Dir::unpack ? prefetch_write_span : prefetch_span;
    const int64_t step = magnitude(inner.ms);
    const bool far = step >= prefetch_stride && inner.n >= prefetch_blocks &&
                     (inner.n >= span / step || (outer.n - 1) * magnitude(outer.ms) >= span);
    if (D != Dir::pack && step >= cache_line && bytes == 8)
        return copy_plane<D>(Twice<uint32_t>{}, far, outer, inner, m, p);
    if (D != Dir::pack && step >= cache_line && bytes == 16)
        return copy_plane<D>(Twice<uint64_t>{}, far, outer, inner, m, p);
    with_mover(bytes, [=](auto mover) { copy_plane<D>(mover, far, outer, inner, m, p); });
}

// Rows of up to this many small blocks are unrolled.
constexpr int64_t short_row = 8;

template <class F> inline void with_short_row(int64_t n, F &&f)
{
    switch (n) {
    case 2:
        return f(std::integral_constant<int64_t, 2>{});
    case 3:
        return f(std::integral_constant<int64_t, 3>{});
    case 4:
        return f(std::integral_constant<int64_t, 4>{});
    case 5:
        return f(std::integral_constant<int64_t, 5>{});
    case 6:
        return f(std::integral_constant<int64_t, 6>{});
    case 7:
        return f(std::integral_constant<int64_t, 7>{});
    case 8:
        return f(std::integral_constant<int64_t, 8>{});
    default:
        return f(n);
    }
}

template <class Mover> constexpr bool unrolls = false;
template <size_t B> constexpr bool unrolls<Exactly<B>> = B <= 32;

// Calls `f` with the mover for `bytes` and with the length of a row of such blocks.
template <class F> inline void with_row(int64_t bytes, int64_t length, F &&f)
{
    with_mover(bytes, [=](auto mover) {
        if constexpr (unrolls<decltype(mover)>)
            with_short_row(length, [=](auto n) { f(mover, n); });
        else
            f(mover, length);
    });
}

// Two blocks of 8 bytes, which follow each other in the packed form: one access there instead of
// two.
template <Dir D> inline void move_pair(Address m0, Address m1, Address p)
{
    using Pair = double __attribute__((vector_size(16)));
    Pair pair;
    if constexpr (D == Dir::unpack) {
        std::memcpy(&pair, reinterpret_cast<const char *>(p), sizeof pair);
#if defined(__x86_64__)
        asm("" : "+x"(pair)); // or gcc makes two loads of the one
#endif
        const double low = pair[0], high = pair[1];
        std::memcpy(reinterpret_cast<char *>(m0), &low, sizeof low);
        std::memcpy(reinterpret_cast<char *>(m1), &high, sizeof high);
    } else {
        double low, high;
        std::memcpy(&low, reinterpret_cast<const char *>(m0), sizeof low);
        std::memcpy(&high, reinterpret_cast<const char *>(m1), sizeof high);
        pair = Pair{low, high};
        std::memcpy(reinterpret_cast<char *>(p), &pair, sizeof pair);
    }
}

// Rows that are copied so.
template <Dir D, class Mover, class Length> constexpr bool in_pairs = false;
template <Dir D, int64_t N>
constexpr bool in_pairs<D, Exactly<8>, std::integral_constant<int64_t, N>> =
    D != Dir::same &&N % 2 == 0;

template <Dir D, class Mover, class Length>
inline void copy_rows(Mover mover, Length length, Strides outer, const int64_t *displs,
                      int64_t rows, int64_t ms, Address m, Address p)
{
    for (; outer.n > 0; --outer.n) {
        Address pr = p;
#pragma GCC unroll 4
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t displ = displs[r];
            const Address mr = at(m, displ);
            if (D == Dir::same)
                pr = at(p, displ);
            if constexpr (in_pairs<D, Mover, Length>)
                for (int64_t j = 0; j < length; j += 2)
                    move_pair<D>(at(mr, j * ms), at(mr, (j + 1) * ms), at(pr, j * mover.size()));
            else
                for (int64_t j = 0; j < length; ++j)
                    mover.template block<D>(at(mr, j * ms),
                                            at(pr, j * (D == Dir::same ? ms : mover.size())));
            pr = at(pr, length * mover.size());
        }
        m = at(m, outer.ms);
        p = at(p, outer.ps);
    }
}

// `outer.n` groups of `rows` rows; row r begins at memory + displs[r] and has `length` blocks of
// `bytes`, `ms` apart. In the packed form all of a group's blocks follow one another.
template <Dir D> inline void copy_rows(int64_t bytes, Strides outer, const int64_t *displs,
                                       int64_t rows, int64_t length, int64_t ms, Address m,
                                       Address p)
{
    with_row(bytes, length,
             [=](auto mover, auto n) { copy_rows<D>(mover, n, outer, displs, rows, ms, m, p); });
}

template <Dir D, class Mover, class Length> inline void copy_columns(Mover mover, Length length,
                                                                     Strides along, Strides across,
                                                                     Address m, Address p)
{
    for (; along.n > 0; --along.n) {
        for (int64_t j = 0; j < length; ++j)
            mover.template block<D>(at(m, j * across.ms), at(p, j * across.ps));
        m = at(m, along.ms);
        p = at(p, along.ps);
    }
}

// Blocks of `bytes` in two dimensions, few `across`, at each step `along`.
template <Dir D>
inline void copy_columns(int64_t bytes, Strides along, Strides across, Address m, Address p)
{
    with_row(bytes, across.n,
             [=](auto mover, auto n) { copy_columns<D>(mover, n, along, across, m, p); });
}

template <Dir D, class Mover> inline void copy_gathered(Mover mover, int64_t bytes,
                                                        const int64_t *displs, int64_t n, Address m,
                                                        Address p)
{
    for (int64_t i = 0; i < n; ++i) {
        const int64_t displ = displs[i];
        mover.template block<D>(at(m, displ), D == Dir::same ? at(p, displ) : p);
        if (D != Dir::same)
            p = at(p, bytes);
    }
}

// Blocks of `bytes` at memory + displs[i], one after the other in the packed form.
template <Dir D>
inline void copy_gathered(int64_t bytes, const int64_t *displs, int64_t n, Address m, Address p)
{
    with_mover(bytes, [=](auto mover) { copy_gathered<D>(mover, bytes, displs, n, m, p); });
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
