/* SPDX-License-Identifier: BSD-3-Clause */
#include "case.hpp"

#include "../unit/oracle/basics.hpp"
#include "../unit/property/shrink.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace gpu {
namespace {

/* Empty where the case passes, or makes no sense any more. */
std::string failure_of(const Case &c)
{
    try {
        for (const Job &job : c.jobs) {
            const oracle::Typemap to = oracle::expand(*job.to.type);
            const oracle::Typemap from = oracle::expand(*job.from.type);
            const heddle_predefined source = oracle::basic_of(from);
            if (oracle::overlaps(to, job.to.count))
                return {};
            if (job.op != HEDDLE_OP_REPLACE && (oracle::basic_of(to) != job.basic ||
                                                (source != job.basic && source != HEDDLE_BYTE)))
                return {};
        }
        /* A device that failed before would fail everything. */
        Machine::get().reset();
        run_case(c);
    } catch (const oracle::Overflow &) {
    } catch (const std::exception &failure) {
        return failure.what();
    }
    return {};
}

/* Brings offsets and lengths back into what the types hold. */
void clamp(Job &job)
{
    int64_t unit = 1;
    if (job.op != HEDDLE_OP_REPLACE) {
        unit = 0;
        for (const oracle::Primitive &part : oracle::basic(job.basic).primitives)
            unit += oracle::primitive_size(part.kind);
    }
    for (SideSpec *side : {&job.from, &job.to}) {
        const int64_t total = oracle::size_of(oracle::expand(*side->type)) * side->count;
        side->offset = std::min(side->offset, total / unit * unit);
        job.bytes = std::min(job.bytes, (total - side->offset) / unit * unit);
    }
    for (int64_t &end : job.ends)
        end = std::min(end, job.bytes);
    job.ends.back() = job.bytes;
}

class Shrinker {
public:
    Shrinker(Case failing, std::string &what) : best_(std::move(failing)), what_(what) {}

    Case shrink()
    {
        drop_jobs();
        for (int round = 0; round < 3; ++round) {
            simplify_calls();
            for (size_t i = 0; i < best_.jobs.size(); ++i)
                shrink_job(i);
        }
        return best_;
    }

private:
    template <class Change> bool try_change(Change &&change)
    {
        if (std::chrono::steady_clock::now() > end_)
            return false;
        Case candidate = best_;
        try {
            change(candidate);
            for (Job &job : candidate.jobs)
                clamp(job);
        } catch (const oracle::Overflow &) {
            return false;
        }
        std::string how = failure_of(candidate);
        if (how.empty())
            return false;
        best_ = std::move(candidate);
        what_ = std::move(how);
        return true;
    }

    void drop_jobs()
    {
        for (size_t size = best_.jobs.size() / 2; size > 0; size /= 2)
            for (size_t at = 0; at + size <= best_.jobs.size() && best_.jobs.size() > size;)
                if (!try_change([&](Case &c) {
                        const auto first = c.jobs.begin() + static_cast<std::ptrdiff_t>(at);
                        c.jobs.erase(first, first + static_cast<std::ptrdiff_t>(size));
                    }))
                    at += size;
    }

    void simplify_calls()
    {
        if (best_.mode != Mode::blocking)
            try_change([](Case &c) { c.mode = Mode::blocking; });
        if (best_.calls > 1)
            try_change([](Case &c) {
                c.calls = 1;
                for (Job &job : c.jobs)
                    job.call = 0;
            });
        if (best_.release_early)
            try_change([](Case &c) { c.release_early = false; });
    }

    void shrink_job(size_t i)
    {
        if (best_.jobs[i].ends.size() > 1)
            try_change([&](Case &c) { c.jobs[i].ends = {c.jobs[i].bytes}; });
        for (SideSpec Job::*side : {&Job::from, &Job::to}) {
            for (const Place place : {Place{Kind::device, 0}, Place{Kind::pinned, 0}})
                try_change([&](Case &c) { (c.jobs[i].*side).place = place; });
            try_change([&](Case &c) { (c.jobs[i].*side).misaligned = 0; });
            try_change([&](Case &c) { (c.jobs[i].*side).offset = 0; });
            while (best_.jobs[i].*side.*(&SideSpec::count) > 1 &&
                   (try_change([&](Case &c) { (c.jobs[i].*side).count = 1; }) ||
                    try_change([&](Case &c) { (c.jobs[i].*side).count /= 2; }) ||
                    try_change([&](Case &c) { --(c.jobs[i].*side).count; })))
                ;
            property::shrink((best_.jobs[i].*side).type,
                             [&](const oracle::ExprPtr &type) {
                                 return try_change([&](Case &c) { (c.jobs[i].*side).type = type; });
                             },
                             600);
        }
        const int64_t unit = best_.jobs[i].op == HEDDLE_OP_REPLACE ? 1 : best_.jobs[i].bytes;
        while (best_.jobs[i].bytes > 1 && unit == 1 &&
               (try_change([&](Case &c) { c.jobs[i].bytes /= 2; }) ||
                try_change([&](Case &c) { --c.jobs[i].bytes; })))
            ;
    }

    Case best_;
    std::string &what_;
    const std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
};

} // namespace

Case shrink_case(Case failing, std::string &what)
{
    /* Whether it fails at all when run again, alone. */
    std::string again = failure_of(failing);
    if (again.empty()) {
        what += " (not again when run alone)";
        return failing;
    }
    what = std::move(again);
    return Shrinker(std::move(failing), what).shrink();
}

} // namespace gpu
