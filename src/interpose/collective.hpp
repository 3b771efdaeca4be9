// SPDX-License-Identifier: BSD-3-Clause
// Collectives on device memory. Each buffer of a call is a side. Where it is a device's, all its
// blocks are packed by one transfer into one staging buffer, MPI gets dense blocks of the same
// signature and sizes there, and what it has received is unpacked by one transfer. So what a
// process tells the others does not change, and each decides for its own buffers.
#pragma once

#include "interpose/operation.hpp"
#include "interpose/persistent.hpp"
#include "interpose/public_copy.hpp"
#include "interpose/report.hpp"
#include "interpose/together.hpp"
#include "interpose/watched.hpp"

#include <limits>
#include <memory>
#include <vector>

namespace heddle::interpose {

// What a side's buffer is for MPI. One that is not significant is given to it as it is.
enum class Role : uint8_t { none, in, out, both };

// The staging memory of one side, and what goes there and back.
class Side {
public:
    int error() const { return error_; }
    std::byte *at() const { return zeros_.empty() ? staging_.at() : zeros_.data(); }
    // What the MPI gets from here on is zeros.
    void clear();
    const std::vector<heddle_move> &before() const { return before_; }
    const std::vector<heddle_move> &after() const { return after_; }

    // Packs blocks one behind the other.
    void stage(std::vector<Data> blocks, Role role);
    // A copy with the same layout, for reductions, whose operators see it. Returns what stands for
    // the buffer. The first `received` instances come back.
    void *stage_twin(Data data, Role role, int64_t received);
    void fail(int error) { error_ = error; }

private:
    bool is_staged_ = false;
    int error_ = MPI_SUCCESS;
    int64_t bytes_ = 0;
    Staging staging_;
    mutable std::vector<std::byte> zeros_; // where there is no staging memory
    std::vector<Data> blocks_;             // which hold their shapes
    std::vector<heddle_move> before_, after_;
};

// The sides of one call, with the arrays that stand for the program's. They live as long as the
// call's request. Null as long as nothing is staged.
struct Sides {
    Side out, in; // of this process's view: what it sends, what it receives
    std::vector<std::shared_ptr<const void>> arrays;

    // In place of what could not be packed.
    void clear()
    {
        out.clear();
        in.clear();
    }
    int error() const { return out.error() != MPI_SUCCESS ? out.error() : in.error(); }
    // Returns an error class.
    int pack() const { return error() != MPI_SUCCESS ? error() : transfer(before()); }
    std::vector<heddle_move> before() const { return joined(out.before(), in.before()); }
    std::vector<heddle_move> after() const { return joined(out.after(), in.after()); }

private:
    static std::vector<heddle_move> joined(std::vector<heddle_move> all,
                                           const std::vector<heddle_move> &more)
    {
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};
using SidesPtr = std::shared_ptr<Sides>;

// One of a call's sides. What is staged first makes them.
inline Side &side_of(SidesPtr &sides, Side Sides::*which)
{
    if (!sides)
        sides = std::make_shared<Sides>();
    return (*sides).*which;
}

// Who takes part.
class Group {
public:
    explicit Group(MPI_Comm comm);

    int rank() const;
    int size() const;
    // Of the other group of an intercommunicator, of the same otherwise.
    int peers() const;
    bool is_root(int root) const { return is_between_ ? root == MPI_ROOT : root == rank(); }
    // Is one of those to whom a root talks, itself too within a group.
    bool is_member(int root) const { return !is_between_ || root >= 0; }

private:
    const MPI_Comm comm_;
    bool is_between_; // an intercommunicator
};

// Neighbours of a process in its topology.
struct Neighbours {
    explicit Neighbours(MPI_Comm comm);
    int sources = 0, targets = 0;
    bool may_lack_some = false; // at the edges of a grid, whose blocks MPI does not write
};

// ---- buffers as MPI gets them -------------------------------------------------------------------

// `count` instances of one type.
template <class Int> struct One {
    void *buffer;
    Int count;
    MPI_Datatype type;
};

// Blocks of one type, at displacements in its extents.
template <class Int, class Displ> struct Many {
    void *buffer;
    const Int *counts;
    const Displ *places;
    MPI_Datatype type;
};

// Blocks of a type each, at displacements in bytes.
template <class Int, class Displ> struct Mixed {
    void *buffer;
    const Int *counts;
    const Displ *places;
    const MPI_Datatype *types;
};

// Stages `times` as many instances: those of all peers stand in a row.
template <class Int> One<Int> stage(SidesPtr &sides, Side Sides::*which, Role role,
                                    const void *buffer, int64_t times, Int count, MPI_Datatype type)
{
    One<Int> as_it_is{const_cast<void *>(buffer), count, type};
    if (role == Role::none)
        return as_it_is;
    std::optional<Data> data = device_data(buffer, times * count, type);
    if (!data)
        return as_it_is;
    const MPI_Datatype dense = data->shape->dense();
    Side &side = side_of(sides, which);
    side.stage({*std::move(data)}, role);
    return {side.at(), count, dense};
}

// Which buffers are staged: those on devices, or any whose type has gaps. The latter is for calls
// that MPI cuts by the type's extent: there dense and other types must not meet.
enum class Staged : uint8_t { on_devices, with_gaps };

bool is_to_be_staged(const One<int64_t> &block, Staged when);
// Nothing where a type cannot be rebuilt.
std::vector<Data> data_of(const std::vector<One<int64_t>> &blocks);

// The `n` blocks of a buffer that is to be staged: all, or none. All lie in one piece of memory,
// unless the buffer is MPI_BOTTOM. So the first that holds data tells of all.
template <class BlockAt>
std::vector<Data> staged_blocks(int n, bool is_absolute, Staged when, BlockAt block_at)
{
    bool is_staged = false;
    for (int i = 0; i < n && !is_staged; ++i) {
        const One<int64_t> block = block_at(i);
        if (block.count == 0)
            continue;
        is_staged = is_to_be_staged(block, when);
        if (!is_absolute)
            break;
    }
    if (!is_staged)
        return {};
    std::vector<One<int64_t>> blocks;
    for (int i = 0; i < n; ++i)
        blocks.push_back(block_at(i));
    return data_of(blocks);
}

template <class Int, class Displ> Many<Int, Displ> stage(SidesPtr &sides, Side Sides::*which,
                                                         Role role, int n, Many<Int, Displ> given,
                                                         Staged when = Staged::on_devices)
{
    if (role == Role::none || n == 0)
        return given;
    MPI_Count lb = 0, extent = 0;
    std::vector<Data> found =
        staged_blocks(n, given.buffer == MPI_BOTTOM, when, [&](int i) -> One<int64_t> {
            if (given.places[i] != 0 && extent == 0) // most first blocks are at 0
                PMPI_Type_get_extent_x(given.type, &lb, &extent);
            return {static_cast<std::byte *>(given.buffer) + given.places[i] * extent,
                    int64_t{given.counts[i]}, given.type};
        });
    if (found.empty())
        return given;
    Side &side = side_of(sides, which);
    const auto places = std::make_shared<std::vector<Displ>>();
    int64_t place = 0;
    for (int i = 0; i < n; ++i) {
        places->push_back(static_cast<Displ>(place));
        if (place > std::numeric_limits<Displ>::max())
            side.fail(MPI_ERR_COUNT);
        place += given.counts[i];
    }
    const MPI_Datatype dense = found.front().shape->dense();
    side.stage(std::move(found), role);
    sides->arrays.push_back(places);
    return {side.at(), given.counts, places->data(), dense};
}

// Types of dense blocks that lie farther away than a displacement says. They go with the call.
class FarTypes {
public:
    FarTypes() = default;
    FarTypes(const FarTypes &) = delete;
    ~FarTypes();
    // A committed type: `dense`, so many bytes away. MPI_DATATYPE_NULL where MPI refuses to make
    // it.
    MPI_Datatype at(int64_t place, MPI_Datatype dense);

private:
    std::vector<MPI_Datatype> types_;
};

template <class Int, class Displ> Mixed<Int, Displ> stage(SidesPtr &sides, Side Sides::*which,
                                                          Role role, int n, Mixed<Int, Displ> given)
{
    if (role == Role::none || n == 0)
        return given;
    std::vector<Data> found = staged_blocks(
        n, given.buffer == MPI_BOTTOM, Staged::on_devices, [&](int i) -> One<int64_t> {
            return {static_cast<std::byte *>(given.buffer) + given.places[i],
                    int64_t{given.counts[i]}, given.types[i]};
        });
    if (found.empty())
        return given;
    Side &side = side_of(sides, which);
    const auto places = std::make_shared<std::vector<Displ>>();
    const auto types = std::make_shared<std::vector<MPI_Datatype>>();
    const auto far = std::make_shared<FarTypes>();
    int64_t place = 0;
    for (const Data &each : found) {
        const bool is_far = place > std::numeric_limits<Displ>::max();
        const MPI_Datatype dense = each.shape->dense();
        places->push_back(is_far ? 0 : static_cast<Displ>(place));
        types->push_back(is_far ? far->at(place, dense) : dense);
        place += each.bytes();
    }
    side.stage(std::move(found), role);
    sides->arrays.push_back(places);
    sides->arrays.push_back(types);
    sides->arrays.push_back(far);
    return {side.at(), given.counts, places->data(), types->data()};
}

// Stages a buffer that is reduced: `count` instances of it, of which `received` come back. Returns
// what stands for it.
inline void *stage_twin(SidesPtr &sides, Side Sides::*which, Role role, const void *buffer,
                        int64_t count, int64_t received, MPI_Datatype type)
{
    void *const as_it_is = const_cast<void *>(buffer);
    if (role == Role::none)
        return as_it_is;
    std::optional<Data> data = device_data(buffer, count, type);
    return data ? side_of(sides, which).stage_twin(*std::move(data), role, received) : as_it_is;
}

// ---- the three forms of a call ------------------------------------------------------------------

// `call` gives all that is staged to MPI, with the arguments of its form behind the others.

template <class Call>
int carry_out(Together together, const SidesPtr &sides, MPI_Comm comm, Call call)
{
    count(sides ? Count::staged : Count::passed);
    if (const int error = sides ? sides->pack() : MPI_SUCCESS; error != MPI_SUCCESS) {
        if (together.is_watched() && error != MPI_ERR_COUNT) {
            together.note_failure();
            sides->clear();
            call();
        }
        return raise(comm, error);
    }
    const int result = call();
    if (result != MPI_SUCCESS)
        return result;
    if (together.has_failed())
        return raise(comm, MPI_ERR_OTHER);
    return sides ? raise(comm, transfer(sides->after())) : MPI_SUCCESS;
}

template <class Call> int carry_out(const SidesPtr &sides, MPI_Comm comm, Call call)
{
    const CollectsAtEnd collects;
    flush();
    return carry_out(Together(comm), sides, comm, call);
}

// What both other forms do before and behind `call`.
inline Steps steps_of(const SidesPtr &sides, const std::shared_ptr<Together> &together,
                      MPI_Comm comm)
{
    Steps steps;
    steps.comm = comm;
    steps.pack = sides->before();
    steps.cannot_pack = sides->error();
    steps.unpack = [=, sides = sides.get()](const MPI_Status &, std::vector<heddle_move> &moves) {
        if (together->has_failed())
            return MPI_ERR_OTHER;
        moves = sides->after();
        return MPI_SUCCESS;
    };
    steps.keep = sides;
    return steps;
}

// A failing member takes part by `issue`, if others can be told.
inline void add_failing(Steps &steps, const SidesPtr &sides,
                        const std::shared_ptr<Together> &together,
                        const std::function<int(MPI_Request *)> &issue)
{
    if (!together->is_watched() || sides->error() == MPI_ERR_COUNT)
        return;
    steps.issue_notice = [=, sides = sides.get()](MPI_Request *request) {
        together->note_failure();
        sides->clear();
        return issue(request);
    };
}

template <class Call>
int carry_out(const SidesPtr &sides, MPI_Comm comm, Call call, MPI_Request *request)
{
    Together own(comm);
    if (!sides) {
        count(Count::passed);
        publish_all();
        const int error = call(request);
        return error == MPI_SUCCESS && own.is_watched() && *request != MPI_REQUEST_NULL
                   ? watch({nullptr, 0, std::move(own)}, comm, request)
                   : error;
    }
    const auto together = std::make_shared<Together>(std::move(own));
    Steps steps = steps_of(sides, together, comm);
    steps.issue = call; // at once: types of host buffers may be freed when this returns
    add_failing(steps, sides, together, call);
    return begin(std::make_shared<const Steps>(std::move(steps)), true, request);
}

template <class Call>
int carry_out(SidesPtr sides, MPI_Comm comm, Call call, MPI_Info info, MPI_Request *request)
{
    const auto together = std::make_shared<Together>(comm);
    if (!sides && !together->is_watched()) {
        count(Count::passed);
        return call(info, request);
    }
    if (!sides)
        sides = std::make_shared<Sides>();
    if (sides->error() != MPI_SUCCESS && !together->is_watched())
        return raise(comm, sides->error());
    if (const int error = call(info, request); error != MPI_SUCCESS)
        return error;
    const auto start = [inner = *request](MPI_Request *started) {
        *started = inner;
        return PMPI_Start(started);
    };
    Steps steps = steps_of(sides, together, comm);
    add_failing(steps, sides, together, start);
    keep_persistent(*request, std::move(steps),
                    together->is_watched() ? [=](Steps &) { together->start_again(); } : Start());
    return MPI_SUCCESS;
}

} // namespace heddle::interpose
