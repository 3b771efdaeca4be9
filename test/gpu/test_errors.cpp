/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad input: each kind has its own code, and nothing is written.
 */
#include "buffer.hpp"

#include <cstdint>
#include <functional>

namespace gpu {
namespace {

using oracle::Type;

Type strided()
{
    return Type::from(
        [](auto **t) {
            return heddle_type_vector(8, 1, 2, heddle_type_predefined(HEDDLE_INT32), t);
        },
        "vector");
}

Place some_device_memory()
{
    return Machine::get().devices() > 0 ? Place{Kind::device, 0} : Place{};
}

/* A good move; the test spoils a copy of it. The good one goes out first in the same call, and must
 * not happen either. */
class Spoilt {
public:
    Spoilt()
        : from_(some_device_memory(), 1000, 1),
          to_(some_device_memory(), 1000, 2),
          type_(strided().commit())
    {
    }

    heddle_move good() const
    {
        return {side_of(from_.at(), 2, type_), bytes_at(to_.at(), 64), 64, HEDDLE_OP_REPLACE};
    }

    void gives(int code, const char *what, const std::function<void(heddle_move &)> &spoil) const
    {
        heddle_move bad{side_of(from_.at(100), 2, type_), bytes_at(to_.at(100), 64), 64,
                        HEDDLE_OP_REPLACE};
        spoil(bad);
        for (const Way way : all_ways) {
            if (way == Way::on_stream && Machine::get().devices() == 0)
                continue;
            same(transfer(way, {good(), bad}), code, what, ", ", to_text(way));
            same(transfer(way, {bad}), code, what, ", ", to_text(way), ", alone");
        }
        from_.check("the source of bad input: ", what);
        to_.check("the target of bad input: ", what);
    }

    const Type &type() const { return type_; }
    std::byte *ordinary() { return ordinary_; }

private:
    Buffer from_, to_;
    Type type_;
    std::byte ordinary_[64] = {};
};

void sides()
{
    const Spoilt test;
    test.gives(HEDDLE_ERR_ARG, "a negative length", [](heddle_move &m) { m.bytes = -1; });
    test.gives(HEDDLE_ERR_COUNT, "a negative count", [](heddle_move &m) { m.from.count = -1; });
    test.gives(HEDDLE_ERR_COUNT, "a negative count", [](heddle_move &m) { m.to.count = -5; });
    test.gives(HEDDLE_ERR_TYPE, "no type", [](heddle_move &m) { m.from.type = nullptr; });
    test.gives(HEDDLE_ERR_TYPE, "no type", [](heddle_move &m) { m.to.type = nullptr; });
    const Type raw = strided();
    test.gives(HEDDLE_ERR_NOT_COMMITTED, "not committed",
               [&](heddle_move &m) { m.from.type = raw.get(); });
    const heddle_type *const freed = strided().commit().get();
    test.gives(HEDDLE_ERR_FREED, "freed", [&](heddle_move &m) { m.from.type = freed; });
    test.gives(HEDDLE_ERR_FREED, "freed", [&](heddle_move &m) { m.to.type = freed; });
    test.gives(HEDDLE_ERR_RANGE, "a negative offset", [](heddle_move &m) { m.from.offset = -1; });
    test.gives(HEDDLE_ERR_RANGE, "an offset beyond", [](heddle_move &m) { m.to.offset = 65; });
    test.gives(HEDDLE_ERR_RANGE, "an offset far beyond",
               [](heddle_move &m) { m.to.offset = INT64_MAX; });
    test.gives(HEDDLE_ERR_RANGE, "one byte too many", [](heddle_move &m) { m.bytes = 65; });
    test.gives(HEDDLE_ERR_RANGE, "one byte too many", [](heddle_move &m) { m.from.offset = 1; });
    test.gives(HEDDLE_ERR_RANGE, "far too many", [](heddle_move &m) { m.bytes = INT64_MAX; });
    test.gives(HEDDLE_ERR_OVERFLOW, "too many instances",
               [](heddle_move &m) { m.from.count = INT64_MAX / 2; });
    test.gives(HEDDLE_ERR_BUFFER, "no source", [](heddle_move &m) { m.from.buf = nullptr; });
    test.gives(HEDDLE_ERR_BUFFER, "no target", [](heddle_move &m) { m.to.buf = nullptr; });
    /* The inside of an array, however far from its beginning. */
    for (const int64_t n : {16, 4096}) {
        const int64_t sizes[] = {n, n}, parts[] = {4, 4}, starts[] = {n / 2, 4};
        Type inside = Type::from(
            [&](auto **t) {
                return heddle_type_subarray(2, sizes, parts, starts, HEDDLE_ORDER_C,
                                            heddle_type_predefined(HEDDLE_INT32), t);
            },
            "subarray");
        inside.commit();
        const auto nowhere = [&](heddle_side heddle_move::*side) {
            return [&inside, side](heddle_move &m) { m.*side = side_of(nullptr, 1, inside); };
        };
        test.gives(HEDDLE_ERR_BUFFER, "no source of a subarray", nowhere(&heddle_move::from));
        test.gives(HEDDLE_ERR_BUFFER, "no target for a subarray", nowhere(&heddle_move::to));
    }
}

void operators()
{
    const Spoilt test;
    test.gives(HEDDLE_ERR_OP, "no operator", [](heddle_move &m) { m.op = HEDDLE_OP_COUNT; });
    test.gives(HEDDLE_ERR_OP, "no operator",
               [](heddle_move &m) { m.op = static_cast<heddle_op>(15); });
    test.gives(HEDDLE_ERR_OP, "sums of bytes", [](heddle_move &m) { m.op = HEDDLE_OP_SUM; });
    const auto of = [](heddle_predefined basic) {
        return [basic](heddle_move &m) {
            m.from.type = m.to.type = heddle_type_predefined(basic);
            m.from.count = m.to.count = 8;
            m.op = HEDDLE_OP_SUM;
            m.bytes = 8;
        };
    };
    test.gives(HEDDLE_ERR_OP, "sums of text", of(HEDDLE_CHAR));
    test.gives(HEDDLE_ERR_OP, "sums of truth", of(HEDDLE_LOGICAL));
    test.gives(HEDDLE_ERR_OP, "sums of pairs", of(HEDDLE_2INT32));
    test.gives(HEDDLE_ERR_OP, "floats onto integers", [&](heddle_move &m) {
        of(HEDDLE_INT32)(m);
        m.from.type = heddle_type_predefined(HEDDLE_FLOAT);
    });
    test.gives(HEDDLE_ERR_RANGE, "half an element", [&](heddle_move &m) {
        of(HEDDLE_INT32)(m);
        m.bytes = 6;
    });
    test.gives(HEDDLE_ERR_RANGE, "from inside an element", [&](heddle_move &m) {
        of(HEDDLE_INT32)(m);
        m.to.offset = 2;
    });
}

void arguments()
{
    const Spoilt test;
    const heddle_move move = test.good();
    heddle_request *request = nullptr;
    same(heddle_transfer(nullptr, 1), int{HEDDLE_ERR_ARG}, "no moves");
    same(heddle_transfer(&move, -1), int{HEDDLE_ERR_ARG}, "a negative number of moves");
    same(heddle_transfer_begin(&move, 1, nullptr), int{HEDDLE_ERR_ARG}, "no request");
    same(heddle_transfer_begin(nullptr, 1, &request), int{HEDDLE_ERR_ARG}, "no moves");
    same(heddle_transfer_on_stream(nullptr, 1, nullptr), int{HEDDLE_ERR_ARG}, "no moves");
    int done = 7;
    same(heddle_test(nullptr, &done), int{HEDDLE_ERR_ARG}, "no request");
    same(heddle_test(&request, nullptr), int{HEDDLE_ERR_ARG}, "nowhere to say done");
    same(heddle_wait(nullptr), int{HEDDLE_ERR_ARG}, "no request");
    same(heddle_set("HEDDLE_PEER", nullptr), int{HEDDLE_ERR_ARG}, "no value");
    same(heddle_set("HEDDLE_NOTHING", "1"), int{HEDDLE_ERR_ARG}, "no such variable");
    same(heddle_set("HEDDLE_PEER", "auto"), int{HEDDLE_ERR_RANGE}, "too late");
    same(heddle_set("MPIR_CVAR_ENABLE_GPU", "1"), int{HEDDLE_ERR_ARG}, "a variable of MPICH's");
    heddle_setting setting{};
    same(heddle_setting_read(0, nullptr), int{HEDDLE_ERR_ARG}, "nowhere to describe a setting");
    setting.bytes = 0;
    same(heddle_setting_read(0, &setting), int{HEDDLE_ERR_ARG}, "a setting of no size");
    setting.bytes = offsetof(heddle_setting, advice); /* an older version's */
    same(heddle_setting_read(0, &setting), int{HEDDLE_SUCCESS}, "a setting without advice");
    same(setting.advice == nullptr && setting.meaning, true, "what it is told");
    setting.bytes = sizeof setting;
    same(heddle_setting_read(-1, &setting), int{HEDDLE_ERR_RANGE}, "no such setting");
    same(heddle_setting_read(1000, &setting), int{HEDDLE_ERR_RANGE}, "nor so many");
    same(heddle_setting_read(0, &setting), int{HEDDLE_SUCCESS}, "the first setting");
    same(std::string(setting.name), std::string("HEDDLE_DEVICE"), "the first setting");
    size_t length = 0;
    same(heddle_info(nullptr, 10, &length), int{HEDDLE_ERR_ARG}, "nowhere to write");
    same(heddle_info(nullptr, 0, nullptr), int{HEDDLE_ERR_ARG}, "nowhere to say how long");
}

/* A copy of a request that has ended. */
void freed_request()
{
    need_devices();
    const Buffer from({Kind::device, 0}, 1 << 20, 1), to({Kind::pinned, 0}, 1 << 20, 2);
    const heddle_move move{bytes_at(from.at(), 1 << 20), bytes_at(to.at(), 1 << 20), 1 << 20,
                           HEDDLE_OP_REPLACE};
    heddle_request *request = nullptr;
    succeeds(heddle_transfer_begin(&move, 1, &request), "a copy");
    heddle_request *copy = request;
    same(request != nullptr, true, "a copy takes a while");
    succeeds(heddle_wait(&request), "its end");
    int done = 7;
    same(heddle_test(&copy, &done), int{HEDDLE_ERR_FREED}, "tested again");
    same(heddle_wait(&copy), int{HEDDLE_ERR_FREED}, "awaited again");
    same(done, 7, "what was not said");
}

void no_moves()
{
    heddle_request *request = reinterpret_cast<heddle_request *>(&request);
    succeeds(heddle_transfer(nullptr, 0), "no moves");
    succeeds(heddle_transfer_begin(nullptr, 0, &request), "no moves");
    same(request == nullptr, true, "the request of no moves is null");
    int done = 0;
    succeeds(heddle_test(&request, &done), "a null request");
    same(done, 1, "a null request is done");
    succeeds(heddle_wait(&request), "a null request");
}

void no_bytes()
{
    const Buffer memory(some_device_memory(), 100, 1);
    const heddle_move nothing{bytes_at(memory.at(), 10, 10), bytes_at(memory.at(50), 10), 0,
                              HEDDLE_OP_REPLACE};
    const heddle_move nowhere{bytes_at(nullptr, 0), bytes_at(nullptr, 0), 0, HEDDLE_OP_REPLACE};
    Type empty = Type::from(
        [](auto **t) { return heddle_type_contiguous(0, heddle_type_predefined(HEDDLE_INT32), t); },
        "contiguous");
    empty.commit();
    const heddle_move no_data{side_of(memory.at(), 5, empty), side_of(nullptr, 7, empty), 0,
                              HEDDLE_OP_REPLACE};
    for (const Way way : all_ways)
        if (way != Way::on_stream || Machine::get().devices() > 0)
            transfer_all(way, {nothing, nowhere, no_data});
    memory.check("moves of no bytes");
}

void pageable_on_a_stream()
{
    need_devices();
    Spoilt test;
    std::byte *const ordinary = test.ordinary();
    heddle_move bad = test.good();
    bad.to = bytes_at(ordinary, 64);
    same(transfer(Way::on_stream, {test.good(), bad}), int{HEDDLE_ERR_BUFFER},
         "pageable memory on a stream");
    bad = test.good();
    bad.from = bytes_at(ordinary, 64);
    same(transfer(Way::on_stream, {test.good(), bad}), int{HEDDLE_ERR_BUFFER},
         "pageable memory on a stream");
    /* It also checks that nothing was written. */
    test.gives(HEDDLE_ERR_ARG, "a negative length", [](heddle_move &m) { m.bytes = -1; });
}

void stream_of_another_device()
{
    need_devices(2);
    const Spoilt test;
    same(transfer(Way::on_stream, {test.good()}, 1), int{HEDDLE_ERR_STREAM},
         "a stream of another device");
    /* It also checks that nothing was written. */
    test.gives(HEDDLE_ERR_ARG, "a negative length", [](heddle_move &m) { m.bytes = -1; });
}

void no_stream_at_all()
{
    need_simulation(); /* CUDA dies of it */
    const Spoilt test;
    const heddle_move move = test.good();
    int nothing = 0;
    same(heddle_transfer_on_stream(&move, 1, &nothing), int{HEDDLE_ERR_STREAM}, "no stream");
    /* It also checks that nothing was written. */
    test.gives(HEDDLE_ERR_ARG, "a negative length", [](heddle_move &m) { m.bytes = -1; });
}

const AddTests tests{{"bad sides", sides},
                     {"bad operators", operators},
                     {"bad arguments", arguments},
                     {"a request that was freed", freed_request},
                     {"no moves", no_moves},
                     {"no bytes", no_bytes},
                     {"pageable memory on a stream", pageable_on_a_stream},
                     {"a stream of another device", stream_of_another_device},
                     {"no stream at all", no_stream_at_all}};

} // namespace
} // namespace gpu
