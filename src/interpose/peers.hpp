// SPDX-License-Identifier: BSD-3-Clause
// The processes of MPI_COMM_WORLD that take envelopes (HEDDLE_INTERPOSE_PEER). Those of one node
// each have a page of memory that the others have open. MPI_Init finds out who they are.
#pragma once

#include "interpose/handles.hpp"

#include <heddle_message.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle::interpose {

// Of a process on its node, counted in the order of MPI_COMM_WORLD.
using Place = int;
constexpr Place nobody = -1;
constexpr int most_places = 256;

// An allocation that others may open, by a piece of it.
struct Export {
    heddle_exported exported;
    int64_t offset; // of that piece
};

// What has become of a message of the page's owner.
enum class SlotState : uint32_t { sent, read, probed };

// A collective in which the page's owner failed (together.hpp).
struct Failure {
    uint64_t communicator, number, start;
    bool operator==(const Failure &) const = default;
};

struct Page {
    static constexpr int most_allocations = 32, most_slots = 1024, letter_bytes = 51;
    static constexpr uint32_t most_failures = 256;

    // By process: which of the owner's allocations it is asked to open, and which of its own the
    // owner has open. A bit for each.
    std::array<std::atomic<uint32_t>, most_places> asked, opened;
    // The owner's allocations. One is written before anybody is asked to open it.
    std::array<Export, most_allocations> exports;
    // Messages of the owner's, which their receivers write: `probed` from the probe that took one
    // out of the MPI's queue to its receive.
    std::array<std::atomic<SlotState>, most_slots> slots;
    // By process: 1 while it takes a message of the owner's for a probe. Until it has written the
    // slot, the owner cannot know whether a synchronous send of its own has really ended.
    std::array<std::atomic<uint32_t>, most_places> looking;
    // The owner's, each written before it is counted; and how many others have noted, to which the
    // owner belongs. After the last that has room, all its collectives are taken for failed.
    std::array<Failure, most_failures> failures;
    std::atomic<uint32_t> failure_count, failures_of_others;
    // How often the owner has attached device memory to dynamic windows, or detached it
    // (attached.hpp).
    std::atomic<uint64_t> attachments;
    // Messages so short that they lie here.
    std::array<std::array<std::byte, letter_bytes>, most_slots> letters;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

// By which all processes of the job know their envelopes.
using Magic = std::array<uint64_t, 2>;

// In MPI_Init: finds the others, if that is asked for. Every process of MPI_COMM_WORLD must be
// asked; after a minute without one of them, the job ends.
void meet_peers();
// In MPI_Finalize, once all operations are done: waits until nobody reads this process's memory,
// and calls `meanwhile` again and again.
void part_from_peers(void (*meanwhile)());

// Envelopes may come, and each receive has to look.
extern std::atomic<bool> peers_are_met;
inline bool has_met_peers() { return peers_are_met.load(std::memory_order_relaxed); }

// All these: only if has_met_peers().
const Magic &magic();
// MPI_COMM_WORLD's processes, for what no program sees. It returns errors.
MPI_Comm private_comm();
// `nobody` where no page is open.
Place own_place();
int place_count();
Page &own_page();
// Null where it could not be opened.
Page *page_of(Place place);
// Who is that rank of the communicator, or of an intercommunicator's other group. `nobody` where it
// is this process, takes no part, or has no page that is open here: it is on another node, or
// HEDDLE_PEER=value keeps them closed.
Place place_of(int rank, MPI_Comm comm);
// The same process's rank in MPI_COMM_WORLD, on any node. `nobody` where it is this process, or
// takes no part.
int partner_of(int rank, MPI_Comm comm);

} // namespace heddle::interpose
