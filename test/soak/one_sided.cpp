/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided communication: each rank has a part of every other's window, puts or adds there, and
 * reads it back.
 */
#include "soak.hpp"

namespace soak {
namespace {

enum class Synchronization { fence, lock, lock_all };

/* The origin is told of a failure, by the call or the next synchronization.
 * `is_good`: nothing has failed. */
struct Epoch {
    MPI_Win win;
    Synchronization how;
    bool is_good = true;

    void tell(int error, const char *call) { is_good = succeeded(error, call) && is_good; }
    void open()
    {
        if (how == Synchronization::fence)
            tell(MPI_Win_fence(0, win), "MPI_Win_fence");
        if (how == Synchronization::lock_all)
            tell(MPI_Win_lock_all(0, win), "MPI_Win_lock_all");
    }
    void before(int target)
    {
        if (how == Synchronization::lock)
            tell(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win), "MPI_Win_lock");
    }
    void after(int target)
    {
        if (how == Synchronization::lock)
            tell(MPI_Win_unlock(target, win), "MPI_Win_unlock");
        if (how == Synchronization::lock_all)
            tell(MPI_Win_flush(target, win), "MPI_Win_flush");
    }
    void close()
    {
        if (how == Synchronization::fence)
            tell(MPI_Win_fence(0, win), "MPI_Win_fence");
        if (how == Synchronization::lock_all)
            tell(MPI_Win_unlock_all(win), "MPI_Win_unlock_all");
        MPI_Barrier(world);
    }
};

} // namespace

void one_sided(Rng &rng)
{
    const int64_t elements =
        std::max<int64_t>(std::min<int64_t>(random_elements(rng), options.most / 8 / size), 1);
    const int count = static_cast<int>(elements);
    const bool adds = rng.percent(30);
    const auto how = static_cast<Synchronization>(rng.in(0, 2));
    const int seed = static_cast<int>(rng.in(1, 1000));
    const int shift = static_cast<int>(rng.in(0, size - 1));
    Rng own(Rng::mix(rng.next(), static_cast<uint64_t>(rank)));

    /* Only predefined types are added; they are dense at both ends. */
    const PiecePtr window = dense_piece(own, elements, size);
    window->buffer.fill(seed);
    const PiecePtr source = adds ? dense_piece(own, elements) : random_piece(own, elements);
    source->buffer.fill(seed + 1 + rank);
    const PiecePtr back = random_piece(own, elements);
    Epoch epoch{MPI_WIN_NULL, how};
    if (!succeeded(MPI_Win_create(window->buffer.at(), static_cast<MPI_Aint>(elements * size * 8),
                                  8, MPI_INFO_NULL, world, &epoch.win),
                   "MPI_Win_create"))
        return;
    MPI_Win_set_errhandler(epoch.win, MPI_ERRORS_RETURN);
    const int target = (rank + shift) % size, writer = (rank - shift + size) % size;
    const MPI_Aint place = static_cast<MPI_Aint>(elements) * rank;

    MPI_Barrier(world);
    epoch.open();
    epoch.before(target);
    if (adds)
        epoch.tell(MPI_Accumulate(source->buffer.at(), count, MPI_DOUBLE, target, place, count,
                                  MPI_DOUBLE, MPI_SUM, epoch.win),
                   "MPI_Accumulate");
    else
        epoch.tell(MPI_Put(source->buffer.at(), 1, source->buffer.type(), target, place, count,
                           MPI_DOUBLE, epoch.win),
                   "MPI_Put");
    epoch.after(target);
    epoch.close();
    /* Only the origin knows which part of the window is right. */
    int put_well = epoch.is_good, written_well = 0;
    MPI_Sendrecv(&put_well, 1, MPI_INT, target, 9, &written_well, 1, MPI_INT, writer, 9, world,
                 MPI_STATUS_IGNORE);

    epoch.open();
    epoch.before(target);
    epoch.tell(MPI_Get(back->buffer.at(), 1, back->buffer.type(), target, place, count, MPI_DOUBLE,
                       epoch.win),
               "MPI_Get");
    epoch.after(target);
    epoch.close();
    succeeded(MPI_Win_free(&epoch.win), "MPI_Win_free");

    for (int64_t i = 0; i < elements; ++i) {
        const auto written = [&](int by) {
            return Buffer::value(seed + 1 + by, i) +
                   (adds ? Buffer::value(seed, elements * by + i) : 0);
        };
        window->buffer.put(elements * writer + i, written(writer));
        back->buffer.put(i, written(rank));
    }
    if (written_well)
        verify(window->buffer, adds ? "a window after MPI_Accumulate" : "a window after MPI_Put");
    if (epoch.is_good)
        verify(back->buffer, "what MPI_Get brought");
}

} // namespace soak
