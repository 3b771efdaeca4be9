// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks that run. Those that need no device are done at once, and told of with the others, so
// that no call goes ever deeper.
#pragma once

#include "message.hpp"

#include <vector>

namespace heddle::pipeline {

class Transfers {
public:
    Transfers() = default;
    Transfers(const Transfers &) = delete;
    ~Transfers() { wait(); }

    void begin(Message &message, Chunk &chunk, const heddle_move &move);
    // Tells the messages of those that have ended. How many.
    int progress();
    // Until all have ended; tells nobody.
    void wait();
    bool empty() const { return running_.empty(); }

private:
    struct Running {
        Message *message;
        Chunk *chunk;
        heddle_request *request;
        int error;
        std::array<char, 256> detail;
    };
    std::vector<Running> running_;
};

} // namespace heddle::pipeline
