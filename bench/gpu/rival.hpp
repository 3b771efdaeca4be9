// SPDX-License-Identifier: BSD-3-Clause
// Other engines, by adapters that are loaded at run time.
#pragma once

#include "layout.hpp"

namespace bench {

class Rival {
public:
    // "NAME=FILE". Throws where the file is no adapter.
    explicit Rival(const std::string &argument);

    const std::string &name() const { return name_; }

    // A case as the engine moves it: on a stream, and by a call that waits.
    struct Moves {
        Mover on_stream;                         // empty where it cannot move the case
        std::function<void(const Ends &)> waits; // may be empty
    };
    Moves moves(const Case &made) const;

    bool can_wait() const { return wait_ != nullptr; }

    // Gives up on everything of `kind` that is larger: a size took too long.
    void give_up(const std::string &kind) { too_slow_.push_back(kind); }
    bool gave_up(const std::string &kind) const;

private:
    std::string name_;
    std::vector<std::string> too_slow_;
    decltype(&rival_make) make_ = nullptr;
    decltype(&rival_move) move_ = nullptr;
    decltype(&rival_wait) wait_ = nullptr;
    decltype(&rival_free) free_ = nullptr;
};

} // namespace bench
