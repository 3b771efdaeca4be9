/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every operator on every predefined type, in every kind of memory.
 */
#include "../unit/oracle/basics.hpp"
#include "../unit/oracle/operators.hpp"
#include "buffer.hpp"
#include "case.hpp"
#include "named.hpp"

namespace gpu {
namespace {

/* Strided onto strided, and packed onto strided; more elements than a thread block has threads. */
Case case_of(heddle_op op, heddle_predefined basic, Place place, bool packed, Mode mode)
{
    constexpr int64_t elements = 700;
    int64_t size = 0;
    for (const oracle::Primitive &part : oracle::basic(basic).primitives)
        size += oracle::primitive_size(part.kind);
    Job job;
    job.op = op;
    job.basic = basic;
    job.bytes = elements * size;
    job.ends = {300 * size, job.bytes};
    job.to = {oracle::vector(elements, 1, 2, oracle::predefined(basic)), 1, 0, place, 0};
    if (packed)
        job.from = {oracle::predefined(HEDDLE_BYTE), job.bytes, 0, place, 1};
    else
        job.from = {oracle::indexed({300, 100, 301}, {5, 400, 600}, oracle::predefined(basic)), 1,
                    size, place, 0};
    if (!packed && mode != Mode::blocking)
        job.from.place.kind = Kind::pinned;
    Case result;
    result.jobs = {job};
    result.mode = mode;
    result.device = place.device;
    result.seed = static_cast<uint64_t>(op) * 100 + basic;
    return result;
}

void every_operator()
{
    const Machine &machine = Machine::get();
    const std::vector<Place> places = machine.places();
    for (int b = 0; b < HEDDLE_PREDEFINED_COUNT; ++b)
        for (int o = 0; o < HEDDLE_OP_COUNT; ++o) {
            const auto basic = static_cast<heddle_predefined>(b);
            const auto op = static_cast<heddle_op>(o);
            const std::string where = text("operator ", o, " on ", oracle::basic(basic).name);
            same(heddle_op_is_defined(op, basic) != 0, oracle::op_defined(op, basic), where,
                 ": defined");
            const bool combines = op > HEDDLE_OP_NO_OP && oracle::op_defined(op, basic);
            same(heddle_device_combines(op, basic) != 0,
                 combines && devices_compute(basic) && machine.devices() > 0, where,
                 ": by kernels");
            if (!oracle::op_defined(op, basic))
                continue;
            for (const Place &place : places) {
                const bool on_stream = place.kind == Kind::device && devices_compute(basic);
                for (const bool packed : {false, true})
                    for (const Mode mode : {Mode::blocking, on_stream ? Mode::stream : Mode::wait})
                        try {
                            if (!run_case(case_of(op, basic, place, packed, mode)))
                                fail("could not be tried");
                        } catch (const std::exception &failure) {
                            fail(where, " in ", to_text(place), packed ? ", packed" : "", ", mode ",
                                 int(mode), ": ", failure.what());
                        }
            }
        }
}

void wide_numbers_in(Kind kind)
{
    const Memory memory({kind, 0}, 320);
    const std::vector<std::byte> before(320, std::byte{1});
    memory.write(0, before.data(), before.size());
    const heddle_side one{memory.at() + 128, 4, heddle_type_predefined(HEDDLE_INT32), 0};
    const heddle_side other{memory.at() + 192, 4, heddle_type_predefined(HEDDLE_INT32), 0};
    void *stream = Machine::get().make_stream(0);
    for (int b = 0; b < HEDDLE_PREDEFINED_COUNT; ++b) {
        const auto basic = static_cast<heddle_predefined>(b);
        const heddle_op op = oracle::is_pair(basic) ? HEDDLE_OP_MAXLOC : HEDDLE_OP_SUM;
        if (devices_compute(basic) || !oracle::op_defined(op, basic))
            continue;
        const heddle_side from{memory.at(), 1, heddle_type_predefined(basic), 0};
        const heddle_side to{memory.at() + 64, 1, heddle_type_predefined(basic), 0};
        heddle_type_info info{};
        heddle_type_get_info(heddle_type_predefined(basic), &info);
        const heddle_move moves[] = {{one, other, 16, HEDDLE_OP_SUM}, {from, to, info.size, op}};
        same(heddle_transfer_on_stream(moves, 2, stream), int{HEDDLE_ERR_OP},
             oracle::basic(basic).name, " on a stream, in ", to_text(memory.place()));
    }
    Machine::get().synchronize(0, stream);
    Machine::get().end_stream(0, stream);
    std::vector<std::byte> after(320);
    memory.read(0, after.data(), after.size());
    same(after == before, true, "nothing is written, in ", to_text(memory.place()));
}

/* A stream cannot call the host. */
void wide_numbers_on_a_stream()
{
    need_devices();
    for (const Kind kind : {Kind::device, Kind::pinned, Kind::managed})
        wide_numbers_in(kind);
}

const AddTests tests{{"every operator on every type", every_operator},
                     {"wide numbers on a stream", wide_numbers_on_a_stream}};

} // namespace
} // namespace gpu
