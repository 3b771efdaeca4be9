// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations whose buffers here are in device memory. Staging memory stands for the
// buffers until a synchronization call says that MPI is done. What has been fetched is unpacked
// then. And what is known of a window: its operations under way, and its public copies.
#pragma once

#include "interpose/attached.hpp"
#include "interpose/operation.hpp"
#include "interpose/public_copy.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace heddle::interpose {

// `count` instances of one type.
template <class Int> struct Instances {
    void *buffer;
    Int count;
    MPI_Datatype type;
};

// One operation under way.
class Access {
public:
    explicit Access(int target) : target_(target) {}

    bool is_staged() const { return !staged_->empty(); }
    int target() const { return target_; }
    int error() const { return error_; }
    void fail(int error)
    {
        if (error_ == MPI_SUCCESS)
            error_ = error;
    }

    // What MPI gets for a buffer that it reads, or one that it writes.
    template <class Int> Instances<Int> read(Instances<Int> given) { return stage(given, pack_); }
    // The latter by at most so many bytes.
    template <class Int> Instances<Int> written(Instances<Int> given, int64_t bytes = INT64_MAX)
    {
        return stage(given, unpack_, bytes);
    }
    const std::vector<heddle_move> &pack() const { return pack_; }
    const std::vector<heddle_move> &unpack() const { return unpack_; }

    // What the moves need: as long as these live, the access may go.
    std::shared_ptr<const void> buffers() const { return staged_; }

    // Of an operation with a request: that unpacks.
    void hand_over(OperationPtr operation) { operation_ = std::move(operation); }
    const OperationPtr &operation() const { return operation_; }

    // What it fetched is where it belongs.
    bool is_over() const { return operation_ ? operation_->is_done() : is_unpacked_.load(); }
    void set_unpacked(int error)
    {
        fail(error);
        is_unpacked_.store(true);
    }

private:
    struct Staged {
        Data data;
        Staging staging;
        void *at; // what MPI gets, of this type
        MPI_Datatype type;
        heddle_side side; // the same
    };
    // Null where the buffer is MPI's as it is.
    const Staged *stage(const void *buffer, int64_t n, MPI_Datatype type);
    template <class Int> Instances<Int> stage(Instances<Int> given, std::vector<heddle_move> &moves,
                                              int64_t bytes = INT64_MAX)
    {
        const Staged *const staged = stage(given.buffer, given.count, given.type);
        if (!staged)
            return given;
        const heddle_side theirs = staged->data.side();
        const bool packs = &moves == &pack_;
        moves.push_back({packs ? theirs : staged->side, packs ? staged->side : theirs,
                         std::min(bytes, staged->data.bytes()), HEDDLE_OP_REPLACE});
        return {staged->at, given.count, staged->type};
    }

    const int target_;
    int error_ = MPI_SUCCESS;
    const std::shared_ptr<std::vector<std::unique_ptr<const Staged>>> staged_ =
        std::make_shared<std::vector<std::unique_ptr<const Staged>>>();
    std::vector<heddle_move> pack_, unpack_;
    OperationPtr operation_;
    std::atomic<bool> is_unpacked_{false};
};

using AccessPtr = std::shared_ptr<Access>;

constexpr int any_target = INT_MIN; // no rank, nor MPI_PROC_NULL

class Window {
public:
    // The program may say that nobody will lock it. Dynamic windows have a table, and copies later.
    explicit Window(MPI_Win win, PublicCopyPtr copy = nullptr, bool has_locks = true,
                    std::unique_ptr<RegionTable> table = nullptr);
    Window(const Window &) = delete;
    Window &operator=(const Window &) = delete;
    ~Window();

    // False where the window is in host memory.
    bool has_copies() const { return has_copies_.load(); }
    // All are tried. The first error class is returned.
    int publish() { return at_all(&PublicCopy::publish); }
    int collect() { return at_all(&PublicCopy::collect); }
    // PublicCopy::place_result of that in which the buffer lies.
    int place_result(void *&buffer, int64_t count, MPI_Datatype type);
    // Of a window that is not dynamic.
    void *base() const { return base_; }
    // Device memory in which one that begins there is attached: null where it is not.
    PublicCopyPtr copy_at(const void *base);
    void add(PublicCopyPtr copy);
    void remove(const PublicCopyPtr &copy);
    // The device memory may be freed.
    void close();
    // Null where device memory cannot be attached.
    RegionTable *table() const { return table_.get(); }

    // Whether others may lock it now: until the owner shows that they use fences or groups (a fence
    // without MPI_MODE_NOSUCCEED, MPI_Win_post), behind the last fence, and once the owner locks.
    bool has_locks() const { return has_locks_; }
    bool may_be_locked() const { return may_be_locked_.load(); }
    void set_may_be_locked(bool may_be);

    // By an act other than of this window's synchronization, or where an epoch has begun all the
    // same: the handler hears of the error, and so does the window's next call.
    void fail_beside(int error);
    int take_error() { return error_.exchange(MPI_SUCCESS); }

    // Until a synchronization call.
    void keep(AccessPtr access);

    // Those to a target that have been begun, and not ended.
    std::vector<AccessPtr> accesses_to(int target);

    // Ends them when MPI is done. Several threads may do so, of the same ones: none returns before
    // they are over. Returns an error class; what fails, fails all of them.
    int end(const std::vector<AccessPtr> &accesses);

private:
    void forget_ended();

    std::vector<PublicCopyPtr> copies();
    int at_all(int (PublicCopy::*does)());

    const MPI_Win win_;
    void *const base_;
    const bool has_locks_;
    const std::unique_ptr<RegionTable> table_;
    std::atomic<bool> has_copies_;
    std::atomic<bool> may_be_locked_{false};
    std::atomic<int> error_{MPI_SUCCESS};
    std::mutex mutex_, unpacking_;
    std::vector<AccessPtr> accesses_;
    std::vector<PublicCopyPtr> copies_;
};

using WindowPtr = std::shared_ptr<Window>;

// A call of one window, which may wait for other processes, collects all others that may be locked.
void collect_others(const Window *but);

// Null where nothing is known of it.
WindowPtr find_window(MPI_Win win);
WindowPtr known_window(MPI_Win win); // from now on
void keep_window(MPI_Win win, WindowPtr window);
WindowPtr take_window(MPI_Win win); // out of what is known; null as above

} // namespace heddle::interpose
