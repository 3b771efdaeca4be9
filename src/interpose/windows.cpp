// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations. Their buffers here may be device memory (accesses.hpp), and so may windows
// (public_copy.hpp), and what is attached to dynamic ones (attached.hpp).
#include "interpose/accesses.hpp"
#include "interpose/report.hpp"

#include <cstring>
#include <utility>

namespace heddle::interpose {

namespace {

int refuse(MPI_Win win, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Win_call_errhandler(win, error);
    return error;
}

// ---- windows ------------------------------------------------------------------------------------

bool is_in_device_memory(const void *base, MPI_Aint size)
{
    return size > 0 && device_is_open() && is_device_memory(base);
}

// Unless the program says that nobody will lock the window (MPI 4.0, section 12.2.1).
bool has_locks(MPI_Info info)
{
    char value[8] = "";
    int is_there = 0;
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, "no_locks", sizeof value - 1, value, &is_there);
    return !is_there || std::strcmp(value, "true") != 0;
}

// create(base) makes it.
template <class Create> int create_window(void *base, MPI_Aint size, MPI_Info info, MPI_Comm comm,
                                          MPI_Win *win, Create create)
{
    const CollectsAtEnd collects;
    flush();
    if (!is_in_device_memory(base, size))
        return create(base);
    count(Count::copied_windows);
    PublicCopyPtr copy = PublicCopy::make(base, size);
    if (!copy)
        return raise(comm, MPI_ERR_NO_MEM);
    const int result = create(copy->at());
    if (result == MPI_SUCCESS)
        keep_window(*win, std::make_shared<Window>(*win, std::move(copy), has_locks(info)));
    return result;
}

int64_t address_of(const void *at) { return static_cast<int64_t>(reinterpret_cast<intptr_t>(at)); }

int first_error(int one, int other) { return one != MPI_SUCCESS ? one : other; }

// Null where the window is in host memory.
WindowPtr copied_window(MPI_Win win)
{
    WindowPtr window = find_window(win);
    return window && window->has_copies() ? window : nullptr;
}

// Fences and MPI_Win_post say whether others may lock this window next. Publishes what the owner
// stored, where there may be anything.
int expose(const WindowPtr &window, bool may_be_locked, bool publishes)
{
    if (window)
        window->set_may_be_locked(may_be_locked);
    return window && publishes ? window->publish() : int{MPI_SUCCESS};
}

// Behind a call that may wait: makes visible to the owner what MPI wrote, and tells of what failed
// before.
int collect(MPI_Win win)
{
    const WindowPtr window = find_window(win);
    collect_others(window.get());
    return window ? first_error(window->collect(), window->take_error()) : int{MPI_SUCCESS};
}

// In a call whose epoch has begun all the same: it succeeds, and the epoch's end tells.
int fail_beside(const WindowPtr &window, int result, int error)
{
    if (window && result == MPI_SUCCESS && error != MPI_SUCCESS)
        window->fail_beside(error);
    return result;
}

// Calls that wait for operations under way, to one target or to all. `error` is of what the call
// did before: the others wait for this process all the same.
template <auto down, class... Arguments>
int synchronize_after(int error, MPI_Win win, int target, Arguments... arguments)
{
    flush_packed();
    const WindowPtr window = find_window(win);
    const std::vector<AccessPtr> accesses =
        window ? window->accesses_to(target) : std::vector<AccessPtr>{};
    const int result = down(arguments...);
    collect_others(window.get());
    if (!window || result != MPI_SUCCESS)
        return result;
    for (const int each : {window->end(accesses), window->collect(), window->take_error()})
        error = first_error(error, each);
    return refuse(win, error);
}

// MPI_Win_flush and the like, which show nobody what the owner stored.
template <auto down, class... Arguments>
int flush_window(MPI_Win win, int target, Arguments... arguments)
{
    return synchronize_after<down>(MPI_SUCCESS, win, target, arguments...);
}
template <auto down, class... Arguments>
int synchronize(MPI_Win win, int target, Arguments... arguments)
{
    flush();
    return synchronize_after<down>(MPI_SUCCESS, win, target, arguments...);
}

// Who locks expects others to do so. Null where the window is in host memory.
WindowPtr expect_locks(MPI_Win win)
{
    WindowPtr window = copied_window(win);
    if (!window)
        return nullptr;
    window->set_may_be_locked(true);
    complain_once("a window in device memory that is locked is copied at each call by which "
                  "processes wait for each other, which is slow: MPI_Win_fence spares that");
    return window;
}
template <auto down, class... Arguments> int lock(MPI_Win win, Arguments... arguments)
{
    const WindowPtr window = expect_locks(win);
    flush();
    const int result = down(arguments...);
    collect_others(window.get());
    return fail_beside(window, result, window ? window->collect() : int{MPI_SUCCESS});
}
template <auto down, class... Arguments> int unlock(MPI_Win win, int target, Arguments... arguments)
{
    expect_locks(win);
    return synchronize<down>(win, target, arguments...);
}

// A program may call MPI_Win_sync alone until it sees what it waits for. MPICH makes no progress
// there, nor in a probe of MPI_COMM_SELF, and takes the call under a lock alone.
void move_mpi_on()
{
    int has_world = 0, flag = 0;
    PMPI_Initialized(&has_world); // not with sessions
    if (has_world)
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

// MPI_Win_free, behind which there is no window to tell of an error.
int free_window(MPI_Win *win)
{
    const CollectsAtEnd collects;
    flush();
    const MPI_Win freed = *win;
    // Before MPI gives another thread's new window this handle. The public copy is MPI's until the
    // window is gone.
    const WindowPtr window = take_window(freed);
    if (!window)
        return PMPI_Win_free(win);
    const std::vector<AccessPtr> accesses = window->accesses_to(any_target);
    const int result = PMPI_Win_free(win);
    if (result != MPI_SUCCESS) {
        keep_window(freed, window);
        return result;
    }
    int error = window->take_error();
    for (const int each : {window->end(accesses), window->collect()})
        error = first_error(error, each);
    window->close(); // another thread may be about to collect
    if (window->table())
        window->table()->free();
    return raise(MPI_COMM_WORLD, error);
}

// ---- dynamic windows ----------------------------------------------------------------------------

int attach(Window &window, MPI_Win win, void *base, MPI_Aint size)
{
    count(Count::copied_windows);
    const PublicCopyPtr copy = PublicCopy::make(base, size);
    if (!copy)
        return refuse(win, MPI_ERR_NO_MEM);
    if (const int error = PMPI_Win_attach(win, copy->at(), size); error != MPI_SUCCESS)
        return error;
    if (const int error = window.table()->add({address_of(base), size, address_of(copy->at())});
        error != MPI_SUCCESS) {
        PMPI_Win_detach(win, copy->at());
        return refuse(win, error);
    }
    window.add(copy);
    return MPI_SUCCESS;
}

// What others put is where it belongs then.
int detach(Window &window, MPI_Win win, const PublicCopyPtr &copy)
{
    int error = window.table()->remove(address_of(copy->base()));
    error = first_error(error, copy->collect());
    window.remove(copy);
    const int result = PMPI_Win_detach(win, copy->at());
    return result == MPI_SUCCESS ? refuse(win, error) : result;
}

// ---- operations ---------------------------------------------------------------------------------

// Where MPI writes a result of at most so many bytes: staging memory, or the public copy of this
// window itself.
template <class Int> Instances<Int> result_in(Access &access, MPI_Win win, Instances<Int> given,
                                              int64_t bytes = INT64_MAX)
{
    const WindowPtr window = copied_window(win);
    void *place = given.buffer;
    if (window)
        access.fail(window->place_result(place, given.count, given.type));
    if (place != given.buffer)
        return {place, given.count, given.type};
    return access.written(given, bytes);
}

// What the target has may be less than what the origin has room for.
template <class Int> int64_t bytes_of(Int n, MPI_Datatype type)
{
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return int64_t{n} * bytes;
}

// What the MPI gets for the target's part.
template <class Int>
Target<Int> found_at(Access &access, MPI_Win win, MPI_Aint place, Int count, MPI_Datatype type)
{
    Target<Int> given{place, count, type, nullptr};
    const WindowPtr window = find_window(win);
    if (!window || !window->table() || access.target() < 0)
        return given;
    int error = MPI_SUCCESS;
    Target<int64_t> found{place, static_cast<int64_t>(count), type, nullptr};
    if (const auto regions = window->table()->of(access.target(), error); regions)
        error = translate(*regions, found);
    access.fail(error);
    return error == MPI_SUCCESS ? Target<Int>{found.place, static_cast<Int>(found.count),
                                              found.type, std::move(found.keep)}
                                : given;
}

MPI_Aint element_at(Access &access, MPI_Win win, MPI_Aint place, MPI_Datatype type)
{
    const Target<int> found = found_at(access, win, place, 1, type);
    if (found.keep) // over the end of what is attached
        access.fail(MPI_ERR_RMA_RANGE);
    return found.place;
}

// `call` hands the operation to MPI, with buffers that `access` has staged, if any.
template <class Call> int begin(MPI_Win win, const AccessPtr &access, Call call)
{
    if (access->error() != MPI_SUCCESS)
        return refuse(win, access->error());
    if (!access->is_staged()) {
        count(Count::passed);
        return call();
    }
    count(Count::staged);
    if (const int error = transfer(access->pack()); error != MPI_SUCCESS)
        return refuse(win, error);
    const int result = call();
    if (result == MPI_SUCCESS)
        known_window(win)->keep(access);
    return result;
}

template <class Call>
int begin(MPI_Win win, const AccessPtr &access, MPI_Request *request, Call call)
{
    if (access->error() != MPI_SUCCESS)
        return refuse(win, access->error());
    if (!access->is_staged()) {
        count(Count::passed);
        return call(request);
    }
    Steps steps;
    steps.win = win;
    steps.pack = access->pack();
    steps.issue = call;
    // Not the access itself, which will know of its operation.
    steps.unpack = [moves = access->unpack()](const MPI_Status &, std::vector<heddle_move> &all) {
        all = moves;
        return MPI_SUCCESS;
    };
    steps.keep = access->buffers();
    const int error =
        heddle::interpose::begin(std::make_shared<const Steps>(std::move(steps)), true, request);
    if (error == MPI_SUCCESS) {
        access->hand_over(operation_of(*request));
        known_window(win)->keep(access);
    }
    return error;
}

} // namespace

} // namespace heddle::interpose

using namespace heddle::interpose;

// `Int` is int, or MPI_Count where the name ends in _c.
#define TARGET(Int) int target, MPI_Aint place, Int there, MPI_Datatype there_type
#define AT_TARGET target, place, there, there_type
#define ORIGIN(Int) const void *buffer, Int n, MPI_Datatype type
#define FOUND(Int) found_at<Int>(*access, win, place, there, there_type)
#define AT target, at.place, at.count, at.type
#define READ(Int) access->read(Instances<Int>{const_cast<void *>(buffer), n, type})

#define PUT(Suffix, Int)                                                                           \
    int MPI_Put##Suffix(ORIGIN(Int), TARGET(Int), MPI_Win win)                                     \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Put##Suffix(buffer, n, type, AT_TARGET, win);                              \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        return begin(win, access, [=] {                                                            \
            return PMPI_Put##Suffix(from.buffer, from.count, from.type, AT, win);                  \
        });                                                                                        \
    }                                                                                              \
    int MPI_Rput##Suffix(ORIGIN(Int), TARGET(Int), MPI_Win win, MPI_Request *request)              \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Rput##Suffix(buffer, n, type, AT_TARGET, win, request);                    \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        return begin(win, access, request, [=](MPI_Request *inner) {                               \
            return PMPI_Rput##Suffix(from.buffer, from.count, from.type, AT, win, inner);          \
        });                                                                                        \
    }
#define GET(Suffix, Int)                                                                           \
    int MPI_Get##Suffix(void *buffer, Int n, MPI_Datatype type, TARGET(Int), MPI_Win win)          \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Get##Suffix(buffer, n, type, AT_TARGET, win);                              \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto to =                                                                            \
            result_in(*access, win, Instances<Int>{buffer, n, type}, bytes_of(there, there_type)); \
        return begin(win, access,                                                                  \
                     [=] { return PMPI_Get##Suffix(to.buffer, to.count, to.type, AT, win); });     \
    }                                                                                              \
    int MPI_Rget##Suffix(void *buffer, Int n, MPI_Datatype type, TARGET(Int), MPI_Win win,         \
                         MPI_Request *request)                                                     \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Rget##Suffix(buffer, n, type, AT_TARGET, win, request);                    \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto to =                                                                            \
            result_in(*access, win, Instances<Int>{buffer, n, type}, bytes_of(there, there_type)); \
        return begin(win, access, request, [=](MPI_Request *inner) {                               \
            return PMPI_Rget##Suffix(to.buffer, to.count, to.type, AT, win, inner);                \
        });                                                                                        \
    }
#define ACCUMULATE(Suffix, Int)                                                                    \
    int MPI_Accumulate##Suffix(ORIGIN(Int), TARGET(Int), MPI_Op op, MPI_Win win)                   \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Accumulate##Suffix(buffer, n, type, AT_TARGET, op, win);                   \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        return begin(win, access, [=] {                                                            \
            return PMPI_Accumulate##Suffix(from.buffer, from.count, from.type, AT, op, win);       \
        });                                                                                        \
    }                                                                                              \
    int MPI_Raccumulate##Suffix(ORIGIN(Int), TARGET(Int), MPI_Op op, MPI_Win win,                  \
                                MPI_Request *request)                                              \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Raccumulate##Suffix(buffer, n, type, AT_TARGET, op, win, request);         \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        return begin(win, access, request, [=](MPI_Request *inner) {                               \
            return PMPI_Raccumulate##Suffix(from.buffer, from.count, from.type, AT, op, win,       \
                                            inner);                                                \
        });                                                                                        \
    }
#define GET_ACCUMULATE(Suffix, Int)                                                                \
    int MPI_Get_accumulate##Suffix(ORIGIN(Int), void *result, Int results,                         \
                                   MPI_Datatype result_type, TARGET(Int), MPI_Op op, MPI_Win win)  \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Get_accumulate##Suffix(buffer, n, type, result, results, result_type,      \
                                               AT_TARGET, op, win);                                \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        const auto to = result_in(*access, win, Instances<Int>{result, results, result_type});     \
        return begin(win, access, [=] {                                                            \
            return PMPI_Get_accumulate##Suffix(from.buffer, from.count, from.type, to.buffer,      \
                                               to.count, to.type, AT, op, win);                    \
        });                                                                                        \
    }                                                                                              \
    int MPI_Rget_accumulate##Suffix(ORIGIN(Int), void *result, Int results,                        \
                                    MPI_Datatype result_type, TARGET(Int), MPI_Op op, MPI_Win win, \
                                    MPI_Request *request)                                          \
    {                                                                                              \
        if (!device_is_open())                                                                     \
            return PMPI_Rget_accumulate##Suffix(buffer, n, type, result, results, result_type,     \
                                                AT_TARGET, op, win, request);                      \
        const auto access = std::make_shared<Access>(target);                                      \
        const auto at = FOUND(Int);                                                                \
        const auto from = READ(Int);                                                               \
        const auto to = result_in(*access, win, Instances<Int>{result, results, result_type});     \
        return begin(win, access, request, [=](MPI_Request *inner) {                               \
            return PMPI_Rget_accumulate##Suffix(from.buffer, from.count, from.type, to.buffer,     \
                                                to.count, to.type, AT, op, win, inner);            \
        });                                                                                        \
    }
#define OPERATIONS(Suffix, Int)                                                                    \
    PUT(Suffix, Int) GET(Suffix, Int) ACCUMULATE(Suffix, Int) GET_ACCUMULATE(Suffix, Int)

extern "C" {

OPERATIONS(, int)
#if MPI_VERSION >= 4
OPERATIONS(_c, MPI_Count)
#endif

int MPI_Fetch_and_op(const void *buffer, void *result, MPI_Datatype type, int target,
                     MPI_Aint place, MPI_Op op, MPI_Win win)
{
    if (!device_is_open())
        return PMPI_Fetch_and_op(buffer, result, type, target, place, op, win);
    const auto access = std::make_shared<Access>(target);
    const MPI_Aint at = element_at(*access, win, place, type);
    const auto from = access->read(Instances<int>{const_cast<void *>(buffer), 1, type});
    const auto to = result_in(*access, win, Instances<int>{result, 1, type});
    return begin(win, access, [=] {
        return PMPI_Fetch_and_op(from.buffer, to.buffer, type, target, at, op, win);
    });
}

int MPI_Compare_and_swap(const void *buffer, const void *compared, void *result, MPI_Datatype type,
                         int target, MPI_Aint place, MPI_Win win)
{
    if (!device_is_open())
        return PMPI_Compare_and_swap(buffer, compared, result, type, target, place, win);
    const auto access = std::make_shared<Access>(target);
    const MPI_Aint at = element_at(*access, win, place, type);
    const auto from = access->read(Instances<int>{const_cast<void *>(buffer), 1, type});
    const auto with = access->read(Instances<int>{const_cast<void *>(compared), 1, type});
    const auto to = result_in(*access, win, Instances<int>{result, 1, type});
    return begin(win, access, [=] {
        return PMPI_Compare_and_swap(from.buffer, with.buffer, to.buffer, type, target, at, win);
    });
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    return create_window(base, size, info, comm, win, [=](void *at) {
        return PMPI_Win_create(at, size, unit, info, comm, win);
    });
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    const CollectsAtEnd collects;
    flush();
    int error = PMPI_Win_create_dynamic(info, comm, win);
    if (error != MPI_SUCCESS)
        return error;
    if (std::unique_ptr<RegionTable> table = RegionTable::make(comm, error))
        keep_window(*win,
                    std::make_shared<Window>(*win, nullptr, has_locks(info), std::move(table)));
    return raise(comm, error);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    if (!is_in_device_memory(base, size))
        return PMPI_Win_attach(win, base, size);
    const WindowPtr window = find_window(win);
    if (!window || !window->table()) {
        complain_once("dynamic windows take device memory with heddle-run --peer alone, and if all "
                      "processes of the window have a device");
        return refuse(win, MPI_ERR_OTHER);
    }
    return attach(*window, win, base, size);
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    const WindowPtr window = copied_window(win);
    const PublicCopyPtr copy = window ? window->copy_at(base) : nullptr;
    return copy ? detach(*window, win, copy) : PMPI_Win_detach(win, base);
}

#if MPI_VERSION >= 4
int MPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                     MPI_Win *win)
{
    return create_window(base, size, info, comm, win, [=](void *at) {
        return PMPI_Win_create_c(at, size, unit, info, comm, win);
    });
}
#endif

int MPI_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag)
{
    static int separate = MPI_WIN_SEPARATE;
    const int result = PMPI_Win_get_attr(win, keyval, value, flag);
    const WindowPtr window = result == MPI_SUCCESS && *flag ? copied_window(win) : nullptr;
    if (window && keyval == MPI_WIN_BASE && !window->table())
        *static_cast<void **>(value) = window->base();
    else if (window && keyval == MPI_WIN_MODEL)
        *static_cast<int **>(value) = &separate;
    return result;
}

int MPI_Win_fence(int promised, MPI_Win win)
{
    flush();
    // What MPI_MODE_NOSUCCEED rules out is fences' epochs: locks may follow.
    const WindowPtr window = copied_window(win);
    const bool is_last = (promised & MPI_MODE_NOSUCCEED) != 0;
    const bool may_be_locked = is_last && window && window->has_locks();
    const bool may_be_read = !is_last || may_be_locked;
    const int error = expose(window, may_be_locked, may_be_read && !(promised & MPI_MODE_NOSTORE));
    return synchronize_after<PMPI_Win_fence>(error, win, any_target, promised, win);
}
int MPI_Win_post(MPI_Group group, int promised, MPI_Win win)
{
    flush();
    const WindowPtr window = copied_window(win);
    const int error = expose(window, false, (promised & MPI_MODE_NOSTORE) == 0);
    return fail_beside(window, PMPI_Win_post(group, promised, win), error);
}
int MPI_Win_start(MPI_Group group, int promised, MPI_Win win)
{
    flush();
    const int result = PMPI_Win_start(group, promised, win);
    may_have_heard();
    return result;
}
int MPI_Win_wait(MPI_Win win)
{
    flush();
    const int result = PMPI_Win_wait(win);
    return result == MPI_SUCCESS ? refuse(win, collect(win)) : result;
}
int MPI_Win_test(MPI_Win win, int *flag)
{
    if (!is_idle())
        progress();
    const int result = PMPI_Win_test(win, flag);
    return result == MPI_SUCCESS && *flag ? refuse(win, collect(win)) : result;
}
int MPI_Win_sync(MPI_Win win)
{
    const WindowPtr window = copied_window(win);
    if (!window) { // nor does it wait, but for what others store, perhaps
        may_have_heard();
        return PMPI_Win_sync(win);
    }
    const int error = window->publish();
    move_mpi_on();
    return refuse(win, first_error(error, collect(win)));
}
int MPI_Win_lock(int type, int rank, int assert, MPI_Win win)
{
    return lock<PMPI_Win_lock>(win, type, rank, assert, win);
}
int MPI_Win_lock_all(int assert, MPI_Win win) { return lock<PMPI_Win_lock_all>(win, assert, win); }
int MPI_Win_complete(MPI_Win win) { return synchronize<PMPI_Win_complete>(win, any_target, win); }
int MPI_Win_unlock(int rank, MPI_Win win) { return unlock<PMPI_Win_unlock>(win, rank, rank, win); }
int MPI_Win_unlock_all(MPI_Win win) { return unlock<PMPI_Win_unlock_all>(win, any_target, win); }
int MPI_Win_flush(int rank, MPI_Win win)
{
    return flush_window<PMPI_Win_flush>(win, rank, rank, win);
}
int MPI_Win_flush_all(MPI_Win win)
{
    return flush_window<PMPI_Win_flush_all>(win, any_target, win);
}
int MPI_Win_flush_local(int rank, MPI_Win win)
{
    return flush_window<PMPI_Win_flush_local>(win, rank, rank, win);
}
int MPI_Win_flush_local_all(MPI_Win win)
{
    return flush_window<PMPI_Win_flush_local_all>(win, any_target, win);
}
int MPI_Win_free(MPI_Win *win) { return free_window(win); }
}
