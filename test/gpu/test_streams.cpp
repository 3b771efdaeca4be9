/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the caller's, requests, and what may be released while they run; several devices;
 * several threads.
 */
#include "buffer.hpp"
#include "case.hpp"
#include "types.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <thread>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

/* Makes the simulated device late and disorderly for one test. */
class Late {
public:
    explicit Late(const char *switches) { Machine::get().configure(switches); }
    Late(const Late &) = delete;
    ~Late() { Machine::get().reset(); }
};

/* What a transfer of all of it does, or of all from packed byte `first` on. */
void expect_moved(const Buffer &from, const Type &from_type, Buffer &to, const Type &to_type,
                  heddle_op op, int64_t first = 0)
{
    const int64_t size = from_type.info().size;
    for (int64_t x = first, n; x < size; x += n) {
        int64_t source = 0, target = 0, left = 0;
        succeeds(heddle_locate(1, from_type.get(), x, &source, &n), "locate");
        succeeds(heddle_locate(1, to_type.get(), x, &target, &left), "locate");
        n = std::min(n, left);
        for (int64_t j = 0; j < n; ++j) {
            std::byte &byte = to.expected[static_cast<size_t>(target + j)];
            const std::byte moved = from.expected[static_cast<size_t>(source + j)];
            byte = op == HEDDLE_OP_BXOR ? byte ^ moved : moved;
        }
    }
}

/* Each transfer on the stream takes what the one before it made. */
void a_stream_keeps_its_order()
{
    need_devices();
    const Late late("delay_us=200 reorder=1");
    constexpr int steps = 40;
    for (int device = 0; device < Machine::get().devices(); ++device) {
        void *stream = Machine::get().make_stream(device);
        std::deque<Buffer> chain;
        for (int i = 0; i <= steps; ++i)
            chain.emplace_back(i % 3 == 1 ? Place{Kind::pinned, 0} : Place{Kind::device, device},
                               size_t{800}, static_cast<uint64_t>(i));
        for (int i = 0; i < steps; ++i) {
            Type from = irregular(i), to = bytes_of(from.info().size); /* released before the stream
                                                                          gets there */
            if (i % 2 == 1)
                std::swap(from, to);
            const heddle_move move{side_of(chain[i].at(), 1, from),
                                   side_of(chain[i + 1].at(), 1, to),
                                   from.info().size,
                                   {}};
            succeeds(heddle_transfer_on_stream(&move, 1, stream), "step ", i,
                     " on a stream: ", heddle_error_detail());
            expect_moved(chain[i], from, chain[i + 1], to, HEDDLE_OP_REPLACE);
        }
        Machine::get().synchronize(device, stream);
        Machine::get().end_stream(device, stream);
        for (int i = 0; i <= steps; ++i)
            chain[i].check("link ", i, " of a chain on a stream");
    }
}

/* What one instance takes. */
size_t room(const Type &type)
{
    return static_cast<size_t>(type.info().true_lb + type.info().true_extent);
}

/* A simulated device starts no kernel early, and takes long for much. */
int64_t on_a_gpu(int64_t bytes) { return Machine::get().is_simulated() ? bytes / 16 : bytes; }

/* What one kind of kernel moves, both ways in turn. */
struct Kernels {
    const char *name;
    Type to;
    heddle_op op = HEDDLE_OP_REPLACE;
    int64_t moves = 1; /* of one call */
    Type from = bytes_of(to.info().size);
};

/* For one call: all from packed byte `first` on. */
std::vector<heddle_move> moves_of(const Kernels &kind, const Buffer &from, const Type &from_type,
                                  const Buffer &to, const Type &to_type, int64_t first)
{
    const int64_t bytes = from_type.info().size,
                  each = (bytes - first + kind.moves - 1) / kind.moves;
    std::vector<heddle_move> moves;
    for (int64_t x = first; x < bytes; x += each)
        moves.push_back({side_of(from.at(), 1, from_type, x), side_of(to.at(), 1, to_type, x),
                         std::min(each, bytes - x), kind.op});
    return moves;
}

/* The stream is held up, so that kernels follow each other without a gap. Every other kernel takes
 * the last of what the kernel before it makes. It finds room on the device at once. If it did not
 * wait, it would take what was there before. */
void keep_their_order(const Kernels &kind, int device, void *stream)
{
    constexpr int steps = 6;
    const int64_t held_up = on_a_gpu(int64_t{128} << 20);
    const Place place{Kind::device, device};
    const Memory big(place, static_cast<size_t>(2 * held_up));
    if (!big)
        throw Skip("no 256 MiB of device memory");
    const std::vector<std::byte> zeros(static_cast<size_t>(held_up)); /* compute-sanitizer's
                                                                         initcheck tells each
                                                                         unwritten byte */
    big.write(0, zeros.data(), zeros.size());
    const heddle_move hold_up{
        bytes_at(big.at(), held_up), bytes_at(big.at() + held_up, held_up), held_up, {}};
    /* Whole are those that unpack, those that pack, or, before that, none:
     * then images go to the device. */
    for (const int whole : {-1, 0, 1}) {
        std::deque<Buffer> chain; /* of other data each time */
        for (uint64_t i = 0; i <= steps; ++i)
            chain.emplace_back(place, std::max(room(kind.from), room(kind.to)),
                               Rng::mix(static_cast<uint64_t>(whole + 1), i));
        std::vector<std::vector<heddle_move>> moves;
        for (size_t i = 0; i < steps; ++i) {
            const bool unpacks = i % 2 == 0;
            const Type &from = unpacks ? kind.from : kind.to, &to = unpacks ? kind.to : kind.from;
            const int64_t bytes = from.info().size,
                          first = static_cast<int>(i % 2) == whole ? 0 : bytes - bytes / 4;
            moves.push_back(moves_of(kind, chain[i], from, chain[i + 1], to, first));
            expect_moved(chain[i], from, chain[i + 1], to, kind.op, first);
        }
        succeeds(heddle_transfer_on_stream(&hold_up, 1, stream), "holding a stream up");
        for (const std::vector<heddle_move> &each : moves) /* nothing else in between */
            succeeds(
                heddle_transfer_on_stream(each.data(), static_cast<int64_t>(each.size()), stream),
                "on a stream: ", heddle_error_detail());
        Machine::get().synchronize(device, stream);
        for (size_t i = 0; i <= steps; ++i)
            chain[i].check(kind.name, whole == 0 ? ", whole unpacked" : ", whole packed", ", link ",
                           i);
    }
}

/* A kernel may be started before the one before it is over: each kind waits for it. */
void kernels_keep_their_order()
{
    need_devices();
    const auto record = [] {
        const int64_t lengths[] = {9, 7}, displacements[] = {0, 12};
        return Type::from(
            [&](auto **t) {
                return heddle_type_hindexed(2, lengths, displacements,
                                            heddle_type_predefined(HEDDLE_BYTE), t);
            },
            "hindexed");
    };
    const int64_t size = on_a_gpu(int64_t{512} << 10);
    const Type doubles = hvector(size / 8, 24, bytes_of(8)),
               columns = hvector(size >> 11, 8, hvector(256, 256 * 8, bytes_of(8)));
    const Type irregulars = irregular(1, static_cast<int>(on_a_gpu(30000))),
               spread = hvector(irregulars.info().size, 2, bytes_of(1));
    const Kernels kinds[] = {
        {"strided", doubles},
        {"transposed", columns},
        {"records", hvector(size / 8, 24, record())},
        {"short runs", irregular(2, 300)},
        {"few runs", irregular(3, 100, 200)},
        {"many runs", irregulars},
        {"from layout to layout, strided", columns, HEDDLE_OP_REPLACE, 1, doubles},
        {"from layout to layout", irregulars, HEDDLE_OP_REPLACE, 1, spread},
        {"combined, strided", doubles, HEDDLE_OP_BXOR},
        {"combined", irregulars, HEDDLE_OP_BXOR},
        {"several strided", doubles, HEDDLE_OP_REPLACE, 3},
        {"several", irregulars, HEDDLE_OP_REPLACE, 3}};
    std::string failed;
    for (int device = 0; device < Machine::get().devices(); ++device) {
        void *stream = Machine::get().make_stream(device);
        for (const Kernels &kind : kinds)
            try {
                keep_their_order(kind, device, stream);
            } catch (const property::Failure &failure) {
                failed += text("\n  ", failure.what());
            } catch (...) {
                Machine::get().end_stream(device, stream);
                throw;
            }
        Machine::get().end_stream(device, stream);
    }
    if (!failed.empty())
        fail(failed);
}

void many_requests_at_once()
{
    const Late late("delay_us=100 reorder=1");
    Rng rng(3);
    const std::vector<Place> places = Machine::get().places();
    struct One {
        One(Buffer a, Buffer b) : from(std::move(a)), to(std::move(b)) {}
        One(const One &) = delete;
        ~One() { heddle_wait(&request); }
        Buffer from, to;
        heddle_request *request = nullptr;
    };
    std::list<One> all;
    for (int i = 0; i < 200; ++i) {
        One &one = all.emplace_back(Buffer(rng.pick(places), 600, rng.next()),
                                    Buffer(rng.pick(places), 600, rng.next()));
        const Type type = irregular(i);
        const int64_t size = type.info().size;
        expect_moved(one.from, type, one.to, bytes_of(size), HEDDLE_OP_REPLACE);
        const heddle_move move{side_of(one.from.at(), 1, type), bytes_at(one.to.at(), size), size,
                               HEDDLE_OP_REPLACE};
        succeeds(heddle_transfer_begin(&move, 1, &one.request), "begin ", i);
    }
    while (!all.empty()) {
        const auto chosen = std::next(all.begin(), rng.in(0, static_cast<int64_t>(all.size()) - 1));
        One &one = *chosen;
        int done = 0;
        if (rng.percent(50))
            succeeds(heddle_test(&one.request, &done), "test");
        else
            succeeds(heddle_wait(&one.request), "wait"), done = 1;
        if (!done)
            continue;
        one.from.check("source of one of many");
        one.to.check("target of one of many");
        all.erase(chosen);
    }
}

void between_devices()
{
    need_devices(2);
    const int n = Machine::get().devices();
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b)
            for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{5} << 20}) {
                const Buffer from({Kind::device, a}, bytes + 3, 1);
                Buffer to({Kind::device, b}, bytes + 3, 2);
                std::copy(from.expected.begin(),
                          from.expected.begin() + static_cast<std::ptrdiff_t>(bytes),
                          to.expected.begin() + 3);
                const auto length = static_cast<int64_t>(bytes);
                transfer_all(
                    Way::blocking,
                    {{bytes_at(from.at(), length), bytes_at(to.at(3), length), length, {}}});
                from.check("device ", a, " to ", b, ", source");
                to.check("device ", a, " to ", b, ", target");
            }
}

void sixteen_threads()
{
    takes_long(); /* compute-sanitizer's racecheck comes to no end */
    const Late late("delay_us=30 reorder=1");
    std::atomic<int> failed{0};
    std::string what;
    {
        std::vector<std::jthread> crowd;
        for (uint64_t t = 0; t < 16; ++t)
            crowd.emplace_back([&, t] {
                for (uint64_t i = 0; i < 30 && !failed; ++i) {
                    const uint64_t seed = Rng::mix(t, i);
                    try {
                        run_case(random_case(seed));
                    } catch (const std::exception &failure) {
                        if (failed++ == 0)
                            what = text("--case-seed ", seed, ": ", failure.what());
                    }
                }
            });
    }
    if (failed)
        fail(what);
}

/* All threads use one type for the first time at once. */
void one_type_in_all_threads()
{
    need_devices();
    for (int round = 0; round < 20; ++round) {
        const Type type = irregular(1000 + round);
        const int64_t size = type.info().size;
        const Buffer from({Kind::device, 0}, 600, 1);
        std::vector<std::byte> expected(static_cast<size_t>(size));
        for (int64_t x = 0, displ, run; x < size; x += run) {
            succeeds(heddle_locate(1, type.get(), x, &displ, &run), "locate");
            std::copy_n(from.expected.begin() + displ, run, expected.begin() + x);
        }
        std::atomic<int> wrong{0}, ready{0};
        {
            std::vector<std::jthread> crowd;
            for (int t = 0; t < 8; ++t)
                crowd.emplace_back([&] {
                    try {
                        Buffer to({Kind::device, 0}, static_cast<size_t>(size), 2);
                        to.expected = expected;
                        for (++ready; ready < 8;)
                            std::this_thread::yield();
                        transfer_all(
                            Way::blocking,
                            {{side_of(from.at(), 1, type), bytes_at(to.at(), size), size, {}}});
                        to.check("");
                    } catch (const std::exception &) {
                        ++wrong;
                        ready = 8;
                    }
                });
        }
        same(wrong.load(), 0, "wrong results with one new type in all threads");
    }
}

struct Part {
    Type type;
    int64_t count;
};

/* Packs a part of the source, or unpacks one, at byte `at` of both; what it expects is in the
 * target. */
heddle_move move_part(const Part &part, bool packs, const Buffer &source, Buffer &target, size_t at)
{
    const auto &[type, count] = part;
    const int64_t bytes = count * type.info().size;
    int64_t actual;
    if (packs) {
        heddle_pack(&source.expected[at], count, type.get(), 0, &target.expected[at], bytes,
                    &actual);
        return {side_of(source.at(at), count, type), bytes_at(target.at(at), bytes), bytes,
                HEDDLE_OP_REPLACE};
    }
    heddle_unpack(&source.expected[at], bytes, &target.expected[at], count, type.get(), 0, &actual);
    return {bytes_at(source.at(at), bytes), side_of(target.at(at), count, type), bytes,
            HEDDLE_OP_REPLACE};
}

/* Each neighbour's part has a type of its own; none is large enough to be worth a launch. */
void neighbours_together(int neighbours)
{
    constexpr size_t room = 96 * 96 * 8;
    struct {
        const char *name;
        int64_t kernels; /* strided parts share one, the others one */
        Part (*part)(int);
    } const kinds[] = {
        {"irregular", 1,
         [](int i) {
             return Part{irregular(i), 1};
         }},
        {"strided", 1,
         [](int i) {
             return Part{hvector(i + 2, 16, bytes_of(8)), 1};
         }},
        {"irregular and strided", 2,
         [](int i) {
             return i % 2 ? Part{irregular(i), 1} : Part{hvector(20, 16, bytes_of(8)), 1};
         }},
        {"transposed", 1,
         [](int i) {
             return Part{hvector(96 - i % 2, 8, hvector(96, 96 * 8, bytes_of(8))), 1};
         }},
        {"of records", 1, [](int i) {
             return Part{irregular(i, 10), 500};
         }}};
    const Place device{Kind::device, 0};
    const size_t all_room = static_cast<size_t>(neighbours) * room;
    const Buffer field(device, all_room, 1), parts(device, all_room, 2);
    for (const auto &kind : kinds)
        for (const bool packs : {true, false}) {
            const Buffer &source = packs ? field : parts;
            Buffer target(device, all_room, 3);
            std::vector<heddle_move> moves;
            std::vector<Part> all;
            all.reserve(static_cast<size_t>(neighbours));
            for (int i = 0; i < neighbours; ++i)
                moves.push_back(move_part(all.emplace_back(kind.part(i)), packs, source, target,
                                          static_cast<size_t>(i) * room));
            const int64_t before = counted("launches_kernels");
            transfer_all(Way::blocking, moves);
            const int64_t kernels = counted("launches_kernels") - before;
            same(kernels, kind.kernels, "kernels for ", neighbours, " neighbours, ", kind.name,
                 packs ? ", packed" : ", unpacked");
            target.check("of neighbours together, ", kind.name);
        }
}

void neighbours_share_launches()
{
    need_devices();
    for (const int neighbours : {26, 40, 200})
        neighbours_together(neighbours);
}

/* Strided parts share one up to 8 MiB, of whatever elements. */
void large_parts_share_a_launch()
{
    need_devices();
    constexpr int64_t bytes = int64_t{2} << 20, n = 4;
    const Place device{Kind::device, 0};
    for (const int64_t element : {4, 8, 16}) {
        const Type type = hvector(bytes / element, 2 * element, bytes_of(element));
        const Buffer from(device, static_cast<size_t>(2 * bytes * n), 1);
        Buffer to(device, std::vector<std::byte>(static_cast<size_t>(bytes * n)));
        std::vector<heddle_move> moves;
        for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(i * bytes);
            int64_t actual;
            heddle_pack(&from.expected[2 * at], 1, type.get(), 0, &to.expected[at], bytes, &actual);
            moves.push_back({side_of(from.at(2 * at), 1, type), bytes_at(to.at(at), bytes), bytes,
                             HEDDLE_OP_REPLACE});
        }
        const int64_t before = counted("launches_kernels");
        transfer_all(Way::blocking, moves);
        same(counted("launches_kernels") - before, int64_t{1}, "kernels for parts of elements of ",
             element, " bytes");
        to.check("large parts of elements of ", element, " bytes");
    }
}

/* Transfers through the host, too, are on their way before anybody waits for them. */
void begun_is_begun()
{
    need_devices();
    need_simulation(); /* which counts */
    const Type type = hvector(1 << 14, 16, bytes_of(8));
    const int64_t bytes = type.info().size;
    const Buffer from({Kind::device, 0}, static_cast<size_t>(2 * bytes), 1);
    Buffer to({}, std::vector<std::byte>(static_cast<size_t>(bytes)));
    int64_t actual;
    heddle_pack(from.expected.data(), 1, type.get(), 0, to.expected.data(), bytes, &actual);
    const heddle_move one{side_of(from.at(), 1, type), bytes_at(to.at(), bytes), bytes,
                          HEDDLE_OP_REPLACE};
    for (const size_t n : {1, 2}) { /* the other one is within the device */
        std::vector<heddle_move> moves(n, one);
        const Buffer other({Kind::device, 0}, static_cast<size_t>(bytes), 2);
        if (n == 2)
            moves[1].to = bytes_at(other.at(), bytes);
        const int64_t before = Machine::get().count("launch");
        heddle_request *request = nullptr;
        succeeds(heddle_transfer_begin(moves.data(), static_cast<int64_t>(n), &request),
                 "heddle_transfer_begin");
        same(Machine::get().count("launch") - before, static_cast<int64_t>(n), "launches when ", n,
             " transfers were begun");
        succeeds(heddle_wait(&request), "heddle_wait");
        to.check("begun");
    }
}

/* After the first calls nothing is allocated or made, and what does not wait for its end waits for
 * nothing. */
void a_later_call_is_quiet(const Type &type, const Place &place, bool packs, Way way)
{
    const int64_t bytes = type.info().size;
    const Buffer typed({Kind::device, 0}, static_cast<size_t>(type.info().true_extent), 1);
    const Buffer packed(place, static_cast<size_t>(bytes), 2);
    heddle_move move{side_of(typed.at(), 1, type), bytes_at(packed.at(), bytes), bytes,
                     HEDDLE_OP_REPLACE};
    if (!packs)
        std::swap(move.from, move.to);
    for (int i = 0; i < 10; ++i) /* streams are made one by one */
        transfer_all(way, {move});
    void *const stream = way == Way::on_stream ? Machine::get().make_stream(0) : nullptr;
    const auto quiet = [&](const char *const call, int64_t before) {
        same(Machine::get().count(call) - before, int64_t{0}, "calls of ", call, " ", to_text(way),
             ", ", bytes, " bytes ", packs ? "into " : "out of ", to_text(place));
    };
    constexpr const char *makes[] = {"allocate",    "allocate_pinned", "free",
                                     "free_pinned", "stream_create",   "done_after_all"};
    constexpr const char *waits[] = {"stream_synchronize", "done_wait"};
    std::vector<int64_t> before;
    for (const char *call : makes)
        before.push_back(Machine::get().count(call));
    for (const char *call : waits)
        before.push_back(Machine::get().count(call));
    heddle_request *request = nullptr;
    if (way == Way::blocking)
        succeeds(heddle_transfer(&move, 1), "heddle_transfer");
    else if (way == Way::begun)
        succeeds(heddle_transfer_begin(&move, 1, &request), "heddle_transfer_begin");
    else
        succeeds(heddle_transfer_on_stream(&move, 1, stream), "heddle_transfer_on_stream");
    size_t i = std::size(makes);
    for (const char *call : waits)
        if (const int64_t was = before[i++]; way != Way::blocking)
            quiet(call, was);
    for (int done = 0; way == Way::begun && !done;)
        succeeds(heddle_test(&request, &done), "heddle_test");
    i = 0;
    for (const char *call : makes)
        quiet(call, before[i++]);
    if (stream) {
        Machine::get().synchronize(0, stream);
        Machine::get().end_stream(0, stream);
    }
}

void later_calls_are_quiet()
{
    need_devices();
    need_simulation(); /* which counts */
    const Type strided = hvector(500, 24, bytes_of(8)), runs = irregular(1, 2000),
               large = hvector(1 << 16, 48, bytes_of(24));
    const Place places[] = {
        {Kind::device, 0}, {Kind::pinned}, {Kind::managed, 0}, {Kind::pageable}, {Kind::device, 1}};
    for (const Type *type : {&strided, &runs, &large})
        for (const Place &place : places)
            for (const bool packs : {true, false})
                for (const Way way : all_ways) {
                    if (way == Way::on_stream && place.kind == Kind::pageable)
                        continue;
                    if (place.device < Machine::get().devices())
                        a_later_call_is_quiet(*type, place, packs, way);
                }
}

/* The first use of a type copies its description to the device, past what else runs there. */
void a_new_type_waits_for_nobody()
{
    need_devices();
    need_simulation(); /* which can be late */
    const Place device{Kind::device, 0};
    const Buffer from(device, 2000, 1), to(device, 2000, 2), sums(device, 2000, 3);
    const auto move_of = [&](const Type &type) {
        const int64_t bytes = type.info().size;
        return heddle_move{side_of(from.at(), 1, type), bytes_at(to.at(), bytes), bytes,
                           HEDDLE_OP_REPLACE};
    };
    for (int64_t seed = 100; seed < 108; ++seed) { /* streams and slabs are not to be made first */
        const Type warm = irregular(seed);
        transfer_all(Way::begun, {move_of(warm)});
    }
    const Late late("delay_us=20000"); /* the copies of descriptions, too */
    const heddle_type *const one = heddle_type_predefined(HEDDLE_INT64);
    heddle_move sum{{from.at(), 1, one, 0}, {sums.at(), 1, one, 0}, 8, HEDDLE_OP_SUM};
    std::vector<heddle_move> slow; /* operators never share a kernel, and all go to one stream */
    for (int64_t i = 0; i < 100; ++i) {
        sum.to.buf = sums.at(static_cast<size_t>(8 * i));
        slow.push_back(sum);
    }
    heddle_request *busy = nullptr;
    succeeds(heddle_transfer_begin(slow.data(), static_cast<int64_t>(slow.size()), &busy),
             "heddle_transfer_begin");
    void *const stream = Machine::get().make_stream(0);
    std::vector<heddle_request *> begun;
    for (int64_t i = 0; i < 12; ++i) { /* whichever of a few streams is whose turn */
        const Type fresh = irregular(200 + i);
        const heddle_move move = move_of(fresh);
        if (i % 3 == 2)
            succeeds(heddle_transfer_on_stream(&move, 1, stream), "heddle_transfer_on_stream");
        else
            succeeds(heddle_transfer_begin(&move, 1, &begun.emplace_back(nullptr)),
                     "heddle_transfer_begin");
    }
    int done = 1;
    succeeds(heddle_test(&busy, &done), "heddle_test");
    same(done, 0, "what ran before new types came, when they were begun");
    for (heddle_request *&each : begun)
        succeeds(heddle_wait(&each), "heddle_wait");
    succeeds(heddle_wait(&busy), "heddle_wait");
    Machine::get().synchronize(0, stream);
    Machine::get().end_stream(0, stream);
}

/* Two strided sides go by the kernel for such, but where others run beside; what is irregular is
 * located word by word. */
void between_strides()
{
    need_devices();
    const Type narrow = hvector(500, 24, bytes_of(8)), wide = hvector(250, 80, bytes_of(16)),
               listed = irregular(3, 1200);
    const Place device{Kind::device, 0};
    struct {
        const Type &target;
        Way way;
        const char *counter;
    } const cases[] = {{wide, Way::blocking, "kernels_strided"},
                       {wide, Way::on_stream, "kernels_strided"},
                       {wide, Way::begun, "kernels_any"},
                       {listed, Way::blocking, "kernels_any"}};
    for (const auto &[target, way, counter] : cases) {
        const int64_t bytes = narrow.info().size; /* and no less than that of the targets */
        const Buffer from(device, static_cast<size_t>(narrow.info().true_extent), 1);
        Buffer to(device, static_cast<size_t>(target.info().true_extent), 2);
        const int64_t before = counted(counter);
        transfer_all(way, {{side_of(from.at(), 1, narrow), side_of(to.at(), 1, target), bytes,
                            HEDDLE_OP_REPLACE}});
        same(counted(counter) - before, int64_t{1}, counter, " ", to_text(way));
        expect_moved(from, narrow, to, target, HEDDLE_OP_REPLACE);
        to.check("from layout to layout");
    }
}

/* A type's image, however large, is there for the next one:
 * to free it would wait for all of the device. */
void released_types_free_nothing()
{
    need_devices();
    need_simulation(); /* which counts */
    constexpr int64_t blocks = 100000;
    const Buffer memory({Kind::device, 0}, blocks * 15, 1),
        packed({Kind::device, 0}, blocks * 10, 2);
    const auto move = [&](int64_t seed) {
        const Type type = irregular(seed, blocks);
        const int64_t bytes = type.info().size;
        const heddle_move all{side_of(memory.at(), 1, type), bytes_at(packed.at(), bytes), bytes,
                              HEDDLE_OP_REPLACE};
        heddle_request *request = nullptr;
        succeeds(heddle_transfer_begin(&all, 1, &request), "heddle_transfer_begin");
        return request;
    };
    const auto end = [](heddle_request *request) { /* the type goes with it */
                                                   for (int done = 0; !done;)
                                                       succeeds(heddle_test(&request, &done),
                                                                "heddle_test");
    };
    end(move(1));
    const int64_t made = Machine::get().count("allocate"), freed = Machine::get().count("free");
    for (int64_t seed = 2; seed < 6; ++seed)
        end(move(seed));
    same(Machine::get().count("allocate") - made, int64_t{0}, "allocations for types after types");
    same(Machine::get().count("free") - freed, int64_t{0}, "of them freed");
}

/* A transfer of each kind, with a type that nobody used before. What it needs is there already, for
 * the test's own allocations would spoil a capture. */
class Kinds {
public:
    Kinds(int device, int64_t seed)
        : device_(device),
          type_(irregular(seed, 30000)),
          from_(Place{Kind::device, device}, room(type_), 1)
    {
        for (const Kind kind : {Kind::device, Kind::pinned, Kind::pageable})
            to_.emplace_back(Place{kind, device}, room(type_), 2);
    }
    void transfer()
    {
        for (Buffer &to : to_) {
            const int64_t all = static_cast<int64_t>(to.expected.size()), size = type_.info().size;
            /* the copy engine's, which is seen to end by an event */
            move({bytes_at(from_.at(), all), bytes_at(to.at(), all), all, {}});
            std::copy(from_.expected.begin(), from_.expected.end(), to.expected.begin());
            /* a kernel's, and an upload */
            move({side_of(from_.at(), 1, type_), bytes_at(to.at(), size), size, {}});
            expect_moved(from_, type_, to, bytes_of(size), HEDDLE_OP_REPLACE);
        }
    }
    void check() const
    {
        for (const Buffer &to : to_)
            to.check("a transfer beside a capture, device ", device_);
    }

private:
    static void move(const heddle_move &one)
    {
        heddle_request *request = nullptr;
        succeeds(heddle_transfer_begin(&one, 1, &request),
                 "begins beside a capture: ", heddle_error_detail());
        for (int done = 0; !done;)
            succeeds(heddle_test(&request, &done),
                     "ends beside a capture: ", heddle_error_detail());
    }

    int device_;
    Type type_;
    Buffer from_;
    std::deque<Buffer> to_;
};

/* A program captures a stream of its own into a graph, in this thread or in another one. Until then
 * this thread has used nothing that the engine would have to make. */
void transfers_do_not_spoil_a_capture()
{
    need_devices();
    Machine &machine = Machine::get();
    for (int device = 0; device < machine.devices(); ++device)
        for (const bool by_another : {false, true}) {
            Kinds kinds(device, 7000 + 2 * device + by_another);
            void *stream = machine.make_stream(device);
            bool captures = false, valid = false;
            std::atomic<bool> begun{false}, moved{false};
            const auto capture = [&](auto &&meanwhile) {
                captures = machine.begin_capture(device, stream);
                begun = true;
                meanwhile();
                valid = captures && machine.end_capture(device, stream);
            };
            if (by_another) {
                std::jthread other([&] {
                    capture([&] {
                        while (!moved)
                            std::this_thread::yield();
                    });
                });
                while (!begun)
                    std::this_thread::yield();
                try {
                    kinds.transfer();
                } catch (...) {
                    moved = true;
                    throw;
                }
                moved = true;
            } else {
                capture([&] { kinds.transfer(); });
            }
            machine.end_stream(device, stream);
            kinds.check();
            if (!captures)
                throw Skip("the device has no graphs");
            same(valid, true,
                 text("whether a capture ends well ",
                      by_another ? "in another thread" : "in this thread", ", device ", device));
        }
}

const AddTests tests{{"a stream keeps its order", a_stream_keeps_its_order},
                     {"kernels keep their order", kernels_keep_their_order},
                     {"many requests at once", many_requests_at_once},
                     {"between devices", between_devices},
                     {"sixteen threads", sixteen_threads},
                     {"one type in all threads", one_type_in_all_threads},
                     {"neighbours together", neighbours_share_launches},
                     {"large parts share a launch", large_parts_share_a_launch},
                     {"begun is begun", begun_is_begun},
                     {"later calls are quiet", later_calls_are_quiet},
                     {"a new type waits for nobody", a_new_type_waits_for_nobody},
                     {"between strides", between_strides},
                     {"released types free nothing", released_types_free_nothing},
                     {"transfers do not spoil a capture", transfers_do_not_spoil_a_capture}};

} // namespace
} // namespace gpu
