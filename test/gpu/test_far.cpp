/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers, displacements and packed data beyond 4 GiB. Only samples are compared. On the simulated
 * device the memory is sparse and only little of it moves; on a GPU all of it does.
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
    size_t size() const { return memory_.size(); }

    static std::byte value(size_t x)
    {
        return static_cast<std::byte>((x * 0x9e3779b97f4a7c15ULL) >> 56);
    }

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

/* Some of `bytes` packed bytes, the first, the last and those at 2 and 4 GiB among them. */
std::vector<size_t> samples_of(size_t bytes)
{
    Rng rng(1);
    std::vector<size_t> samples{0, bytes - 1};
    for (int i = 0; i < 300; ++i)
        samples.push_back(static_cast<size_t>(rng.in(0, static_cast<int64_t>(bytes) - 1)));
    for (const size_t beyond : {4 * gib - 1, 4 * gib, 2 * gib - 1, 2 * gib})
        if (beyond < bytes)
            samples.push_back(beyond);
    return samples;
}

/* Where they lie. */
std::vector<size_t> displacements(const std::vector<size_t> &samples, const Type &type,
                                  int64_t count)
{
    std::vector<size_t> displs;
    for (const size_t x : samples) {
        int64_t displ = 0, run = 0;
        succeeds(heddle_locate(count, type.get(), static_cast<int64_t>(x), &displ, &run),
                 "heddle_locate");
        displs.push_back(static_cast<size_t>(displ));
    }
    return displs;
}

/* Packs and unpacks by `type`, whose packed form is moved whole, and compares samples. */
void there_and_back(const Type &type, size_t span, const char *what, int64_t count = 1)
{
    const int64_t bytes = count * type.info().size;
    const Sampled typed(span), packed(static_cast<size_t>(bytes)), back(span);
    const std::vector<size_t> samples = samples_of(packed.size()),
                              displs = displacements(samples, type, count);
    for (const size_t displ : displs)
        typed.write(displ, 1);
    transfer_all(Way::blocking, {{side_of(typed.at(), count, type), bytes_at(packed.at(), bytes),
                                  bytes, HEDDLE_OP_REPLACE}});
    for (size_t i = 0; i < samples.size(); ++i)
        same(packed.read(samples[i]) == Sampled::value(displs[i]), true, what, ": packed byte ",
             samples[i]);
    transfer_all(Way::on_stream, {{bytes_at(packed.at(), bytes), side_of(back.at(), count, type),
                                   bytes, HEDDLE_OP_REPLACE}});
    for (const size_t displ : displs)
        same(back.read(displ) == Sampled::value(displ), true, what, ": unpacked byte at ", displ);
}

/* From one layout to another of as many bytes, or less. */
void across(const Type &from, const Type &to, size_t span, heddle_op op, const char *what)
{
    const int64_t bytes = std::min(from.info().size, to.info().size);
    const Sampled source(span), target(span);
    const std::vector<size_t> samples = samples_of(static_cast<size_t>(bytes));
    const std::vector<size_t> at = displacements(samples, from, 1),
                              into = displacements(samples, to, 1);
    for (size_t i = 0; i < samples.size(); ++i) {
        source.write(at[i], 1);
        target.write(into[i], 1);
    }
    transfer_all(Way::blocking,
                 {{side_of(source.at(), 1, from), side_of(target.at(), 1, to), bytes, op}});
    for (size_t i = 0; i < samples.size(); ++i) {
        const auto moved = static_cast<uint8_t>(Sampled::value(at[i])),
                   was = static_cast<uint8_t>(Sampled::value(into[i]));
        const auto expected = static_cast<std::byte>(op == HEDDLE_OP_SUM ? moved + was : moved);
        same(target.read(into[i]) == expected, true, what, ": packed byte ", samples[i]);
    }
}

Type committed(Type type) { return type.commit(); }

constexpr size_t span = 6 * gib;

Type hvector_of(int64_t count, int64_t block, int64_t stride, heddle_predefined basic)
{
    return committed(Type::from(
        [&](auto **t) {
            return heddle_type_hvector(count, block, stride, heddle_type_predefined(basic), t);
        },
        "hvector"));
}

Type strided_bytes(bool much)
{
    const int64_t stride = much ? 1 << 16 : 1 << 20;
    return hvector_of(static_cast<int64_t>(span) / stride, much ? 3 << 14 : 8, stride,
                      HEDDLE_UINT8);
}

Type irregular_bytes(bool much)
{
    Rng rng(2);
    std::vector<int64_t> lengths, places;
    for (int64_t at = 0; at < static_cast<int64_t>(span) - (1 << 21);) {
        lengths.push_back(much ? rng.in(1, 100000) : rng.in(1, 40));
        places.push_back(at);
        at += lengths.back() + (much ? rng.in(1, 20000) : 5000000);
    }
    std::vector<size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), size_t{0});
    rng.shuffle(order);
    std::vector<int64_t> l, d;
    for (const size_t i : order) {
        l.push_back(lengths[i]);
        d.push_back(places[i]);
    }
    return committed(Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(static_cast<int64_t>(l.size()), l.data(), d.data(),
                                        heddle_type_predefined(HEDDLE_UINT8), t);
        },
        "hindexed"));
}

void strided()
{
    const bool much = moves_much();
    const int64_t stride = much ? 1 << 16 : 1 << 20;
    there_and_back(
        hvector_of(static_cast<int64_t>(span) / stride, much ? 3 << 11 : 1, stride, HEDDLE_DOUBLE),
        span, "strided");
}

void irregular() { there_and_back(irregular_bytes(moves_much()), span, "irregular"); }

/* Columns of a matrix, all of them or the first sixteen. */
void transposed()
{
    const int64_t rows = moves_much() ? 24500 : 6000, columns = moves_much() ? rows : 16;
    const int64_t row = moves_much() ? rows * 8 : 1 << 20;
    const Type column = hvector_of(rows, 1, row, HEDDLE_DOUBLE);
    const int64_t before = counted("kernels_transpose");
    there_and_back(
        committed(Type::from(
            [&](auto **t) { return heddle_type_hvector(columns, 1, 8, column.get(), t); },
            "hvector")),
        static_cast<size_t>(rows * row), "transposed");
    same(counted("kernels_transpose") - before, int64_t{2}, "transposes");
}

/* Structs of a double, two ints and a char, one after the other. */
void of_records()
{
    if (!moves_much())
        throw Skip("slow on the simulated device");
    const int64_t lengths[] = {1, 2, 1}, places[] = {0, 8, 16};
    heddle_type *const types[] = {heddle_type_predefined(HEDDLE_DOUBLE),
                                  heddle_type_predefined(HEDDLE_INT32),
                                  heddle_type_predefined(HEDDLE_CHAR)};
    const Type members = Type::from(
        [&](auto **t) { return heddle_type_struct(3, lengths, places, types, t); }, "struct");
    const Type record = committed(Type::from(
        [&](auto **t) { return heddle_type_resized(members.get(), 0, 24, t); }, "resized"));
    const int64_t before = counted("kernels_records");
    there_and_back(record, span, "records", static_cast<int64_t>(span / 24));
    same(counted("kernels_records") - before, int64_t{2}, "kernels for records");
}

void layout_to_layout()
{
    const bool much = moves_much();
    across(strided_bytes(much), irregular_bytes(much), span, HEDDLE_OP_REPLACE,
           "strided to irregular");
    across(irregular_bytes(much), strided_bytes(much), span, HEDDLE_OP_REPLACE,
           "irregular to strided");
}

void combined()
{
    const bool much = moves_much();
    across(strided_bytes(much), irregular_bytes(much), span, HEDDLE_OP_SUM,
           "strided added to irregular");
    across(strided_bytes(much), strided_bytes(much), span, HEDDLE_OP_SUM,
           "strided added to strided");
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

/* A list of runs has an entry for every 4 KiB of data, so long runs have none. */
void few_long_runs()
{
    constexpr int64_t tera = int64_t{1} << 40;
    const int64_t lengths[] = {5 * tera / 2, 2 * tera, 3 * tera},
                  displacements[] = {0, 3 * tera, 6 * tera};
    const Type type = committed(Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(3, lengths, displacements,
                                        heddle_type_predefined(HEDDLE_BYTE), t);
        },
        "hindexed"));
    int64_t description = 0;
    succeeds(heddle_type_device_memory(type.get(), &description), "heddle_type_device_memory");
    if (description <= 0 || description > 4096)
        fail("the description of three runs takes ", description, " bytes");
}

const AddTests tests{{"strided beyond 4 GiB", strided},
                     {"irregular beyond 4 GiB", irregular},
                     {"transposed beyond 4 GiB", transposed},
                     {"records beyond 4 GiB", of_records},
                     {"layout to layout beyond 4 GiB", layout_to_layout},
                     {"combined beyond 4 GiB", combined},
                     {"contiguous beyond 4 GiB", contiguous},
                     {"few runs of terabytes", few_long_runs}};

} // namespace
} // namespace gpu
