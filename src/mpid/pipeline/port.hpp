// SPDX-License-Identifier: BSD-3-Clause
// The messages of one progress context: who they are, what they wait for, and whom the transport
// talks about.
#pragma once

#include "limits.hpp"
#include "peers.hpp"
#include "pushed.hpp"
#include "transfers.hpp"
#include "whereabouts.hpp"

#include <array>
#include <map>
#include <memory>

namespace heddle::pipeline {

class Incoming;
class Outgoing;

class Port {
public:
    Port(const heddle_transport &transport, const Limits &limits);
    Port(const Port &) = delete;
    // Ends what runs.
    ~Port();

    // ---- for the C API ----

    // Takes a message over.
    template <class M> M &add(std::unique_ptr<M> message)
    {
        M &added = *message;
        messages_.emplace(added.id(), std::move(message));
        return added;
    }
    void begin(Incoming &message);
    int progress();
    void sent(void *token, int error);
    int arrived(const Header &header, const void *data, size_t bytes);
    int place(const Header &header, size_t bytes, void **where, void **token);
    void placed(void *token, int error) { sent(token, error); }
    void confirm();
    int dropped(const void *peer, uint64_t key, int error);
    void lost(const void *peer, int error);
    int abandon(uint64_t message, int error);
    // The oldest that was not answered; null where there is none.
    const Outgoing *unmatched() const;
    // A header that belongs to no message.
    int send_alone(void *peer, const Header &header);
    const int *active() const { return &active_; }
    // To be called where anything may have happened.
    void update_active();

    // ---- for messages ----

    const Limits &limits() const { return limits_; }
    Transfers &transfers() { return transfers_; }
    Staging &sending(Mode mode) { return sending_[static_cast<size_t>(mode)]; }
    Staging &receiving() { return receiving_; }
    // For chunks of messages that may never be received: counted apart, so that they are not in the
    // way of others (where the process's slab_limit has room for both).
    Staging &early() { return early_; }
    Peers &peers() { return peers_; }
    // Not while another is on offer: many do better packed in few launches (H200, 64 of 1 KiB: 2.4
    // us each, on offer 4).
    bool is_worth_an_offer(const void *peer);
    // It lies on offer, or waits for one, and is to be looked at until there is nothing to see any
    // more. Each look takes a while: so only some are offered.
    void watch(Outgoing &message) { watched_.push_back(&message); }
    void watch(Incoming &message) { awaited_.push_back(&message); }
    bool is_quiet() const
    {
        return still_watched() == 0 && transfers_.empty();
    } // but for what waits for the other end
    // Nothing but one message can go on before the transport says something: then it may take its
    // time to look.
    bool waits_for_one() const
    {
        return still_watched() + still_awaited() == 1 && transfers_.empty();
    }
    void make_room_to_watch() { watched_.reserve(watched_.size() + 1); }
    bool can_watch() const { return watched_.size() < most_watched; }
    // Its caller is told of its end before it comes.
    void tell(const Ending &ending) { told_.push_back(ending); }
    // Nobody asks for what came of it, or comes: its sender says so if nothing does.
    void drop_pushed(uint64_t message);
    // What came of a message before it was asked for.
    bool find_pushed(uint64_t message, Pushed &pushed);
    // The message that this very port sends, if it is of this process. It stays as long as somebody
    // moves it.
    Outgoing *find_own(uint64_t message, uint64_t process);
    // It is to advance.
    void ready(Message &message);
    // It has ended, and goes after this progress.
    void end(Message &message);
    int send(Message &message, const Header &header);
    // With the bytes of a chunk. `carried`: they may go at once; otherwise the message hears of it.
    int send(Message &message, const Header &header, const void *data, const Chunk &chunk,
             bool &carried);

private:
    // What the transport is doing for a message.
    struct Errand {
        uint64_t message;
        Chunk *chunk;    // null: a header alone
        uint64_t pushed; // or what is placed of a message that nobody has asked for
        std::list<Errand>::iterator self;
    };

    static constexpr size_t most_watched = 64;

    // Without those whose callers were told already.
    size_t still_watched() const;
    size_t still_awaited() const;
    Errand &new_errand(uint64_t message, Chunk *chunk, uint64_t pushed = 0);
    int send(void *peer, uint64_t message, const Header &header, const void *data, size_t bytes,
             Chunk *chunk, bool &carried);
    Message *find(uint64_t id);
    Outgoing *find_unmatched(const void *peer, uint64_t key);
    // Carries out what concerns a message; an exception ends it.
    template <class F> int with(Message &message, F &&what);
    int advance_ready();
    int serve();
    int tell_endings();
    int look_at_offers();
    void see_taken();
    int tell_abandoned(const Header &answer);
    int take_pushed(const Header &header, size_t bytes, void **where);
    void pushed_came(uint64_t name, int error);
    void erase_pushed(std::map<uint64_t, Pushed>::iterator its);
    void forsake(Message &message);

    heddle_transport transport_;
    Limits limits_;
    int active_ = 0;
    bool inside_ = false;                // heddle_port_progress
    std::array<Staging, modes> sending_; // by mode
    Staging receiving_;
    Staging early_;
    Peers peers_;
    std::vector<Outgoing *> watched_;
    std::vector<Incoming *> awaited_;      // what is to be read out of such
    std::map<uint64_t, Pushed> pushed_;    // by the sender's name for the message
    std::map<uint64_t, void *> abandoned_; // peers of messages that the transport lost, and which
                                           // may have come all the same
    std::list<Errand> errands_;
    std::map<uint64_t, std::unique_ptr<Message>> messages_; // in the order of their making
    std::vector<Message *> ready_, advancing_;
    std::vector<std::unique_ptr<Message>> ended_, ending_;
    std::vector<Ending> told_;
    Transfers transfers_; // end before the messages that they are of
};

} // namespace heddle::pipeline
