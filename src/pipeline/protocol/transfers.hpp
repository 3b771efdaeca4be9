// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks that run. Small ones for one device that are asked for at about the same time
// begin together, as one launch. A launch takes the processor as long as a chunk takes the device:
// so they begin one by one, and what has ended is told of, and sent, in between.
#pragma once

#include "gpu/api/transfer.hpp"
#include "pipeline/protocol/message.hpp"

#include <string>
#include <vector>

namespace heddle::pipeline {

class Transfers {
public:
    Transfers() = default;
    Transfers(const Transfers &) = delete;
    ~Transfers() { wait(); }

    // To be begun by begin_next(). What is known of the memory is so until then.
    void ask(Message &message, Chunk &chunk, const Data &from, const Data &to)
    {
        asked_.push_back({&message,
                          &chunk,
                          {from.side, to.side, chunk.bytes, HEDDLE_OP_REPLACE},
                          {from.memory, to.memory}});
    }
    // One launch. Of how many. What another port waits for comes first.
    int begin_next();
    // What can share its launch with none that runs need not wait for progress.
    void begin_if_idle();
    // Begins what was asked for last, if waiting is of no use: nothing runs, or it would share its
    // launch with no other.
    void begin_last();
    // Tells the messages of those that have ended. How many.
    int progress();
    // Until all have ended; tells nobody.
    void wait();
    bool empty() const { return running_.empty() && asked_.empty(); }

private:
    struct Part {
        Message *message;
        Chunk *chunk;
        heddle_move move;
        gpu::Known known;

        bool is_small() const;
    };
    struct Running {
        std::vector<Part> parts;
        heddle_request *request = nullptr;
        Error error;
        std::string detail;

        void fail(Error what);
    };

    void make_room();
    void begin_together(std::vector<Part> parts);

    std::vector<Part> asked_;
    std::vector<Running> running_;
    std::vector<heddle_move> moves_; // of one launch, while it begins
    std::vector<gpu::Known> known_;
};

} // namespace heddle::pipeline
