/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reference counts (what is wrong here shows under AddressSanitizer), and several threads on one
 * type.
 */
#include "oracle/expr.hpp"
#include "oracle/reference.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace oracle;

namespace {

ExprPtr irregular()
{
    return structure({2, 1, 3}, {0, 40, 64},
                     {indexed({1, 3, 2}, {0, 2, 7}, predefined(HEDDLE_INT16)),
                      predefined(HEDDLE_DOUBLE), vector(2, 1, 3, predefined(HEDDLE_FLOAT))});
}

/* A threaded test's result: Catch2's own macros belong to the main thread. */
class Verdict {
public:
    void expect(bool holds) { wrong_ += !holds; }
    int wrong() const { return wrong_; }

private:
    std::atomic<int> wrong_{0};
};

template <class Work> void in_threads(int threads, Work &&work)
{
    std::atomic<int> ready{0};
    std::vector<std::jthread> crowd;
    for (int i = 0; i < threads; ++i)
        crowd.emplace_back([&, i] {
            for (++ready; ready < threads;)
                std::this_thread::yield();
            work(i);
        });
}

/* Blocks of bytes, and nothing: the two layouts that stand ready once and for all. */
bool makes_types()
{
    const Type blocks = build(*indexed({3, 1, 2}, {0, 5, 9}, predefined(HEDDLE_INT8))).commit();
    const Type nothing = build(*contiguous(0, predefined(HEDDLE_INT32))).commit();
    std::vector<int8_t> memory(16, 1), packed(6);
    int64_t actual = 0;
    return heddle_pack(memory.data(), 1, blocks.get(), 0, packed.data(), 6, &actual) ==
               HEDDLE_SUCCESS &&
           actual == 6 && nothing.info().size == 0;
}

/* Made before the library's own static objects, and so destroyed after them. */
struct AtTheEnd {
    static inline bool acts = false;
    static constexpr int right = 7;

    ~AtTheEnd()
    {
        if (acts)
            _exit(makes_types() ? right : 1);
    }
} at_the_end;

} // namespace

TEST_CASE("types are made while the process ends", "[lifetime]")
{
    (void)std::fflush(nullptr); /* or the child would write it, too */
    const pid_t child = fork();
    if (child == 0) {
        AtTheEnd::acts = makes_types();
        std::exit(1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == AtTheEnd::right);
}

TEST_CASE("a type outlives the types that it was made from", "[lifetime]")
{
    heddle_type *inner = nullptr, *outer = nullptr;
    REQUIRE(heddle_type_vector(3, 1, 2, heddle_type_predefined(HEDDLE_INT32), &inner) ==
            HEDDLE_SUCCESS);
    REQUIRE(heddle_type_hvector(2, 1, 100, inner, &outer) == HEDDLE_SUCCESS);
    heddle_type_release(inner);
    REQUIRE(heddle_type_commit(outer) == HEDDLE_SUCCESS);
    int32_t memory[40] = {}, packed[6] = {};
    memory[27] = 7; /* 100 + 8 bytes */
    int64_t actual = 0;
    REQUIRE(heddle_pack(memory, 1, outer, 0, packed, sizeof packed, &actual) == HEDDLE_SUCCESS);
    CHECK(packed[4] == 7);
    heddle_type_release(outer);
}

TEST_CASE("each retain takes one release", "[lifetime]")
{
    heddle_type *type = nullptr;
    REQUIRE(heddle_type_contiguous(3, heddle_type_predefined(HEDDLE_INT32), &type) ==
            HEDDLE_SUCCESS);
    heddle_type_retain(type);
    heddle_type_retain(type);
    heddle_type_release(type);
    heddle_type_release(type);
    heddle_type_info info{};
    CHECK(heddle_type_get_info(type, &info) == HEDDLE_SUCCESS);
    CHECK(info.size == 12);
    heddle_type_release(type);
}

TEST_CASE("a dup is committed as its old type is, and outlives it", "[lifetime]")
{
    Type old = build(*irregular());
    const Type before = Type::from([&](auto **t) { return heddle_type_dup(old.get(), t); }, "dup");
    CHECK(before.info().committed == 0);
    old.commit();
    const Type after = Type::from([&](auto **t) { return heddle_type_dup(old.get(), t); }, "dup");
    CHECK(after.info().committed == 1);
    const int64_t size = old.info().size;
    old = Type();
    CHECK(after.info().size == size);
}

TEST_CASE("arrays belong to the caller", "[lifetime]")
{
    std::vector<int64_t> lengths{1, 2, 1}, displacements{0, 8, 100};
    const Type type = Type::from(
        [&](auto **t) {
            return heddle_type_hindexed(3, lengths.data(), displacements.data(),
                                        heddle_type_predefined(HEDDLE_INT32), t);
        },
        "hindexed");
    const std::string layout = type.describe();
    std::fill(lengths.begin(), lengths.end(), 99);
    std::fill(displacements.begin(), displacements.end(), -5);
    CHECK(type.describe() == layout);
}

TEST_CASE("describe writes as snprintf does", "[lifetime]")
{
    const Type type = build(*irregular());
    const std::string whole = type.describe();
    for (const size_t capacity :
         {size_t{0}, size_t{1}, size_t{5}, whole.size(), whole.size() + 1, whole.size() + 9}) {
        std::string text(whole.size() + 16, '#');
        size_t length = 0;
        REQUIRE(heddle_type_describe(type.get(), capacity ? text.data() : nullptr, capacity,
                                     &length) == HEDDLE_SUCCESS);
        CHECK(length == whole.size());
        if (capacity == 0)
            continue;
        const size_t written = std::min(capacity - 1, whole.size());
        CHECK(text.substr(0, written) == whole.substr(0, written));
        CHECK(text[written] == '\0');
        CHECK(text.substr(capacity) == std::string(text.size() - capacity, '#'));
    }
}

TEST_CASE("threads commit one type at once and pack with it", "[threads]")
{
    const ExprPtr expr = irregular();
    const Typemap map = expand(*expr);
    const Packing packing(map, 3);
    std::vector<std::byte> memory(4096);
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i * 7);
    const Bytes expected = pack(reinterpret_cast<uintptr_t>(memory.data()), packing);

    Verdict verdict;
    for (int round = 0; round < 200; ++round) {
        const Type type = build(*expr);
        in_threads(4, [&](int) {
            verdict.expect(heddle_type_commit(type.get()) == HEDDLE_SUCCESS);
            Bytes packed(expected.size());
            int64_t actual = 0;
            verdict.expect(heddle_pack(memory.data(), 3, type.get(), 0, packed.data(),
                                       packing.total(), &actual) == HEDDLE_SUCCESS);
            verdict.expect(packed == expected);
            heddle_type_info info{};
            verdict.expect(heddle_type_get_info(type.get(), &info) == HEDDLE_SUCCESS &&
                           info.committed);
        });
    }
    CHECK(verdict.wrong() == 0);
}

TEST_CASE("threads make types of one type and let them go", "[threads]")
{
    Verdict verdict;
    const Type old = build(*irregular()).commit();
    const std::string layout = old.describe();
    in_threads(4, [&](int thread) {
        for (int i = 0; i < 500; ++i) {
            const Type own = Type::from(
                [&](auto **t) {
                    return heddle_type_contiguous(1 + (i + thread) % 3, old.get(), t);
                },
                "contiguous");
            const Type twice =
                Type::from([&](auto **t) { return heddle_type_dup(own.get(), t); }, "dup");
            heddle_type_retain(old.get());
            verdict.expect(heddle_type_commit(twice.get()) == HEDDLE_SUCCESS);
            verdict.expect(own.info().committed == 1);
            verdict.expect((i + thread) % 3 != 0 || own.describe() == layout);
            heddle_type_release(old.get());
        }
    });
    CHECK(verdict.wrong() == 0);
}

TEST_CASE("threads make equal types and let them go at once", "[threads]")
{
    /* Each node is found by one thread while another lets its last owner go. */
    Verdict verdict;
    const std::string layout = build(*irregular()).describe();
    in_threads(4, [&](int thread) {
        for (int i = 0; i < 1000; ++i) {
            const Type own = build(*irregular());
            verdict.expect(own.describe() == layout);
            if ((i + thread) % 7 == 0)
                build(*vector(3 + i % 2, 1, 100, irregular())).commit();
        }
    });
    CHECK(verdict.wrong() == 0);
}

TEST_CASE("threads unpack between one another's elements", "[threads]")
{
    /* Columns of one matrix, a thread each. A store wider than the element would be a race. */
    constexpr int64_t columns = 4, rows = 3000;
    std::vector<int8_t> matrix(columns * rows);
    const Type column = build(*vector(rows, 1, columns, predefined(HEDDLE_INT8))).commit();
    std::vector<int64_t> lengths, displacements;
    for (int64_t row = 0, at = 0; row < rows; ++row, at += columns * (1 + row % 2)) {
        lengths.push_back(1);
        displacements.push_back(at);
    }
    const Type uneven = build(*indexed(lengths, displacements, predefined(HEDDLE_INT8))).commit();
    std::vector<int8_t> scattered(2 * columns * rows);
    Verdict verdict;
    in_threads(columns, [&](int thread) {
        const std::vector<int8_t> packed(rows, static_cast<int8_t>(thread + 1));
        for (int i = 0; i < 20; ++i) {
            int64_t actual = 0;
            verdict.expect(heddle_unpack(packed.data(), rows, matrix.data() + thread, 1,
                                         column.get(), 0, &actual) == HEDDLE_SUCCESS);
            verdict.expect(heddle_unpack(packed.data(), rows, scattered.data() + thread, 1,
                                         uneven.get(), 0, &actual) == HEDDLE_SUCCESS);
        }
    });
    CHECK(verdict.wrong() == 0);
    for (int64_t i = 0; i < columns * rows; ++i)
        if (matrix[static_cast<size_t>(i)] != i % columns + 1)
            FAIL("element " << i);
    for (const int64_t at : displacements)
        for (int64_t thread = 0; thread < columns; ++thread)
            if (scattered[static_cast<size_t>(at + thread)] != thread + 1)
                FAIL("element at " << at);
}

TEST_CASE("threads flatten and unflatten", "[threads]")
{
    const Type type = build(*irregular()).commit();
    const std::string layout = type.describe();
    Verdict verdict;
    in_threads(4, [&](int) {
        for (int i = 0; i < 200; ++i) {
            size_t size = 0;
            verdict.expect(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
            Bytes bytes(size);
            verdict.expect(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);
            const Type copy = Type::from(
                [&](auto **t) { return heddle_unflatten(bytes.data(), size, t); }, "unflatten");
            verdict.expect(copy.describe() == layout);
        }
    });
    CHECK(verdict.wrong() == 0);
}
