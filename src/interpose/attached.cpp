// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/attached.hpp"

#include "interpose/shape.hpp"

#include <heddle.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <sys/uio.h>

namespace heddle::interpose {

namespace {

std::atomic<uint64_t> heard{0}; // counts

// Empty where one takes no part.
std::vector<Place> places_in(MPI_Comm comm)
{
    std::vector<Place> places;
    if (!has_met_peers())
        return places;
    int rank = 0, size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    for (int i = 0; i < size; ++i) {
        if (i != rank && partner_of(i, comm) == nobody)
            return {};
        places.push_back(place_of(i, comm));
    }
    return places;
}

} // namespace

void may_have_heard() { heard.fetch_add(1); }

// ---- the table ----------------------------------------------------------------------------------

std::unique_ptr<RegionTable> RegionTable::make(MPI_Comm comm, int &error)
{
    error = MPI_SUCCESS;
    std::vector<Place> places = places_in(comm);
    if (places.empty())
        return nullptr;
    // It must not be the program's error handler that hears of this window.
    MPI_Comm own = MPI_COMM_NULL;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    error = PMPI_Comm_split(comm, 0, rank, &own);
    if (error != MPI_SUCCESS)
        return nullptr;
    PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    void *base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    error = PMPI_Win_allocate(offset_of(most_regions), 1, MPI_INFO_NULL, own, &base, &win);
    std::unique_ptr<RegionTable> made;
    if (error == MPI_SUCCESS) {
        PMPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        error = PMPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        made.reset(new RegionTable(win, rank, std::move(places)));
    }
    const Header empty{0};
    if (error == MPI_SUCCESS)
        error = made->write(0, &empty, sizeof empty);
    PMPI_Barrier(own); // nobody reads before
    PMPI_Comm_free(&own);
    return error == MPI_SUCCESS ? std::move(made) : nullptr;
}

void RegionTable::free()
{
    PMPI_Win_unlock_all(win_);
    PMPI_Win_free(&win_);
}

MPI_Aint RegionTable::offset_of(int64_t slot)
{
    return static_cast<MPI_Aint>(sizeof(Header)) + slot * static_cast<MPI_Aint>(sizeof(Slot));
}

uint64_t RegionTable::sum_of(const Slot &slot)
{
    uint64_t sum = 0x9e3779b97f4a7c15; // of golden ratio: no slot of zeros is right
    for (const int64_t each : {slot.begin, slot.bytes, slot.copy}) {
        sum = (sum ^ static_cast<uint64_t>(each)) * 0xff51afd7ed558ccd;
        sum ^= sum >> 33;
    }
    return sum;
}

// By the MPI, to this process's own table: so it is right in both memory models.
int RegionTable::write(int64_t offset, const void *from, int bytes)
{
    const int error = PMPI_Put(from, bytes, MPI_BYTE, rank_, static_cast<MPI_Aint>(offset), bytes,
                               MPI_BYTE, win_);
    return error == MPI_SUCCESS ? PMPI_Win_flush(rank_, win_) : error;
}

int RegionTable::add(const Region &region)
{
    const std::lock_guard lock(mutex_);
    const auto overlaps = [&](const std::optional<Region> &each) {
        return each && each->begin < region.end() && region.begin < each->end();
    };
    const auto free_slot = std::find(own_.begin(), own_.end(), std::nullopt);
    if (std::any_of(own_.begin(), own_.end(), overlaps) || free_slot == own_.end())
        return MPI_ERR_RMA_ATTACH;
    Slot slot{region.begin, region.bytes, region.copy, 0};
    slot.sum = sum_of(slot);
    const int64_t number = free_slot - own_.begin();
    if (const int error = write(offset_of(number), &slot, sizeof slot); error != MPI_SUCCESS)
        return error;
    const Header header{std::max(own_slots_, number + 1)};
    if (const int error = write(0, &header, sizeof header); error != MPI_SUCCESS)
        return error;
    own_slots_ = header.slots;
    *free_slot = region;
    own_page().attachments.fetch_add(1);
    return MPI_SUCCESS;
}

int RegionTable::remove(int64_t begin)
{
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(own_.begin(), own_.end(),
                                    [&](const auto &each) { return each && each->begin == begin; });
    if (found == own_.end())
        return MPI_SUCCESS;
    found->reset();
    const Slot none{};
    const int error = write(offset_of(found - own_.begin()), &none, sizeof none);
    own_page().attachments.fetch_add(1);
    return error;
}

int RegionTable::read(int target, Regions &regions)
{
    struct Whole {
        Header header;
        std::array<Slot, most_regions> slots;
    };
    static_assert(offsetof(Whole, slots) == sizeof(Header));
    const auto whole = std::make_unique<Whole>();
    const auto get = [&](MPI_Aint from, MPI_Aint to) {
        const int bytes = static_cast<int>(to - from);
        const int error = PMPI_Get(reinterpret_cast<std::byte *>(whole.get()) + from, bytes,
                                   MPI_BYTE, target, from, bytes, MPI_BYTE, win_);
        return error == MPI_SUCCESS ? PMPI_Win_flush(target, win_) : error;
    };
    if (const int error = get(0, offset_of(slots_at_once)); error != MPI_SUCCESS)
        return error;
    const int64_t slots = std::clamp<int64_t>(whole->header.slots, 0, most_regions);
    if (slots > slots_at_once)
        if (const int error = get(offset_of(slots_at_once), offset_of(slots)); error != MPI_SUCCESS)
            return error;
    for (int64_t i = 0; i < slots; ++i) {
        const Slot &slot = whole->slots[static_cast<size_t>(i)];
        if (slot.bytes > 0 && slot.sum == sum_of(slot))
            regions.push_back({slot.begin, slot.bytes, slot.copy});
    }
    return MPI_SUCCESS;
}

std::shared_ptr<const Regions> RegionTable::of(int target, int &error)
{
    error = MPI_SUCCESS;
    const std::lock_guard lock(mutex_);
    const Page *const page = page_at(target);
    const uint64_t state = page ? page->attachments.load() : heard.load();
    const auto found = known_.find(target);
    if (found != known_.end() && found->second.state == state)
        return found->second.regions;
    Regions regions;
    if (target == rank_) {
        for (const std::optional<Region> &each : own_)
            if (each)
                regions.push_back(*each);
    } else if (!page || state != 0) {
        if (error = read(target, regions); error != MPI_SUCCESS)
            return nullptr;
    }
    Known known{state, std::make_shared<const Regions>(std::move(regions))};
    return known_.insert_or_assign(target, std::move(known)).first->second.regions;
}

const Page *RegionTable::page_at(int target) const
{
    if (target == rank_)
        return &own_page();
    if (target < 0 || static_cast<size_t>(target) >= places_.size())
        return nullptr;
    const Place place = places_[static_cast<size_t>(target)];
    return place == nobody ? nullptr : page_of(place);
}

// ---- addresses ----------------------------------------------------------------------------------

namespace {

struct Span {
    int64_t begin, end;
};

// Of all instances.
Span span_of(const Target<int64_t> &target)
{
    MPI_Count lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    PMPI_Type_get_extent_x(target.type, &lb, &extent);
    PMPI_Type_get_true_extent_x(target.type, &true_lb, &true_extent);
    const int64_t first = target.place + true_lb, last = first + (target.count - 1) * extent;
    return {std::min(first, last), std::max(first, last) + true_extent};
}

// A type that MPI may still use: it is freed where no callback can be under way.
struct OwnType {
    MPI_Datatype type;

    explicit OwnType(MPI_Datatype made) : type(made) {}
    OwnType(const OwnType &) = delete;
    OwnType &operator=(const OwnType &) = delete;
    ~OwnType() { free_type_later(type); }
};

// Data in several regions, or in one and beside it: a type of absolute addresses.
class Scattered {
public:
    Scattered(const Regions &regions, int64_t unit) : regions_(regions), unit_(unit) {}

    // False where it is no whole number of units, or more than MPI counts.
    bool add(int64_t at, int64_t bytes)
    {
        while (bytes > 0) {
            int64_t part = bytes, moved = 0;
            for (const Region &each : regions_)
                if (each.begin <= at && at < each.end()) {
                    part = std::min(part, each.end() - at);
                    moved = each.copy - each.begin;
                } else if (at < each.begin) {
                    part = std::min(part, each.begin - at);
                }
            if (part % unit_ != 0 || part / unit_ > most)
                return false;
            lengths_.push_back(static_cast<int>(part / unit_));
            places_.push_back(static_cast<MPI_Aint>(at + moved));
            at += part;
            bytes -= part;
        }
        return static_cast<int64_t>(lengths_.size()) <= most;
    }
    MPI_Datatype type(MPI_Datatype element) const
    {
        MPI_Datatype made = MPI_DATATYPE_NULL;
        PMPI_Type_create_hindexed(static_cast<int>(lengths_.size()), lengths_.data(),
                                  places_.data(), element, &made);
        if (made != MPI_DATATYPE_NULL)
            PMPI_Type_commit(&made);
        return made;
    }

private:
    static constexpr int64_t most = std::numeric_limits<int>::max();

    const Regions &regions_;
    const int64_t unit_;
    std::vector<int> lengths_;
    std::vector<MPI_Aint> places_;
};

int scatter(const Regions &regions, Target<int64_t> &target)
{
    const ShapePtr shape = shape_of(target.type);
    if (!shape || shape->is_of_gaps())
        return MPI_ERR_TYPE;
    int unit = 1;
    const bool is_mixed = shape->element() == MPI_DATATYPE_NULL;
    if (!is_mixed)
        PMPI_Type_size(shape->element(), &unit);
    Scattered all(regions, unit);
    constexpr int64_t at_a_time = 256;
    std::array<struct iovec, at_a_time> runs;
    int64_t total = 0;
    if (heddle_iov_len(target.count, shape->type(), target.count * shape->info().size, &total,
                       nullptr) != HEDDLE_SUCCESS)
        return MPI_ERR_TYPE;
    for (int64_t first = 0, found = 0; first < total; first += found) {
        if (heddle_iov(nullptr, target.count, shape->type(), first, runs.data(), at_a_time,
                       &found) != HEDDLE_SUCCESS)
            return MPI_ERR_TYPE;
        for (int64_t i = 0; i < found; ++i) {
            const struct iovec &run = runs[static_cast<size_t>(i)];
            const auto offset = static_cast<int64_t>(reinterpret_cast<intptr_t>(run.iov_base));
            if (!all.add(target.place + offset, static_cast<int64_t>(run.iov_len)))
                return MPI_ERR_TYPE;
        }
    }
    const MPI_Datatype made = all.type(is_mixed ? MPI_BYTE : shape->element());
    if (made == MPI_DATATYPE_NULL)
        return MPI_ERR_NO_MEM;
    target = {0, 1, made, std::make_shared<const OwnType>(made)};
    return MPI_SUCCESS;
}

} // namespace

int translate(const Regions &regions, Target<int64_t> &target)
{
    if (regions.empty() || target.count <= 0 || target.type == MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    const Span span = span_of(target);
    const auto found = std::find_if(regions.begin(), regions.end(), [&](const Region &each) {
        return each.begin < span.end && span.begin < each.end();
    });
    if (found == regions.end())
        return MPI_SUCCESS;
    if (span.begin < found->begin || found->end() < span.end)
        return scatter(regions, target);
    target.place += static_cast<MPI_Aint>(found->copy - found->begin);
    return MPI_SUCCESS;
}

} // namespace heddle::interpose
