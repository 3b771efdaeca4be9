/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers, displacements and packed data beyond 4 GiB. Only samples are compared. On the simulated device the
 * memory is sparse and only little of it moves; on a GPU all of it does.
 */
#include "buffer.hpp"

#include <algorithm>
#include <numeric>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

constexpr size_t gib = size_t{1} << 30;

/* Memory that holds at byte x of each sample something that only x makes. */
class Sampled {
public:
    explicit Sampled(size_t bytes) : memory_({Kind::device, 0}, bytes)
    {
        if (!memory_)
            throw Skip("not so much memory");
    }
    std::byte *at() const { return memory_.at(); }

    static std::byte value(size_t x) { return static_cast<std::byte>((x * 0x9e3779b97f4a7c15ULL) >> 56); }

    void write(size_t at, size_t bytes) const
    {
        std::vector<std::byte> sample(bytes);
        for (size_t i = 0; i < bytes; ++i)
            sample[i] = value(at + i);
        memory_.write(at, sample.data(), bytes);
    }
    std::byte read(size_t at) const
    {
        std::byte one{};
        memory_.read(at, &one, 1);
        return one;
    }

private:
    Memory memory_;
};

bool moves_much()
{
    need_devices();
#if defined(__SANITIZE_THREAD__)
    throw Skip("too little address space");
#endif
    takes_long();
    return !Machine::get().is_simulated();
}

/* Packs or unpacks by `type`, whose packed form is moved whole, and compares samples. */
void there_and_back(const Type &type, size_t span, const char *what)
{
    const auto packed_size = static_cast<size_t>(type.info().size);
    const Sampled typed(span), packed(packed_size), back(span);
    Rng rng(1);
    std::vector<size_t> samples{0, packed_size - 1};
    for (int i = 0; i < 300; ++i)
        samples.push_back(static_cast<size_t>(rng.in(0, static_cast<int64_t>(packed_size) - 1)));
    for (const size_t beyond : {4 * gib - 1, 4 * gib, 2 * gib - 1, 2 * gib})
        if (beyond < packed_size)
            samples.push_back(beyond);
    std::vector<size_t> displs;
    for (const size_t x : samples) {
        int64_t displ = 0, run = 0;
        succeeds(heddle_locate(1, type.get(), static_cast<int64_t>(x), &displ, &run), "heddle_locate");
        displs.push_back(static_cast<size_t>(displ));
        typed.write(displs.back(), 1);
    }
    const auto bytes = static_cast<int64_t>(packed_size);
    transfer_all(Way::blocking,
                 {{side_of(typed.at(), 1, type), bytes_at(packed.at(), bytes), bytes, HEDDLE_OP_REPLACE}});
    for (size_t i = 0; i < samples.size(); ++i)
        same(packed.read(samples[i]) == Sampled::value(displs[i]), true, what, ": packed byte ", samples[i]);
    transfer_all(Way::on_stream,
                 {{bytes_at(packed.at(), bytes), side_of(back.at(), 1, type), bytes, HEDDLE_OP_REPLACE}});
    for (const size_t displ : displs)
        same(back.read(displ) == Sampled::value(displ), true, what, ": unpacked byte at ", displ);
}

Type committed(Type type) { return type.commit(); }

void strided()
{
    const bool much = moves_much();
    const int64_t block = much ? 3 << 14 : 8;
    const int64_t stride = much ? 1 << 16 : 1 << 20;
    const int64_t count = static_cast<int64_t>(6 * gib) / stride;
    there_and_back(committed(Type::from(
                       [&](auto **t) {
                           return heddle_type_hvector(count, block / 8, stride,
                                                      heddle_type_predefined(HEDDLE_DOUBLE), t);
                       },
                       "hvector")),
                   6 * gib, "strided");
}

void irregular()
{
    const bool much = moves_much();
    Rng rng(2);
    std::vector<int64_t> lengths, displacements;
    for (int64_t at = 0; at < static_cast<int64_t>(6 * gib) - (1 << 21);) {
        lengths.push_back(much ? rng.in(1, 100000) : rng.in(1, 40));
        displacements.push_back(at);
        at += lengths.back() + (much ? rng.in(1, 20000) : 5000000);
    }
    std::vector<size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), size_t{0});
    rng.shuffle(order);
    std::vector<int64_t> l, d;
    for (const size_t i : order) {
        l.push_back(lengths[i]);
        d.push_back(displacements[i]);
    }
    there_and_back(committed(Type::from(
                       [&](auto **t) {
                           return heddle_type_hindexed(static_cast<int64_t>(l.size()), l.data(), d.data(),
                                                       heddle_type_predefined(HEDDLE_BYTE), t);
                       },
                       "hindexed")),
                   6 * gib, "irregular");
}

void contiguous()
{
    if (!moves_much())
        throw Skip("slow on the simulated device");
    constexpr size_t size = 5 * gib + 3;
    there_and_back(committed(Type::from(
                       [](auto **t) {
                           return heddle_type_contiguous(static_cast<int64_t>(size),
                                                         heddle_type_predefined(HEDDLE_BYTE), t);
                       },
                       "contiguous")),
                   size, "contiguous");
}

const AddTests tests{{"strided beyond 4 GiB", strided},
                     {"irregular beyond 4 GiB", irregular},
                     {"contiguous beyond 4 GiB", contiguous}};

} // namespace
} // namespace gpu
