/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that is exported and opened without a message, and moves to and from it. Within one
 * process: test/mpi/device has several.
 */
#include "two.hpp"

#include <algorithm>
#include <cstdlib>

using namespace pipeline_test;

namespace {

constexpr gpu::Place device0{gpu::Kind::device, 0}, device1{gpu::Kind::device, 1}, pageable{};
constexpr size_t bytes = 10000;

heddle_side side_of(void *at) { return {at, bytes, heddle_type_predefined(HEDDLE_BYTE), 0}; }

heddle_buffer described(const gpu::Memory &memory)
{
    heddle_buffer buffer{};
    buffer.size = sizeof buffer;
    const heddle_side side = side_of(memory.at());
    REQUIRE(heddle_buffer_describe(&side, bytes, &buffer) == HEDDLE_SUCCESS);
    return buffer;
}

std::vector<char> read(const gpu::Memory &memory)
{
    std::vector<char> found(bytes);
    memory.read(0, found.data(), bytes);
    return found;
}

} // namespace

TEST_CASE("device memory alone is exported", "[remote]")
{
    const Switched on("reset");
    const gpu::Memory device(device0, bytes), host(pageable, bytes);
    heddle_exported exported;
    CHECK(heddle_export(device.at(), bytes, &exported) == HEDDLE_SUCCESS);
    CHECK(heddle_export(device.at() + 100, bytes - 100, &exported) == HEDDLE_SUCCESS);
    CHECK(heddle_export(host.at(), bytes, &exported) == HEDDLE_ERR_BUFFER);
    CHECK(heddle_export(device.at(), int64_t{1} << 40, &exported) == HEDDLE_ERR_BUFFER);
    CHECK(heddle_export(nullptr, bytes, &exported) == HEDDLE_ERR_ARG);
    CHECK(heddle_export(device.at(), 0, &exported) == HEDDLE_ERR_ARG);
    CHECK(heddle_export(device.at(), bytes, nullptr) == HEDDLE_ERR_ARG);
    heddle_import *import = nullptr;
    CHECK(heddle_import_open(nullptr, nullptr, &import) == HEDDLE_ERR_ARG);
    CHECK(heddle_import_open(&exported, nullptr, nullptr) == HEDDLE_ERR_ARG);
    heddle_import_release(nullptr);
}

TEST_CASE("a device that exports nothing says so", "[remote]")
{
    const Switched on("reset fail=export_memory:1+");
    const gpu::Memory device(device0, bytes);
    heddle_exported exported;
    CHECK(heddle_export(device.at(), bytes, &exported) == HEDDLE_ERR_BUFFER);
}

TEST_CASE("what is open is read and written", "[remote]")
{
    const Switched on("reset");
    for (const gpu::Place place : {device0, device1, pageable}) {
        const gpu::Memory there(device0, bytes), here(place, bytes);
        std::vector<char> first(bytes), second(bytes);
        for (size_t i = 0; i < bytes; ++i)
            first[i] = static_cast<char>(i % 97), second[i] = static_cast<char>(i % 89);
        heddle_exported exported;
        heddle_import *import = nullptr;
        REQUIRE(heddle_export(there.at(), bytes, &exported) == HEDDLE_SUCCESS);
        const heddle_buffer buffer = described(here);
        REQUIRE(heddle_import_open(&exported, &buffer, &import) == HEDDLE_SUCCESS);
        REQUIRE(heddle_import_address(import) == there.at());
        for (const bool unpacks : {false, true}) {
            here.write(0, first.data(), bytes);
            there.write(0, second.data(), bytes);
            const heddle_packing packing{
                &buffer, nullptr, bytes, unpacks, side_of(heddle_import_address(import)),
                import,  nullptr};
            heddle_request *request = nullptr;
            REQUIRE(heddle_packing_begin(&packing, 1, &request) == HEDDLE_SUCCESS);
            REQUIRE(heddle_wait(&request) == HEDDLE_SUCCESS);
            CHECK(read(here) == (unpacks ? second : first));
            CHECK(read(there) == (unpacks ? second : first));
        }
        heddle_import_release(import);
    }
}

TEST_CASE("pieces of the pool are exported", "[remote]")
{
    const Switched on("reset");
    const gpu::Memory device(device0, bytes), host(pageable, bytes);
    heddle_piece first, second;
    heddle_import *import = nullptr;
    const heddle_buffer buffer = described(device);
    REQUIRE(heddle_piece_take(bytes, device.at(), &first) == HEDDLE_SUCCESS);
    REQUIRE(heddle_piece_take(bytes, device.at(), &second) == HEDDLE_SUCCESS);
    CHECK(first.allocation > 0);
    CHECK(first.allocation == second.allocation);
    CHECK(static_cast<char *>(second.at) - static_cast<char *>(first.at) ==
          second.offset - first.offset);
    CHECK(std::abs(second.offset - first.offset) >= static_cast<int64_t>(bytes));
    REQUIRE(heddle_import_open(&second.exported, &buffer, &import) == HEDDLE_SUCCESS);
    CHECK(heddle_import_address(import) == second.at);
    heddle_import_release(import);
    heddle_piece_give_back(&second);
    heddle_piece again;
    REQUIRE(heddle_piece_take(bytes, device.at(), &again) == HEDDLE_SUCCESS);
    CHECK(again.at == second.at);
    heddle_piece_give_back(&again);
    heddle_piece_give_back(&first);
    CHECK(heddle_piece_take(bytes, host.at(), &first) == HEDDLE_ERR_BUFFER);
    CHECK(heddle_piece_take(0, device.at(), &first) == HEDDLE_ERR_ARG);
    CHECK(heddle_piece_take(bytes, nullptr, &first) == HEDDLE_ERR_ARG);
    CHECK(heddle_piece_take(bytes, device.at(), nullptr) == HEDDLE_ERR_ARG);
    heddle_piece_give_back(nullptr);
}

/* HEDDLE_SLAB_LIMIT is 16 MiB. */
TEST_CASE("inside: little staging memory", "[.][inside]")
{
    const Switched on("reset");
    const gpu::Memory device(device0, bytes);
    heddle_piece large, small;
    CHECK(heddle_piece_take(64 << 20, device.at(), &large) == HEDDLE_ERR_NO_MEMORY);
    REQUIRE(heddle_piece_take(12 << 20, device.at(), &large) == HEDDLE_SUCCESS);
    CHECK(heddle_piece_take(bytes, device.at(), &small) == HEDDLE_ERR_NO_MEMORY);
    heddle_piece_give_back(&large);
    REQUIRE(heddle_piece_take(bytes, device.at(), &small) == HEDDLE_SUCCESS);
    CHECK(small.at == large.at);
    heddle_piece_give_back(&small);
}

TEST_CASE("a long piece is within the limit from the first on, and a larger one serves", "[remote]")
{
    setenv("HEDDLE_SLAB_LIMIT", "16M", 1);
    CHECK(run_inside("inside: little staging memory") == 0);
    unsetenv("HEDDLE_SLAB_LIMIT");
}

TEST_CASE("host memory is shared until all have opened it", "[remote]")
{
    heddle_shared_name name;
    heddle_shared *made = nullptr, *opened = nullptr, *late = nullptr;
    REQUIRE(heddle_shared_make(5000, &name, &made) == HEDDLE_SUCCESS);
    REQUIRE(heddle_shared_open(&name, &opened) == HEDDLE_SUCCESS);
    auto *const here = static_cast<char *>(heddle_shared_address(made));
    auto *const there = static_cast<char *>(heddle_shared_address(opened));
    CHECK(here != there);
    CHECK(std::all_of(there, there + 5000, [](char c) { return c == 0; }));
    here[4999] = 7;
    CHECK(there[4999] == 7);
    heddle_shared_opened(made);
    CHECK(heddle_shared_open(&name, &late) == HEDDLE_ERR_FORMAT);
    heddle_shared_close(made);
    CHECK(there[4999] == 7);
    heddle_shared_close(opened);
    heddle_shared_close(nullptr);
    const heddle_shared_name none{};
    CHECK(heddle_shared_open(&none, &late) == HEDDLE_ERR_FORMAT);
    CHECK(heddle_shared_make(0, &name, &made) == HEDDLE_ERR_ARG);
    CHECK(heddle_shared_make(1, nullptr, &made) == HEDDLE_ERR_ARG);
    CHECK(heddle_shared_open(nullptr, &made) == HEDDLE_ERR_ARG);
}
