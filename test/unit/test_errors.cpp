/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bad input of every kind, to every function: the right error, and outputs left alone.
 */
#include "oracle/expr.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <cstring>
#include <limits>

using oracle::Type;

namespace {

constexpr int64_t huge = std::numeric_limits<int64_t>::max();

heddle_type *const real = heddle_type_predefined(HEDDLE_DOUBLE);

/* A constructor that must fail must not touch its output. */
template <class Make> int error_of(Make &&make)
{
    auto *const untouched = reinterpret_cast<heddle_type *>(uintptr_t{0x5a5a});
    heddle_type *type = untouched;
    const int error = make(&type);
    CHECK(type == untouched);
    return error;
}

Type gappy() { return oracle::build(*oracle::vector(4, 1, 2, oracle::predefined(HEDDLE_DOUBLE))); }

} // namespace

TEST_CASE("constructors: null types and outputs", "[errors]")
{
    const int64_t one[] = {1};
    heddle_type *const none[] = {nullptr};
    CHECK(error_of([&](auto **t) { return heddle_type_contiguous(1, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(1, 1, 1, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_hvector(1, 1, 1, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(1, one, one, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed(1, one, one, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed_block(1, 1, one, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed_block(1, 1, one, nullptr, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_struct(1, one, one, none, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_resized(nullptr, 0, 8, t); }) ==
          HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) { return heddle_type_dup(nullptr, t); }) == HEDDLE_ERR_TYPE);
    CHECK(error_of([&](auto **t) {
              return heddle_type_subarray(1, one, one, one, HEDDLE_ORDER_C, nullptr, t);
          }) != HEDDLE_SUCCESS);
    CHECK(heddle_type_contiguous(1, real, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_type_struct(0, nullptr, nullptr, nullptr, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_type_dup(real, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_type_resized(real, 0, 8, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_type_commit(nullptr) == HEDDLE_ERR_TYPE);
    heddle_type_release(nullptr);
    heddle_type_retain(nullptr);
}

TEST_CASE("numbers that name no predefined type and no operator", "[errors]")
{
    for (const int which : {-1, static_cast<int>(HEDDLE_PREDEFINED_COUNT), 64, 1 << 20,
                            std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
        const auto none = static_cast<heddle_predefined>(which);
        const auto no_op = static_cast<heddle_op>(which);
        CHECK(heddle_type_predefined(none) == nullptr);
        CHECK(heddle_op_is_defined(HEDDLE_OP_SUM, none) == 0);
        CHECK(heddle_op_is_defined(no_op, HEDDLE_INT32) == 0);
        CHECK(std::strlen(heddle_strerror(which)) > 0);
        const double one = 1;
        double two = 2;
        CHECK(heddle_accumulate(&one, 1, nullptr, &two, 1, real, no_op) != HEDDLE_SUCCESS);
        CHECK(two == 2);
    }
}

TEST_CASE("constructors: negative counts and block lengths", "[errors]")
{
    const int64_t lengths[] = {1, -1}, displacements[] = {0, 4};
    heddle_type *const types[] = {real, real};
    CHECK(error_of([&](auto **t) { return heddle_type_contiguous(-1, real, t); }) ==
          HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(-1, 1, 1, real, t); }) ==
          HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(1, -1, 1, real, t); }) ==
          HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) { return heddle_type_hvector(-1, 1, 1, real, t); }) ==
          HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) { return heddle_type_hvector(1, -1, 1, real, t); }) ==
          HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_indexed(-1, lengths, displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_indexed(2, lengths, displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    const int short_lengths[] = {1, -1}, short_displacements[] = {0, 1};
    CHECK(error_of([&](auto **t) {
              return heddle_type_indexed_int(2, short_lengths, short_displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_hindexed(2, lengths, displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_indexed_block(2, -1, displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_hindexed_block(-2, 1, displacements, real, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_struct(2, lengths, displacements, types, t);
          }) == HEDDLE_ERR_COUNT);
    CHECK(error_of([&](auto **t) {
              return heddle_type_struct(-1, lengths, displacements, types, t);
          }) == HEDDLE_ERR_COUNT);
}

TEST_CASE("constructors: null arrays, and none where none is needed", "[errors]")
{
    const int64_t one[] = {1};
    heddle_type *const types[] = {real};
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(1, nullptr, one, real, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(1, one, nullptr, real, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed(1, nullptr, one, real, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed_block(1, 1, nullptr, real, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed_block(1, 1, nullptr, real, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_struct(1, nullptr, one, types, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_struct(1, one, nullptr, types, t); }) ==
          HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) { return heddle_type_struct(1, one, one, nullptr, t); }) ==
          HEDDLE_ERR_ARG);

    heddle_type *type = nullptr;
    REQUIRE(heddle_type_indexed(0, nullptr, nullptr, real, &type) == HEDDLE_SUCCESS);
    Type first(type);
    CHECK(first.info().size == 0);
    REQUIRE(heddle_type_struct(0, nullptr, nullptr, nullptr, &type) == HEDDLE_SUCCESS);
    Type second(type);
    CHECK(second.info().extent == 0);
}

TEST_CASE("subarray: what does not lie inside its array", "[errors]")
{
    const auto error = [](std::vector<int64_t> sizes, std::vector<int64_t> subsizes,
                          std::vector<int64_t> starts, int order = HEDDLE_ORDER_C) {
        return error_of([&](auto **t) {
            return heddle_type_subarray(static_cast<int>(sizes.size()), sizes.data(),
                                        subsizes.data(), starts.data(), order, real, t);
        });
    };
    CHECK(error({4}, {5}, {0}) == HEDDLE_ERR_ARG);
    CHECK(error({4}, {2}, {3}) == HEDDLE_ERR_ARG);
    CHECK(error({4}, {2}, {-1}) == HEDDLE_ERR_ARG);
    CHECK(error({4, 4}, {2, 2}, {0, 3}) == HEDDLE_ERR_ARG);
    CHECK(error({4}, {huge}, {1}) == HEDDLE_ERR_ARG);
    CHECK(error({4}, {2}, {huge}) == HEDDLE_ERR_ARG);
    CHECK(error({4}, {2}, {1}, 7) == HEDDLE_ERR_ARG);
    CHECK(error({-4}, {2}, {1}) != HEDDLE_SUCCESS);
    CHECK(error({4}, {-2}, {1}) != HEDDLE_SUCCESS);
    const int64_t one[] = {1};
    CHECK(error_of([&](auto **t) {
              return heddle_type_subarray(0, one, one, one, HEDDLE_ORDER_C, real, t);
          }) == HEDDLE_ERR_ARG);
    CHECK(error_of([&](auto **t) {
              return heddle_type_subarray(1, nullptr, one, one, HEDDLE_ORDER_C, real, t);
          }) == HEDDLE_ERR_ARG);
}

TEST_CASE("sizes, extents and displacements beyond 63 bits", "[errors]")
{
    const int64_t one[] = {1, 1}, far[] = {huge - 7, 0}, apart[] = {-huge, huge},
                  long_blocks[] = {huge / 8, huge / 8};
    CHECK(error_of([&](auto **t) { return heddle_type_contiguous(huge, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(huge, huge, 1, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(3, 1, huge / 8, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(3, 1, -huge / 8, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_hvector(3, 1, huge / 2 + 9, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed(2, one, far, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed(2, one, apart, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(1, one, far, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(2, long_blocks, one, real, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    heddle_type *spread = nullptr;
    REQUIRE(heddle_type_resized(real, 0, huge / 4, &spread) == HEDDLE_SUCCESS);
    const int single[] = {1}, fifth[] = {5};
    CHECK(error_of([&](auto **t) {
              return heddle_type_indexed_int(1, single, fifth, spread, t);
          }) == HEDDLE_ERR_OVERFLOW);
    heddle_type_release(spread);
    CHECK(error_of([&](auto **t) { return heddle_type_resized(real, huge, 8, t); }) ==
          HEDDLE_ERR_OVERFLOW);
    const int64_t sizes[] = {huge / 4, 2}, subsizes[] = {1, 1}, starts[] = {0, 0};
    CHECK(error_of([&](auto **t) {
              return heddle_type_subarray(2, sizes, subsizes, starts, HEDDLE_ORDER_C, real, t);
          }) == HEDDLE_ERR_OVERFLOW);

    Type wide = Type::from([](auto **t) { return heddle_type_contiguous(huge / 64, real, t); },
                           "contiguous");
    wide.commit();
    int64_t a = 0, b = 0;
    CHECK(heddle_locate(huge / 2, wide.get(), 0, &a, &b) == HEDDLE_ERR_OVERFLOW);
    CHECK(heddle_pack(nullptr, huge / 2, wide.get(), 0, &a, 1, &b) == HEDDLE_ERR_OVERFLOW);
    CHECK(heddle_iov_len(huge / 2, wide.get(), 1, &a, &b) == HEDDLE_ERR_OVERFLOW);
}

TEST_CASE("constructors: types that were freed", "[errors]")
{
    Type type = gappy().commit();
    heddle_type *const freed = type.get(), *const members[] = {real, freed};
    type = Type();
    const int64_t one[] = {1, 1}, two[] = {0, 8};
    CHECK(error_of([&](auto **t) { return heddle_type_contiguous(1, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_vector(1, 1, 1, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_hvector(1, 1, 1, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed(1, one, one, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed(1, one, one, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_indexed_block(1, 1, one, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_hindexed_block(1, 1, one, freed, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_struct(2, one, two, members, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_resized(freed, 0, 8, t); }) ==
          HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) { return heddle_type_dup(freed, t); }) == HEDDLE_ERR_FREED);
    CHECK(error_of([&](auto **t) {
              return heddle_type_subarray(1, one, one, two, HEDDLE_ORDER_C, freed, t);
          }) == HEDDLE_ERR_FREED);
    CHECK(heddle_type_commit(freed) == HEDDLE_ERR_FREED);
    heddle_type_retain(freed);
    heddle_type_release(freed);
    CHECK(heddle_type_commit(freed) == HEDDLE_ERR_FREED);
    /* As many more may be freed. */
    for (int i = 0; i < 63; ++i)
        gappy();
    CHECK(heddle_type_commit(freed) == HEDDLE_ERR_FREED);
}

TEST_CASE("data calls: types that are null, freed or not committed", "[errors]")
{
    const Type type = gappy();
    Type gone = gappy().commit();
    heddle_type *const freed = gone.get();
    gone = Type();
    CHECK(type.info().committed == 0);
    CHECK(type.info().plan == HEDDLE_PLAN_NONE);
    double buffer[16] = {};
    std::byte packed[64];
    int64_t a = 0, b = 0;
    iovec list[4];
    size_t size = 0;
    for (heddle_type *each : {static_cast<heddle_type *>(nullptr), type.get(), freed}) {
        const int error = !each           ? HEDDLE_ERR_TYPE
                          : each == freed ? HEDDLE_ERR_FREED
                                          : HEDDLE_ERR_NOT_COMMITTED;
        CHECK(heddle_pack(buffer, 1, each, 0, packed, 64, &a) == error);
        CHECK(heddle_unpack(packed, 32, buffer, 1, each, 0, &a) == error);
        CHECK(heddle_copy(buffer, 1, each, buffer, 1, real, 0, 8, &a) == error);
        CHECK(heddle_copy(buffer, 1, real, buffer, 1, each, 0, 8, &a) == error);
        CHECK(heddle_locate(1, each, 0, &a, &b) == error);
        CHECK(heddle_count_elements(each, 8, &a, &b) == error);
        CHECK(heddle_bytes_of_elements(each, 1, &a) == error);
        CHECK(heddle_iov_len(1, each, 8, &a, &b) == error);
        CHECK(heddle_iov(buffer, 1, each, 0, list, 4, &a) == error);
        CHECK(heddle_iov_bytes(buffer, 1, each, 0, list, 4, 64, &a, &b) == error);
        CHECK(heddle_flatten(each, packed, 64) == error);
        CHECK(heddle_accumulate(buffer, 1, real, buffer, 1, each, HEDDLE_OP_SUM) == error);
        CHECK(heddle_pack_external(buffer, 1, each, packed, 64, &a) == error);
        CHECK(heddle_unpack_external(packed, 32, buffer, 1, each, &a) == error);
    }
    heddle_type_info info;
    for (heddle_type *each : {static_cast<heddle_type *>(nullptr), freed}) {
        const int error = each ? HEDDLE_ERR_FREED : HEDDLE_ERR_TYPE;
        CHECK(heddle_external_size(1, each, &a) == error);
        CHECK(heddle_flatten_size(each, &size) == error);
        CHECK(heddle_type_get_info(each, &info) == error);
        CHECK(heddle_type_describe(each, nullptr, 0, &size) == error);
    }
    CHECK(heddle_type_get_info(real, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_type_describe(real, nullptr, 0, nullptr) == HEDDLE_ERR_ARG);
}

TEST_CASE("structs of older and newer versions", "[errors]")
{
    const heddle_type *const type = real;
    struct Newer {
        heddle_type_info known;
        int64_t more = 7;
    } newer;
    newer.known.bytes = sizeof newer;
    REQUIRE(heddle_type_get_info(type, &newer.known) == HEDDLE_SUCCESS);
    CHECK(newer.known.bytes == sizeof newer);
    CHECK(newer.known.size == 8);
    CHECK(newer.known.word == 8);
    CHECK(newer.more == 0);

    heddle_type_info older;
    std::memset(static_cast<void *>(&older), 0x5a, sizeof older);
    const heddle_type_info untouched = older;
    older.bytes = offsetof(heddle_type_info, alignment);
    REQUIRE(heddle_type_get_info(type, &older) == HEDDLE_SUCCESS);
    CHECK(older.bytes == offsetof(heddle_type_info, alignment));
    CHECK(older.extent == 8);
    CHECK(older.true_extent == 8);
    CHECK(older.alignment == untouched.alignment);
    CHECK(older.word == untouched.word);

    older.bytes = sizeof older.bytes - 1;
    CHECK(heddle_type_get_info(type, &older) == HEDDLE_ERR_ARG);
}

TEST_CASE("data calls: counts, offsets, null buffers", "[errors]")
{
    const Type type = gappy().commit();
    double buffer[16] = {};
    std::byte packed[64];
    int64_t a = 0, b = 0;
    iovec list[4];
    CHECK(heddle_pack(buffer, -1, type.get(), 0, packed, 64, &a) == HEDDLE_ERR_COUNT);
    CHECK(heddle_unpack(packed, 32, buffer, -1, type.get(), 0, &a) == HEDDLE_ERR_COUNT);
    CHECK(heddle_copy(buffer, -1, type.get(), buffer, 1, real, 0, 8, &a) == HEDDLE_ERR_COUNT);
    CHECK(heddle_locate(-1, type.get(), 0, &a, &b) == HEDDLE_ERR_COUNT);
    CHECK(heddle_iov_len(-1, type.get(), 8, &a, &b) == HEDDLE_ERR_COUNT);
    CHECK(heddle_external_size(-1, type.get(), &a) == HEDDLE_ERR_COUNT);
    CHECK(heddle_accumulate(packed, 1, nullptr, buffer, -1, type.get(), HEDDLE_OP_SUM) ==
          HEDDLE_ERR_COUNT);

    for (const int64_t offset : {int64_t{-1}, int64_t{33}, huge}) {
        CHECK(heddle_pack(buffer, 1, type.get(), offset, packed, 64, &a) == HEDDLE_ERR_RANGE);
        CHECK(heddle_unpack(packed, 32, buffer, 1, type.get(), offset, &a) == HEDDLE_ERR_RANGE);
        CHECK(heddle_locate(1, type.get(), offset, &a, &b) == HEDDLE_ERR_RANGE);
        CHECK(heddle_iov_bytes(buffer, 1, type.get(), offset, list, 4, 64, &a, &b) ==
              HEDDLE_ERR_RANGE);
        CHECK(heddle_copy(buffer, 1, type.get(), buffer + 8, 1, type.get(), offset, 8, &a) ==
              HEDDLE_ERR_RANGE);
    }
    CHECK(heddle_copy(buffer, 1, type.get(), buffer, 1, real, 9, 8, &a) == HEDDLE_ERR_RANGE);
    CHECK(heddle_locate(1, type.get(), 32, &a, &b) == HEDDLE_ERR_RANGE);

    CHECK(heddle_pack(buffer, 1, type.get(), 0, packed, -1, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_pack(buffer, 1, type.get(), 0, nullptr, 64, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_pack(buffer, 1, type.get(), 0, packed, 64, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_unpack(nullptr, 32, buffer, 1, type.get(), 0, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_unpack(packed, -1, buffer, 1, type.get(), 0, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_locate(1, type.get(), 0, nullptr, &b) == HEDDLE_ERR_ARG);
    CHECK(heddle_count_elements(type.get(), -1, &a, &b) == HEDDLE_ERR_ARG);
    CHECK(heddle_count_elements(type.get(), 8, nullptr, &b) == HEDDLE_ERR_ARG);
    CHECK(heddle_bytes_of_elements(type.get(), -1, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_bytes_of_elements(type.get(), 1, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_bytes_of_elements(type.get(), huge, &a) == HEDDLE_ERR_OVERFLOW);
    CHECK(heddle_iov(buffer, 1, type.get(), 0, nullptr, 4, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_iov(buffer, 1, type.get(), 0, list, 4, nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_iov(buffer, 1, type.get(), -1, list, 4, &a) == HEDDLE_ERR_RANGE);
    CHECK(heddle_iov_bytes(buffer, 1, type.get(), 0, nullptr, 4, 64, &a, &b) == HEDDLE_ERR_ARG);
    CHECK(heddle_iov_len(1, type.get(), -1, &a, &b) == HEDDLE_ERR_ARG);
    CHECK(heddle_copy(buffer, 1, type.get(), buffer, 1, real, 0, -1, &a) == HEDDLE_ERR_ARG);
    CHECK(heddle_external_size(1, type.get(), nullptr) == HEDDLE_ERR_ARG);
}

TEST_CASE("flatten and unflatten: short, damaged, foreign bytes", "[errors]")
{
    const Type type = gappy().commit();
    size_t size = 0;
    REQUIRE(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
    std::vector<unsigned char> bytes(size);
    CHECK(heddle_flatten_size(type.get(), nullptr) == HEDDLE_ERR_ARG);
    CHECK(heddle_flatten(type.get(), nullptr, size) == HEDDLE_ERR_ARG);
    CHECK(heddle_flatten(type.get(), bytes.data(), size - 1) == HEDDLE_ERR_TRUNCATE);
    REQUIRE(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);

    CHECK(error_of([&](auto **t) { return heddle_unflatten(nullptr, size, t); }) == HEDDLE_ERR_ARG);
    CHECK(heddle_unflatten(bytes.data(), size, nullptr) == HEDDLE_ERR_ARG);
    for (size_t shorter = 0; shorter < size; ++shorter)
        CHECK(error_of([&](auto **t) { return heddle_unflatten(bytes.data(), shorter, t); }) ==
              HEDDLE_ERR_FORMAT);
    std::vector<unsigned char> longer = bytes;
    longer.resize(size + 8);
    CHECK(error_of([&](auto **t) { return heddle_unflatten(longer.data(), longer.size(), t); }) ==
          HEDDLE_ERR_FORMAT);

    /* One wrong byte anywhere: refused, or another valid type, but no crash or wrong code. */
    int refused = 0, other_version = 0;
    for (size_t at = 0; at < size; ++at)
        for (const int change : {1, 0x80, 0xff}) {
            std::vector<unsigned char> wrong = bytes;
            wrong[at] = static_cast<unsigned char>(wrong[at] ^ change);
            heddle_type *made = nullptr;
            const int error = heddle_unflatten(wrong.data(), size, &made);
            const Type owner(made);
            CHECK((error == HEDDLE_SUCCESS || error == HEDDLE_ERR_FORMAT ||
                   error == HEDDLE_ERR_VERSION || error == HEDDLE_ERR_NO_MEMORY));
            refused += error == HEDDLE_ERR_FORMAT;
            other_version += error == HEDDLE_ERR_VERSION;
        }
    CHECK(refused > 0);
    CHECK(other_version > 0);
}

TEST_CASE("unflatten: displacements that no type could have", "[errors]")
{
    /* Found by the fuzzer: each displacement fits, the distance between two does not. */
    constexpr int64_t mark = 0x123456789a;
    const Type type = oracle::build(*oracle::structure({1, 1}, {4, 4 + mark},
                                                       {oracle::predefined(HEDDLE_INT32),
                                                        oracle::predefined(HEDDLE_DOUBLE)}))
                          .commit();
    size_t size = 0;
    REQUIRE(heddle_flatten_size(type.get(), &size) == HEDDLE_SUCCESS);
    std::vector<char> bytes(size);
    REQUIRE(heddle_flatten(type.get(), bytes.data(), size) == HEDDLE_SUCCESS);
    int changed = 0;
    for (size_t at = 0; at + sizeof mark <= size; ++at) {
        if (std::memcmp(bytes.data() + at, &mark, sizeof mark) != 0)
            continue;
        const int64_t wrong = std::numeric_limits<int64_t>::min() + 4;
        std::memcpy(bytes.data() + at, &wrong, sizeof wrong);
        ++changed;
    }
    REQUIRE(changed >= 1);
    CHECK(error_of([&](auto **t) { return heddle_unflatten(bytes.data(), size, t); }) ==
          HEDDLE_ERR_FORMAT);
}

TEST_CASE("accumulate: operators and lengths", "[errors]")
{
    heddle_type *const text = heddle_type_predefined(HEDDLE_CHAR);
    heddle_type *const number = heddle_type_predefined(HEDDLE_INT64);
    double target[2] = {1, 2}, source[2] = {3, 4};
    CHECK(heddle_accumulate(source, 2, real, target, 2, real, HEDDLE_OP_BAND) == HEDDLE_ERR_OP);
    CHECK(heddle_accumulate(source, 2, real, target, 2, real, HEDDLE_OP_MAXLOC) == HEDDLE_ERR_OP);
    CHECK(heddle_accumulate(source, 2, real, target, 2, real, HEDDLE_OP_COUNT) == HEDDLE_ERR_OP);
    CHECK(heddle_accumulate(source, 16, text, target, 16, text, HEDDLE_OP_SUM) == HEDDLE_ERR_OP);
    CHECK(heddle_accumulate(source, 2, number, target, 2, real, HEDDLE_OP_SUM) != HEDDLE_SUCCESS);
    CHECK(heddle_accumulate(source, 2, real, target, 1, real, HEDDLE_OP_SUM) ==
          HEDDLE_ERR_TRUNCATE);
    CHECK(heddle_accumulate(source, 2, nullptr, target, 1, real, HEDDLE_OP_SUM) ==
          HEDDLE_ERR_TRUNCATE);
    CHECK(target[0] == 1);
    CHECK(target[1] == 2);
    CHECK(heddle_accumulate(source, -1, nullptr, target, 1, real, HEDDLE_OP_SUM) ==
          HEDDLE_ERR_COUNT);
    CHECK(heddle_accumulate(source, -1, real, target, 1, real, HEDDLE_OP_SUM) == HEDDLE_ERR_COUNT);
    CHECK(heddle_accumulate(source, huge / 4, nullptr, target, 1, real, HEDDLE_OP_SUM) ==
          HEDDLE_ERR_OVERFLOW);
    CHECK(heddle_accumulate(nullptr, 1, nullptr, target, 1, real, HEDDLE_OP_SUM) == HEDDLE_ERR_ARG);
    const Type mixed = oracle::build(*oracle::structure(
        {1, 1}, {0, 8}, {oracle::predefined(HEDDLE_INT64), oracle::predefined(HEDDLE_DOUBLE)}));
    Type committed = mixed;
    committed.commit();
    CHECK(heddle_accumulate(source, 1, committed.get(), target, 1, committed.get(),
                            HEDDLE_OP_SUM) != HEDDLE_SUCCESS);
    CHECK(heddle_accumulate(source, 1, nullptr, target, 1, committed.get(), HEDDLE_OP_SUM) ==
          HEDDLE_ERR_OP);
    const Type none =
        oracle::build(*oracle::contiguous(0, oracle::predefined(HEDDLE_DOUBLE))).commit();
    CHECK(heddle_accumulate(source, 1, nullptr, target, 1, none.get(), HEDDLE_OP_SUM) ==
          HEDDLE_ERR_TRUNCATE);
    CHECK(heddle_accumulate(source, 1, committed.get(), target, 1, committed.get(),
                            HEDDLE_OP_REPLACE) == HEDDLE_SUCCESS);
    CHECK(target[0] == 3);
    CHECK(target[1] == 4);
}
