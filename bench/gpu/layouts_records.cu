// SPDX-License-Identifier: BSD-3-Clause
// Arrays of struct {double, int, int, char}: 17 bytes of data in 24. A struct of a vector, an
// indexed and a contiguous member, which has no kernel of its own: nobody would write one.
#include "limits.cuh"

#include <array>

namespace bench {
namespace {

struct Record {
    double a;
    int b, c;
    char d;
};
constexpr unsigned data = 17, tile = 256; // bytes of data; records of a thread block

// Through shared memory: both sides are read and written in words, in order. The user's memory is
// written member by member: what lies between the records is not ours.
template <bool Pack> __global__ void move_records(Record *__restrict user,
                                                  unsigned char *__restrict packed,
                                                  unsigned records)
{
    __shared__ alignas(16) unsigned char held[tile * (Pack ? sizeof(Record) : data)];
    const unsigned first = blockIdx.x * tile, here = min(tile, records - first), t = threadIdx.x;
    user += first;
    packed += size_t{first} * data;
    const auto load = [&](const void *from, unsigned bytes) {
        for (unsigned i = t; i < bytes / 16; i += tile)
            reinterpret_cast<uint4 *>(held)[i] = __ldcs(static_cast<const uint4 *>(from) + i);
        for (unsigned i = bytes / 16 * 16 + t; i < bytes; i += tile)
            held[i] = static_cast<const unsigned char *>(from)[i];
    };
    if (Pack) {
        // The last record's padding may lie beyond the buffer.
        load(user, here * sizeof(Record) - (sizeof(Record) - data));
        __syncthreads();
        const unsigned bytes = here * data;
        for (unsigned i = t; i < bytes / 4; i += tile) {
            unsigned word = 0;
            for (unsigned k = 0; k < 4; ++k) {
                const unsigned at = 4 * i + k;
                word |= unsigned{held[at / data * sizeof(Record) + at % data]} << (8 * k);
            }
            __stcs(reinterpret_cast<unsigned *>(packed) + i, word);
        }
        for (unsigned at = bytes / 4 * 4 + t; at < bytes; at += tile)
            packed[at] = held[at / data * sizeof(Record) + at % data];
    } else {
        load(packed, here * data);
        __syncthreads();
        if (t < here) {
            Record record;
            auto *to = reinterpret_cast<unsigned char *>(&record);
            for (unsigned k = 0; k < data; ++k)
                to[k] = held[t * data + k];
            user[t].a = record.a;
            user[t].b = record.b;
            user[t].c = record.c;
            user[t].d = record.d;
        }
    }
}

// What an unpack writes, in the user's order: 8 bytes of every 24 a thread, of which the last have
// one of data.
struct WriteWords {
    static constexpr unsigned bytes = 8;
    __device__ void write(char *user, unsigned i) const
    {
        char *at = user + size_t{i} * bytes;
        if (i % 3 < 2)
            *reinterpret_cast<unsigned long long *>(at) = made_of<unsigned long long>(i);
        else
            *at = made_of<char>(i);
    }
    __device__ const void *part(const char *user, unsigned i) const
    {
        return i % 4 == 0 ? user + size_t{i} * bytes : nullptr;
    }
};

// Every sector holds data: a pack reads them all, an unpack writes each in part.
void add_limits(Case &made)
{
    const auto add = [&]<unsigned Each>(std::integral_constant<unsigned, Each>, Start start) {
        for (const bool apart : {false, true})
            made.limit.pack.push_back(limit_mover<true, Each>(
                made.span / 16, made.bytes, TouchWords<uint4, InPlace>{}, {start, apart}));
        for (const Fetch fetch : {Fetch::none, Fetch::pairs})
            made.limit.unpack.push_back(limit_mover<false, Each>(
                made.span / WriteWords::bytes, made.bytes, WriteWords{}, {start, false, fetch}));
    };
    for (const Start start : {Start{256, 0}, Start{1024, 0}}) {
        add(std::integral_constant<unsigned, 1>(), start);
        add(std::integral_constant<unsigned, 4>(), start);
    }
}

Case records(int64_t count)
{
    const std::array<int64_t, 4> lengths{1, 1, 1, 1};
    const std::array<int64_t, 4> displs{offsetof(Record, a), offsetof(Record, b),
                                        offsetof(Record, c), offsetof(Record, d)};
    const std::array<Type, 4> members{
        Type::predefined(HEDDLE_DOUBLE), Type::predefined(HEDDLE_INT32),
        Type::predefined(HEDDLE_INT32), Type::predefined(HEDDLE_CHAR)};
    Case made;
    made.type = Type::structure(lengths, displs, members);
    made.count = count;
    made.bytes = count * data;
    made.span = count * static_cast<int64_t>(sizeof(Record));
    made.sectors = sectors_of(made.type, count);
    made.hand = [count](const Ends &ends, cudaStream_t stream) {
        const auto grid = static_cast<unsigned>((count + tile - 1) / tile);
        (ends.pack ? move_records<true> : move_records<false>)<<<grid, tile, 0, stream>>>(
            reinterpret_cast<Record *>(ends.user), reinterpret_cast<unsigned char *>(ends.packed),
            static_cast<unsigned>(count));
        BENCH_CUDA(cudaGetLastError());
    };
    made.copy = [count](const Ends &ends, cudaStream_t stream) {
        const auto rows = static_cast<size_t>(count);
        if (ends.pack)
            BENCH_CUDA(cudaMemcpy2DAsync(ends.packed, data, ends.user, sizeof(Record), data, rows,
                                         cudaMemcpyDefault, stream));
        else
            BENCH_CUDA(cudaMemcpy2DAsync(ends.user, sizeof(Record), ends.packed, data, data, rows,
                                         cudaMemcpyDefault, stream));
    };
    add_limits(made);
    return made;
}

// A quarter of the bytes a column, half irregular blocks of ints, a quarter contiguous.
Case mixed(int64_t bytes)
{
    const int64_t quarter = bytes / 4;
    const Type column = Type::hvector(quarter / 8, 1, 40, Type::predefined(HEDDLE_DOUBLE));
    std::vector<int64_t> lengths, displs;
    int64_t at = 0, left = quarter / 2;
    for (int64_t i = 0; left > 0; ++i) {
        lengths.push_back(std::min(left, 1 + i * 7 % 13));
        displs.push_back(at);
        at += lengths.back() + 1 + i * 5 % 11;
        left -= lengths.back();
    }
    const Type blocks = Type::indexed(lengths, displs, Type::predefined(HEDDLE_INT32));
    const std::array<int64_t, 3> counts{1, 1, quarter};
    const int64_t second = quarter / 8 * 40, third = second + at * 4;
    const std::array<int64_t, 3> where{0, second, third};
    const std::array<Type, 3> members{column, blocks, Type::predefined(HEDDLE_BYTE)};
    Case made;
    made.type = Type::structure(counts, where, members);
    made.bytes = bytes;
    made.span = third + quarter;
    made.sectors = sectors_of(made.type, 1);
    return made;
}

} // namespace

// The sizes are records, and bytes.
std::vector<Layout> record_layouts()
{
    constexpr int64_t Ki = 1 << 10, Mi = 1 << 20;
    Layout array{.name = "struct-diic",
                 .strided = false,
                 .sizes = {60, 900, 10000, 100000, 1000000, 10000000},
                 .make = records};
    array.copies = array.limits = true;
    Layout parts{.name = "struct-mixed",
                 .strided = false,
                 .sizes = {Ki, 16 * Ki, Mi, 16 * Mi, 64 * Mi},
                 .make = mixed};
    parts.hands = false;
    return {std::move(array), std::move(parts)};
}

} // namespace bench
