/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small copies that are asked for again and again, which the library looks into once: what may
 * change between two of them.
 */
#include "buffer.hpp"

#include <optional>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

constexpr int64_t bytes = 1024;
constexpr size_t room = 64 << 10;

/* Rows of `width` bytes, `stride` apart. */
Type rows(int64_t width, int64_t stride)
{
    Type type = Type::from(
        [&](auto **t) {
            return heddle_type_vector(bytes / width, width, stride,
                                      heddle_type_predefined(HEDDLE_BYTE), t);
        },
        "vector");
    type.commit();
    return type;
}

/* New bytes at the one end come to where they belong at the other. */
struct Ends {
    Ends(Place place, std::byte *packed) : user(place, room, 1), packed(packed) {}

    void move(const Type &type, int64_t width, int64_t stride, bool packs, Rng &rng)
    {
        std::vector<std::byte> there(bytes), before(room);
        for (std::vector<std::byte> *each : {&there, &before})
            std::generate(each->begin(), each->end(),
                          [&] { return static_cast<std::byte>(rng.next()); });
        Machine::get().copy(packed, there.data(), bytes);
        user.expected = before;
        user.upload();
        const heddle_side its = side_of(user.at(), 1, type), in_order = bytes_at(packed, bytes);
        const heddle_move move = packs ? heddle_move{its, in_order, bytes, HEDDLE_OP_REPLACE}
                                       : heddle_move{in_order, its, bytes, HEDDLE_OP_REPLACE};
        same(heddle_transfer(&move, 1), int{HEDDLE_SUCCESS}, "a copy that is asked for again");
        for (int64_t i = 0; i < bytes; ++i) {
            const auto at = static_cast<size_t>(i / width * stride + i % width);
            if (packs)
                there[static_cast<size_t>(i)] = user.expected[at];
            else
                user.expected[at] = there[static_cast<size_t>(i)];
        }
        std::vector<std::byte> now(bytes);
        Machine::get().copy(now.data(), packed, bytes);
        if (now != there)
            fail(packs ? "the packed bytes" : "the source", " of rows of ", width, ", ", stride,
                 " apart");
        user.check("rows of ", width, ", ", stride, " apart");
    }

    Buffer user;
    std::byte *const packed;
};

/* The driver is asked whose memory lies at a copy's ends, and how far that reaches, at once. */
constexpr int64_t questions = 2;

/* It is asked once in 64 times; for long copies always. */
void asked_seldom()
{
    need_devices();
    need_simulation();
    const Place device{Kind::device, 0}, pinned{Kind::pinned, 0};
    for (const int64_t length : {int64_t{1}, int64_t{256} << 10, (int64_t{256} << 10) + 1}) {
        const Buffer from(device, static_cast<size_t>(length), 1),
            to(pinned, static_cast<size_t>(length), 2);
        const heddle_move move{bytes_at(from.at(), length), bytes_at(to.at(), length), length,
                               HEDDLE_OP_REPLACE};
        const bool repeats = length <= int64_t{256} << 10;
        for (int i = 0; i < 130; ++i) {
            const int64_t before = Machine::get().count("query");
            transfer_all(Way::blocking, {move});
            same(Machine::get().count("query") - before, repeats && i % 64 ? 0 : questions,
                 "questions for copy ", i, " of ", length, " bytes");
        }
    }
}

void with_other_data()
{
    need_devices();
    Rng rng(1);
    const Buffer pinned({Kind::pinned, 0}, bytes, 2);
    Ends ends({Kind::device, 0}, pinned.at());
    const Type strided = rows(128, 512), whole = rows(128, 128);
    for (const bool packs : {true, false}) {
        const int64_t blocks = counted("methods_blocks"), copies = counted("methods_copy_engine");
        for (int i = 0; i < 150; ++i) {
            ends.move(strided, 128, 512, packs, rng);
            ends.move(whole, 128, 128, packs, rng);
        }
        same(counted("methods_blocks") - blocks, int64_t{150}, "strided copies counted");
        same(counted("methods_copy_engine") - copies, int64_t{150}, "contiguous copies counted");
    }
}

/* A type that was freed gives its address to another one. */
void with_other_types()
{
    need_devices();
    Rng rng(2);
    const Buffer pinned({Kind::pinned, 0}, bytes, 2);
    Ends ends({Kind::device, 0}, pinned.at());
    const heddle_type *address = nullptr;
    for (int i = 0; i < 10; ++i) {
        const int64_t stride = rng.in(130, 2000);
        Type type = rows(128, stride);
        for (int left = 100000; address && type.get() != address; --left) { /* after some that were
                                                                               freed before */
            if (!left)
                fail("no two types were at the same address");
            type = rows(128, stride);
        }
        address = type.get();
        for (const bool packs : {true, false, true, false})
            ends.move(type, 128, stride, packs, rng);
    }
}

struct Pinned {
    explicit Pinned(const Memory &memory) : at(memory.at())
    {
        if (!Machine::get().pin(at, memory.size()))
            throw Skip("no memory can be pinned");
    }
    Pinned(const Pinned &) = delete;
    ~Pinned() { Machine::get().unpin(at); }

    std::byte *const at;
};

/* Memory becomes pinned, and pageable again. */
void with_other_memory()
{
    need_devices();
    Rng rng(3);
    const Memory host({Kind::pageable, 0}, room);
    Ends ends({Kind::device, 0}, host.at());
    const Type strided = rows(128, 512), whole = rows(128, 128);
    for (int turn = 0; turn < 4; ++turn) {
        const bool pins = turn % 2 == 0;
        std::optional<Pinned> pinned;
        if (pins)
            pinned.emplace(host);
        const int64_t engines = counted("methods_blocks") + counted("methods_copy_engine");
        for (int i = 0; i < 100; ++i)
            for (const bool packs : {true, false}) {
                ends.move(strided, 128, 512, packs, rng);
                ends.move(whole, 128, 128, packs, rng);
            }
        const int64_t now = counted("methods_blocks") + counted("methods_copy_engine") - engines;
        if (pins ? now != 400 : now == 0 || now >= 4 * 64) /* after so many it is found out */
            fail(now, " of 400 copies by the engines, ", pins ? "pinned" : "pageable");
    }
}

/* A copy that is refused is looked into again, and what a device says that fails is told. */
void with_errors()
{
    need_devices();
    need_simulation();
    Rng rng(4);
    const Buffer pinned({Kind::pinned, 0}, bytes, 2);
    Ends ends({Kind::device, 0}, pinned.at());
    const Type strided = rows(128, 512);
    const heddle_move move{side_of(ends.user.at(), 1, strided), bytes_at(pinned.at(), bytes), bytes,
                           HEDDLE_OP_REPLACE};
    const auto fails = [&](const std::string &switches, int expected) {
        for (int i = 0; i < 3; ++i)
            ends.move(strided, 128, 512, true, rng);
        Machine::get().configure(switches.c_str());
        same(heddle_transfer(&move, 1), expected, "a repeated copy under ", switches);
        same(*heddle_error_detail() != '\0', expected != HEDDLE_SUCCESS,
             "whether there is a detail under ", switches);
        Machine::get().reset();
        const int64_t before = Machine::get().count("query");
        ends.move(strided, 128, 512, true, rng);
        return Machine::get().count("query") - before;
    };
    fails("fail=copy_2d:1", HEDDLE_SUCCESS);
    fails("fail=copy_2d:1+", HEDDLE_ERR_DEVICE);
    for (const char *call : {"stream_synchronize", "execute"})
        same(fails(text("fail=", call, ":1"), HEDDLE_ERR_DEVICE), questions,
             "questions after a failed ", call);
}

/* Where engines take no pageable memory, what is not pinned any more goes another way at once. */
void with_refused_memory()
{
    need_devices();
    need_simulation();
    Rng rng(5);
    const Memory host({Kind::pageable, 0}, room);
    Ends ends({Kind::device, 0}, host.at());
    const Type strided = rows(128, 512);
    {
        const Pinned pinned(host);
        for (int i = 0; i < 3; ++i)
            ends.move(strided, 128, 512, true, rng);
    }
    Machine::get().configure("fail=copy_2d:1+"); /* as CUDA refuses what is registered in part */
    ends.move(strided, 128, 512, true, rng);
    Machine::get().reset();
}

const AddTests tests{{"repeated copies: asked seldom", asked_seldom},
                     {"repeated copies: other data", with_other_data},
                     {"repeated copies: other types", with_other_types},
                     {"repeated copies: other memory", with_other_memory},
                     {"repeated copies: errors", with_errors},
                     {"repeated copies: refused memory", with_refused_memory}};

} // namespace
} // namespace gpu
