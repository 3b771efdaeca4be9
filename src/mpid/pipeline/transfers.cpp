// SPDX-License-Identifier: BSD-3-Clause
#include "transfers.hpp"

#include "../../gpu/error_detail.hpp"

#include <cstdio>

namespace heddle::pipeline {

void Transfers::begin(Message &message, Chunk &chunk, const heddle_move &move)
{
    Running &running = running_.emplace_back(Running{&message, &chunk, nullptr, HEDDLE_SUCCESS, {}});
    running.error = heddle_transfer_begin(&move, 1, &running.request);
    if (running.error)
        std::snprintf(running.detail.data(), running.detail.size(), "%s", heddle_error_detail());
}

int Transfers::progress()
{
    int ended = 0;
    for (size_t i = 0; i < running_.size();) {
        Running &running = running_[i];
        int done = 1;
        int error = running.error;
        if (error)
            gpu::set_error_detail(running.detail.data());
        else
            error = heddle_test(&running.request, &done);
        if (!done) {
            ++i;
            continue;
        }
        const Running over = running;
        running = running_.back();
        running_.pop_back();
        ++ended;
        over.message->moved(*over.chunk, error);
    }
    return ended;
}

void Transfers::wait()
{
    for (Running &running : running_)
        heddle_wait(&running.request);
    running_.clear();
}

} // namespace heddle::pipeline
