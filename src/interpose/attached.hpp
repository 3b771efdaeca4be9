// SPDX-License-Identifier: BSD-3-Clause
// Device memory in dynamic windows. An origin gives an address of the target's, but the MPI has the
// public copy, which lies elsewhere. So each process tells the others where its copies are, in a
// table; and who accesses the memory reads the table of its target first.
//
//  target                                     origin
//    MPI_Win_attach: the copy, to the MPI
//    table: address, bytes, copy
//    "it is at ..." =====================>    (the program's own message)
//                                             MPI_Get of the table, MPI_Win_flush
//                                             MPI_Put and the like, into the copy
//
// The tables are a window of their own, which all lock for good and nobody excludes: its target
// calls nothing, and no epoch of the program's is touched.
//
// What was read stays true until the target attaches or detaches something. Processes of a node
// count that in their pages (peers.hpp). On other nodes the program tells its origins by calls of
// MPI. So such a table is read once behind each call that may have waited.
#pragma once

#include "interpose/peers.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heddle::interpose {

// Device memory that is attached, and its public copy.
struct Region {
    int64_t begin, bytes, copy; // addresses at the target

    int64_t end() const { return begin + bytes; }
};
using Regions = std::vector<Region>;

// So many may be attached to a window at a time.
constexpr int most_regions = 1024;

class RegionTable {
public:
    // In MPI_Win_create_dynamic. Null where a process of `comm` takes no part (peers.hpp), or the
    // MPI makes no such window: `error` tells.
    static std::unique_ptr<RegionTable> make(MPI_Comm comm, int &error);
    // In MPI_Win_free.
    void free();

    // This process's memory. They return error classes.
    int add(const Region &region);
    int remove(int64_t begin);

    // Null with an error: the MPI's table cannot be read.
    std::shared_ptr<const Regions> of(int target, int &error);

private:
    // A slot that is being written meanwhile is of no region that the program may access yet, or
    // still: the sum tells.
    struct Slot {
        int64_t begin, bytes, copy;
        uint64_t sum;
    };
    // The slots up to the last one that was ever taken.
    struct Header {
        int64_t slots;
    };
    struct Known {
        uint64_t state; // of the target, or of what this process has heard
        std::shared_ptr<const Regions> regions;
    };
    // Most programs attach few: these are read with the header.
    static constexpr int64_t slots_at_once = 15;

    RegionTable(MPI_Win win, int rank, std::vector<Place> places)
        : win_(win), rank_(rank), places_(std::move(places))
    {
    }
    // Null where it is not open.
    const Page *page_at(int target) const;
    int read(int target, Regions &regions);
    int write(int64_t offset, const void *from, int bytes);
    static uint64_t sum_of(const Slot &slot);
    static MPI_Aint offset_of(int64_t slot);

    MPI_Win win_;
    const int rank_;
    const std::vector<Place> places_; // by rank
    std::mutex mutex_;
    std::array<std::optional<Region>, most_regions> own_{};
    int64_t own_slots_ = 0;
    std::unordered_map<int, Known> known_; // by target
};

// Behind a call of MPI by which the program may have heard from other processes.
void may_have_heard();

// `count` instances of a type at a target.
template <class Int> struct Target {
    MPI_Aint place;
    Int count;
    MPI_Datatype type;
    std::shared_ptr<const void> keep; // what the type needs
};

// Where they lie for the MPI: data in `regions` lie in the copies. Returns an error class.
int translate(const Regions &regions, Target<int64_t> &target);

} // namespace heddle::interpose
