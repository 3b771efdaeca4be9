/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between a device and pageable memory: short data, which the host copies, long ones, which a copy
 * engine takes, and what is left where an engine takes no pageable memory.
 */
#include "buffer.hpp"
#include "case.hpp"
#include "types.hpp"

#include <cstring>

namespace gpu {
namespace {

enum class Layouts { dense, device, host };

/* Doubles from or to device 0. */
Case case_of(int64_t doubles, bool packs, Layouts layouts, heddle_op op)
{
    const oracle::ExprPtr basic = oracle::predefined(HEDDLE_DOUBLE);
    const auto end = [&](bool spread) {
        SideSpec side;
        side.type = spread ? oracle::vector(doubles, 1, 2, basic) : basic;
        side.count = spread ? 1 : doubles;
        return side;
    };
    SideSpec device = end(layouts == Layouts::device), host = end(layouts == Layouts::host);
    device.place = {Kind::device, 0};
    host.place = {Kind::pageable, 0};
    Job job;
    job.from = packs ? device : host;
    job.to = packs ? host : device;
    job.op = op;
    job.basic = op == HEDDLE_OP_REPLACE ? HEDDLE_BYTE : HEDDLE_DOUBLE;
    job.bytes = 8 * doubles;
    job.ends = {job.bytes};
    Case result;
    result.jobs = {job};
    result.seed = static_cast<uint64_t>(doubles);
    return result;
}

void all_of(int64_t doubles)
{
    for (const bool packs : {true, false})
        for (const Layouts layouts : {Layouts::dense, Layouts::device, Layouts::host})
            for (const heddle_op op : {HEDDLE_OP_REPLACE, HEDDLE_OP_SUM}) {
                const Case c = case_of(doubles, packs, layouts, op);
                if (!run_case(c))
                    fail("could not be tried: ", to_text(c));
            }
}

/* At both sides of what divides short and long. */
constexpr int64_t lengths[] = {1,       125,          (128 << 7) - 1, 128 << 7, (2 << 17) - 1,
                               2 << 17, (3 << 17) + 3};

void every_length()
{
    need_devices();
    for (const int64_t doubles : lengths)
        all_of(doubles);
}

/* An engine that does not begin a copy is done without. */
void refused()
{
    need_devices();
    need_simulation();
    for (const int64_t doubles : {int64_t{1}, int64_t{2} << 17}) {
        const Switched switched("fail=copy:1");
        all_of(doubles);
    }
}

/* In many chunks. */
void little_memory()
{
    need_devices();
    need_simulation();
    self_succeeds({"--only-named", "--named", "inside: pageable memory"},
                  {{"HEDDLE_SLAB_LIMIT", "256K"}});
}

/* Long dense data take one copy. */
void one_copy()
{
    need_devices();
    need_simulation();
    const size_t most = size_t{2} << 20;
    const Buffer device({Kind::device, 0}, most, 1), host({Kind::pageable, 0}, most, 2);
    const auto calls = [&](std::byte *from, std::byte *to, int64_t bytes) {
        const int64_t copies = Machine::get().count("copy"), kernels = counted("launches_kernels");
        transfer_all(Way::blocking,
                     {{bytes_at(from, bytes), bytes_at(to, bytes), bytes, HEDDLE_OP_REPLACE}});
        return text(Machine::get().count("copy") - copies, " copies, ",
                    counted("launches_kernels") - kernels, " kernels");
    };
    same(calls(device.at(), host.at(), 2 << 20), std::string("1 copies, 0 kernels"),
         "packed, long");
    same(calls(host.at(), device.at(), 128 << 10), std::string("1 copies, 0 kernels"),
         "unpacked, long");
}

/* `bytes` bytes between a device and the host, where all doubles are meant or every second one. */
struct Pair {
    Pair(int64_t n, bool pack, Layouts layouts)
        : bytes(n),
          packs(pack),
          gaps(hvector(bytes / 8, 16, bytes_of(8))),
          spread{layouts == Layouts::device, layouts == Layouts::host},
          ends{made(Kind::device, spread[0], 1), made(Kind::pageable, spread[1], 2)}
    {
    }

    Buffer made(Kind kind, bool is_spread, uint64_t seed) const
    {
        return Buffer({kind, 0}, static_cast<size_t>(is_spread ? 2 * bytes : bytes), seed);
    }
    int transfer(Way way) const
    {
        const auto side = [&](bool host) {
            return spread[host] ? side_of(ends[host].at(), 1, gaps)
                                : bytes_at(ends[host].at(), bytes);
        };
        return gpu::transfer(way, {{side(!packs), side(packs), bytes, HEDDLE_OP_REPLACE}});
    }
    void check(const std::string &where)
    {
        const auto at = [&](bool host, size_t i) {
            return ends[host].expected.data() + (spread[host] ? 2 * i : i);
        };
        for (size_t i = 0; i < static_cast<size_t>(bytes); i += 8)
            std::memcpy(at(packs, i), at(!packs, i), 8);
        ends[packs].check(where);
    }

    int64_t bytes;
    bool packs;
    oracle::Type gaps;
    bool spread[2]; /* of the device, of the host */
    Buffer ends[2];
};

/* An engine does not have to take the later copies. What was combined before is not combined
 * again. */
void refused_later()
{
    need_devices();
    need_simulation();
    constexpr int64_t bytes = int64_t{20} << 20;
    for (const bool packs : {true, false}) {
        Pair pair(bytes, packs, Layouts::device);
        const Switched switched("reset fail=copy:2");
        same(pair.transfer(Way::blocking), int{HEDDLE_SUCCESS}, packs ? "packed" : "unpacked");
        same(Machine::get().count("copy"), int64_t{2}, "copies until one is refused");
        pair.check(packs ? "packed" : "unpacked");
    }
    oracle::Type gaps = oracle::Type::from(
        [](auto **t) {
            return heddle_type_vector(bytes / 8, 1, 2, heddle_type_predefined(HEDDLE_INT64), t);
        },
        "vector");
    gaps.commit();
    const Buffer from({Kind::pageable, 0}, bytes, 1), to({Kind::device, 0}, 2 * bytes, 2);
    const Switched switched("reset fail=copy:2");
    same(transfer(Way::blocking,
                  {{bytes_at(from.at(), bytes), side_of(to.at(), 1, gaps), bytes, HEDDLE_OP_SUM}}),
         int{HEDDLE_ERR_DEVICE}, "with an operator");
}

/* Pins a half of a buffer, while it is there. */
class HalfPinned {
public:
    HalfPinned(const Buffer &buffer, bool first)
        : at_(buffer.at(first ? 0 : buffer.size() / 2)),
          pinned_(Machine::get().pin(at_, buffer.size() / 2))
    {
    }
    HalfPinned(const HalfPinned &) = delete;
    ~HalfPinned()
    {
        if (pinned_)
            Machine::get().unpin(at_);
    }
    bool pinned() const { return pinned_; }

private:
    std::byte *at_;
    bool pinned_;
};

/* Of host memory a part may be pinned. A kernel would write behind that, and a copy is refused. */
void pinned_in_part()
{
    need_devices();
    const auto attempt = [](int64_t bytes, bool packs, Layouts layouts, bool first, Way way) {
        const std::string where =
            text(packs ? "packed" : "unpacked", ", layouts ", static_cast<int>(layouts), ", the ",
                 first ? "first" : "second", " half pinned, ", bytes, " bytes, ", to_text(way));
        Pair pair(bytes, packs, layouts);
        {
            const HalfPinned half(pair.ends[1], first);
            same(half.pinned(), true, "pinned, ", where);
            same(pair.transfer(way), int{HEDDLE_SUCCESS}, where, ": ", heddle_error_detail());
        }
        pair.check(where);
    };
    for (const int64_t bytes : {int64_t{64} << 10, int64_t{3} << 20})
        for (const bool packs : {true, false})
            for (const Layouts layouts : {Layouts::dense, Layouts::device, Layouts::host})
                for (const bool first : {true, false})
                    for (const Way way : {Way::blocking, Way::begun})
                        attempt(bytes, packs, layouts, first, way);
}

/* Nor does a kernel write behind it by an absolute address. */
void pinned_in_part_by_address()
{
    need_devices();
    constexpr size_t bytes = 64 << 10;
    Buffer one({Kind::pageable, 0}, bytes, 1), other({Kind::pageable, 0}, 8, 2);
    const Buffer device({Kind::device, 0}, bytes + 8, 3);
    const int64_t lengths[] = {bytes, 8};
    const int64_t displs[] = {reinterpret_cast<intptr_t>(one.at()),
                              reinterpret_cast<intptr_t>(other.at())};
    oracle::Type both = oracle::Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(2, lengths, displs, heddle_type_predefined(HEDDLE_BYTE), t);
        },
        "hindexed");
    both.commit();
    {
        const HalfPinned half(one, true);
        transfer_all(Way::blocking, {{bytes_at(device.at(), bytes + 8), side_of(nullptr, 1, both),
                                      bytes + 8, HEDDLE_OP_REPLACE}});
    }
    std::memcpy(one.expected.data(), device.expected.data(), bytes);
    std::memcpy(other.expected.data(), device.expected.data() + bytes, 8);
    one.check("the first block");
    other.check("the second block");
}

const AddTests tests{{"pageable memory: every length", every_length},
                     {"pageable memory: pinned in part", pinned_in_part},
                     {"pageable memory: pinned in part, by address", pinned_in_part_by_address},
                     {"inside: pageable memory, every length", every_length},
                     {"pageable memory: refused", refused},
                     {"pageable memory: refused later", refused_later},
                     {"pageable memory: little memory", little_memory},
                     {"pageable memory: one copy", one_copy}};

} // namespace
} // namespace gpu
