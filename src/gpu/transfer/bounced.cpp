// SPDX-License-Identifier: BSD-3-Clause
// Moves of which no device reaches both ends: through the host, by chunks, two at a time. A chunk's
// first half fills a slab, its second half empties it. A device's half is a kernel, the host's half
// is the engine. Between a device and the host, a caller that waits carries short and long ones out
// in turn.
#include "gpu/core/settings.hpp"
#include "gpu/transfer/decisions.hpp"
#include "gpu/transfer/task.hpp"

#include <algorithm>
#include <array>

namespace heddle::gpu {

namespace {

// From these lengths on a copy engine that reads or writes pageable memory itself is sooner (an
// H100, PCIe 5): out of dense memory into a device's, and else. 64 MiB are packed in 4.3 to 4.9 ms,
// by the host in 7.9. In chunks of 2 MiB layouts take a fifth longer than in these.
constexpr int64_t engine_from_host_bytes = 128 << 10, engine_bytes = 2 << 20,
                  engine_chunk_bytes = 8 << 20;

// Packed bytes on their way: in pinned memory, or, where there is none left, in ordinary memory.
struct BounceBuffer {
    Slab pinned;
    std::unique_ptr<char[]> ordinary;
    int64_t bytes = 0;

    char *host() const { return pinned ? pinned.at() : ordinary.get(); }

    Error take(Device &device, int64_t wanted, int64_t element)
    {
        const Error e = device.pinned.take_up_to(
            std::max(static_cast<size_t>(wanted), SlabPool::smallest), pinned);
        if (e != HEDDLE_SUCCESS && e != HEDDLE_ERR_NO_MEMORY)
            return e;
        bytes = wanted;
        if (e == HEDDLE_SUCCESS)
            bytes = std::min(wanted, static_cast<int64_t>(pinned.bytes()) / element * element);
        else
            return caught([&] {
                ordinary = std::make_unique<char[]>(static_cast<size_t>(bytes));
                return HEDDLE_SUCCESS;
            });
        return HEDDLE_SUCCESS;
    }
};

// A chunk's half: with the packed data as its target, where it fills, or else as its source. The
// operator is for the half that meets the target.
Move half_of(Move chunk, const End &packed, bool fills)
{
    (fills ? chunk.to : chunk.from) = packed;
    if (fills)
        chunk.op = HEDDLE_OP_REPLACE;
    return chunk;
}

void run_on_host(const Move &half)
{
    host_move(half.from, half.to, half.bytes, half.op, half.basic);
}

// One end's half of a chunk.
class Half {
public:
    Half() = default;
    // A null device: the host does it.
    explicit Half(Device *device) : device_(device) {}

    Error prepare(const BounceBuffer &bounce)
    {
        if (!device_)
            return HEDDLE_SUCCESS;
        if (const Error e = device_->stream(stream_))
            return e;
        if (const Error e = done_.acquire(*device_))
            return e;
        if (bounce.pinned)
            return HEDDLE_SUCCESS;
        // Kernels reach no ordinary memory, the copy engine does.
        const auto bytes = static_cast<size_t>(bounce.bytes);
        const Error e = device_->memory.take(bytes, slab_);
        return e == HEDDLE_ERR_NO_MEMORY ? device_->memory.take_apart(bytes, slab_) : e;
    }

    Error begin(const BounceBuffer &bounce, const Move &chunk, bool fills)
    {
        char *const at = slab_ ? slab_.at() : bounce.host();
        const Memory memory{slab_ ? MemoryKind::device : MemoryKind::pinned,
                            device_ ? device_->ordinal() : -1, nullptr, 0};
        Move half = half_of(chunk, packed_end(at, chunk.bytes, memory), fills);
        if (!device_) {
            run_on_host(half);
            return HEDDLE_SUCCESS;
        }
        half.device = device_;
        Direct direct(&half, Method::kernel);
        if (const Error e = make_work(half, direct.work))
            return e;
        Backend &backend = device_->backend();
        const auto bytes = static_cast<size_t>(chunk.bytes);
        running_ = true;
        if (slab_ && !fills)
            if (const Error e = backend.copy(device_->ordinal(), stream_,
                                             contiguous_copy(at, bounce.host(), bytes), nullptr))
                return e;
        Done *const done = slab_ && fills ? nullptr : done_.get();
        if (const Error e = launch(*device_, {&direct, 1}, stream_, done, true))
            return e;
        if (slab_ && fills)
            return backend.copy(device_->ordinal(), stream_,
                                contiguous_copy(bounce.host(), at, bytes), done_.get());
        return HEDDLE_SUCCESS;
    }

    Error test(bool &reached)
    {
        reached = true;
        if (!running_)
            return HEDDLE_SUCCESS;
        const Error e = done_.test(reached);
        if (e == HEDDLE_SUCCESS && reached)
            running_ = false;
        return e;
    }

    // Something of it may run, or have run.
    bool runs() const { return running_; }

    void abandon()
    {
        if (running_)
            static_cast<void>(device_->backend().stream_synchronize(device_->ordinal(), stream_));
        running_ = false;
    }

private:
    Device *device_ = nullptr;
    Stream stream_ = nullptr;
    DoneRef done_;
    Slab slab_;
    bool running_ = false;
};

class Bounced : public Task {
public:
    Bounced(const Move &move, Devices &devices) : move_(move), devices_(devices)
    {
        const auto device_of = [&](const Memory &m) {
            return m.kind == MemoryKind::device ? &devices.device(m.device) : nullptr;
        };
        from_ = device_of(move.from.memory);
        to_ = device_of(move.to.memory);
        if (!from_ && !to_) { // asked for, though the host alone could do it
            const Memory &m =
                move.to.memory.kind == MemoryKind::managed ? move.to.memory : move.from.memory;
            to_ = &devices.device(std::max(m.device, 0));
        }
    }

    ~Bounced() override { abandon(); }

    Error progress(bool &ended) override
    {
        if (instead_)
            return instead_->progress(ended);
        bool busy = next_ < move_.bytes;
        for (Lane &lane : lanes_) {
            if (const Error e = step(lane)) {
                abandon();
                return do_without(e, ended);
            }
            busy = busy || lane.state != State::idle;
        }
        ended = !busy && next_ == move_.bytes;
        return HEDDLE_SUCCESS;
    }

    Error wait() override
    {
        bool ended = false;
        if (next_ == 0 && !(from_ && to_)) {
            const Error e = run_in_turn(ended);
            if (ended)
                return e;
            if (touched_ && e == HEDDLE_ERR_NO_MEMORY)
                if (const Error other = do_without(e, ended); ended)
                    return other;
        }
        return Task::wait();
    }

private:
    int64_t chunk() const { return move_.whole(Settings::get().chunk); }
    bool is_plain() const
    {
        return move_.from.dense() && move_.to.dense() && move_.op == HEDDLE_OP_REPLACE;
    }

    // Between a device and the host, by a caller that waits. `ended`: nothing is left to do. What
    // an engine refuses the host can do, from the start: to write data twice does no harm.
    Error run_in_turn(bool &ended)
    {
        Error e = HEDDLE_ERR_NO_MEMORY;
        bool refused = false;
        const bool fills = to_ && is_plain();
        if ((from_ ? move_.to : move_.from).dense() &&
            move_.bytes >= (fills ? engine_from_host_bytes : engine_bytes))
            e = run_by_engine(refused);
        else if (move_.bytes <= chunk())
            e = run_by_host();
        const bool again = refused && (!touched_ || move_.op == HEDDLE_OP_REPLACE);
        ended = e != HEDDLE_ERR_NO_MEMORY && !again;
        return e;
    }

    // The host copies what is one chunk. On the thread's own stream, and without a task's steps, 1
    // KiB of pageable memory gets to an H100 in 7.6 us, where it took 11.5, and back in 8.6 (10.8).
    Error run_by_host()
    {
        Device &device = from_ ? *from_ : *to_;
        Slab slab;
        if (const Error e = device.pinned.take(static_cast<size_t>(move_.bytes), slab))
            return e;
        const End packed = packed_end(slab.at(), move_.bytes,
                                      Memory{MemoryKind::pinned, device.ordinal(), nullptr, 0});
        if (!from_)
            run_on_host(half_of(move_, packed, true));
        if (const Error e = run_half(device, move_, packed))
            return e;
        if (from_)
            run_on_host(half_of(move_, packed, false));
        return HEDDLE_SUCCESS;
    }

    // A copy engine reads or writes the pageable memory; a layout is packed in the device's memory.
    Error run_by_engine(bool &refused)
    {
        Device &device = from_ ? *from_ : *to_;
        const auto copy = [&](const End &from, const End &to, int64_t bytes) {
            return run_copy(
                device, contiguous_copy(to.address(), from.address(), static_cast<size_t>(bytes)),
                refused);
        };
        if (is_plain())
            return copy(move_.from, move_.to, move_.bytes);
        if (from_ && move_.op != HEDDLE_OP_REPLACE)
            return HEDDLE_ERR_NO_MEMORY; // the host is the one that combines
        Slab slab;
        const int64_t wanted = std::min(move_.bytes, engine_chunk_bytes);
        if (const Error e = device.memory.take_up_to(static_cast<size_t>(wanted), slab))
            return e;
        const int64_t most = move_.whole(static_cast<int64_t>(slab.bytes()));
        for (int64_t at = 0; at < move_.bytes; at += most) {
            const Move part = move_.part(at, std::min(most, move_.bytes - at));
            const End packed = packed_end(slab.at(), part.bytes,
                                          Memory{MemoryKind::device, device.ordinal(), nullptr, 0});
            if (const Error e =
                    from_ ? run_half(device, part, packed) : copy(part.from, packed, part.bytes))
                return e;
            if (const Error e =
                    from_ ? copy(packed, part.to, part.bytes) : run_half(device, part, packed))
                return e;
            touched_ = true;
        }
        return HEDDLE_SUCCESS;
    }

    // The device's half.
    Error run_half(Device &device, const Move &whole, const End &packed)
    {
        Move half = half_of(whole, packed, from_ != nullptr);
        half.device = &device;
        Direct direct(&half, Method::kernel);
        if (const Error e = make_work(half, direct.work))
            return e;
        touched_ = touched_ || to_;
        const model::Methods both =
            model::set_of(Method::copy_engine) | model::set_of(Method::kernel);
        if (can_do(Method::copy_engine, half, &direct.work) &&
            soonest(half, direct.work, both) != Method::kernel) {
            direct.method = Method::copy_engine;
            bool refused;
            if (const Error e = run_copy(device, copy_of(direct), refused); !refused)
                return e;
            direct.method = Method::kernel;
        }
        return run_kernel(device, direct);
    }

    // After an error: where only memory was missing, there are ways that need none on the device.
    Error do_without(Error error, bool &ended)
    {
        ended = true;
        if (error != HEDDLE_ERR_NO_MEMORY)
            return error;
        // a copy may not reach both either
        const bool between_devices = from_ && to_ && from_ != to_;
        if (move_.op == HEDDLE_OP_REPLACE && !between_devices) {
            Device &device = from_ ? *from_ : *to_;
            Stream stream;
            if (const Error e = device.stream(stream))
                return e;
            const Error put = copy_by_runs(move_, device, stream);
            const Error done = device.backend().stream_synchronize(device.ordinal(), stream);
            return put ? put : done;
        }
        if (touched_ && move_.op != HEDDLE_OP_REPLACE)
            return error;
        instead_ = begin_combined(move_, devices_);
        ended = false;
        return instead_->progress(ended);
    }

    void abandon()
    {
        for (Lane &lane : lanes_) {
            lane.fill.abandon();
            lane.empty.abandon();
        }
    }

    enum class State { idle, filling, emptying };
    struct Lane {
        State state = State::idle;
        bool ready = false;
        BounceBuffer bounce;
        Half fill;
        Half empty;
        int64_t at = 0;
        int64_t bytes = 0;
    };

    Error prepare(Lane &lane)
    {
        Device &nearest = from_ ? *from_ : *to_;
        if (const Error e =
                lane.bounce.take(nearest, std::min(chunk(), move_.bytes), move_.element()))
            return e;
        lane.fill = Half(from_);
        lane.empty = Half(to_);
        if (const Error e = lane.fill.prepare(lane.bounce))
            return e;
        if (const Error e = lane.empty.prepare(lane.bounce))
            return e;
        lane.ready = true;
        return HEDDLE_SUCCESS;
    }

    Error step(Lane &lane)
    {
        bool reached = false;
        if (lane.state == State::filling) {
            if (const Error e = lane.fill.test(reached))
                return e;
            if (!reached)
                return HEDDLE_SUCCESS;
            lane.state = State::emptying;
            const Error e = lane.empty.begin(lane.bounce, move_.part(lane.at, lane.bytes), false);
            touched_ = touched_ || !e || lane.empty.runs();
            if (e)
                return e;
        }
        if (lane.state == State::emptying) {
            if (const Error e = lane.empty.test(reached))
                return e;
            if (!reached)
                return HEDDLE_SUCCESS;
            lane.state = State::idle;
        }
        if (next_ == move_.bytes)
            return HEDDLE_SUCCESS;
        if (!lane.ready && alone_)
            return HEDDLE_SUCCESS;
        if (!lane.ready) {
            const Error e = prepare(lane);
            // The other lane does it alone. To wait for other transfers' slabs could be to wait for
            // ever.
            alone_ = e == HEDDLE_ERR_NO_MEMORY && anyone_ready();
            if (alone_) {
                lane = {};
                return HEDDLE_SUCCESS;
            }
            if (e)
                return e;
        }
        lane.at = next_;
        lane.bytes = std::min(lane.bounce.bytes, move_.bytes - next_);
        next_ += lane.bytes;
        lane.state = State::filling;
        return lane.fill.begin(lane.bounce, move_.part(lane.at, lane.bytes), true);
    }

    bool anyone_ready() const
    {
        return std::any_of(lanes_.begin(), lanes_.end(),
                           [](const Lane &lane) { return lane.ready; });
    }

    Move move_;
    Devices &devices_;
    std::unique_ptr<Task> instead_;
    bool touched_ = false; // the target may have changed
    bool alone_ = false;   // there is memory for one lane
    Device *from_ = nullptr;
    Device *to_ = nullptr;
    int64_t next_ = 0;
    std::array<Lane, 2> lanes_;
};

} // namespace

std::unique_ptr<Task> begin_bounced(const Move &move, Devices &devices)
{
    return std::make_unique<Bounced>(move, devices);
}

} // namespace heddle::gpu
