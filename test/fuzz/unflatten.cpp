/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libFuzzer target: any bytes at all are safe to unflatten, and what comes out is a type like any
 * other.
 */
#include <heddle.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "unflatten fuzzer: does not hold: %s\n", what);
    abort();
}

#define REQUIRE(condition) require(condition, #condition)

heddle_type_info info_of(const heddle_type *type)
{
    heddle_type_info info{};
    REQUIRE(heddle_type_get_info(type, &info) == HEDDLE_SUCCESS);
    return info;
}

void check_info(const heddle_type_info &info)
{
    REQUIRE(info.size >= 0);
    REQUIRE(info.committed == 1);
    REQUIRE(info.plan != HEDDLE_PLAN_NONE);
    REQUIRE(info.alignment >= 1);
    REQUIRE(info.elements >= (info.size > 0) && info.elements <= info.size);
    REQUIRE(info.runs >= (info.size > 0) && info.runs <= info.size);
    REQUIRE(info.true_extent >= (info.size > 0));
    REQUIRE(info.size > 0 ? info.word >= 1 && info.word <= 16 : info.word == 0);
}

/* Runs by number, runs by byte and single bytes tell the same, inside the true bounds. */
void check_runs(const heddle_type *type, const heddle_type_info &info)
{
    constexpr int64_t most = 64;
    iovec runs[most], same[most];
    int64_t length = 0, bytes = 0, all = 0;
    REQUIRE(heddle_iov_len(1, type, info.size, &all, nullptr) == HEDDLE_SUCCESS);
    REQUIRE(all == info.runs);
    REQUIRE(heddle_iov(nullptr, 1, type, 0, runs, most, &length) == HEDDLE_SUCCESS);
    REQUIRE(length == std::min(most, info.runs));
    int64_t offset = 0;
    for (int64_t i = 0; i < length; ++i) {
        int64_t displ = 0, run = 0;
        REQUIRE(heddle_locate(1, type, offset, &displ, &run) == HEDDLE_SUCCESS);
        REQUIRE(displ == static_cast<int64_t>(reinterpret_cast<intptr_t>(runs[i].iov_base)));
        REQUIRE(run == static_cast<int64_t>(runs[i].iov_len));
        REQUIRE(displ >= info.true_lb && displ + run <= info.true_lb + info.true_extent);
        offset += run;
    }
    int64_t listed = 0;
    REQUIRE(heddle_iov_bytes(nullptr, 1, type, 0, same, length, offset, &listed, &bytes) ==
            HEDDLE_SUCCESS);
    REQUIRE(listed == length && bytes == offset);
    for (int64_t i = 0; i < length; ++i)
        REQUIRE(runs[i].iov_base == same[i].iov_base && runs[i].iov_len == same[i].iov_len);
    if (info.runs > 0) { /* the last one, by way of the search and not of the walk */
        REQUIRE(heddle_iov(nullptr, 1, type, info.runs - 1, runs, 1, &length) == HEDDLE_SUCCESS &&
                length == 1);
        int64_t displ = 0, run = 0;
        REQUIRE(heddle_locate(1, type, info.size - 1, &displ, &run) == HEDDLE_SUCCESS && run == 1);
        REQUIRE(displ == static_cast<int64_t>(reinterpret_cast<intptr_t>(runs[0].iov_base) +
                                              static_cast<intptr_t>(runs[0].iov_len) - 1));
    }
}

/* In memory of the true extent and not a byte more. */
void check_data(const heddle_type *type, const heddle_type_info &info)
{
    constexpr int64_t most = 1 << 16;
    if (info.size > most || info.true_extent > most)
        return;
    std::vector<unsigned char> memory(static_cast<size_t>(info.true_extent)),
        packed(static_cast<size_t>(info.size));
    for (size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<unsigned char>(i * 29 >> 1);
    const uintptr_t base =
        reinterpret_cast<uintptr_t>(memory.data()) - static_cast<uintptr_t>(info.true_lb);
    auto *const buffer = reinterpret_cast<void *>(base);
    int64_t actual = 0;
    REQUIRE(heddle_pack(buffer, 1, type, 0, packed.data(), info.size, &actual) == HEDDLE_SUCCESS);
    REQUIRE(actual == info.size);
    for (int64_t at = 0; at < info.size; at += 1 + info.size / 16) {
        int64_t displ = 0, run = 0;
        REQUIRE(heddle_locate(1, type, at, &displ, &run) == HEDDLE_SUCCESS);
        REQUIRE(packed[static_cast<size_t>(at)] ==
                memory[static_cast<size_t>(displ - info.true_lb)]);
    }
    /* Unpacking what was packed changes nothing, even where bytes overlap. */
    const std::vector<unsigned char> before = memory;
    REQUIRE(heddle_unpack(packed.data(), info.size, buffer, 1, type, 0, &actual) == HEDDLE_SUCCESS);
    REQUIRE(memory == before);
}

std::vector<unsigned char> flattened(const heddle_type *type)
{
    size_t size = 0;
    REQUIRE(heddle_flatten_size(type, &size) == HEDDLE_SUCCESS);
    std::vector<unsigned char> bytes(size);
    REQUIRE(heddle_flatten(type, bytes.data(), bytes.size()) == HEDDLE_SUCCESS);
    return bytes;
}

/* Once through flatten, a type stays as it is. */
void check_again(const heddle_type *type, const heddle_type_info &info)
{
    const std::vector<unsigned char> bytes = flattened(type);
    heddle_type *again = nullptr;
    REQUIRE(heddle_unflatten(bytes.data(), bytes.size(), &again) == HEDDLE_SUCCESS);
    const heddle_type_info same = info_of(again);
    REQUIRE(same.size == info.size && same.lb == info.lb && same.extent == info.extent);
    REQUIRE(same.true_lb == info.true_lb && same.true_extent == info.true_extent);
    REQUIRE(same.elements == info.elements && same.runs == info.runs && same.basic == info.basic);
    REQUIRE(flattened(again) == bytes);
    heddle_type_release(again);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    heddle_type *type = nullptr;
    if (heddle_unflatten(data, size, &type) != HEDDLE_SUCCESS) {
        REQUIRE(type == nullptr);
        return 0;
    }
    const heddle_type_info info = info_of(type);
    check_info(info);
    check_runs(type, info);
    check_data(type, info);
    check_again(type, info);
    char text[256];
    size_t length = 0;
    if (info.runs < 10000)
        REQUIRE(heddle_type_describe(type, text, sizeof text, &length) == HEDDLE_SUCCESS);
    heddle_type_release(type);
    return 0;
}
