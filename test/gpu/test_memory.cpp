/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of memory; types of absolute addresses that name several at once; targets that overlap.
 */
#include "buffer.hpp"
#include "types.hpp"

#include "gpu/cuda/host/imports.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

void memory_kinds()
{
    for (const Place &place : Machine::get().places()) {
        const Buffer buffer(place, 1000, 1);
        const int expected = place.kind == Kind::pageable  ? HEDDLE_MEMORY_HOST
                             : place.kind == Kind::pinned  ? HEDDLE_MEMORY_PINNED
                             : place.kind == Kind::managed ? HEDDLE_MEMORY_MANAGED
                                                           : HEDDLE_MEMORY_DEVICE;
        for (const size_t offset : {0, 1, 999}) {
            int device = -7;
            same(heddle_memory_kind(buffer.at(offset), &device), expected, "kind of ",
                 to_text(place), "+", offset);
            if (place.kind == Kind::device)
                same(device, place.device, "device of ", to_text(place));
            if (place.kind == Kind::pageable)
                same(device, -1, "device of ", to_text(place));
        }
        same(heddle_memory_kind(buffer.at(), nullptr), expected, "kind of ", to_text(place),
             ", no device asked");
    }
    int on_stack = 0, device = 0;
    same(heddle_memory_kind(&on_stack, &device), int{HEDDLE_MEMORY_HOST}, "the stack");
    same(device, -1, "device of the stack");
    same(heddle_memory_kind(nullptr, &device), int{HEDDLE_MEMORY_HOST}, "null");
    same(heddle_memory_kind(reinterpret_cast<void *>(UINTPTR_MAX), nullptr),
         int{HEDDLE_MEMORY_HOST}, "no address");
}

/* Memory for what is computed beside a buffer lies on the buffer's device, also beyond what the
 * pool may hold. For host buffers, and where the device has none left, it lies on the host. */
void scratch_memory()
{
    const auto taken = [](int64_t bytes, const void *near, int expected, int device,
                          const std::string &where) {
        void *at = nullptr;
        int found = -7;
        same(heddle_scratch_alloc(bytes, near, &at), int{HEDDLE_SUCCESS}, "scratch ", where);
        same(reinterpret_cast<uintptr_t>(at) % 64, uintptr_t{0}, "alignment of scratch ", where);
        same(heddle_memory_kind(at, &found), expected, "kind of scratch ", where);
        same(found, device, "device of scratch ", where);
        const int64_t n = std::min(bytes, int64_t{5000});
        std::vector<std::byte> in(static_cast<size_t>(n), std::byte{0x77}), out(in.size());
        const heddle_move there{bytes_at(in.data(), n), bytes_at(at, n), n, HEDDLE_OP_REPLACE},
            back{bytes_at(at, n), bytes_at(out.data(), n), n, HEDDLE_OP_REPLACE};
        same(heddle_transfer(&there, 1), int{HEDDLE_SUCCESS}, "into scratch ", where);
        same(heddle_transfer(&back, 1), int{HEDDLE_SUCCESS}, "out of scratch ", where);
        if (in != out)
            fail("what was in scratch ", where);
        heddle_scratch_free(at);
    };
    for (const Place &place : Machine::get().places()) {
        const Buffer buffer(place, 1000, 1);
        const bool there = place.kind == Kind::device || place.kind == Kind::managed;
        for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{5000}, int64_t{300} << 20})
            taken(bytes, buffer.at(10), there ? HEDDLE_MEMORY_DEVICE : HEDDLE_MEMORY_HOST,
                  there ? place.device : -1, text("of ", bytes, " bytes near ", to_text(place)));
    }
    taken(5000, nullptr, HEDDLE_MEMORY_HOST, -1, "near nothing");
    void *at = nullptr;
    same(heddle_scratch_alloc(-1, nullptr, &at), int{HEDDLE_ERR_ARG},
         "scratch of fewer than no bytes");
    same(heddle_scratch_alloc(1, nullptr, nullptr), int{HEDDLE_ERR_ARG}, "scratch for nobody");
    same(heddle_scratch_alloc(INT64_MAX, nullptr, &at), int{HEDDLE_ERR_NO_MEMORY},
         "scratch of all bytes");
    for (const Place &place : Machine::get().places()) {
        const Buffer near(place, 64, 1);
        for (const int64_t bytes : {INT64_MAX, INT64_MAX - 64})
            same(heddle_staging_alloc(bytes, near.at(), &at), int{HEDDLE_ERR_NO_MEMORY},
                 "staging of all bytes");
    }
    heddle_scratch_free(nullptr);
    if (!Machine::get().is_simulated())
        return;
    const Buffer buffer({Kind::device, 0}, 1000, 1);
    Machine::get().configure("device_memory=1");
    /* More than the pool may keep: of less it may have some that lies idle. */
    taken(int64_t{300} << 20, buffer.at(), HEDDLE_MEMORY_HOST, -1, "where the device has none");
    Machine::get().reset();
}

/* A type of absolute addresses over several buffers, and in which order it names their bytes. */
struct Absolute {
    std::deque<Buffer> buffers;
    Type type;
    std::vector<std::pair<size_t, size_t>> places; /* of each packed byte: buffer, offset */

    std::byte &expected(size_t packed)
    {
        return buffers[places[packed].first].expected[places[packed].second];
    }
};

Absolute absolute(Rng &rng, size_t element, heddle_predefined basic)
{
    Absolute result;
    const std::vector<Place> all = Machine::get().places();
    for (int64_t i = rng.in(1, 6); i > 0; --i)
        result.buffers.emplace_back(rng.pick(all), static_cast<size_t>(rng.in(20, 60)) * element,
                                    rng.next());

    /* Blocks of elements, with gaps, in an order that leads to and fro between the buffers. */
    struct Block {
        size_t buffer, offset;
        int64_t length;
    };
    std::vector<Block> blocks;
    for (size_t b = 0; b < result.buffers.size(); ++b)
        for (size_t at = static_cast<size_t>(rng.in(0, 3)) * element;
             at < result.buffers[b].size();) {
            const auto room = static_cast<int64_t>((result.buffers[b].size() - at) / element);
            const int64_t length = std::min(room, rng.in(1, 9));
            if (length == 0)
                break;
            blocks.push_back({b, at, length});
            at += (static_cast<size_t>(length) + static_cast<size_t>(rng.in(0, 3))) * element;
        }
    if (rng.percent(60))
        rng.shuffle(blocks);
    std::vector<int64_t> lengths, addresses;
    for (const Block &block : blocks) {
        lengths.push_back(block.length);
        addresses.push_back(static_cast<int64_t>(
            reinterpret_cast<uintptr_t>(result.buffers[block.buffer].at(block.offset))));
        for (size_t i = 0; i < static_cast<size_t>(block.length) * element; ++i)
            result.places.emplace_back(block.buffer, block.offset + i);
    }
    result.type = Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(static_cast<int64_t>(blocks.size()), lengths.data(),
                                        addresses.data(), heddle_type_predefined(basic), t);
        },
        "hindexed");
    result.type.commit();
    return result;
}

void check_all(Absolute &a, const char *what, int round)
{
    for (const Buffer &buffer : a.buffers)
        buffer.check(what, ", round ", round);
}

void absolute_addresses()
{
    Rng rng(20261120);
    for (int round = 0; round < 200; ++round) {
        Absolute from = absolute(rng, 4, HEDDLE_UINT32), to = absolute(rng, 4, HEDDLE_UINT32);
        const auto elements =
            static_cast<int64_t>(std::min(from.places.size(), to.places.size()) / 4);
        const int64_t first = rng.in(0, elements - 1), n = rng.in(1, elements - first);
        const bool adds = rng.percent(30);
        const auto offset = static_cast<size_t>(first) * 4;
        for (size_t i = offset; i < offset + static_cast<size_t>(n) * 4; i += 4) {
            uint32_t sum = 0, a = 0, b = 0;
            for (size_t j = 0; j < 4; ++j) {
                a |= static_cast<uint32_t>(from.expected(i + j)) << 8 * j;
                b |= static_cast<uint32_t>(to.expected(i + j)) << 8 * j;
            }
            sum = adds ? a + b : a;
            for (size_t j = 0; j < 4; ++j)
                to.expected(i + j) = static_cast<std::byte>(sum >> 8 * j);
        }
        transfer_all(
            rng.percent(50) ? Way::blocking : Way::begun,
            {{side_of(nullptr, 1, from.type, first * 4), side_of(nullptr, 1, to.type, first * 4),
              n * 4, adds ? HEDDLE_OP_SUM : HEDDLE_OP_REPLACE}});
        check_all(from, "the source of absolute addresses", round);
        check_all(to, "the target of absolute addresses", round);
    }
}

/* Elements of a packed source that lie in two memories each. */
void elements_in_two_memories()
{
    const std::vector<Place> all = Machine::get().places();
    constexpr size_t elements = 1000;
    for (const Place &first : all)
        for (const Place &second : all)
            for (const Way way : {Way::blocking, Way::begun}) {
                const Buffer halves[] = {{first, elements * 8, 1}, {second, elements * 8, 2}};
                Buffer target(first, elements * 4, 3);
                std::vector<int64_t> lengths, addresses; /* three bytes here, one there */
                for (size_t i = 0; i < elements; ++i) {
                    uint32_t sum = 0, now = 0;
                    for (size_t half = 0; half < 2; ++half) {
                        lengths.push_back(half ? 1 : 3);
                        addresses.push_back(static_cast<int64_t>(
                            reinterpret_cast<uintptr_t>(halves[half].at(i * 8))));
                        std::memcpy(reinterpret_cast<char *>(&sum) + half * 3,
                                    &halves[half].expected[i * 8], half ? 1 : 3);
                    }
                    std::memcpy(&now, &target.expected[i * 4], 4);
                    sum += now;
                    std::memcpy(&target.expected[i * 4], &sum, 4);
                }
                Type type = Type::from(
                    [&](auto **t) {
                        return heddle_type_hindexed(static_cast<int64_t>(lengths.size()),
                                                    lengths.data(), addresses.data(),
                                                    heddle_type_predefined(HEDDLE_BYTE), t);
                    },
                    "hindexed");
                type.commit();
                const heddle_side to{target.at(), elements, heddle_type_predefined(HEDDLE_UINT32),
                                     0};
                transfer_all(way, {{side_of(nullptr, 1, type), to, elements * 4, HEDDLE_OP_SUM}});
                target.check("the sum of elements in ", to_text(first), " and ", to_text(second));
            }
}

void absolute_and_packed()
{
    Rng rng(20261121);
    for (int round = 0; round < 100; ++round) {
        Absolute from = absolute(rng, 1, HEDDLE_BYTE);
        const auto n = static_cast<int64_t>(from.places.size());
        const std::vector<Place> all = Machine::get().places();
        Buffer packed(rng.pick(all), from.places.size(), rng.next());
        for (size_t i = 0; i < from.places.size(); ++i)
            packed.expected[i] = from.expected(i);
        transfer_all(Way::blocking, {{side_of(nullptr, 1, from.type), bytes_at(packed.at(), n), n,
                                      HEDDLE_OP_REPLACE}});
        packed.check("packed from absolute addresses, round ", round);
        Buffer other(rng.pick(all), from.places.size(), rng.next());
        for (size_t i = 0; i < from.places.size(); ++i)
            from.expected(i) = other.expected[i];
        transfer_all(Way::begun, {{bytes_at(other.at(), n), side_of(nullptr, 1, from.type), n,
                                   HEDDLE_OP_REPLACE}});
        check_all(from, "unpacked to absolute addresses", round);
    }
}

/* Blocks at one stride that leads from one allocation into the next,
 * which no copy of rows may cross. */
void one_block_in_each_of_two()
{
    constexpr size_t block = 400;
    for (const Place &place : Machine::get().places())
        for (const Place &packed_in : Machine::get().places()) {
            Buffer first(place, block, 1), second(place, block, 2), packed(packed_in, 2 * block, 3);
            Buffer *const blocks[] = {&first, &second};
            const int64_t lengths[] = {block, block};
            const int64_t addresses[] = {
                static_cast<int64_t>(reinterpret_cast<uintptr_t>(first.at())),
                static_cast<int64_t>(reinterpret_cast<uintptr_t>(second.at()))};
            Type type = Type::from(
                [&](auto **t) {
                    return heddle_type_hindexed(2, lengths, addresses,
                                                heddle_type_predefined(HEDDLE_BYTE), t);
                },
                "hindexed");
            type.commit();
            const heddle_side both = side_of(nullptr, 1, type),
                              bytes = bytes_at(packed.at(), 2 * block);
            for (size_t i = 0; i < 2 * block; ++i)
                packed.expected[i] = blocks[i / block]->expected[i % block];
            transfer_all(Way::blocking, {{both, bytes, 2 * block, HEDDLE_OP_REPLACE}});
            packed.check("packed out of two allocations in ", to_text(place));
            Buffer other(packed_in, 2 * block, 4);
            for (size_t i = 0; i < 2 * block; ++i)
                blocks[i / block]->expected[i % block] = other.expected[i];
            transfer_all(Way::blocking,
                         {{bytes_at(other.at(), 2 * block), both, 2 * block, HEDDLE_OP_REPLACE}});
            for (const Buffer *buffer : blocks)
                buffer->check("unpacked into two allocations in ", to_text(place));
        }
}

/* Elements that lie in each of some buffers in turn:
 * their packed bytes, and a type of absolute addresses. */
struct Dealt {
    std::deque<Buffer> buffers;
    Type type;
    std::vector<std::byte> packed;

    Dealt(const std::vector<Place> &places, int64_t elements, uint64_t seed)
    {
        for (const Place &place : places)
            buffers.emplace_back(place, static_cast<size_t>(elements) * 16, seed++);
        std::vector<int64_t> lengths, addresses;
        for (int64_t i = 0; i < elements * static_cast<int64_t>(places.size()); ++i) {
            const Buffer &buffer = buffers[static_cast<size_t>(i) % places.size()];
            const size_t at = static_cast<size_t>(i) / places.size() * 16;
            lengths.push_back(1);
            addresses.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(buffer.at(at))));
            packed.insert(packed.end(), &buffer.expected[at], &buffer.expected[at] + 8);
        }
        type = Type::from(
            [&](auto **t) {
                return heddle_type_hindexed(static_cast<int64_t>(lengths.size()), lengths.data(),
                                            addresses.data(), heddle_type_predefined(HEDDLE_DOUBLE),
                                            t);
            },
            "hindexed");
        type.commit();
    }
    int64_t bytes() const { return static_cast<int64_t>(packed.size()); }
};

/* Packs what lies in `places` into `other`, and unpacks it again elsewhere. Kernels that it took,
 * both ways. */
int64_t deal(const std::vector<Place> &places, Place other, Way way, int device)
{
    const Dealt from(places, 40, 1), to(places, 40, 100);
    Buffer packed(other, std::vector<std::byte>(from.packed.size()));
    const int64_t before = counted("launches_kernels");
    transfer_all(way,
                 {{side_of(nullptr, 1, from.type), bytes_at(packed.at(), from.bytes()),
                   from.bytes(), HEDDLE_OP_REPLACE}},
                 device);
    packed.expected = from.packed;
    packed.check("packed out of several memories into ", to_text(other));
    transfer_all(way,
                 {{bytes_at(packed.at(), to.bytes()), side_of(nullptr, 1, to.type), to.bytes(),
                   HEDDLE_OP_REPLACE}},
                 device);
    const int64_t kernels = counted("launches_kernels") - before;
    Buffer again(other, std::vector<std::byte>(from.packed.size()));
    transfer_all(Way::blocking, {{side_of(nullptr, 1, to.type), bytes_at(again.at(), to.bytes()),
                                  to.bytes(), HEDDLE_OP_REPLACE}});
    again.expected = from.packed;
    again.check("unpacked to several memories, and packed");
    return kernels;
}

/* Some eight arrays of one device (paper 001, figure 7), and what else its kernels reach. */
void one_launch_for_many_arrays()
{
    need_devices();
    const Place device{Kind::device, 0}, pinned{Kind::pinned}, managed{Kind::managed, 0};
    for (const std::vector<Place> &places : {std::vector<Place>(8, device),
                                             {device, pinned},
                                             {pinned, device, device},
                                             {managed, device, pinned}})
        for (const Place other : {device, pinned})
            for (const Way way : all_ways)
                same(deal(places, other, way, 0), int64_t{2}, "kernels to pack and unpack, ",
                     to_text(way), ", beside ", to_text(other));
}

/* Run by the next test, in processes in which nobody has asked yet which device reaches which. */
void inside_arrays_of_devices()
{
    const char *const order = getenv("ORDER_OF_DEVICES");
    if (!order)
        throw Skip("a test runs it");
    std::vector<Place> places;
    for (const char *each = order; *each; ++each)
        places.push_back({Kind::device, *each - '0'});
    const bool all_reach = getenv("ALL_REACH");
    const auto expect = [&](int64_t kernels, const char *what) {
        if (all_reach)
            same(kernels, int64_t{2}, "kernels to pack and unpack, ", what);
    };
    expect(deal(places, {Kind::pinned}, Way::blocking, 0), "beside pinned memory");
    expect(deal(places, places.back(), Way::begun, 0), "beside the last one's");
    expect(deal(places, places.front(), Way::begun, 0), "beside the first one's");
    deal(places, {Kind::pageable}, Way::blocking, 0);
    if (all_reach)
        for (const Place &place : places)
            expect(deal(places, places.front(), Way::on_stream, place.device),
                   "on each one's stream");
}

void arrays_of_several_devices()
{
    need_devices(2);
    const auto runs = [](std::vector<std::pair<std::string, std::string>> environment,
                         const char *order) {
        environment.emplace_back("ORDER_OF_DEVICES", order);
        self_succeeds({"--only-named", "--named", "inside: arrays of several devices"},
                      environment);
    };
    for (const char *order : {"01", "10", "0110"})
        runs({{"ALL_REACH", "1"}}, order);
    need_simulation();
    for (const char *order : {"01", "10"})
        for (const char *peer : {"0", "3"})
            runs({{"HEDDLE_SIM_PEER", peer}}, order);
    runs({{"HEDDLE_SIM_PEER", "3"}, {"HEDDLE_SIM_DEVICES", "3"}}, "011202102");
    /* Where 0 and 2 reach 1, but not each other. */
    for (const char *order : {"01", "012", "021", "102", "120", "201", "210", "02", "0123", "3120"})
        runs({{"HEDDLE_SIM_PEER", "2"}, {"HEDDLE_SIM_DEVICES", "4"}}, order);
}

/* No driver need be asked about the program, its heap and its stack. All else may be a device's. */
void program_memory()
{
    static int of_program;
    const int on_stack = 0;
    rlimit stack{};
    const auto is_program = [](const void *at) { return heddle_memory_is_program(at); };
    same(is_program(&of_program), 1, "is a static object the program's?");
    same(is_program(static_cast<char *>(sbrk(0)) - 1), 1, "is the heap the program's?");
    same(is_program(nullptr), 0, "is nothing the program's?");
    constexpr rlim_t longest_known = 64 << 20;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur <= longest_known)
        same(is_program(&on_stack), 1, "is the stack the program's?");
    std::thread([&] {
        const int of_thread = 0;
        same(is_program(&of_thread), 0, "is another thread's stack the program's?");
    }).join();
    for (const Place &place : Machine::get().places()) {
        constexpr size_t more_than_on_heap = 64 << 20;
        const Buffer buffer(place, more_than_on_heap, 1);
        same(is_program(buffer.at()), 0, "is ", to_text(place), " the program's?");
    }
}

/* Memory is asked about once an allocation, and not once a run. */
void one_question_an_allocation()
{
    need_devices();
    need_simulation(); /* which counts */
    for (const Place place : Machine::get().places()) {
        if (place.kind == Kind::pageable)
            continue; /* nobody knows how far it reaches */
        const Dealt from({place}, 1000, 1);
        Buffer packed({Kind::device, 0}, std::vector<std::byte>(from.packed.size()));
        const int64_t before = Machine::get().count("query");
        transfer_all(Way::blocking,
                     {{side_of(nullptr, 1, from.type), bytes_at(packed.at(), from.bytes()),
                       from.bytes(), HEDDLE_OP_REPLACE}});
        same(Machine::get().count("query") - before, int64_t{2}, "questions about ",
             to_text(place));
        packed.expected = from.packed;
        packed.check("packed out of ", to_text(place));
    }
}

/* A byte that is written several times keeps one of the values meant for it; others stay. */
void overlapping_targets()
{
    constexpr int64_t blocks = 40;
    for (const Place &place : Machine::get().places()) {
        Buffer target(place, 400, 5);
        const Buffer source(place, blocks * 8, 6);
        Type type = Type::from(
            [](auto **t) {
                return heddle_type_hvector(blocks, 8, 5, heddle_type_predefined(HEDDLE_BYTE), t);
            },
            "hvector");
        type.commit();
        transfer_all(Way::blocking,
                     {{bytes_at(source.at(), blocks * 8), side_of(target.at(50), 1, type),
                       blocks * 8, HEDDLE_OP_REPLACE}});
        const std::vector<std::byte> now = target.bytes();
        for (size_t at = 0; at < now.size(); ++at) {
            bool meant = false, right = false;
            for (size_t x = 0; x < blocks * 8; ++x)
                if (50 + x / 8 * 5 + x % 8 == at) {
                    meant = true;
                    right = right || now[at] == source.expected[x];
                }
            same(meant ? right : now[at] == target.expected[at], true, "byte ", at,
                 " of an overlapping target in ", to_text(place));
        }
    }
}

/* One source to many targets at once, and many pieces to one target. */
void one_buffer_in_many_moves()
{
    for (const Place &place : Machine::get().places()) {
        const Buffer source(place, 4000, 7);
        std::deque<Buffer> targets;
        std::vector<heddle_move> moves;
        for (int i = 0; i < 30; ++i) {
            Buffer &target = targets.emplace_back(place, 4001, 8 + i);
            std::copy(source.expected.begin(), source.expected.end(),
                      target.expected.begin() + i % 2);
            moves.push_back({bytes_at(source.at(), 4000), bytes_at(target.at(i % 2), 4000), 4000,
                             HEDDLE_OP_REPLACE});
        }
        transfer_all(Way::begun, moves);
        for (const Buffer &target : targets)
            target.check("one of many targets");
        Buffer joined(place, 4000, 99);
        joined.expected = source.expected;
        moves.clear();
        for (int64_t at = 0; at < 4000; at += 5) /* bytes of one word by several moves */
            moves.push_back({bytes_at(source.at(), 4000, at), bytes_at(joined.at(), 4000, at), 5,
                             HEDDLE_OP_REPLACE});
        transfer_all(Way::blocking, moves);
        joined.check("a target of many pieces");
    }
}

void imported_ranges()
{
    heddle::gpu::cuda::Imports imports;
    const auto holds = [&](uintptr_t address, bool expected) {
        same(imports.hold(address), expected, "whether an address is imported");
    };
    holds(1000, false);
    imports.remove(1000); /* nothing is there */
    imports.add(1000, 100);
    imports.add(2000, 1);
    imports.add(2000, 1); /* opened twice */
    for (const uintptr_t in : {1000, 1099, 2000})
        holds(in, true);
    for (const uintptr_t out : {0, 999, 1100, 1999, 2001})
        holds(out, false);
    imports.remove(1050); /* by any address within */
    holds(1000, false);
    imports.remove(2000);
    holds(2000, true);
    imports.remove(2000);
    holds(2000, false);
}

/* A million instances of a struct, one type of a million of them, and vectors of it take one amount
 * of memory on a device, far less than the data, and move the same bytes. */
void equal_descriptions()
{
    constexpr int64_t n = 1'000'000, most = 64 << 10;
    const int64_t lengths[] = {1, 1}, displacements[] = {0, 8};
    heddle_type *const members[] = {heddle_type_predefined(HEDDLE_INT32),
                                    heddle_type_predefined(HEDDLE_DOUBLE)};
    const Type record =
        Type::from(
            [&](auto **t) { return heddle_type_struct(2, lengths, displacements, members, t); },
            "struct")
            .commit();
    const auto repeated = [&](int64_t count) {
        return Type::from([&](auto **t) { return heddle_type_contiguous(count, record.get(), t); },
                          "contiguous")
            .commit();
    };
    const Type whole = repeated(n), half = repeated(n / 2), spaced = hvector(n, 16, record),
               apart = hvector(n / 2, 40, record);
    const auto description = [](const Type &type) {
        int64_t bytes = 0;
        succeeds(heddle_type_device_memory(type.get(), &bytes), "heddle_type_device_memory");
        return bytes;
    };
    /* The type that holds it has a node more. */
    constexpr int64_t node = 64;
    if (description(record) > most - node)
        fail("the description of a struct takes ", description(record), " bytes");
    for (const Type *type : {&whole, &half, &spaced, &apart})
        same(description(*type), description(record) + node, "bytes of a description");

    const Place device{Kind::device, 0};
    const auto moves = [&](int64_t count, const Type &type, const std::string &name) {
        const heddle_type_info info = type.info();
        const int64_t bytes = count * info.size;
        const Buffer from(device, static_cast<size_t>((count - 1) * info.extent + info.true_extent),
                          1);
        Buffer to(device, std::vector<std::byte>(static_cast<size_t>(bytes)));
        const int64_t held = counted("images_bytes");
        transfer_all(Way::blocking, {{side_of(from.at(), count, type), bytes_at(to.at(), bytes),
                                      bytes, HEDDLE_OP_REPLACE}});
        int64_t actual = 0;
        heddle_pack(from.expected.data(), count, type.get(), 0, to.expected.data(), bytes, &actual);
        to.check("packed by a description of " + name);
        if (const int64_t taken = counted("images_bytes") - held; taken > most)
            fail("the description of ", name, " takes ", taken, " bytes");
    };
    moves(n, record, "n structs");
    moves(1, whole, "one type of n structs");
    moves(2, half, "two types of n / 2 structs");
    moves(1, spaced, "a vector of n structs");
    moves(1, apart, "a vector of structs further apart");
}

const AddTests tests{{"memory kinds", memory_kinds},
                     {"scratch memory", scratch_memory},
                     {"equal typemaps, equal descriptions", equal_descriptions},
                     {"absolute addresses", absolute_addresses},
                     {"absolute addresses and packed bytes", absolute_and_packed},
                     {"absolute addresses, a block in each of two", one_block_in_each_of_two},
                     {"elements in two memories", elements_in_two_memories},
                     {"one launch for many arrays", one_launch_for_many_arrays},
                     {"inside: arrays of several devices", inside_arrays_of_devices},
                     {"arrays of several devices", arrays_of_several_devices},
                     {"program memory", program_memory},
                     {"one question an allocation", one_question_an_allocation},
                     {"overlapping targets", overlapping_targets},
                     {"one buffer in many moves", one_buffer_in_many_moves},
                     {"imported ranges", imported_ranges}};

} // namespace
} // namespace gpu
