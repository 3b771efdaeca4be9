/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender of messages that there may be RTRs for, and the process that receives them
 * (asked.hpp).
 */
#pragma once

#include "asked.hpp"

#include <deque>
#include <memory>

namespace pipeline_test {

/* One message, as its sender knows it. */
struct Made {
    int number = 0; /* byte_at */
    uint64_t name = 0;
    char envelope[HEDDLE_ENVELOPE_BYTES] = {};
    End end;
};

class PutSender {
public:
    explicit PutSender(int device = 0);

    Wire &wire() { return *wire_; }
    int socket() const { return other_.socket(); }
    const Buffers &buffers() const { return buffers_; }
    Made &last() { return made_.back(); }
    /* Destroys its port, and goes on with another one. */
    void change_port();

    Answer ask(const Question &question);
    Answer withdraw(const heddle_rtr &rtr) { return ask({Ask::withdraw, rtr}); }
    bool gives(const heddle_rtr &rtr, int64_t capacity = Buffers::size,
               Buffers::Kind kind = Buffers::Kind::dense);
    /* The other's heddle_message_receive, of the last message if need be. */
    Answer receive(const heddle_rtr *rtr, int64_t capacity = Buffers::size,
                   const Made *made = nullptr, Buffers::Kind kind = Buffers::Kind::dense);
    Answer read(); /* the last one's envelope, by the other */

    /* Begin a message; its envelope goes with what the other is asked. `stays`: the sender
     * (BLOCKING, PERSISTENT, or 0: it does not). */
    void send(int64_t bytes, int stays, bool by_get = false,
              Buffers::Kind kind = Buffers::Kind::dense);
    bool deliver(const heddle_rtr &rtr, int64_t bytes, Buffers::Kind kind = Buffers::Kind::dense,
                 heddle_port *port = nullptr, int stays = HEDDLE_MESSAGE_BLOCKING);
    /* Waits until both ends of a message have ended, as they should. */
    void check_both(int64_t bytes, const Made *made = nullptr,
                    Buffers::Kind at_receiver = Buffers::Kind::dense);

    /* A whole message, and the RTR that there may be after it. */
    heddle_rtr send_plainly(bool by_get = false, const heddle_rtr *rtr = nullptr);
    heddle_rtr deliver_whole(const heddle_rtr &rtr, int64_t bytes,
                             int64_t capacity = Buffers::size);

    /* It answers nothing any more. */
    void kill_other() { other_.kill(); }
    /* Until an RTR for what follows the next message has the same place as that one had. */
    void skip_to_place_of(const heddle_rtr &rtr);
    /* All went well, at the other as well. */
    void end();

private:
    Made &new_message(Buffers::Kind kind);

    Other other_;
    std::unique_ptr<Wire> wire_;
    const Buffers buffers_;
    std::pair<int, bool> filled_{}; /* the buffer, with that one's bytes; strided */
    std::deque<Made> made_;         /* where `ended` finds them */
};

} // namespace pipeline_test
