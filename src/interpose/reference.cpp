// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/reference.hpp"

#include "engine/immortal.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace heddle::interpose {

// ---- sent ---------------------------------------------------------------------------------------

namespace {

class Outbox {
public:
    Outbox()
    {
        for (int slot = Page::most_slots; slot > 0; --slot)
            free_slots_.push_back(slot - 1);
    }

    std::mutex &mutex() { return mutex_; }

    // All these with the lock held.

    // The number that others know the piece's allocation by; or -1.
    int number_of(const heddle_piece &piece)
    {
        const auto known = numbers_.find(piece.allocation);
        if (known != numbers_.end())
            return known->second;
        if (numbers_.size() == Page::most_allocations)
            return -1;
        const auto number = static_cast<int>(numbers_.size());
        own_page().exports[static_cast<size_t>(number)] = {piece.exported, piece.offset};
        return numbers_[piece.allocation] = number;
    }
    // Takes a slot; or -1.
    int take_slot()
    {
        take_back_what_is_read();
        if (free_slots_.empty())
            return -1;
        const int slot = free_slots_.back();
        free_slots_.pop_back();
        state_of(slot).store(SlotState::sent, std::memory_order_relaxed);
        return slot;
    }
    void give_back(const std::optional<heddle_piece> &piece, int slot)
    {
        if (piece)
            heddle_piece_give_back(&*piece);
        free_slots_.push_back(slot);
    }
    void give_back_once_read(const std::optional<heddle_piece> &piece, int slot)
    {
        unread_.emplace_back(piece, slot);
    }

    static std::atomic<SlotState> &state_of(int slot)
    {
        return own_page().slots[static_cast<size_t>(slot)];
    }

private:
    void take_back_what_is_read()
    {
        std::erase_if(unread_, [this](const auto &each) {
            const bool is_read =
                state_of(each.second).load(std::memory_order_acquire) == SlotState::read;
            if (is_read)
                give_back(each.first, each.second);
            return is_read;
        });
    }

    std::mutex mutex_;
    std::map<uint64_t, int> numbers_; // by allocation
    std::vector<int> free_slots_;
    std::vector<std::pair<std::optional<heddle_piece>, int>> unread_;
};

Outbox &outbox() { return immortal<Outbox>(); }

// Whether the receiver has that allocation open. Otherwise it is asked to.
bool is_open_at(Place to, int allocation)
{
    const uint32_t bit = uint32_t{1} << allocation;
    const Page &its = *page_of(to);
    if (its.opened[static_cast<size_t>(own_place())].load(std::memory_order_acquire) & bit)
        return true;
    own_page().asked[static_cast<size_t>(to)].fetch_or(bit, std::memory_order_release);
    return false;
}

} // namespace

Reference::Reference(const heddle_piece &piece, int slot, int64_t bytes, int allocation, Place to)
    : piece_(piece),
      at_(piece.at),
      slot_(slot),
      to_(to),
      wire_(Envelope{magic(), bytes, piece.offset, own_place(), allocation, slot}.written())
{
}

Reference::Reference(int slot, Place to)
    : at_(own_page().letters[static_cast<size_t>(slot)].data()),
      slot_(slot),
      to_(to),
      wire_(
          Envelope{magic(), Page::letter_bytes, 0, own_place(), Envelope::in_page, slot}.written())
{
}

std::unique_ptr<Reference> Reference::make(int64_t bytes, const void *near, Place to)
{
    if (bytes < least_bytes || bytes > most_bytes || to == nobody)
        return nullptr;
    heddle_piece piece;
    const std::lock_guard lock(outbox().mutex());
    const int slot = outbox().take_slot();
    if (slot < 0)
        return nullptr;
    if (heddle_piece_take(bytes, near, &piece) != HEDDLE_SUCCESS) {
        outbox().give_back({}, slot);
        return nullptr;
    }
    const int allocation = outbox().number_of(piece);
    if (allocation < 0 || !is_open_at(to, allocation)) {
        outbox().give_back(piece, slot);
        return nullptr;
    }
    return std::unique_ptr<Reference>(new Reference(piece, slot, bytes, allocation, to));
}

std::unique_ptr<Reference> Reference::make_letter(Place to)
{
    if (to == nobody)
        return nullptr;
    const std::lock_guard lock(outbox().mutex());
    const int slot = outbox().take_slot();
    return std::unique_ptr<Reference>(slot < 0 ? nullptr : new Reference(slot, to));
}

// The receiver writes the slot before it says that it has looked.
bool Reference::may_be_probed() const
{
    return own_page().looking[static_cast<size_t>(to_)].load() != 0 ||
           Outbox::state_of(slot_).load() == SlotState::probed;
}

Reference::~Reference()
{
    const std::lock_guard lock(outbox().mutex());
    if (is_sent_)
        outbox().give_back_once_read(piece_, slot_);
    else
        outbox().give_back(piece_, slot_);
}

// ---- received -----------------------------------------------------------------------------------

namespace {

// What is open of others' memory, by who and which.
struct Inbox {
    struct Opened {
        heddle_import *import;
        int64_t offset; // that the import begins at
    };
    std::mutex mutex;
    std::map<std::pair<Place, int>, Opened> all;
    std::array<uint32_t, most_places> tried{}; // allocations, by place
};

Inbox &inbox() { return immortal<Inbox>(); }

// With the lock held.
void open(Place owner, int allocation, const heddle_buffer &near)
{
    const Export &its_export = page_of(owner)->exports[static_cast<size_t>(allocation)];
    heddle_import *import = nullptr;
    if (heddle_import_open(&its_export.exported, &near, &import) != HEDDLE_SUCCESS)
        return;
    inbox().all[{owner, allocation}] = {import, its_export.offset};
    own_page().opened[static_cast<size_t>(owner)].fetch_or(uint32_t{1} << allocation,
                                                           std::memory_order_release);
}

} // namespace

void import_what_is_asked_for(const Data &near)
{
    const std::lock_guard lock(inbox().mutex);
    const auto own = static_cast<size_t>(own_place());
    for (Place owner = 0; owner < place_count(); ++owner) {
        const Page *const its = page_of(owner);
        uint32_t &tried = inbox().tried[static_cast<size_t>(owner)];
        uint32_t left = its ? its->asked[own].load(std::memory_order_acquire) & ~tried : 0;
        if (left == 0)
            continue;
        const heddle_side side = near.side();
        heddle_buffer buffer{};
        buffer.size = sizeof buffer;
        if (heddle_buffer_describe(&side, near.bytes(), &buffer) != HEDDLE_SUCCESS)
            return;
        tried |= left;
        for (; left != 0; left &= left - 1)
            open(owner, std::countr_zero(left), buffer);
    }
}

void release_imports()
{
    const std::lock_guard lock(inbox().mutex);
    for (const auto &[which, opened] : inbox().all)
        heddle_import_release(opened.import);
    inbox().all.clear();
}

namespace {

std::atomic<SlotState> &state_of(const Envelope &envelope)
{
    return page_of(envelope.sender)->slots[static_cast<size_t>(envelope.slot)];
}

std::atomic<uint32_t> &look_at(Place sender)
{
    return page_of(sender)->looking[static_cast<size_t>(own_place())];
}

} // namespace

Looking::Looking(Place sender) : sender_(sender) { look_at(sender_).store(1); }
Looking::~Looking() { look_at(sender_).store(0); }

void note_probed(const Envelope &envelope)
{
    if (!envelope.is_in_chunks())
        state_of(envelope).store(SlotState::probed);
}
void note_received(const Envelope &envelope)
{
    if (!envelope.is_in_chunks())
        state_of(envelope).store(SlotState::sent);
}

Reading::Reading(const Envelope &envelope) : envelope_(envelope) {}

void *Reading::at() const
{
    if (envelope_.allocation == Envelope::in_page)
        return page_of(envelope_.sender)->letters[static_cast<size_t>(envelope_.slot)].data();
    const std::lock_guard lock(inbox().mutex);
    const auto found = inbox().all.find({envelope_.sender, envelope_.allocation});
    if (found == inbox().all.end())
        return nullptr;
    const Inbox::Opened &opened = found->second;
    return static_cast<std::byte *>(heddle_import_address(opened.import)) + envelope_.offset -
           opened.offset;
}

Reading::~Reading() { state_of(envelope_).store(SlotState::read, std::memory_order_release); }

} // namespace heddle::interpose
