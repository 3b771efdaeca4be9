/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.hpp"

#include "../unit/oracle/basics.hpp"
#include "../unit/oracle/operators.hpp"
#include "mirror.hpp"
#include "named.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <thread>

namespace gpu {
namespace {

using oracle::Rng;

/* One side of a job, in memory. */
struct Side {
    explicit Side(const SideSpec &made, Rng &rng)
        : spec(made),
          map(oracle::expand(*made.type)),
          packing(map, made.count),
          type(oracle::build(*made.type).commit()),
          contents(packing, made.misaligned, rng),
          memory(made.place, contents.size())
    {
    }

    heddle_side at(int64_t packed) const
    {
        const uintptr_t base =
            reinterpret_cast<uintptr_t>(memory.at()) + static_cast<uintptr_t>(contents.origin());
        return {reinterpret_cast<void *>(base), spec.count, type.get(), spec.offset + packed};
    }

    const SideSpec &spec;
    const oracle::Typemap map;
    const oracle::Packing packing;
    oracle::Type type;
    Mirror contents; /* what is there, then what should be there */
    Memory memory;
};

/* One element of a basic type, packed; its members one after the other. */
class Element {
public:
    explicit Element(heddle_predefined basic) : parts_(oracle::basic(basic).primitives)
    {
        for (size_t i = 0; i < parts_.size(); ++i) {
            starts_[i] = size_;
            size_ += oracle::primitive_size(parts_[i].kind);
        }
    }
    int64_t size() const { return size_; }
    size_t parts() const { return parts_.size(); }
    heddle_predefined kind(size_t part) const { return parts_[part].kind; }
    int64_t start(size_t part) const { return starts_[part]; }

    using Bytes = std::array<std::byte, 64>;
    void read(const oracle::Packing &packing, const Mirror &mirror, int64_t at, Bytes &to) const
    {
        for (int64_t i = 0; i < size_; ++i)
            to[static_cast<size_t>(i)] = *mirror.at(packing.locate(at + i));
    }
    void write(const oracle::Packing &packing, const Mirror &mirror, int64_t at,
               const Bytes &from) const
    {
        for (int64_t i = 0; i < size_; ++i)
            *mirror.at(packing.locate(at + i)) = from[static_cast<size_t>(i)];
    }

private:
    const std::vector<oracle::Primitive> &parts_;
    std::array<int64_t, 2> starts_{};
    int64_t size_ = 0;
};

class LiveJob {
public:
    LiveJob(const Job &job, Rng &rng) : job_(job), from_(job.from, rng), to_(job.to, rng)
    {
        if (job_.op != HEDDLE_OP_REPLACE)
            write_operands(rng);
    }

    bool has_memory() const { return from_.memory && to_.memory; }

    void upload() const
    {
        from_.contents.upload(from_.memory);
        to_.contents.upload(to_.memory);
    }

    void add_moves(std::vector<heddle_move> &moves) const
    {
        int64_t begin = 0;
        for (const int64_t end : job_.ends) {
            moves.push_back({from_.at(begin), to_.at(begin), end - begin, job_.op});
            begin = end;
        }
    }

    void release_types() { from_.type = to_.type = oracle::Type(); }

    void check()
    {
        Mirror source = from_.contents.twin();
        source.download(from_.memory);
        if (const auto at = source.difference(from_.contents))
            fail("the source was written to, at displacement ", *at);
        Mirror got = to_.contents.twin();
        got.download(to_.memory);
        expect(got);
        if (const auto at = got.difference(to_.contents))
            fail("the target differs at displacement ", *at, where(*at));
    }

private:
    void write_operands(Rng &rng)
    {
        const Element element(job_.basic);
        Element::Bytes bytes;
        for (int64_t at = 0; at < job_.bytes; at += element.size())
            for (const Side *side : {&from_, &to_}) {
                for (size_t part = 0; part < element.parts(); ++part)
                    oracle::write_operand(element.kind(part), rng,
                                          bytes.data() + element.start(part));
                element.write(side->packing, side->contents, side->spec.offset + at, bytes);
            }
    }

    /* Makes the target's contents what they should be. Numbers that are equal but not bit by bit
     * become the expected ones in `got`. */
    void expect(Mirror &got)
    {
        if (job_.op == HEDDLE_OP_REPLACE) {
            const oracle::Bytes packed = oracle::pack(from_.contents.base(), from_.packing);
            oracle::unpack(std::span(packed).subspan(static_cast<size_t>(job_.from.offset),
                                                     static_cast<size_t>(job_.bytes)),
                           to_.contents.base(), to_.packing, job_.to.offset);
            return;
        }
        const Element element(job_.basic);
        Element::Bytes source, target, result;
        for (int64_t at = 0; at < job_.bytes; at += element.size()) {
            element.read(from_.packing, from_.contents, job_.from.offset + at, source);
            element.read(to_.packing, to_.contents, job_.to.offset + at, target);
            element.read(to_.packing, got, job_.to.offset + at, result);
            std::byte *to[2] = {target.data(), target.data() + element.start(1)};
            std::byte *from[2] = {source.data(), source.data() + element.start(1)};
            oracle::combine(job_.op, job_.basic, to, from);
            for (size_t part = 0; part < element.parts(); ++part)
                if (!oracle::equal_operands(element.kind(part), result.data() + element.start(part),
                                            to[part]))
                    fail("element ", at / element.size(), " of the operation is wrong");
            element.write(to_.packing, to_.contents, job_.to.offset + at, target);
            element.write(to_.packing, got, job_.to.offset + at, target);
        }
    }

    /* Says which packed byte it is, or that it is none. */
    std::string where(int64_t displacement) const
    {
        for (int64_t x = 0; x < std::min<int64_t>(to_.packing.total(), 100000); ++x)
            if (to_.packing.locate(x) == displacement) {
                const bool meant = x >= job_.to.offset && x < job_.to.offset + job_.bytes;
                return text(", packed byte ", x, meant ? "" : ", which was not to be written");
            }
        return ", in a gap";
    }

    const Job &job_;
    Side from_, to_;
};

struct Stream {
    explicit Stream(int on) : device(on), handle(Machine::get().make_stream(on)) {}
    Stream(const Stream &) = delete;
    ~Stream() { Machine::get().end_stream(device, handle); }
    void synchronize() const { Machine::get().synchronize(device, handle); }

    int device;
    void *handle;
};

/* Those who begin must end, whatever becomes of the test. */
class Requests {
public:
    explicit Requests(size_t n) : all_(n, nullptr) {}
    Requests(const Requests &) = delete;
    ~Requests()
    {
        for (heddle_request *&request : all_)
            heddle_wait(&request);
    }
    heddle_request *&operator[](size_t i) { return all_[i]; }
    size_t size() const { return all_.size(); }

private:
    std::vector<heddle_request *> all_;
};

void expect_success(int error, const char *call)
{
    if (error != HEDDLE_SUCCESS)
        fail(call, ": ", heddle_strerror(error), " (", heddle_error_detail(), ")");
}

using Calls = std::vector<std::vector<heddle_move>>;

void begin(Calls &calls, Requests &requests)
{
    for (size_t i = 0; i < calls.size(); ++i)
        expect_success(heddle_transfer_begin(calls[i].data(), static_cast<int64_t>(calls[i].size()),
                                             &requests[i]),
                       "heddle_transfer_begin");
}

void end(Requests &requests, Mode mode, Rng &rng)
{
    std::vector<size_t> open(requests.size());
    for (size_t i = 0; i < open.size(); ++i)
        open[i] = i;
    rng.shuffle(open);
    while (!open.empty()) {
        for (size_t i = 0; i < open.size();) {
            int done = 1;
            if (mode == Mode::wait)
                expect_success(heddle_wait(&requests[open[i]]), "heddle_wait");
            else
                expect_success(heddle_test(&requests[open[i]], &done), "heddle_test");
            if (done && requests[open[i]])
                fail("a request that has ended is not null");
            if (done)
                open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++i;
        }
        std::this_thread::yield();
    }
}

void carry_out(const Case &c, Calls &calls, std::deque<LiveJob> &jobs, Rng &rng)
{
    const auto release = [&] {
        if (c.release_early)
            for (LiveJob &job : jobs)
                job.release_types();
    };
    if (c.mode == Mode::blocking) {
        for (const auto &moves : calls)
            expect_success(heddle_transfer(moves.data(), static_cast<int64_t>(moves.size())),
                           "heddle_transfer");
        return;
    }
    if (c.mode == Mode::stream) {
        const Stream stream(c.device);
        try {
            for (const auto &moves : calls)
                expect_success(heddle_transfer_on_stream(
                                   moves.data(), static_cast<int64_t>(moves.size()), stream.handle),
                               "heddle_transfer_on_stream");
        } catch (const property::Failure &) {
            stream.synchronize(); /* the memory is about to go */
            throw;
        }
        release();
        return stream.synchronize();
    }
    Requests requests(calls.size());
    begin(calls, requests);
    release();
    end(requests, c.mode, rng);
}

bool fits(const SideSpec &side)
{
    const oracle::Typemap map = oracle::expand(*side.type);
    return Mirror::fits(oracle::Packing(map, side.count), side.place);
}

} // namespace

bool run_case(const Case &c)
{
    Rng rng(c.seed);
    std::deque<LiveJob> jobs;
    Calls calls(static_cast<size_t>(c.calls));
    for (const Job &job : c.jobs) {
        if (!fits(job.from) || !fits(job.to))
            continue;
        jobs.emplace_back(job, rng);
        if (!jobs.back().has_memory()) {
            jobs.pop_back();
            continue;
        }
        jobs.back().upload();
        jobs.back().add_moves(calls[static_cast<size_t>(job.call)]);
    }
    if (jobs.empty())
        return false;
    for (auto &moves : calls)
        rng.shuffle(moves);
    carry_out(c, calls, jobs, rng);
    for (LiveJob &job : jobs)
        job.check();
    return true;
}

} // namespace gpu
