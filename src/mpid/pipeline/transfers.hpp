// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks that run. Small ones for one device that are asked for at about the same time begin
// together, as one launch. Those that need no device are done at once, and told of with the others, so that
// no call goes ever deeper.
#pragma once

#include "message.hpp"

#include <vector>

namespace heddle::pipeline {

class Transfers {
public:
    Transfers() = default;
    Transfers(const Transfers &) = delete;
    ~Transfers() { wait(); }

    // Begins it, or takes note of it until begin_small().
    void begin(Message &message, Chunk &chunk, const heddle_move &move);
    // How many.
    int begin_small();
    // Tells the messages of those that have ended. How many.
    int progress();
    // Until all have ended; tells nobody.
    void wait();
    bool empty() const { return running_.empty() && small_.empty(); }

private:
    struct Part {
        Message *message;
        Chunk *chunk;
        heddle_move move;
    };
    struct Running {
        std::vector<Part> parts;
        heddle_request *request = nullptr;
        int error = HEDDLE_SUCCESS;
        std::array<char, 256> detail{};

        void fail(int what);
    };

    void begin_together(std::vector<Part> parts);

    std::vector<Part> small_;
    std::vector<Running> running_;
};

} // namespace heddle::pipeline
