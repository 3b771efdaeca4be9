// SPDX-License-Identifier: BSD-3-Clause
// The messages of one progress context: who they are, what they wait for, and whom the transport
// talks about.
#pragma once

#include "pipeline/limits.hpp"
#include "pipeline/protocol/message.hpp"
#include "pipeline/protocol/rtr.hpp"
#include "pipeline/protocol/select.hpp"
#include "pipeline/protocol/transfers.hpp"
#include "pipeline/protocol/unexpected.hpp"

#include <array>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace heddle::pipeline {

class Port {
public:
    Port(const heddle_transport &transport, const Limits &limits);
    Port(const Port &) = delete;
    // Ends what runs.
    ~Port();

    // ---- for the C API ----

    // Takes a message over, with room to watch it.
    template <class M> M &add(std::unique_ptr<M> message)
    {
        M &added = *message;
        if (watched_.capacity() <= messages_.size())
            watched_.reserve(2 * (messages_.size() + 1));
        messages_.emplace(added.id(), std::move(message));
        return added;
    }
    void begin(std::unique_ptr<Receiver> message);
    Error progress(int &events);
    void sent(void *token, Error error);
    // Whose message the token's is; null: nobody's any more.
    const void *peer_of(const void *token) const;
    Error arrived(const Header &header, const void *data, size_t bytes);
    Error place(const Header &header, size_t bytes, void **where, void **token);
    void lost(const void *peer, Error error);
    Error abandon(uint64_t message, Error error);
    // The oldest that was not answered; null where there is none.
    const Sender *unmatched() const;
    const int *active() const { return &active_; }
    // To be called where anything may have happened.
    void update_active();
    // A get waits for its receiver. Then others are not worth one: many do better packed in few
    // launches (H200, 64 of 1 KiB: 2.4 us each, read where they lie 4).
    bool get_runs() const;

    // ---- for messages ----

    const Limits &limits() const { return limits_; }
    Transfers &transfers() { return transfers_; }
    Peer &peer(const void *peer) { return peers_[peer]; }
    Unexpected &unexpected() { return unexpected_; }
    RemoteTypes &remote_types() { return remote_types_; }
    Staging &receiving() { return staging_[0]; }
    Staging &sending(Mode mode) { return staging_[1 + static_cast<size_t>(mode)]; }
    // For chunks of messages that may never be received. They are counted apart, so that they are
    // not in the way of others (where the process's slab_limit has room for both).
    Staging &early() { return staging_.back(); }

    // Calls the message's look() in each progress, until that returns false. Each look takes a
    // while: so only some are watched. Returns the message.
    template <class M> M &watch(M &message)
    {
        watched_.push_back(&message);
        return message;
    }
    bool can_watch() const { return watched_.size() < most_watched; }
    // Whether a send may wait for its RTR still. Those that begin between two progresses have this
    // time together.
    bool may_wait_for_rtr(Message::Clock::duration timeout);
    // Nothing goes on but what waits for the other end.
    bool is_quiet() const { return watched(true) == 0 && transfers_.empty(); }
    // In look(): nothing but that message can go on before the transport reports something. So it
    // may take its time.
    bool waits_for_one() const { return waits_for_one_; }
    // The message that this very port sends, if it is of this process. It stays as long as somebody
    // moves it.
    Sender *find_own(uint64_t message, uint64_t process) const;
    // The message is to advance.
    void ready(Message &message);
    // The caller hears of the end of its message before that comes.
    void notify(const Ending &ending) { notices_.push_back(ending); }
    // The message has ended, and goes after this progress.
    void end(Message &message);
    // A header of a message, or of none (0). With it the bytes of a chunk, which may go at once if
    // `done`; otherwise the message hears of it.
    Error send(void *peer, uint64_t message, const Header &header, const void *data = nullptr,
               Chunk *chunk = nullptr, bool *done = nullptr);

private:
    // What the transport is doing for a message.
    struct Errand {
        uint64_t message;
        Chunk *chunk;    // null: a header alone
        uint64_t pushed; // or what is placed of a message that nobody has asked for
        std::list<Errand>::iterator self;
    };

    // A peer that is gone; null: all are.
    struct Loss {
        const void *peer;
        Error error;
    };

    static constexpr size_t most_watched = 64;

    // Senders or receivers, without those whose callers were told already.
    size_t watched(bool senders) const;
    Errand &new_errand(uint64_t message, Chunk *chunk, uint64_t pushed = 0);
    Message *find(uint64_t id) const;
    Sender *find_sender(uint64_t id) const;
    // Carries out what concerns a message; an error ends it.
    template <class F> Error carry_out(Message &message, F &&what);
    // The same where nobody else is to hear of that.
    template <class F> void with(Message &message, F &&what)
    {
        static_cast<void>(carry_out(message, what));
    }
    int advance_ready();
    int notify_endings();
    int look_at_slots();
    void see_read();
    Error take_pushed(const Header &header, size_t bytes, void **where);
    // All bytes of a message that may not be asked for yet are there, or will not come.
    void pushed_came(uint64_t name, Error error);
    Error stray_arrived(const Header &header);
    void take_losses();
    void lose(const void *peer, Error error);
    void forsake(Message &message);

    const heddle_transport transport_;
    const Limits limits_;
    std::map<const void *, Peer> peers_;
    Unexpected unexpected_;
    RemoteTypes remote_types_;
    std::array<Staging, 1 + modes + 1> staging_; // receiving, sending by mode, early
    int active_ = 0;
    bool inside_ = false;     // heddle_port_progress
    bool is_sending_ = false; // the transport may tell of a loss, amid whatever sends
    std::vector<Loss> losses_;
    bool waits_for_one_ = false;
    Message::Clock::time_point rtrs_until_; // in which sends wait for RTRs; none does: zero
    std::vector<Message *> watched_;
    std::map<uint64_t, void *> abandoned_; // peers of messages that the transport lost, and which
                                           // may have come all the same
    std::list<Errand> errands_;
    std::map<uint64_t, std::unique_ptr<Message>> messages_; // in the order of their making
    std::vector<Message *> ready_, advancing_;
    std::vector<std::unique_ptr<Message>> ended_, ending_;
    std::vector<Ending> notices_;
    Transfers transfers_; // end before the messages that they are of
};

} // namespace heddle::pipeline
