// SPDX-License-Identifier: BSD-3-Clause
// By chunks in ordinary memory: operators that no device has, on memory of devices, and what
// neither a device nor a copy reaches both ends of. The source's elements come to the host, those
// of an operator's target, too, are combined there, and go to the target.
#include "gpu/core/settings.hpp"
#include "gpu/transfer/task.hpp"

#include <algorithm>

namespace heddle::gpu {

namespace {

class Combined : public Task {
public:
    Combined(const Move &move, Devices &devices) : move_(move), devices_(devices)
    {
        chunk_ = std::min(move.whole(Settings::get().chunk), move.bytes);
        if (combines())
            target_ = std::make_unique<char[]>(static_cast<size_t>(chunk_));
        source_ = std::make_unique<char[]>(static_cast<size_t>(chunk_));
    }

    Error progress(bool &ended) override
    {
        for (;;) {
            const Error e = running_.progress();
            error_ = error_ ? error_ : e;
            if (!running_.empty())
                return HEDDLE_SUCCESS;
            if (error_)
                return ended = true, error_;
            if (at_ == move_.bytes) {
                ended = true;
                return HEDDLE_SUCCESS;
            }
            if (const Error failed = next_stage())
                return ended = true, failed;
        }
    }

private:
    enum class Stage { fetch_source, fetch_target, store_target };

    bool combines() const { return move_.op != HEDDLE_OP_REPLACE; }

    Error next_stage()
    {
        const int64_t bytes = std::min(chunk_, move_.bytes - at_);
        const Move part = move_.part(at_, bytes);
        switch (stage_) {
        case Stage::fetch_source:
            stage_ = combines() ? Stage::fetch_target : Stage::store_target;
            return begin(part.from, here(source_, bytes), bytes);
        case Stage::fetch_target:
            stage_ = Stage::store_target;
            return begin(part.to, here(target_, bytes), bytes);
        default:
            if (combines())
                host_move(here(source_, bytes), here(target_, bytes), bytes, move_.op, move_.basic);
            stage_ = Stage::fetch_source;
            at_ += bytes;
            return begin(here(combines() ? target_ : source_, bytes), part.to, bytes);
        }
    }

    static End here(const std::unique_ptr<char[]> &buffer, int64_t bytes)
    {
        return packed_end(buffer.get(), bytes, Memory{});
    }

    // One of the two is ordinary memory. The other may lie in several places.
    Error begin(const End &from, const End &to, int64_t bytes)
    {
        return caught([&] {
            Moves moves(1, std::pmr::new_delete_resource());
            moves[0].from = from;
            moves[0].to = to;
            moves[0].bytes = bytes;
            MemoryMap map(&devices_.backend());
            resolve_last(&devices_, map, moves);
            for (const Move &m : moves)
                if (m.on_device)
                    running_.add(begin_bounced(m, devices_));
                else
                    host_move(m.from, m.to, m.bytes, HEDDLE_OP_REPLACE, HEDDLE_BYTE);
            return Error{HEDDLE_SUCCESS};
        });
    }

    Move move_;
    Devices &devices_;
    int64_t chunk_;
    int64_t at_ = 0;
    Stage stage_ = Stage::fetch_source;
    std::unique_ptr<char[]> target_;
    std::unique_ptr<char[]> source_;
    Error error_ = HEDDLE_SUCCESS;
    Tasks running_; // ends before the memory that it uses goes
};

} // namespace

std::unique_ptr<Task> begin_combined(const Move &move, Devices &devices)
{
    return std::make_unique<Combined>(move, devices);
}

} // namespace heddle::gpu
