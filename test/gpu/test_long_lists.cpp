/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of many irregular blocks, whose lists of runs a device makes: what they select, and what
 * becomes of the memory that their arrays lie in.
 */
#include "buffer.hpp"
#include "types.hpp"

#include "engine/sanitizer.hpp"

#include <algorithm>
#include <cstring>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

/* Blocks of bytes, in this order; neighbours in pack order may lie anywhere in memory. */
struct Blocks {
    std::vector<int64_t> lengths, displs;
    int64_t bytes = 0, span = 0;

    void add(int64_t length, int64_t gap)
    {
        lengths.push_back(length);
        displs.push_back(span);
        bytes += length;
        span += length + gap;
    }
    void shuffle(Rng &rng)
    {
        for (size_t i = displs.size(); i > 1; --i) {
            const auto j = static_cast<size_t>(rng.in(0, static_cast<int64_t>(i) - 1));
            std::swap(displs[i - 1], displs[j]);
            std::swap(lengths[i - 1], lengths[j]);
        }
    }
    Type type() const
    {
        const auto n = static_cast<int64_t>(lengths.size());
        const bool are_even = std::count(lengths.begin(), lengths.end(), lengths[0]) == n;
        heddle_type *const byte = heddle_type_predefined(HEDDLE_BYTE);
        return Type::from(
                   [&](auto **t) {
                       return are_even
                                  ? heddle_type_hindexed_block(n, lengths[0], displs.data(), byte,
                                                               t)
                                  : heddle_type_hindexed(n, lengths.data(), displs.data(), byte, t);
                   },
                   "blocks")
            .commit();
    }
};

Blocks made(int64_t n, int64_t shortest, int64_t longest, Rng &rng)
{
    Blocks blocks;
    for (int64_t i = 0; i < n; ++i)
        blocks.add(rng.in(shortest, longest), rng.in(1, 7));
    return blocks;
}

/* Where each packed byte of `count` instances lies, `extent` apart. */
std::vector<size_t> places(const Blocks &blocks, int64_t count, int64_t extent)
{
    std::vector<size_t> all;
    all.reserve(static_cast<size_t>(count * blocks.bytes));
    for (int64_t c = 0; c < count; ++c)
        for (size_t i = 0; i < blocks.lengths.size(); ++i)
            for (int64_t j = 0; j < blocks.lengths[i]; ++j)
                all.push_back(static_cast<size_t>(c * extent + blocks.displs[i] + j));
    return all;
}

/* Packs and unpacks all of it, and a part out of the middle. */
void moves_right(const Type &type, const std::vector<size_t> &places, size_t span)
{
    const Place device{Kind::device, 0};
    Buffer user(device, span, 1), packed(device, places.size(), 2);
    const auto all = static_cast<int64_t>(places.size());
    for (const auto &[first, bytes] : {std::pair{int64_t{0}, all}, std::pair{all / 3, all / 2},
                                       std::pair{all - 1, int64_t{1}}}) {
        const heddle_side there = side_of(user.at(), 1, type, first),
                          dense = bytes_at(packed.at(), all, first);
        transfer_all(Way::blocking, {{there, dense, bytes, HEDDLE_OP_REPLACE}});
        for (int64_t i = first; i < first + bytes; ++i)
            packed.expected[static_cast<size_t>(i)] = user.expected[places[static_cast<size_t>(i)]];
        packed.check("packed from ", first, " on");
        std::reverse(packed.expected.begin(), packed.expected.end());
        packed.upload();
        transfer_all(Way::blocking, {{dense, there, bytes, HEDDLE_OP_REPLACE}});
        for (int64_t i = first; i < first + bytes; ++i)
            user.expected[places[static_cast<size_t>(i)]] = packed.expected[static_cast<size_t>(i)];
        user.check("unpacked from ", first, " on");
    }
}

void of_all_lengths()
{
    need_devices();
    Rng rng(1);
    struct {
        int64_t n, shortest, longest;
    } const kinds[] = {{8191, 1, 9},  {8192, 1, 9},     {8192, 1, 1},   {20000, 8, 8},
                       {9000, 1, 90}, {8500, 300, 300}, {8192, 1, 400}, {30000, 3, 5}};
    for (const auto &kind : kinds)
        for (const bool shuffled : {false, true}) {
            Blocks blocks = made(kind.n, kind.shortest, kind.longest, rng);
            if (shuffled)
                blocks.shuffle(rng);
            moves_right(blocks.type(), places(blocks, 1, 0), static_cast<size_t>(blocks.span));
        }
}

/* Runs that reach over many tiles, between short ones. */
void of_long_runs_among_short_ones()
{
    need_devices();
    Rng rng(2);
    Blocks blocks;
    for (int i = 0; i < 9000; ++i)
        blocks.add(i % 1000 == 7 ? rng.in(3000, 50000) : rng.in(1, 40), rng.in(1, 40));
    moves_right(blocks.type(), places(blocks, 1, 0), static_cast<size_t>(blocks.span));
}

/* What is repeated has the list, once. */
void repeated()
{
    need_devices();
    Rng rng(3);
    for (const bool are_even : {false, true}) {
        const Blocks blocks = made(10000, are_even ? 4 : 1, are_even ? 4 : 6, rng);
        const int64_t extent = blocks.span + 24;
        const Type three = hvector(3, extent, blocks.type());
        moves_right(three, places(blocks, 3, extent), static_cast<size_t>(3 * extent));
    }
}

/* A block that no memory reaches: the others come by the image, without a list. */
void too_far_for_a_list()
{
    need_devices();
    Rng rng(8);
    Blocks blocks = made(9000, 1, 6, rng);
    const std::vector<size_t> near = places(blocks, 1, 0);
    const auto span = static_cast<size_t>(blocks.span);
    blocks.span = int64_t{1} << 50;
    blocks.add(8, 0);
    const int64_t by_lists = counted("kernels_runs");
    moves_right(blocks.type(), near, span);
    same(counted("kernels_runs") - by_lists, int64_t{0}, "transfers by a list");
}

/* Both sides irregular: their images are traversed, and lists are not. */
void from_one_to_another()
{
    need_devices();
    Rng rng(4);
    Blocks from = made(9000, 2, 2, rng), to = made(9000, 2, 2, rng);
    to.shuffle(rng);
    const std::vector<size_t> its = places(from, 1, 0), others = places(to, 1, 0);
    const Type from_type = from.type(), to_type = to.type();
    Buffer source({Kind::device, 0}, static_cast<size_t>(from.span), 1),
        target({Kind::device, 0}, static_cast<size_t>(to.span), 2);
    transfer_all(Way::blocking,
                 {{side_of(source.at(), 1, from_type), side_of(target.at(), 1, to_type), from.bytes,
                   HEDDLE_OP_REPLACE}});
    for (size_t i = 0; i < its.size(); ++i)
        target.expected[others[i]] = source.expected[its[i]];
    target.check("after a move from layout to layout");
}

/* Types that come and go have the same memory, which is pinned at its second use, once. */
void pinned_once()
{
    need_devices();
    need_simulation();
    Rng rng(5);
    const auto pins = [] { return Machine::get().count("pin"); };
    const int64_t before = pins();
    for (int i = 0; i < 5; ++i) {
        const Blocks blocks = made(40000, 1, 6, rng);
        moves_right(blocks.type(), places(blocks, 1, 0), static_cast<size_t>(blocks.span));
    }
#if defined(HEDDLE_ADDRESS_SANITIZER)
    same(pins() - before, int64_t{0}, "blocks pinned where none comes again");
#else
    same(pins() - before, int64_t{1}, "blocks pinned for five types");
#endif
}

/* Scratch memory of the host is no memory of which a part is pinned: a kernel would write behind
 * that. */
void pinned_for_types_alone()
{
    need_devices();
    Rng rng(9);
    for (int i = 0; i < 4; ++i) {
        const Blocks blocks = made(40000, 1, 6, rng);
        moves_right(blocks.type(), places(blocks, 1, 0), static_cast<size_t>(blocks.span));
        for (const int64_t bytes : {int64_t{640000}, int64_t{650000}, int64_t{655000}}) {
            void *scratch = nullptr;
            same(heddle_scratch_alloc(bytes, nullptr, &scratch), int{HEDDLE_SUCCESS}, "scratch");
            const Buffer from({Kind::device, 0}, static_cast<size_t>(bytes), 3);
            transfer_all(Way::blocking, {{bytes_at(from.at(), bytes), bytes_at(scratch, bytes),
                                          bytes, HEDDLE_OP_REPLACE}});
            if (std::memcmp(scratch, from.expected.data(), static_cast<size_t>(bytes)) != 0)
                fail("scratch memory of ", bytes, " bytes differs");
            heddle_scratch_free(scratch);
        }
    }
}

/* Where nothing can be pinned, or a device makes no list, a transfer is right or fails. */
void where_it_fails()
{
    need_devices();
    need_simulation();
    Rng rng(6);
    for (int i = 0; i < 3; ++i) {
        Machine::get().configure("exhaust=pin:1+");
        const Blocks blocks = made(50000, 1, 6, rng);
        moves_right(blocks.type(), places(blocks, 1, 0), static_cast<size_t>(blocks.span));
        Machine::get().reset();
    }
    for (const char *fails : {"fail=launch:1", "fail=copy:1", "fail=copy:2"}) {
        const Blocks blocks = made(50000, 1, 6, rng);
        const Type type = blocks.type();
        const Buffer user({Kind::device, 0}, static_cast<size_t>(blocks.span), 1),
            packed({Kind::device, 0}, static_cast<size_t>(blocks.bytes), 2);
        const std::vector<heddle_move> moves{{side_of(user.at(), 1, type),
                                              bytes_at(packed.at(), blocks.bytes), blocks.bytes,
                                              HEDDLE_OP_REPLACE}};
        Machine::get().configure(fails);
        same(transfer(Way::blocking, moves), int{HEDDLE_ERR_DEVICE}, fails);
        Machine::get().reset();
        moves_right(type, places(blocks, 1, 0), static_cast<size_t>(blocks.span));
    }
}

/* Run by the next test: there are no pinned slabs. A copy of pinned arrays runs when the next one
 * fails, and has ended when the memory that it writes is given back. */
void inside_nothing_runs_on()
{
    need_devices();
    need_simulation();
    Rng rng(10);
    const Buffer user({Kind::device, 0}, size_t{1} << 20, 1),
        packed({Kind::device, 0}, size_t{1} << 20, 2);
    for (const char *switches :
         {"", "reset exhaust=allocate_pinned:1+ delay_us=20000 fail=copy:2"}) {
        const Blocks blocks = made(40000, 1, 6, rng);
        const Type type = blocks.type();
        Machine::get().configure(switches);
        same(transfer(Way::blocking,
                      {{side_of(user.at(), 1, type), bytes_at(packed.at(), blocks.bytes),
                        blocks.bytes, HEDDLE_OP_REPLACE}}),
             int{*switches ? HEDDLE_ERR_DEVICE : HEDDLE_SUCCESS}, "with switches ", switches);
    }
    same(Machine::get().count("copy"), int64_t{2}, "copies");
    same(Machine::get().count("execute"), int64_t{1}, "copies that have ended");
}

void nothing_runs_on()
{
    need_devices();
    need_simulation();
    self_succeeds({"--only-named", "--named", "inside: nothing runs on"},
                  {{"HEDDLE_SIM", "exhaust=allocate_pinned:1+"}});
}

/* Without room for the list the image alone serves. */
void without_room()
{
    need_devices();
    need_simulation();
    Rng rng(7);
    const Blocks blocks = made(60000, 1, 6, rng);
    const Type type = blocks.type();
    const std::vector<size_t> all = places(blocks, 1, 0);
    Machine::get().configure("device_memory=0 exhaust=allocate_pinned:1");
    moves_right(type, all, static_cast<size_t>(blocks.span));
    Machine::get().reset();
}

const AddTests tests{{"long lists: of all lengths", of_all_lengths},
                     {"long lists: long runs among short ones", of_long_runs_among_short_ones},
                     {"long lists: repeated", repeated},
                     {"long lists: too far for a list", too_far_for_a_list},
                     {"long lists: from one to another", from_one_to_another},
                     {"long lists: pinned once", pinned_once},
                     {"long lists: pinned for types alone", pinned_for_types_alone},
                     {"long lists: where it fails", where_it_fails},
                     {"inside: nothing runs on", inside_nothing_runs_on},
                     {"long lists: nothing runs on", nothing_runs_on},
                     {"long lists: without room", without_room}};

} // namespace
} // namespace gpu
