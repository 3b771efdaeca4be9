// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations whose buffers here are in device memory, though the window is in host
// memory. Staging memory stands for the buffers until a synchronization call says that MPI is done.
// What has been fetched is unpacked then.
#pragma once

#include "interpose/operation.hpp"

#include <memory>
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

    // What MPI gets for a buffer that it reads, or one that it writes.
    template <class Int> Instances<Int> read(Instances<Int> given) { return stage(given, pack_); }
    template <class Int> Instances<Int> written(Instances<Int> given)
    {
        return stage(given, unpack_);
    }
    const std::vector<heddle_move> &pack() const { return pack_; }
    const std::vector<heddle_move> &unpack() const { return unpack_; }

    // What the moves need: as long as these live, the access may go.
    std::shared_ptr<const void> buffers() const { return staged_; }

    // Of an operation with a request: that unpacks.
    void hand_over(OperationPtr operation) { operation_ = std::move(operation); }
    const OperationPtr &operation() const { return operation_; }

private:
    struct Staged {
        Data data;
        Staging staging;
    };
    // Null where the buffer is MPI's as it is.
    const Staged *stage(const void *buffer, int64_t n, MPI_Datatype type);
    template <class Int> Instances<Int> stage(Instances<Int> given, std::vector<heddle_move> &moves)
    {
        const Staged *const staged = stage(given.buffer, given.count, given.type);
        if (!staged)
            return given;
        std::byte *const at = staged->staging.at();
        moves.push_back(&moves == &pack_ ? pack_move(staged->data, at)
                                         : unpack_move(staged->data, at, staged->data.bytes()));
        return {at, given.count, staged->data.shape->dense()};
    }

    const int target_;
    int error_ = MPI_SUCCESS;
    const std::shared_ptr<std::vector<std::unique_ptr<const Staged>>> staged_ =
        std::make_shared<std::vector<std::unique_ptr<const Staged>>>();
    std::vector<heddle_move> pack_, unpack_;
    OperationPtr operation_;
};

using AccessPtr = std::shared_ptr<Access>;

// Until a synchronization call.
void keep_access(MPI_Win win, AccessPtr access);

constexpr int any_target = -1;

// Those to a target that were begun before a synchronization call.
std::vector<AccessPtr> take_accesses(MPI_Win win, int target);
void give_back_accesses(MPI_Win win, std::vector<AccessPtr> accesses);

// Ends them when MPI is done. Returns an error class.
int end_accesses(const std::vector<AccessPtr> &accesses);

} // namespace heddle::interpose
