// SPDX-License-Identifier: BSD-3-Clause
// What goes by the MPI in the place of a message's data, where the data take another way.
#pragma once

#include "interpose/peers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::interpose {

struct Envelope {
    Magic magic;
    int64_t bytes;      // of the message
    int64_t offset;     // in the sender's allocation; of data in chunks: the bytes of each
    int32_t sender;     // its place; of data in chunks: its rank in MPI_COMM_WORLD
    int32_t allocation; // the sender's, or one of the following
    int32_t slot;       // in the sender's page; of data in chunks: their tag

    // The data lie in the sender's page (reference.hpp).
    static constexpr int32_t in_page = -1;
    // The data come in chunks (chunks.hpp).
    static constexpr int32_t in_chunks = -2;
    bool is_in_chunks() const { return allocation == in_chunks; }

    // As it travels. Few other messages have an odd length: what is probed for and has this one
    // must be looked at.
    static constexpr int64_t wire_bytes = 51;
    using Wire = std::array<std::byte, wire_bytes>;
    Wire written() const;
    static Envelope read(const std::byte *wire);
    bool is_one() const;
};
static_assert(sizeof(Envelope) <= Envelope::wire_bytes);
static_assert(Page::letter_bytes == Envelope::wire_bytes);

} // namespace heddle::interpose
