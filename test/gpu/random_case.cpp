/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.hpp"

#include "../unit/oracle/basics.hpp"
#include "../unit/oracle/operators.hpp"
#include "../unit/oracle/reference.hpp"

#include <algorithm>

namespace gpu {
namespace {

using oracle::Rng;

struct Typed {
    oracle::ExprPtr expr;
    oracle::Typemap map;
    int64_t count = 1;

    int64_t total() const { return oracle::size_of(map) * count; }
};

int64_t element_size(heddle_predefined basic)
{
    int64_t size = 0;
    for (const oracle::Primitive &part : oracle::basic(basic).primitives)
        size += oracle::primitive_size(part.kind);
    return size;
}

class Maker {
public:
    explicit Maker(uint64_t seed) : rng_(seed) {}

    Case make(uint64_t seed)
    {
        Case result;
        result.seed = seed;
        const Machine &machine = Machine::get();
        const int64_t way = rng_.in(0, 9);
        result.mode = way < 3   ? Mode::blocking
                      : way < 5 ? Mode::test
                      : way < 7 ? Mode::wait
                                : Mode::stream;
        if (machine.devices() == 0 && result.mode == Mode::stream)
            result.mode = Mode::blocking;
        result.device =
            machine.devices() > 0 ? static_cast<int>(rng_.in(0, machine.devices() - 1)) : 0;
        result.release_early = rng_.percent(40);
        result.calls = rng_.percent(30) ? static_cast<int>(rng_.in(2, 4)) : 1;
        streamed_ = result.mode == Mode::stream;
        places_ = result.mode == Mode::stream ? machine.places_on_stream(result.device)
                                              : machine.places();

        int64_t moves = rng_.percent(50) ? 1 : rng_.scaled(40);
        while (moves > 0) {
            Job job = rng_.percent(22) ? computing() : moving();
            job.call = static_cast<int>(rng_.in(0, result.calls - 1));
            moves -= cut(job, moves);
            result.jobs.push_back(std::move(job));
        }
        return result;
    }

private:
    /* Few instances of large types, at times very many. */
    int64_t random_count(const oracle::Typemap &map)
    {
        const auto entries = std::max<int64_t>(1, static_cast<int64_t>(map.entries.size()));
        const int64_t most = rng_.percent(2) ? 200000 : 3000;
        return rng_.percent(3) ? 0 : rng_.scaled(std::max<int64_t>(1, most / entries));
    }

    Typed typed(const oracle::Recipe &recipe)
    {
        oracle::Sample sample = oracle::random_type(rng_, recipe);
        Typed result{std::move(sample.expr), std::move(sample.map), 1};
        result.count = random_count(result.map);
        return result;
    }

    Typed counted(oracle::ExprPtr expr, int64_t count)
    {
        oracle::Typemap map = oracle::expand(*expr);
        return {std::move(expr), std::move(map), count};
    }

    Typed dense(int64_t bytes)
    {
        if (rng_.percent(15))
            return counted(oracle::contiguous(bytes, oracle::predefined(HEDDLE_BYTE)), 1);
        if (rng_.percent(15))
            return counted(oracle::predefined(HEDDLE_DOUBLE), (bytes + 7) / 8);
        return counted(oracle::predefined(HEDDLE_BYTE),
                       bytes + (rng_.percent(30) ? rng_.in(1, 20) : 0));
    }

    /* Chooses as many instances as hold about so many bytes. */
    void match(Typed &type, int64_t bytes)
    {
        const int64_t size = oracle::size_of(type.map);
        const auto entries = std::max<int64_t>(1, static_cast<int64_t>(type.map.entries.size()));
        if (size > 0)
            type.count = std::clamp<int64_t>((bytes + size - 1) / size, 1,
                                             std::max<int64_t>(1, 200000 / entries));
    }

    oracle::Recipe recipe(heddle_predefined only = HEDDLE_MIXED)
    {
        oracle::Recipe made = oracle::random_recipe(rng_, 8);
        if (only != HEDDLE_MIXED)
            made.leaves = {only};
        return made;
    }

    Typed partner(const Typed &of, heddle_predefined only = HEDDLE_MIXED)
    {
        if (rng_.percent(30)) {
            Typed same = of;
            return same;
        }
        Typed other = typed(recipe(only));
        match(other, of.total());
        return other;
    }

    /* Rows against columns: memory order and pack order disagree. */
    Typed transposed()
    {
        const heddle_predefined leaf =
            rng_.pick(std::vector{HEDDLE_BYTE, HEDDLE_INT16, HEDDLE_FLOAT, HEDDLE_DOUBLE,
                                  HEDDLE_COMPLEX_DOUBLE, HEDDLE_2INT32});
        const int64_t extent = oracle::basic(leaf).extent;
        const int64_t rows = rng_.percent(30) ? rng_.scaled(200) : rng_.in(16, 200);
        const int64_t columns = rng_.in(1, std::max<int64_t>(1, 50000 / rows));
        const auto column = oracle::resized(
            oracle::vector(rows, 1, columns + (rng_.percent(50) ? 0 : rng_.in(1, 9)),
                           oracle::predefined(leaf)),
            0, extent);
        return rng_.percent(50) ? counted(column, columns)
                                : counted(oracle::contiguous(columns, column), 1);
    }

    /* Regular, and of some megabytes, which is where transfers are cut into chunks. */
    Typed large()
    {
        const int64_t bytes = rng_.in(int64_t{1} << 19, int64_t{3} << 20);
        const int64_t block = rng_.scaled(2000);
        if (rng_.percent(30))
            return counted(oracle::contiguous(bytes, oracle::predefined(HEDDLE_BYTE)), 1);
        return counted(oracle::vector(bytes / block / 8, block, block + (rng_.percent(80) ? 1 : 0),
                                      oracle::predefined(HEDDLE_DOUBLE)),
                       1);
    }

    Job moving()
    {
        const int64_t sort = rng_.in(0, 199);
        Typed a = sort < 2 ? large() : sort < 7 ? transposed() : typed(recipe());
        Typed b = rng_.percent(55) ? dense(a.total()) : partner(a);
        return job(std::move(a), std::move(b), HEDDLE_BYTE);
    }

    Job computing()
    {
        heddle_predefined basic = rng_.pick(oracle::all_basics());
        while (streamed_ && !devices_compute(basic))
            basic = rng_.pick(oracle::all_basics());
        std::vector<heddle_op> ops;
        for (int op = 0; op < HEDDLE_OP_COUNT; ++op)
            if (oracle::op_defined(static_cast<heddle_op>(op), basic))
                ops.push_back(static_cast<heddle_op>(op));
        Typed to = typed(recipe(basic));
        if (oracle::basic_of(to.map) != basic || oracle::overlaps(to.map, to.count))
            to = counted(oracle::vector(rng_.scaled(100), 1, 2, oracle::predefined(basic)),
                         rng_.scaled(20));
        Typed from = rng_.percent(30) ? dense_bytes(to.total()) : partner(to, basic);
        const heddle_predefined of = oracle::basic_of(from.map);
        /* Operands that overlap would be no numbers. */
        if ((of != basic && of != HEDDLE_BYTE) || oracle::overlaps(from.map, from.count))
            from = counted(oracle::predefined(basic), to.total() / element_size(basic));
        Job result = job(std::move(from), std::move(to), basic, true);
        result.op = rng_.pick(ops);
        result.basic = basic;
        return result;
    }

    /* Packed elements; at times the packed form itself lies in pieces. */
    Typed dense_bytes(int64_t bytes)
    {
        if (!rng_.percent(20))
            return counted(oracle::predefined(HEDDLE_BYTE), bytes);
        const int64_t block = rng_.in(1, 20);
        return counted(oracle::vector((bytes + block - 1) / block, block, block + rng_.in(1, 9),
                                      oracle::predefined(HEDDLE_BYTE)),
                       1);
    }

    Place place(const Typed &type)
    {
        const oracle::Packing packing(type.map, type.count);
        const oracle::Range range = oracle::touched(type.map, type.count);
        Place chosen = rng_.pick(places_);
        /* What reaches far fits into few kinds of memory. */
        for (int i = 0; i < 8 && range.high - range.low > Machine::get().largest(chosen.kind); ++i)
            chosen = rng_.pick(places_);
        return chosen;
    }

    SideSpec side(const Typed &type, int64_t unit)
    {
        SideSpec result;
        result.type = type.expr;
        result.count = type.count;
        const int64_t units = type.total() / unit;
        result.offset = rng_.percent(55) ? 0 : rng_.in(0, units) * unit;
        result.place = place(type);
        result.misaligned = rng_.percent(50) ? 0 : static_cast<int>(rng_.in(1, 16));
        return result;
    }

    Job job(Typed a, Typed b, heddle_predefined basic, bool directed = false)
    {
        if (!directed && rng_.percent(50))
            std::swap(a, b);
        /* Which of two values for one byte stays is open. */
        if (oracle::overlaps(b.map, b.count)) {
            if (!directed && !oracle::overlaps(a.map, a.count))
                std::swap(a, b);
            else
                b = counted(oracle::predefined(HEDDLE_BYTE), b.total());
        }
        const int64_t unit = basic == HEDDLE_BYTE ? 1 : element_size(basic);
        Job result;
        result.from = side(a, unit);
        result.to = side(b, unit);
        const int64_t most =
            std::min(a.total() - result.from.offset, b.total() - result.to.offset) / unit;
        result.bytes = (rng_.percent(65) ? most : rng_.in(0, most)) * unit;
        unit_ = unit;
        return result;
    }

    /* Into at most `most` pieces, which may be empty. */
    int64_t cut(Job &job, int64_t most)
    {
        const int64_t pieces = rng_.percent(60) ? 1 : rng_.in(1, most);
        for (int64_t i = 1; i < pieces; ++i)
            job.ends.push_back(rng_.in(0, job.bytes / unit_) * unit_);
        job.ends.push_back(job.bytes);
        std::sort(job.ends.begin(), job.ends.end());
        return pieces;
    }

    Rng rng_;
    bool streamed_ = false;
    std::vector<Place> places_;
    int64_t unit_ = 1;
};

std::string to_text(const SideSpec &side)
{
    return to_text(side.place) + "+" + std::to_string(side.misaligned) + " " +
           std::to_string(side.count) + " of " + oracle::to_text(*side.type) + " from byte " +
           std::to_string(side.offset);
}

} // namespace

bool devices_compute(heddle_predefined basic)
{
    for (const heddle_predefined wide :
         {HEDDLE_LONG_DOUBLE, HEDDLE_FLOAT128, HEDDLE_COMPLEX_LONG_DOUBLE, HEDDLE_COMPLEX_FLOAT128,
          HEDDLE_LONG_DOUBLE_INT})
        if (basic == wide)
            return false;
    return true;
}

Case random_case(uint64_t seed) { return Maker(seed).make(seed); }

std::string to_text(const Case &c)
{
    constexpr const char *modes[] = {"blocking", "begin and test", "begin and wait", "on a stream"};
    std::string text = modes[static_cast<size_t>(c.mode)];
    if (c.mode == Mode::stream)
        text += " of device " + std::to_string(c.device);
    text += ", " + std::to_string(c.calls) + " call(s)" +
            (c.release_early ? ", types released at once" : "") + "\n";
    for (const Job &job : c.jobs) {
        text +=
            "    call " + std::to_string(job.call) + ": " + std::to_string(job.bytes) + " bytes";
        if (job.op != HEDDLE_OP_REPLACE)
            text += std::string(", op ") + std::to_string(job.op) + " on " +
                    oracle::basic(job.basic).name;
        if (job.ends.size() > 1) {
            text += ", pieces end at";
            for (const int64_t end : job.ends)
                text += " " + std::to_string(end);
        }
        text += "\n      from " + to_text(job.from) + "\n      to   " + to_text(job.to) + "\n";
    }
    return text;
}

} // namespace gpu
