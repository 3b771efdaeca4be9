// SPDX-License-Identifier: BSD-3-Clause
// Operators that no device has, on memory of devices: by chunks, the target's elements and the source's come to
// the host, are combined there, and the target's go back.
#include "settings.hpp"
#include "tasks.hpp"

#include <algorithm>

namespace heddle::gpu {

namespace {

class Combined : public Task {
public:
    Combined(const Move &move, Devices &devices) : move_(move), devices_(devices)
    {
        chunk_ = std::min(move.whole(Settings::get().chunk), move.bytes);
        target_ = std::make_unique<char[]>(static_cast<size_t>(chunk_));
        source_ = std::make_unique<char[]>(static_cast<size_t>(chunk_));
    }

    int progress(bool &ended) override
    {
        for (;;) {
            if (running_) {
                bool reached = false;
                const int e = running_->progress(reached);
                if (!reached)
                    return HEDDLE_SUCCESS;
                running_.reset();
                if (e)
                    return ended = true, e;
            }
            if (at_ == move_.bytes) {
                ended = true;
                return HEDDLE_SUCCESS;
            }
            next_stage();
        }
    }

private:
    enum class Stage { fetch_target, fetch_source, store_target };

    void next_stage()
    {
        const int64_t bytes = std::min(chunk_, move_.bytes - at_);
        const Move part = move_.part(at_, bytes);
        switch (stage_) {
        case Stage::fetch_target:
            begin(part.to, here(target_, bytes), bytes);
            stage_ = Stage::fetch_source;
            return;
        case Stage::fetch_source:
            begin(part.from, here(source_, bytes), bytes);
            stage_ = Stage::store_target;
            return;
        case Stage::store_target:
            host_move(here(source_, bytes), here(target_, bytes), bytes, move_.op, move_.basic);
            begin(here(target_, bytes), part.to, bytes);
            stage_ = Stage::fetch_target;
            at_ += bytes;
            return;
        }
    }

    static End here(const std::unique_ptr<char[]> &buffer, int64_t bytes)
    {
        return packed_end(buffer.get(), bytes, Memory{});
    }

    void begin(const End &from, const End &to, int64_t bytes)
    {
        Move plain;
        plain.from = from;
        plain.to = to;
        plain.bytes = bytes;
        if (from.memory.kind == MemoryKind::device || to.memory.kind == MemoryKind::device)
            running_ = begin_staged(plain, devices_);
        else
            host_move(from, to, bytes, HEDDLE_OP_REPLACE, HEDDLE_BYTE);
    }

    Move move_;
    Devices &devices_;
    int64_t chunk_;
    int64_t at_ = 0;
    Stage stage_ = Stage::fetch_target;
    std::unique_ptr<char[]> target_;
    std::unique_ptr<char[]> source_;
    std::unique_ptr<Task> running_;
};

} // namespace

std::unique_ptr<Task> begin_combined(const Move &move, Devices &devices)
{
    return std::make_unique<Combined>(move, devices);
}

} // namespace heddle::gpu
