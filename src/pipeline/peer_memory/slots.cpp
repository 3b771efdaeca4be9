// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/peer_memory/slots.hpp"

#include "engine/immortal.hpp"
#include "pipeline/limits.hpp"
#include "pipeline/peer_memory/memory_file.hpp"
#include "pipeline/peer_memory/process.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace heddle::pipeline {

namespace {

constexpr const char *file_name = "heddle-slots";
constexpr const char *link_to_it = "/memfd:heddle-slots (deleted)";
constexpr uint64_t right_magic = 0x732d656c64646568; // "heddle-s"

Slots *slots_in(const SharedMemory &file) { return reinterpret_cast<Slots *>(file.at()); }

using File = std::unique_ptr<SharedMemory>;

// This process's own. Errors: as SharedMemory::make.
Error make_file(uint64_t process, File &found)
{
    auto file = std::make_unique<SharedMemory>();
    if (const Error e = file->make(sizeof(Slots), file_name))
        return e;
    slots_in(*file)->process = process;
    shared_word(slots_in(*file)->magic).store(right_magic, std::memory_order_release);
    found = std::move(file);
    return HEDDLE_SUCCESS;
}

// Null where it has none that can be seen. NO_MEMORY: there may be one.
Error find_file(uint64_t process, File &found)
{
    const pid_t number = number_of(process);
    std::error_code error;
    std::filesystem::directory_iterator files(path_of(number), error);
    for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
        std::error_code gone;
        if (std::filesystem::read_symlink(files->path(), gone) != link_to_it)
            continue;
        auto file = std::make_unique<SharedMemory>();
        const Error e = file->open(files->path(), sizeof(Slots));
        if (e == HEDDLE_ERR_NO_MEMORY)
            return e;
        if (e)
            continue;
        Slots &slots = *slots_in(*file);
        if (shared_word(slots.magic).load(std::memory_order_acquire) == right_magic &&
            slots.process == process)
            return found = std::move(file), HEDDLE_SUCCESS;
    }
    return is_shortage(error.value()) ? HEDDLE_ERR_NO_MEMORY : HEDDLE_SUCCESS;
}

struct Known {
    std::mutex mutex;
    std::map<uint64_t, File> files; // null: it has none, or it cannot be seen
};

// They are looked for once, or again where memory or descriptors had run out.
Slots *known_slots(uint64_t process, Error (*look)(uint64_t, File &))
{
    Known &known = immortal<Known>();
    const std::lock_guard lock(known.mutex);
    auto its = known.files.find(process);
    if (its == known.files.end()) {
        File file;
        if (look(process, file) == HEDDLE_ERR_NO_MEMORY)
            return nullptr;
        its = known.files.emplace(process, std::move(file)).first;
    }
    return its->second ? slots_in(*its->second) : nullptr;
}

// That of an RTR; null where there are no slots.
Slot rtr_in(Slots *slots, uint64_t after)
{
    return slots && after ? Slot(&slots->rtr[after % Slots::rtrs].word, after) : Slot();
}

// Its cache lines come at the same time, not one after the other.
void fetch_for_writing(const RtrRecord &record)
{
    for (size_t line = 0; line < offsetof(RtrRecord, type); line += 64)
        __builtin_prefetch(reinterpret_cast<const char *>(&record) + line, 1);
}

} // namespace

// ---- slots ----

Slots *own_slots()
{
    static const uint64_t process = process_id().process;
    static std::atomic<Slots *> own{nullptr};
    if (process != process_id().process)
        return nullptr;
    Slots *slots = own.load(std::memory_order_acquire);
    if (!slots)
        own.store(slots = known_slots(process, make_file), std::memory_order_release);
    return slots;
}

Slots *slots_of(uint64_t process)
{
    return process == process_id().process ? own_slots() : known_slots(process, find_file);
}

SlotState Slot::state() const
{
    if (!word_)
        return SlotState::none;
    const uint64_t word = shared_word(*word_).load(std::memory_order_acquire);
    const uint64_t state = word ^ name_;
    return state <= static_cast<uint64_t>(SlotState::abandoned) ? static_cast<SlotState>(state)
                                                                : SlotState::none;
}

bool Slot::change(SlotState from, SlotState to) const
{
    assert(word_);
    uint64_t expected = with(from);
    return shared_word(*word_).compare_exchange_strong(expected, with(to),
                                                       std::memory_order_acq_rel);
}

bool Slot::change(std::initializer_list<SlotState> from, SlotState to) const
{
    return std::any_of(from.begin(), from.end(), [&](SlotState each) { return change(each, to); });
}

void Slot::set(SlotState to) const
{
    shared_word(*word_).store(with(to), std::memory_order_release);
}

// ---- get ----

// What was in use last is still in the caches, and likely to be free.
GetSlot::GetSlot(uint64_t message, SlotState state)
{
    static std::atomic<size_t> last{0};
    Slots *const slots = own_slots();
    if (!slots)
        return;
    const size_t first = last.load(std::memory_order_relaxed);
    for (size_t i = 0; i < Slots::gets && !value_; ++i) {
        const size_t at = (first + i) % Slots::gets;
        const Slot slot(&slots->get[at], message);
        if (!slot.change(SlotState::none, state))
            continue;
        last.store(at, std::memory_order_relaxed);
        value_ = slot;
    }
}

uint16_t GetSlot::number() const
{
    return value_ ? static_cast<uint16_t>(value_.word() - own_slots()->get + 1) : uint16_t{0};
}

Slot find_get_slot(uint64_t process, uint16_t number, uint64_t message)
{
    Slots *const slots = number == 0 || number > Slots::gets ? nullptr : slots_of(process);
    return slots ? Slot(&slots->get[number - 1], message) : Slot();
}

// ---- RTR: the receiver ----

bool post_rtr(uint64_t sender, uint64_t after, const RtrRecord &its)
{
    const Slot slot = sender == process_id().process ? Slot() : rtr_in(slots_of(sender), after);
    if (!slot)
        return false;
    auto &record = *reinterpret_cast<RtrRecord *>(slot.word());
    fetch_for_writing(record);
    if (!slot.change(SlotState::none, SlotState::filling))
        return false;
    std::memcpy(&record.process, &its.process,
                offsetof(RtrRecord, type) - offsetof(RtrRecord, process) + its.flattened);
    slot.set(SlotState::open);
    return true;
}

Slot find_rtr(uint64_t sender, uint64_t after)
{
    const Slot slot = rtr_in(slots_of(sender), after);
    return slot.state() == SlotState::none ? Slot() : slot;
}

// A sender may claim it and give it back meanwhile.
void end_rtr(const Slot &rtr)
{
    for (int tries = 0; rtr && tries < 4; ++tries)
        if (rtr.change({SlotState::open, SlotState::done, SlotState::failed}, SlotState::none) ||
            rtr.change(SlotState::busy, SlotState::abandoned)) // its sender does the rest
            return;
}

// Only what is no longer open can be waited for: an open one may be claimed at any moment, and one
// that is claimed given back.
void end_rtr_unwritten(const Slot &rtr)
{
    const auto until = std::chrono::steady_clock::now() + lost_sender_timeout;
    while (rtr && !rtr.change(SlotState::open, SlotState::none) && rtr.state() == SlotState::busy &&
           std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    end_rtr(rtr);
}

// ---- RTR: the sender ----

void fetch_rtr(uint64_t after) { __builtin_prefetch(rtr_in(own_slots(), after).word(), 1); }

bool is_rtr_open(uint64_t after) { return rtr_in(own_slots(), after).state() == SlotState::open; }

Slot claim_rtr(uint64_t after, int64_t bytes)
{
    const Slot slot = rtr_in(own_slots(), after);
    if (!slot || !slot.change(SlotState::open, SlotState::busy))
        return {};
    if (record_of(slot).capacity >= bytes)
        return slot;
    leave_rtr(slot, SlotState::open);
    return {};
}

void leave_rtr(const Slot &claimed, SlotState as)
{
    if (!claimed.change(SlotState::busy, as))
        claimed.set(SlotState::none); // it was abandoned
}

// Where one is being filled the record may still be the one before.
void end_rtrs_of(uint64_t process)
{
    Slots *const slots = own_slots();
    for (int i = 0; slots && i < Slots::rtrs; ++i) {
        uint64_t &word = slots->rtr[i].word;
        const uint64_t found = shared_word(word).load(std::memory_order_acquire);
        const Slot rtr(&word, found >> Slot::state_bits);
        if (rtr.state() != SlotState::filling && record_of(rtr).process == process)
            end_rtr(rtr);
    }
}

} // namespace heddle::pipeline
