// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/protocol/transfers.hpp"

#include "gpu/core/error_detail.hpp"
#include "pipeline/limits.hpp"

#include <algorithm>
#include <utility>

namespace heddle::pipeline {

void Transfers::Running::fail(Error what)
{
    error = what;
    static_cast<void>(caught([&] { detail = heddle_error_detail(); })); // memory may have run out
}

// What is larger keeps a device busy by itself, and is told of the sooner.
bool Transfers::Part::is_small() const
{
    return message->block_device() && move.bytes <= worth_a_launch(message->mode());
}

// Small ones of several messages share a launch. Of one message alone they do if they are short:
// what travels next should not wait for what travels after it.
int Transfers::begin_next()
{
    if (asked_.empty())
        return 0;
    const auto waited_for = std::find_if(
        asked_.begin(), asked_.end(), [](const Part &each) { return !each.message->is_within(); });
    const Part first = waited_for == asked_.end() ? asked_.front() : *waited_for;
    const bool several = std::any_of(asked_.begin(), asked_.end(), [&](const Part &each) {
        return each.message != first.message && each.is_small();
    });
    const auto joins = [&](const Part &each) {
        return each.chunk == first.chunk ||
               (first.is_small() && each.is_small() &&
                each.message->block_device() == first.message->block_device() &&
                (several || each.move.bytes <= worth_a_launch(Mode::value)));
    };
    make_room();
    std::vector<Part> parts;
    std::copy_if(asked_.begin(), asked_.end(), std::back_inserter(parts), joins);
    std::erase_if(asked_, joins);
    const auto begun = static_cast<int>(parts.size());
    begin_together(std::move(parts));
    return begun;
}

void Transfers::begin_if_idle()
{
    if (running_.empty())
        begin_next();
}

void Transfers::begin_last()
{
    if (running_.empty()) {
        begin_next();
    } else if (!asked_.empty() && !asked_.back().is_small()) {
        make_room();
        std::vector<Part> last{asked_.back()};
        asked_.pop_back();
        begin_together(std::move(last));
    }
}

// So that nothing that was asked for is lost for want of memory.
void Transfers::make_room()
{
    moves_.reserve(asked_.size());
    known_.reserve(asked_.size());
    running_.reserve(running_.size() + asked_.size());
}

void Transfers::begin_together(std::vector<Part> parts)
{
    moves_.clear();
    known_.clear();
    for (const Part &part : parts) {
        moves_.push_back(part.move);
        known_.push_back(part.known);
    }
    Running running;
    running.error = gpu::begin_transfer(moves_, known_, &running.request);
    if (running.error && parts.size() > 1) { // it is not all of them that fail, perhaps
        for (const Part &part : parts)
            begin_together({part});
        return;
    }
    if (running.error)
        running.fail(running.error);
    running.parts = std::move(parts);
    running_.push_back(std::move(running));
}

int Transfers::progress()
{
    int ended = 0;
    for (size_t i = 0; i < running_.size();) {
        Running &running = running_[i];
        int done = 1;
        if (!running.error)
            if (const Error e = Error::of(heddle_test(&running.request, &done)); e && done)
                running.fail(e);
        if (!done) {
            ++i;
            continue;
        }
        const Running over = std::move(running);
        if (i + 1 < running_.size())
            running = std::move(running_.back());
        running_.pop_back();
        ended += static_cast<int>(over.parts.size());
        for (const Part &part : over.parts) {
            if (over.error)
                gpu::set_error_detail(over.detail.c_str());
            // Whatever becomes of one message, the others hear of theirs.
            static_cast<void>(caught([&] { part.message->moved(*part.chunk, over.error); }));
        }
    }
    return ended;
}

void Transfers::wait()
{
    asked_.clear();
    for (Running &running : running_)
        heddle_wait(&running.request);
    running_.clear();
}

} // namespace heddle::pipeline
