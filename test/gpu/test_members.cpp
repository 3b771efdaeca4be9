/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Structs of few strided members, such as the faces of several fields of one grid: they are moved
 * member by member, without a list of runs.
 */
#include "buffer.hpp"
#include "types.hpp"

#include <algorithm>

namespace gpu {
namespace {

using oracle::Rng;
using oracle::Type;

/* Planes of rows of blocks of bytes. */
struct Field {
    int64_t displ, planes, plane_stride, rows, row_stride, block;

    int64_t end() const
    {
        return displ + (planes - 1) * plane_stride + (rows - 1) * row_stride + block;
    }
};

/* Members in this order, wherever they lie, and what follows them. */
struct Fields {
    std::vector<Field> all;
    int64_t extent;

    Type type() const
    {
        std::vector<Type> members;
        std::vector<heddle_type *> types;
        std::vector<int64_t> lengths(all.size(), 1), displs;
        for (const Field &f : all) {
            members.push_back(hvector(f.planes, f.plane_stride,
                                      hvector(f.rows, f.row_stride, bytes_of(f.block))));
            displs.push_back(f.displ);
        }
        for (const Type &member : members)
            types.push_back(member.get());
        const auto n = static_cast<int64_t>(all.size());
        const Type fields = Type::from(
            [&](auto **t) {
                return heddle_type_struct(n, lengths.data(), displs.data(), types.data(), t);
            },
            "fields");
        return Type::from([&](auto **t) { return heddle_type_resized(fields.get(), 0, extent, t); },
                          "resized")
            .commit();
    }
    /* Where each packed byte of `count` instances lies. */
    std::vector<size_t> places(int64_t count) const
    {
        std::vector<size_t> found;
        for (int64_t c = 0; c < count; ++c)
            for (const Field &f : all)
                for (int64_t p = 0; p < f.planes; ++p)
                    for (int64_t r = 0; r < f.rows; ++r)
                        for (int64_t b = 0; b < f.block; ++b)
                            found.push_back(static_cast<size_t>(
                                c * extent + f.displ + p * f.plane_stride + r * f.row_stride + b));
        return found;
    }
};

/* Of so many runs that one list would be long. */
Fields made(Rng &rng, int64_t members)
{
    Fields fields{{}, 0};
    for (int64_t i = 0; i < members; ++i) {
        const int64_t block = i == 1 ? 30000 : rng.in(1, 12), row = block + rng.in(1, 9),
                      rows = i == 1 ? 1 : rng.in(50, 90), planes = i == 1 ? 1 : rng.in(90, 120);
        fields.all.push_back({fields.extent, planes, row * rows + rng.in(0, 50), rows, row, block});
        fields.extent = fields.all.back().end() + rng.in(0, 70);
    }
    std::reverse(fields.all.begin(), fields.all.end()); /* the last in memory is packed first */
    return fields;
}

/* All of it, and parts that begin and end amid members. */
std::vector<std::pair<int64_t, int64_t>> ranges(int64_t all)
{
    return {{0, all}, {all / 3, all / 2}, {1, all - 2}, {all - 1, 1}};
}

void moves_right(const Fields &fields, int64_t count, Place there, Place here, Way way)
{
    const Type type = fields.type();
    const std::vector<size_t> places = fields.places(count);
    const auto all = static_cast<int64_t>(places.size());
    Buffer user(there, static_cast<size_t>(count * fields.extent), 1),
        packed(here, places.size(), 2);
    for (const auto &[first, bytes] : ranges(all)) {
        const heddle_side laid_out = side_of(user.at(), count, type, first),
                          dense = bytes_at(packed.at(), all, first);
        transfer_all(way, {{laid_out, dense, bytes, HEDDLE_OP_REPLACE}});
        for (int64_t i = first; i < first + bytes; ++i)
            packed.expected[static_cast<size_t>(i)] = user.expected[places[static_cast<size_t>(i)]];
        packed.check(to_text(way), ": packed from ", first, " on");
        std::reverse(packed.expected.begin(), packed.expected.end());
        packed.upload();
        transfer_all(way, {{dense, laid_out, bytes, HEDDLE_OP_REPLACE}});
        for (int64_t i = first; i < first + bytes; ++i)
            user.expected[places[static_cast<size_t>(i)]] = packed.expected[static_cast<size_t>(i)];
        user.check(to_text(way), ": unpacked from ", first, " on");
    }
}

void without_lists()
{
    need_devices();
    Rng rng(1);
    const Place device{Kind::device, 0};
    const int64_t lists = counted("kernels_runs"), images = counted("images_bytes");
    for (const int64_t members : {2, 3, 8})
        for (const Place here : {device, Place{Kind::pinned, 0}, Place{Kind::pageable, 0}})
            for (const Way way : all_ways) {
                if (way == Way::on_stream && here.kind == Kind::pageable)
                    continue;
                const Fields fields = made(rng, members);
                int64_t bytes = -1;
                same(heddle_type_device_memory(fields.type().get(), &bytes), int{HEDDLE_SUCCESS},
                     "heddle_type_device_memory");
                same(bytes, int64_t{0}, "bytes of a description");
                moves_right(fields, 1, device, here, way);
                moves_right(fields, 3, device, here, way);
                moves_right(fields, 2, Place{Kind::managed, 0}, here, way);
            }
    same(counted("kernels_runs") - lists, int64_t{0}, "kernels that read a list");
    same(counted("images_bytes") - images, int64_t{0}, "bytes of images");
}

/* More than a few members, or a member that is no more than a list: as any other struct. */
void as_others()
{
    need_devices();
    Rng rng(2);
    const Place device{Kind::device, 0};
    moves_right(made(rng, 9), 1, device, device, Way::blocking);
    moves_right(made(rng, 8), 12, device, device, Way::blocking);
    const Fields fields = made(rng, 2);
    const Type type = fields.type(), list = irregular(3, 3000);
    const int64_t lengths[] = {1, 1}, displs[] = {0, fields.extent};
    heddle_type *const types[] = {type.get(), list.get()};
    const Type both =
        Type::from([&](auto **t) { return heddle_type_struct(2, lengths, displs, types, t); },
                   "fields and a list")
            .commit();
    int64_t bytes = 0;
    same(heddle_type_device_memory(both.get(), &bytes), int{HEDDLE_SUCCESS}, "its memory");
    if (bytes <= 0)
        fail("a struct with a list takes ", bytes, " bytes");
}

/* Members of both sides end at different places. */
void from_one_to_another()
{
    need_devices();
    Rng rng(3);
    const Fields from = made(rng, 4), to = made(rng, 5);
    const std::vector<size_t> its = from.places(2), others = to.places(3);
    const auto bytes = static_cast<int64_t>(std::min(its.size(), others.size()));
    Buffer source({Kind::device, 0}, static_cast<size_t>(2 * from.extent), 1),
        target({Kind::device, 0}, static_cast<size_t>(3 * to.extent), 2);
    const Type from_type = from.type(), to_type = to.type();
    for (const Way way : all_ways) {
        transfer_all(way, {{side_of(source.at(), 2, from_type), side_of(target.at(), 3, to_type),
                            bytes, HEDDLE_OP_REPLACE}});
        for (size_t i = 0; i < static_cast<size_t>(bytes); ++i)
            target.expected[others[i]] = source.expected[its[i]];
        target.check(to_text(way), ": from layout to layout");
    }
}

/* Operators combine what they combine in any type. */
void by_operators()
{
    need_devices();
    const int64_t n = 6000, lengths[] = {1, n}, displs[] = {0, 2 * n * 8};
    heddle_type *const number = heddle_type_predefined(HEDDLE_DOUBLE);
    const Type spaced =
        Type::from([&](auto **t) { return heddle_type_vector(n, 1, 2, number, t); }, "vector");
    heddle_type *const types[] = {spaced.get(), number};
    const Type type =
        Type::from([&](auto **t) { return heddle_type_struct(2, lengths, displs, types, t); },
                   "spaced and dense")
            .commit();
    std::vector<double> memory(static_cast<size_t>(3 * n), 1), add(static_cast<size_t>(2 * n));
    for (size_t i = 0; i < add.size(); ++i)
        add[i] = static_cast<double>(i);
    const auto bytes_of_all = [](const std::vector<double> &of) {
        const auto *const first = reinterpret_cast<const std::byte *>(of.data());
        return std::vector<std::byte>(first, first + of.size() * sizeof(double));
    };
    Buffer target({Kind::device, 0}, bytes_of_all(memory)),
        source({Kind::device, 0}, bytes_of_all(add));
    transfer_all(Way::blocking, {{bytes_at(source.at(), 16 * n), side_of(target.at(), 1, type),
                                  16 * n, HEDDLE_OP_SUM}});
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        memory[2 * i] += add[i];
        memory[static_cast<size_t>(2 * n) + i] += add[static_cast<size_t>(n) + i];
    }
    target.expected = bytes_of_all(memory);
    target.check("after a sum");
}

const AddTests tests{{"members: without lists", without_lists},
                     {"members: as others", as_others},
                     {"members: from one to another", from_one_to_another},
                     {"members: by operators", by_operators}};

} // namespace
} // namespace gpu
