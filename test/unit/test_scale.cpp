/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nothing is quadratic in the number of blocks, and types stay small. Times of N and 8 N blocks are
 * compared with a factor of 30: linear work takes 8, quadratic 64; the least of several runs
 * counts.
 */
#include "oracle/expr.hpp"
#include "oracle/rng.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <ctime>
#include <functional>
#include <malloc.h>
#include <numeric>

using namespace oracle;

namespace {

/* This thread's time alone: what else runs on the machine does not count. */
double processor_seconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double least_seconds(const std::function<void()> &work)
{
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double start = processor_seconds();
        work();
        least = std::min(least, processor_seconds() - start);
    }
    return least;
}

/* Irregular blocks of 1 to 15 elements, in ascending or random order. */
struct Blocks {
    explicit Blocks(int64_t count, bool shuffled = false)
    {
        Rng rng(7);
        int64_t next = 0;
        for (int64_t i = 0; i < count; ++i) {
            lengths.push_back(rng.in(1, 15));
            displacements.push_back(next);
            next += lengths.back() + rng.in(1, 9);
        }
        end = next;
        if (shuffled)
            rng.shuffle(displacements);
        const int64_t longest = 15;
        end += longest;
        elements = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    }

    Type make() const
    {
        return Type::from(
            [&](auto **t) {
                return heddle_type_indexed(static_cast<int64_t>(lengths.size()), lengths.data(),
                                           displacements.data(),
                                           heddle_type_predefined(HEDDLE_INT8), t);
            },
            "indexed");
    }

    std::vector<int64_t> lengths, displacements;
    int64_t end = 0, elements = 0;
};

constexpr int64_t small = 125'000, large = 8 * small;
constexpr double most = 30;

void not_quadratic(const std::string &what,
                   const std::function<std::function<void()>(int64_t)> &work_for)
{
    /* Memory that is new from the system each time would take most of the larger one's time. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const double a = least_seconds(work_for(small)), b = least_seconds(work_for(large));
    INFO(what << ": " << a << " s for " << small << ", " << b << " s for " << large);
    CHECK(b < most * a + 0.002);
}

} // namespace

TEST_CASE("making and committing an indexed type takes linear time", "[scale]")
{
    for (const bool shuffled : {false, true})
        not_quadratic("commit", [=](int64_t n) {
            return [blocks = Blocks(n, shuffled)] { blocks.make().commit(); };
        });
}

TEST_CASE("making and committing a struct takes linear time", "[scale]")
{
    not_quadratic("struct", [](int64_t n) {
        n /= 5;
        std::vector<int64_t> lengths(static_cast<size_t>(n), 1), displacements;
        std::vector<heddle_type *> members;
        for (int64_t i = 0; i < n; ++i) {
            displacements.push_back(24 * i + i % 5);
            members.push_back(heddle_type_predefined(i % 2 ? HEDDLE_DOUBLE : HEDDLE_INT16));
        }
        return [=] {
            Type::from(
                [&](auto **t) {
                    return heddle_type_struct(n, lengths.data(), displacements.data(),
                                              const_cast<heddle_type *const *>(members.data()), t);
                },
                "struct")
                .commit();
        };
    });
}

namespace {

/* Separately made each time: equal to others, and none of them. */
Type twenty_thousand_blocks() { return Blocks(20'000).make(); }

/* A type that holds itself twice at each of `levels`, so that it has 2^levels parts. */
Type doubled(Type type, int levels)
{
    for (int level = 0; level < levels; ++level) {
        const int64_t span = type.info().true_extent;
        const int64_t lengths[] = {1, 1, 1}, displacements[] = {0, span + 2, 2 * span + 9};
        heddle_type *const members[] = {type.get(), heddle_type_predefined(HEDDLE_INT16),
                                        type.get()};
        type = Type::from(
            [&](auto **t) { return heddle_type_struct(3, lengths, displacements, members, t); },
            "struct");
    }
    return type;
}

/* A struct of `count` members that all look alike and are two types in turn. */
Type struct_of_two(int64_t count, const Type &one, const Type &other)
{
    const int64_t span = one.info().true_extent;
    std::vector<int64_t> lengths(static_cast<size_t>(count), 1), displacements;
    std::vector<heddle_type *> members;
    for (int64_t i = 0; i < count; ++i) {
        displacements.push_back(i * (span + 8) + i % 3);
        members.push_back(i % 2 ? one.get() : other.get());
    }
    return Type::from(
        [&](auto **t) {
            return heddle_type_struct(count, lengths.data(), displacements.data(), members.data(),
                                      t);
        },
        "struct");
}

/* A type that grows by one member at a time, as generic serializers do, asked about each time. */
Type grown(int64_t members)
{
    Type type(heddle_type_predefined(HEDDLE_INT32));
    for (int64_t i = 0, next = 8; i < members; ++i, next += 24 + i * i % 5 * 8) {
        const int64_t lengths[] = {1, 1 + i % 2}, displacements[] = {0, next};
        heddle_type *const both[] = {type.get(),
                                     heddle_type_predefined(i % 3 ? HEDDLE_DOUBLE : HEDDLE_INT16)};
        type = Type::from(
            [&](auto **t) { return heddle_type_struct(2, lengths, displacements, both, t); },
            "struct");
        (void)type.info();
    }
    return type;
}

} // namespace

TEST_CASE("a type that grows by one member at a time takes linear time", "[scale]")
{
    const double few = least_seconds([] { grown(600).commit(); });
    const double many = least_seconds([] { grown(8 * 600).commit(); });
    INFO(few << " s for 600 members, " << many << " s for 4800");
    CHECK(many < most * few + 0.002);
}

TEST_CASE("a type that is unflattened says as much memory as the one that was flattened", "[scale]")
{
    const Blocks blocks(100'000);
    std::vector<std::byte> bytes;
    int64_t memory = 0;
    { // while it is there, its layout is the copy's, too
        const Type type = blocks.make().commit();
        size_t size = 0;
        REQUIRE(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
        bytes.resize(size);
        REQUIRE(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);
        memory = type.info().memory;
    }
    const Type copy = Type::from(
        [&](auto **t) { return heddle_unflatten(bytes.data(), bytes.size(), t); }, "unflatten");
    CHECK(copy.info().memory >= memory);
    CHECK(copy.info().memory < 2 * memory);
}

/* An AMR code makes ever smaller types. Blocks that were large for one of them do not serve others
 * by the small sizes that these know of. */
TEST_CASE("memory of freed types is bounded, whatever their sizes", "[scale]")
{
    const auto held = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    const size_t before = held();
    for (int round = 0; round < 8; ++round) {
        for (int64_t n = 1'000'000; n > 1000; n /= 2) {
            std::vector<int64_t> lengths(static_cast<size_t>(n)), displacements;
            std::vector<heddle_type *> members;
            for (int64_t i = 0; i < n; ++i) {
                lengths[static_cast<size_t>(i)] = 1 + i % 3;
                displacements.push_back(40 * i + i % 5);
                members.push_back(heddle_type_predefined(i % 2 ? HEDDLE_DOUBLE : HEDDLE_LONG));
            }
            Type::from(
                [&](auto **t) {
                    return heddle_type_struct(n, lengths.data(), displacements.data(),
                                              members.data(), t);
                },
                "struct")
                .commit();
        }
    }
    CHECK(held() < before + (size_t{80} << 20)); // 64 MiB lie idle at most (pool.cpp)
}

TEST_CASE("a struct of a million members takes 90 bytes a member", "[scale]")
{
    constexpr int64_t n = 1'000'000;
    std::vector<int64_t> lengths, displacements;
    std::vector<heddle_type *> members;
    for (int64_t i = 0; i < n; ++i) {
        lengths.push_back(1 + i % 3);
        displacements.push_back(40 * i + i % 5);
        members.push_back(heddle_type_predefined(i % 2 ? HEDDLE_DOUBLE : HEDDLE_LONG));
    }
    Type type = Type::from(
        [&](auto **t) {
            return heddle_type_struct(n, lengths.data(), displacements.data(), members.data(), t);
        },
        "struct");
    CHECK(type.commit().info().memory < 90 * n);
    for (const int64_t i : {int64_t{0}, n / 3, n - 1}) {
        int64_t displ = -1, run = 0;
        const int64_t before = i / 3 * 6 + (i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 3);
        REQUIRE(heddle_locate(1, type.get(), 8 * before, &displ, &run) == HEDDLE_SUCCESS);
        CHECK(displ == displacements[static_cast<size_t>(i)]);
        CHECK(run == 8 * lengths[static_cast<size_t>(i)]);
    }
}

TEST_CASE("types that look alike are not compared whole each time", "[scale]")
{
    /* Part by part and block by block it would be 200 times 4096 times 20 000 comparisons. */
    const Type one = doubled(twenty_thousand_blocks(), 12),
               other = doubled(twenty_thousand_blocks(), 12);
    const double start = processor_seconds();
    const Type type = struct_of_two(200, one, other);
    const double made = processor_seconds() - start;
    INFO(made << " s");
    CHECK(made < 0.5);
    /* Equal types are the same to the layout, whoever made them. */
    CHECK(type.info().size == struct_of_two(200, one, one).info().size);
    Type same = struct_of_two(200, one, one);
    size_t size = 0, size_of_same = 0;
    REQUIRE(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
    REQUIRE(heddle_flatten_size(same.get(), &size_of_same) == HEDDLE_SUCCESS);
    CHECK(size == size_of_same);
}

TEST_CASE("a flattened type takes no longer to read than its bytes are many", "[scale]")
{
    /* The two halves are equal but for their last blocks, which are far apart,
     * so both are in the bytes. */
    Type one = doubled(twenty_thousand_blocks(), 12);
    Blocks longer(20'000);
    longer.displacements.back() += 3;
    const Type other = doubled(longer.make(), 12);
    Type type = struct_of_two(200, one, other).commit();
    size_t size = 0;
    REQUIRE(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
    std::vector<char> bytes(size);
    REQUIRE(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);
    const double start = processor_seconds();
    const Type copy =
        Type::from([&](auto **t) { return heddle_unflatten(bytes.data(), size, t); }, "unflatten");
    const double read = processor_seconds() - start;
    INFO(read << " s for " << size << " bytes");
    CHECK(read < 0.5);
    CHECK(copy.info().size == type.info().size);
}

TEST_CASE("offsets into a million blocks cost no walk from the start", "[scale]")
{
    const Blocks blocks(large);
    const Type type = blocks.make().commit();
    std::vector<std::byte> memory(static_cast<size_t>(blocks.end)), packed(64);
    iovec list[4];
    int64_t a = 0, b = 0;
    Rng rng(3);
    std::vector<int64_t> offsets(10'000);
    for (int64_t &offset : offsets)
        offset = rng.in(0, blocks.elements - 100);
    /* 10 000 walks over 1 000 000 blocks would be 10^10 steps. */
    const auto bounded = [&](const char *what, const std::function<int(int64_t)> &call) {
        int errors = 0;
        const double seconds = least_seconds([&] {
            for (const int64_t offset : offsets)
                errors += call(offset) != HEDDLE_SUCCESS;
        });
        INFO(what << ": " << seconds << " s for 10 000 calls");
        CHECK(errors == 0);
        CHECK(seconds < 0.5);
    };
    bounded("pack", [&](int64_t at) {
        return heddle_pack(memory.data(), 1, type.get(), at, packed.data(), 64, &a);
    });
    bounded("unpack", [&](int64_t at) {
        return heddle_unpack(packed.data(), 64, memory.data(), 1, type.get(), at, &a);
    });
    bounded("locate", [&](int64_t at) { return heddle_locate(1, type.get(), at, &a, &b); });
    bounded("iov_bytes", [&](int64_t at) {
        return heddle_iov_bytes(nullptr, 1, type.get(), at, list, 4, 64, &a, &b);
    });
    bounded("iov_len", [&](int64_t at) { return heddle_iov_len(1, type.get(), at, &a, &b); });
    bounded("iov", [&](int64_t at) {
        return heddle_iov(nullptr, 1, type.get(), at % large, list, 4, &a);
    });
    const Type one = Type::from(
        [&](auto **t) {
            return heddle_type_contiguous(blocks.elements, heddle_type_predefined(HEDDLE_INT8), t);
        },
        "contiguous");
    Type dense = one;
    dense.commit();
    std::vector<std::byte> target(static_cast<size_t>(blocks.elements));
    bounded("copy", [&](int64_t at) {
        return heddle_copy(memory.data(), 1, type.get(), target.data(), 1, dense.get(), at, 64, &a);
    });
    bounded("instances", [&](int64_t at) {
        return heddle_locate(int64_t{1} << 36, type.get(), (int64_t{1} << 36) * (at % 1000), &a,
                             &b);
    });
}

TEST_CASE("packing in fragments takes as long as packing at once", "[scale]")
{
    const Blocks blocks(large);
    const Type type = blocks.make().commit();
    std::vector<std::byte> memory(static_cast<size_t>(blocks.end)),
        packed(static_cast<size_t>(blocks.elements));
    int64_t actual = 0;
    const double whole = least_seconds([&] {
        heddle_pack(memory.data(), 1, type.get(), 0, packed.data(), blocks.elements, &actual);
    });
    const double pieces = least_seconds([&] {
        for (int64_t offset = 0; offset < blocks.elements; offset += 4096)
            heddle_pack(memory.data(), 1, type.get(), offset, packed.data() + offset,
                        std::min<int64_t>(4096, blocks.elements - offset), &actual);
    });
    INFO(whole << " s at once, " << pieces << " s in fragments");
    CHECK(pieces < 3 * whole + 0.005);
}

TEST_CASE("no type falls to a call per element", "[scale]")
{
    const ExprPtr number = predefined(HEDDLE_INT32), real = predefined(HEDDLE_DOUBLE);
    ExprPtr nested = real;
    for (int level = 0; level < 16; ++level)
        nested = hvector(2, 1, (int64_t{24} << level) - 8, nested);
    Rng rng(5);
    std::vector<int64_t> uneven;
    for (int64_t i = 0, next = 0; i < 100'000; ++i, next += rng.in(2, 5))
        uneven.push_back(next);
    const ExprPtr record =
        structure({1, 1, 1, 1}, {0, 8, 12, 16}, {real, number, number, predefined(HEDDLE_CHAR)});
    const std::pair<ExprPtr, int64_t> types[] = {
        {record, 50'000},
        {contiguous(50'000, record), 1},
        {vector(1'000, 20, 30, record), 2},
        {nested, 2},
        {indexed_block(1, uneven, number), 1},
        {indexed_block(1, uneven, record), 1},
    };
    for (const auto &[expr, instances] : types) {
        const int64_t count = instances; /* clang 14 captures no structured binding */
        const Type type = build(*expr).commit();
        const heddle_type_info info = type.info();
        std::vector<std::byte> memory(
            static_cast<size_t>(info.true_lb + info.true_extent + (count - 1) * info.extent));
        std::vector<std::byte> packed(static_cast<size_t>(info.size * count));
        const auto bytes = static_cast<int64_t>(packed.size());
        int64_t actual = 0;
        const double each = 1e9 / static_cast<double>(info.elements * count);
        const double pack =
            each * least_seconds([&] {
                heddle_pack(memory.data(), count, type.get(), 0, packed.data(), bytes, &actual);
            });
        const double unpack =
            each * least_seconds([&] {
                heddle_unpack(packed.data(), bytes, memory.data(), count, type.get(), 0, &actual);
            });
        INFO(to_text(*expr).substr(0, 60)
             << ": " << pack << " and " << unpack << " ns per element");
        CHECK(info.true_lb == 0);
        CHECK(actual == bytes);
        CHECK(pack < 3);
        CHECK(unpack < 3);
    }
}

TEST_CASE("a committed strided type holds less than 1 KiB", "[scale]")
{
    const ExprPtr real = predefined(HEDDLE_DOUBLE);
    const std::vector<ExprPtr> strided{
        contiguous(1000, real),
        vector(1000, 3, 5, real),
        hvector(7, 1, 4096, vector(10, 1, 3, real)),
        subarray({64, 64, 64}, {32, 32, 32}, {1, 1, 1}, HEDDLE_ORDER_C, real),
        subarray({64, 64, 64, 64}, {32, 32, 32, 32}, {1, 2, 3, 4}, HEDDLE_ORDER_FORTRAN, real),
        hvector(
            2, 1, 900'000,
            hvector(3, 1, 90'000, hvector(4, 1, 9'000, hvector(5, 1, 900, vector(6, 1, 2, real))))),
    };
    for (const ExprPtr &expr : strided) {
        INFO(to_text(*expr));
        CHECK(build(*expr).commit().info().memory < 1024);
    }
    std::vector<int64_t> regular;
    for (int64_t i = 0; i < 10'000; ++i)
        regular.push_back(100 * i);
    CHECK(build(*indexed_block(5, regular, real)).commit().info().memory < 1024);
}

TEST_CASE("an indexed type of N blocks holds at most 48 N bytes and a constant", "[scale]")
{
    constexpr int64_t n = 10'000;
    for (const bool shuffled : {false, true}) {
        const Blocks blocks(n, shuffled);
        const Type type = blocks.make().commit();
        CHECK(type.info().memory <= 48 * n + 1024);
        size_t flat = 0;
        REQUIRE(heddle_flatten_size(type.get(), &flat) == HEDDLE_SUCCESS);
        CHECK(flat <= 48 * n + 1024);
    }
    /* Blocks of a vector, and equal blocks. */
    Rng rng(11);
    std::vector<int64_t> lengths, displacements;
    for (int64_t i = 0, next = 0; i < n; ++i, next += 1000 + rng.in(0, 99)) {
        lengths.push_back(rng.in(1, 9));
        displacements.push_back(next);
    }
    const ExprPtr old = vector(3, 1, 2, predefined(HEDDLE_INT16));
    CHECK(build(*hindexed(lengths, displacements, old)).commit().info().memory <= 48 * n + 1024);
    CHECK(build(*hindexed_block(2, displacements, old)).commit().info().memory <= 48 * n + 1024);
}
