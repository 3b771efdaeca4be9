/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vectors that are combined in their order (heddle_fold_run, heddle_fold_begin): in one launch,
 * or one after the other.
 */
#include "two.hpp"

#include <heddle.h>

#include <algorithm>
#include <numeric>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1},
    managed{gpu::Kind::managed, 0}, pageable{};

heddle_buffer described(const gpu::Memory &memory, size_t bytes)
{
    heddle_buffer buffer{};
    buffer.size = sizeof buffer;
    const heddle_side side{memory.at(), static_cast<int64_t>(bytes),
                           heddle_type_predefined(HEDDLE_BYTE), 0};
    REQUIRE(heddle_buffer_describe(&side, static_cast<int64_t>(bytes), &buffer) == HEDDLE_SUCCESS);
    return buffer;
}

/* Vectors of doubles, `skipped` elements behind the beginning of their memory. */
class Vectors {
public:
    Vectors(const std::vector<gpu::Place> &places, size_t n, size_t skipped)
        : n_(n), skipped_(skipped)
    {
        for (const gpu::Place &place : places) {
            std::vector<double> values(n);
            for (size_t i = 0; i < n; ++i)
                values[i] = value(all_.size(), i);
            all_.emplace_back(place, (n + skipped) * sizeof(double));
            all_.back().write(skipped * sizeof(double), values.data(), n * sizeof(double));
        }
    }
    /* Adds those before `target` and that one's own, if `with_own`, into it. */
    int add(size_t target, bool with_own) { return add(added_to(target, with_own), {target}); }
    /* Adds vectors into each target. */
    int add(const std::vector<size_t> &from, const std::vector<size_t> &to)
    {
        std::vector<heddle_operand> operands(from.size());
        std::vector<heddle_target> targets(to.size());
        std::transform(from.begin(), from.end(), operands.begin(), [&](size_t v) {
            return heddle_operand{at(v), nullptr};
        });
        std::transform(to.begin(), to.end(), targets.begin(), [&](size_t v) {
            return heddle_target{at(v), nullptr};
        });
        const heddle_buffer near = described(all_[to[0]], n_ * sizeof(double));
        return run({sizeof(heddle_fold), operands.data(), std::ssize(operands), targets.data(),
                    std::ssize(targets), &near, static_cast<int64_t>(n_ * sizeof(double)),
                    HEDDLE_OP_SUM, HEDDLE_DOUBLE});
    }
    bool holds_sum(size_t target, bool with_own) const
    {
        return holds_sum(target, added_to(target, with_own));
    }
    bool holds_sum(size_t target, const std::vector<size_t> &of) const
    {
        std::vector<double> found(n_);
        all_[target].read(skipped_ * sizeof(double), found.data(), n_ * sizeof(double));
        for (size_t i = 0; i < n_; ++i) {
            double sum = 0;
            for (const size_t v : of)
                sum += value(v, i);
            if (found[i] != sum)
                return false;
        }
        return true;
    }

private:
    /* At once, or begun and waited for, in turn. */
    int run(const heddle_fold &fold)
    {
        heddle_request *request = nullptr;
        if (runs_++ % 2 == 0)
            return heddle_fold_run(&fold);
        const int error = heddle_fold_begin(&fold, &request);
        return error ? error : heddle_wait(&request);
    }
    std::vector<size_t> added_to(size_t target, bool with_own) const
    {
        std::vector<size_t> all(all_.size());
        std::iota(all.begin(), all.end(), size_t{0});
        if (!with_own)
            std::erase(all, target);
        return all;
    }
    static double value(size_t v, size_t i) { return static_cast<double>(i * 31 + v * 1000); }
    void *at(size_t v) const { return all_[v].at() + skipped_ * sizeof(double); }

    static inline int runs_ = 0;
    size_t n_, skipped_;
    std::vector<gpu::Memory> all_;
};

int64_t folds()
{
    heddle_counter counter{};
    for (int64_t i = 0; heddle_counter_read(i, &counter) == HEDDLE_SUCCESS; ++i)
        if (std::string(counter.name) == "kernels_fold")
            return counter.value;
    return -1;
}

} // namespace

TEST_CASE("vectors are combined in one launch", "[fold]")
{
    const Switched on("reset");
    for (const size_t n : {1, 7, 1000})
        for (const size_t skipped : {0, 1})
            for (const bool with_own : {false, true})
                for (const size_t vectors : {2, 3, 5}) {
                    std::vector<gpu::Place> places(vectors, device0);
                    places[vectors / 2] = device1;
                    Vectors v(places, n, skipped);
                    const int64_t before = folds();
                    REQUIRE(v.add(vectors - 1, with_own) == HEDDLE_SUCCESS);
                    CHECK(v.holds_sum(vectors - 1, with_own));
                    CHECK(folds() == before + 1);
                    if (with_own)
                        continue;
                    REQUIRE(v.add(vectors - 1, with_own) == HEDDLE_SUCCESS); /* by the other call */
                    CHECK(v.holds_sum(vectors - 1, with_own));
                }
}

TEST_CASE("vectors that a kernel does not reach are combined one after the other", "[fold]")
{
    const Switched on("reset");
    for (const gpu::Place other : {pageable, managed})
        for (const bool with_own : {false, true}) {
            Vectors v({other, device0, other, device0}, 1000, 0);
            REQUIRE(v.add(3, with_own) == HEDDLE_SUCCESS);
            CHECK(v.holds_sum(3, with_own));
        }
    Vectors on_host({device0, pageable, device0}, 1000, 0);
    REQUIRE(on_host.add(1, false) == HEDDLE_SUCCESS);
    CHECK(on_host.holds_sum(1, false));
}

TEST_CASE("a result is written to several targets", "[fold]")
{
    const Switched on("reset");
    for (const gpu::Place other : {device0, device1, pageable})
        for (const size_t n : {1, 7, 1000})
            for (const size_t skipped : {0, 1})
                for (const std::vector<size_t> &to :
                     {std::vector<size_t>{3, 4, 5}, {1, 0, 2}, {3, 1}, {0, 5, 2, 4}}) {
                    Vectors v({device0, device0, other, device0, device0, other}, n, skipped);
                    const std::vector<size_t> from{0, 1, 2};
                    const int64_t before = folds();
                    REQUIRE(v.add(from, to) == HEDDLE_SUCCESS);
                    for (const size_t target : to)
                        CHECK(v.holds_sum(target, from));
                    CHECK(folds() == before + (other.kind == gpu::Kind::device));
                }
}

TEST_CASE("a device that fails amid vectors says so", "[fold]")
{
    for (const char *how : {"reset fail=launch:1+", "reset fail=execute:1+"}) {
        const Switched on("reset");
        Vectors v({device0, device0, device0}, 1000, 0);
        const Switched broken(how);
        CHECK(v.add(2, true) == HEDDLE_ERR_DEVICE);
        CHECK(v.add(2, true) == HEDDLE_ERR_DEVICE); /* by the other call */
    }
}

TEST_CASE("what is no fold is refused", "[fold]")
{
    const Switched on("reset");
    const gpu::Memory memory(device0, 64);
    const heddle_buffer near = described(memory, 64);
    const heddle_operand from[] = {{memory.at(), nullptr}, {memory.at() + 32, nullptr}};
    heddle_target to = {memory.at(), nullptr};
    heddle_fold fold{sizeof fold, from, 2, &to, 1, &near, 32, HEDDLE_OP_SUM, HEDDLE_DOUBLE};
    CHECK(heddle_fold_run(nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_fold_begin(&fold, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_fold_run(&fold) == HEDDLE_SUCCESS);
    fold.n = 0;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_ARG);
    fold.n = HEDDLE_FOLD_MOST + 1;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_ARG);
    fold.n = 2;
    fold.n_to = 0;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_ARG);
    fold.n_to = HEDDLE_FOLD_MOST + 1;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_ARG);
    fold.n_to = 1;
    to.at = nullptr;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_ARG);
    to.at = memory.at();
    fold.bytes = 33;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_RANGE);
    fold.bytes = 0;
    CHECK(heddle_fold_run(&fold) == HEDDLE_SUCCESS);
    fold.bytes = 32;
    fold.op = HEDDLE_OP_REPLACE;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_OP);
    fold.op = HEDDLE_OP_BAND;
    CHECK(heddle_fold_run(&fold) == HEDDLE_ERR_OP);
}
