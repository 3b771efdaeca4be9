// SPDX-License-Identifier: BSD-3-Clause
// Slots: words by which two processes of a node agree on what becomes of a message. Each step is
// one compare-and-swap, so that neither waits for the other. The slots of a process lie in memory
// that other processes map. They serve two protocols:
//
//   get  The sender's slot says whether its data can be read. The receiver reads, and then marks
//        the slot done, which tells that what it read was right. The sender frees the slot to have
//        its memory back.
//   RTR  "Ready to receive": the receiver fills a slot at the sender, with the place of its buffer,
//        under the name of the message before the one that it waits for. The sender marks it busy,
//        writes, and marks it done.
#pragma once

#include "gpu/core/handle.hpp"
#include "pipeline/wire.hpp"

#include <atomic>
#include <cstddef>
#include <initializer_list>

namespace heddle::pipeline {

enum class SlotState : uint8_t {
    none,     // free, or another message's
    filling,  // get: its data are being packed; RTR: its record is being written
    open,     // get: can be read; RTR: can be claimed
    busy,     // get: is being read, and can still be withdrawn; RTR: its sender writes the buffer
    done,     // the data were read, or written
    failed,   // RTR: anything may be in the buffer, and nobody writes any more
    abandoned // RTR: nobody waits for it any more: its sender frees it
};

constexpr size_t most_flattened = 384;

// But for the handle, and for types, it is one cache line.
struct alignas(64) RtrRecord {
    uint64_t word;    // its slot
    uint64_t process; // the receiver's
    int64_t capacity; // packed bytes of its buffer
    MemoryHandle at;  // of the memory that these lie in
    int64_t span;     // bytes of that
    // Of a buffer that is not dense: `count` instances of a flattened type, `shift` bytes behind
    // the beginning of that memory.
    int64_t shift;
    int64_t count;
    size_t flattened; // bytes of `type`; 0: it is dense
    unsigned char type[most_flattened];
};
static_assert(offsetof(RtrRecord, at) + offsetof(MemoryHandle, key) <= 64);

struct Slots {
    static constexpr uint16_t gets = 8190;
    static constexpr uint16_t rtrs = 64;

    uint64_t magic;
    uint64_t process;
    uint64_t get[gets];
    RtrRecord rtr[rtrs]; // by the name of the message that they follow
};

// This process's; null where there can be none, as in a forked child, which has its parent's, or
// none now, for want of memory or descriptors. They stay until the process ends.
Slots *own_slots();
// Of a process of this node, this one included; null where they cannot be seen, or not now.
Slots *slots_of(uint64_t process);

inline std::atomic_ref<uint64_t> shared_word(uint64_t &word)
{
    static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);
    return std::atomic_ref(word);
}

// One word, under a message's name. Names do not come again: so nobody mistakes a slot for that of
// a later message.
class Slot {
public:
    static constexpr int state_bits = 3; // the lowest; above them is the name

    Slot() = default;
    Slot(uint64_t *word, uint64_t message) : word_(word), name_(message << state_bits) {}

    explicit operator bool() const { return word_ != nullptr; }
    uint64_t *word() const { return word_; }
    // None where there is no slot.
    SlotState state() const;
    // False where it is not `from`. To `none`: frees it. From `none`: takes it.
    bool change(SlotState from, SlotState to) const;
    // The same where it is one of those.
    bool change(std::initializer_list<SlotState> from, SlotState to) const;
    void set(SlotState to) const;

private:
    uint64_t with(SlotState state) const
    {
        return state == SlotState::none ? 0 : name_ | static_cast<uint64_t>(state);
    }

    uint64_t *word_ = nullptr;
    uint64_t name_ = 0;
};

// ---- get ----

// One that was withdrawn may be another message's by now.
struct FreeSlot {
    void operator()(const Slot &slot) const
    {
        static_cast<void>(
            slot.change({SlotState::filling, SlotState::open, SlotState::busy, SlotState::done},
                        SlotState::none));
    }
};

// The sender's end. What is neither done nor withdrawn can be read until this goes.
class GetSlot : public gpu::Owned<Slot, FreeSlot> {
public:
    GetSlot() = default;
    // Without a number where all are in use, or no memory can be shared.
    GetSlot(uint64_t message, SlotState state);

    // How the receiver finds it; 0: there is none.
    uint16_t number() const;
    const Slot *operator->() const { return &value_; }
};

// The receiver's end: null where it cannot be seen.
Slot find_get_slot(uint64_t process, uint16_t number, uint64_t message);

// ---- RTR: the receiver ----

// For the message that `sender`, another process, sends after `after`, if it has no more bytes than
// the buffer. False where the sender's slots cannot be seen, or the one is in use. Of the record
// all is read but its slot.
bool post_rtr(uint64_t sender, uint64_t after, const RtrRecord &its);
// One that was posted; null: none was.
Slot find_rtr(uint64_t sender, uint64_t after);
// Nobody waits for it any more: it is freed now, or will be once nobody writes. Null is ignored.
void end_rtr(const Slot &rtr);
// The same once nobody writes, or after the time-out.
void end_rtr_unwritten(const Slot &rtr);

// ---- RTR: the sender ----

// Whether there is one for what this process sends after `after`.
bool is_rtr_open(uint64_t after);
// It will be asked for: it comes from another processor's cache.
void fetch_rtr(uint64_t after);
// The one for what follows `after`, if it is for `bytes` bytes: the caller alone writes there until
// it leaves it. Null: there is none.
Slot claim_rtr(uint64_t after, int64_t bytes);
inline const RtrRecord &record_of(const Slot &claimed)
{
    return *reinterpret_cast<const RtrRecord *>(claimed.word());
}
// Done, failed, or open: somebody else may use it after all.
void leave_rtr(const Slot &claimed, SlotState as);
// All of a receiver that has died, and so cannot end them itself.
void end_rtrs_of(uint64_t process);

} // namespace heddle::pipeline
