// SPDX-License-Identifier: BSD-3-Clause
// The unexpected queue: messages whose bytes came before a receive asked for them, in the host's
// memory.
#pragma once

#include "pipeline/counters.hpp"
#include "pipeline/wire.hpp"

#include <heddle.h>

#include <map>
#include <memory>
#include <utility>

namespace heddle::pipeline {

using Bytes = std::unique_ptr<void, decltype(&heddle_staging_free)>;
inline Bytes no_bytes() { return {nullptr, heddle_staging_free}; }
// Null where there is no memory. `near`: as heddle_staging_alloc.
inline Bytes new_bytes(int64_t bytes, const void *near)
{
    void *at = nullptr;
    return {heddle_staging_alloc(bytes, near, &at) ? nullptr : at, heddle_staging_free};
}

struct Pushed {
    enum class State : uint8_t {
        coming,   // the transport writes it
        whole,    // all of it is there, or will not come
        unwanted, // the transport still writes it, and nobody wants it
        dropped   // nothing of it came, and nobody wants it
    };
    Bytes at = no_bytes();
    int64_t bytes = 0;
    State state = State::coming;
    Error error;
};

// By the sender's name for the message.
class Unexpected {
public:
    ~Unexpected() { count(Counter::kept, -static_cast<int64_t>(all_.size())); }

    // A message comes. `*where`: where its bytes belong; null: nobody wants them. Errors: FORMAT,
    // NO_MEMORY.
    Error take(const Header &header, size_t bytes, void **where)
    {
        *where = nullptr;
        if (!header.bytes == !header.error || bytes != static_cast<size_t>(header.bytes))
            return HEDDLE_ERR_FORMAT;
        if (const auto known = all_.find(header.from); known != all_.end())
            return erase_if(known, Pushed::State::dropped) ? HEDDLE_SUCCESS : HEDDLE_ERR_FORMAT;
        Pushed &made = add(header.from);
        if (header.error)
            return HEDDLE_SUCCESS;
        made.at = new_bytes(header.bytes, nullptr);
        made.bytes = header.bytes;
        *where = made.at.get();
        return *where ? HEDDLE_SUCCESS : HEDDLE_ERR_NO_MEMORY;
    }
    // All of it is there, or, with an error, will not come. Where a receive waits for it, that is
    // to take it now.
    void came(uint64_t message, Error error)
    {
        const auto its = all_.find(message);
        if (its == all_.end() || erase_if(its, Pushed::State::unwanted))
            return;
        its->second.state = Pushed::State::whole;
        its->second.error = error;
    }
    // Takes a whole one out. False where there is none.
    bool find(uint64_t message, Pushed &pushed)
    {
        const auto its = all_.find(message);
        if (its == all_.end() || its->second.state != Pushed::State::whole)
            return false;
        pushed = std::move(its->second);
        return erase_if(its, Pushed::State::whole);
    }
    // Nobody asks for it, whether it came or not. What the transport still writes stays until it
    // has. Its sender says so if nothing comes.
    void drop(uint64_t message)
    {
        const auto its = all_.find(message);
        if (its == all_.end())
            add(message).state = Pushed::State::dropped;
        else if (!erase_if(its, Pushed::State::whole) && its->second.state == Pushed::State::coming)
            its->second.state = Pushed::State::unwanted;
    }
    // Its sender has failed, and sends nothing.
    void forget(uint64_t message) { erase_if(all_.find(message), Pushed::State::dropped); }

private:
    using All = std::map<uint64_t, Pushed>;

    Pushed &add(uint64_t message)
    {
        Pushed &made = all_[message];
        count(Counter::kept);
        return made;
    }
    bool erase_if(All::iterator its, Pushed::State state)
    {
        if (its == all_.end() || its->second.state != state)
            return false;
        count(Counter::kept, -1);
        all_.erase(its);
        return true;
    }

    All all_;
};

} // namespace heddle::pipeline
