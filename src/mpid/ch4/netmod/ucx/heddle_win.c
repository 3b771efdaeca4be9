/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct windows (heddle_win.h): how they are made, and where a target's memory is.
 */
#include "mpidimpl.h"
#include "ucx_impl.h"

#include "heddle_direct.h"

/* ---- regions --------------------------------------------------------------------------------- */

static void write_region(struct MPIDI_UCX_region *region, const void *base, uint64_t bytes,
                         const heddle_exported *exported)
{
    const uint64_t version = MPL_atomic_load_uint64(&region->version);
    MPL_atomic_store_uint64(&region->version, version + 1);
    MPL_atomic_write_barrier();
    region->base = (uintptr_t)base;
    region->bytes = bytes;
    region->exported = *exported;
    MPL_atomic_store_uint64(&region->version, version + 2);
}

/* False while it is being written, and so is none that an operation may name. */
static bool read_region(const struct MPIDI_UCX_region *region, struct MPIDI_UCX_region *copy)
{
    const uint64_t version = MPL_atomic_load_uint64(&region->version);
    copy->base = region->base;
    copy->bytes = region->bytes;
    copy->exported = region->exported;
    MPL_atomic_read_barrier();
    return version % 2 == 0 && MPL_atomic_load_uint64(&region->version) == version;
}

/* Lets others open memory of this process, if that can be. */
static void publish(MPIR_Win *win, const void *base, MPI_Aint bytes, unsigned most)
{
    struct MPIDI_UCX_member *own = MPIDI_UCX_member(win, win->comm_ptr->rank);
    heddle_exported exported;
    unsigned i = 0;
    if (bytes <= 0 || heddle_export(base, bytes, &exported) != HEDDLE_SUCCESS)
        return;
    while (i < most && own->region[i].bytes != 0)
        i++;
    if (i == most)
        return;
    write_region(&own->region[i], base, bytes, &exported);
    if (i >= MPL_atomic_load_uint64(&own->regions))
        MPL_atomic_store_uint64(&own->regions, i + 1);
}

int MPIDI_UCX_direct_attach(MPIR_Win *win, void *base, MPI_Aint size)
{
    const int mpi_errno = MPIDIG_mpi_win_attach(win, base, size);
    if (mpi_errno == MPI_SUCCESS && MPIDI_UCX_WIN(win).direct != NULL)
        publish(win, base, size, MPIDI_UCX_DIRECT_REGIONS);
    return mpi_errno;
}

int MPIDI_UCX_direct_detach(MPIR_Win *win, const void *base)
{
    const int mpi_errno = MPIDIG_mpi_win_detach(win, base);
    if (mpi_errno != MPI_SUCCESS || MPIDI_UCX_WIN(win).direct == NULL)
        return mpi_errno;
    struct MPIDI_UCX_member *own = MPIDI_UCX_member(win, win->comm_ptr->rank);
    const heddle_exported none = {{0}};
    for (unsigned i = 0; i < MPL_atomic_load_uint64(&own->regions); i++)
        if (own->region[i].bytes != 0 && own->region[i].base == (uintptr_t)base)
            write_region(&own->region[i], NULL, 0, &none);
    return mpi_errno;
}

/* ---- making windows -------------------------------------------------------------------------- */

/* Whether this process has memory of a device in the window, or may attach some. */
static bool has_device_memory(const MPIR_Win *win)
{
    return ENABLE_GPU && (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC ||
                          (win->size > 0 && MPIR_Typerep_is_on_device(win->base, MPI_BYTE)));
}

static void free_direct(struct MPIDI_UCX_direct *direct)
{
    heddle_shared_close(direct->segment);
    MPL_free(direct->is_held);
    MPL_free(direct->outstanding);
    MPL_free(direct);
}

/* Takes the segment over. Null: there is no memory. */
static struct MPIDI_UCX_direct *make_direct(const MPIR_Win *win, heddle_shared *segment,
                                            size_t member_bytes)
{
    const int size = win->comm_ptr->local_size;
    struct MPIDI_UCX_direct *direct = MPL_calloc(1, sizeof(*direct), MPL_MEM_RMA);
    if (direct == NULL) {
        heddle_shared_close(segment);
        return NULL;
    }
    direct->segment = segment;
    direct->members = heddle_shared_address(segment);
    direct->member_bytes = member_bytes;
    direct->is_held = MPL_calloc(size, sizeof(*direct->is_held), MPL_MEM_RMA);
    direct->outstanding = MPL_calloc(size, sizeof(*direct->outstanding), MPL_MEM_RMA);
    if (direct->is_held != NULL && direct->outstanding != NULL)
        return direct;
    free_direct(direct);
    return NULL;
}

static void introduce(MPIR_Win *win)
{
    struct MPIDI_UCX_member *own = MPIDI_UCX_member(win, win->comm_ptr->rank);
    own->disp_unit = win->disp_unit;
    if (win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return;
    own->base = (uintptr_t)win->base;
    publish(win, win->base, win->size, 1);
}

/* A barrier follows, in MPICH's function that made the window. */
int MPIDI_UCX_direct_create(MPIR_Win *win)
{
    bool has_devices, shares;
    heddle_shared *segment;
    if (!(MPIDI_UCX_watch & MPIDI_UCX_WATCH_GPU) || win->comm_ptr->local_size == 1)
        return MPI_SUCCESS;
    int mpi_errno =
        MPIDI_UCX_agree(win->comm_ptr, has_device_memory(win), false, &has_devices, &shares);
    MPIDI_UCX_WIN(win).has_devices = has_devices;
    if (mpi_errno != MPI_SUCCESS || !shares)
        return mpi_errno;
    const int regions = win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC ? MPIDI_UCX_DIRECT_REGIONS : 1;
    const size_t size = win->comm_ptr->local_size;
    const size_t member_bytes = MPL_ROUND_UP_ALIGN(
        sizeof(struct MPIDI_UCX_member) + regions * sizeof(struct MPIDI_UCX_region), 64);
    mpi_errno = MPIDI_UCX_share_segment(
        win->comm_ptr, size * (member_bytes + size * sizeof(MPL_atomic_uint64_t)), &segment);
    if (mpi_errno != MPI_SUCCESS || segment == NULL)
        return mpi_errno;
    MPIDI_UCX_WIN(win).direct = make_direct(win, segment, member_bytes);
    if (MPIDI_UCX_WIN(win).direct == NULL)
        return MPI_ERR_NO_MEM;
    introduce(win);
    return MPI_SUCCESS;
}

/* Others may have their data, and this process's end of the message may not know. */
static void wait_for_served(MPIR_Win *win)
{
    const int vni = MPIDI_UCX_get_win_vni(win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vni).lock);
    while (MPIDI_UCX_WIN(win).serving > 0)
        MPIDI_UCX_watch_progress(vni);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vni).lock);
}

void MPIDI_UCX_direct_free(MPIR_Win *win)
{
    wait_for_served(win);
    if (MPIDI_UCX_WIN(win).direct == NULL)
        return;
    MPIDI_UCX_direct_flush(win, 0, win->comm_ptr->local_size);
    free_direct(MPIDI_UCX_WIN(win).direct);
    MPIDI_UCX_WIN(win).direct = NULL;
}

/* ---- targets --------------------------------------------------------------------------------- */

bool MPIDI_UCX_direct_exports(const MPIR_Win *win, int rank)
{
    return MPIDI_UCX_WIN(win).direct != NULL &&
           MPL_atomic_load_uint64(&MPIDI_UCX_member(win, rank)->regions) > 0;
}

/* The addresses, at the target, between which the data lie. */
struct range {
    uint64_t address; /* the buffer's */
    uint64_t first;
    uint64_t bytes;
};

static void find_range(const struct MPIDI_UCX_access *a, struct range *range)
{
    const struct MPIDI_UCX_member *member = MPIDI_UCX_member(a->win, a->rank);
    MPI_Aint true_lb, true_extent, extent;
    MPIR_Type_get_true_extent_impl(a->type, &true_lb, &true_extent);
    MPIR_Datatype_get_extent_macro(a->type, extent);
    const MPI_Aint span = (a->count - 1) * extent; /* may be negative */
    range->address = member->base + (uint64_t)(a->disp * member->disp_unit);
    range->first = range->address + (uint64_t)(true_lb + MPL_MIN(span, 0));
    range->bytes = (uint64_t)(true_extent + MPL_MAX(span, -span));
}

/* The region that the range lies in. */
static bool find_region(const struct MPIDI_UCX_access *a, const struct range *range,
                        struct MPIDI_UCX_region *region)
{
    const struct MPIDI_UCX_member *member = MPIDI_UCX_member(a->win, a->rank);
    const uint64_t regions = MPL_atomic_load_uint64(&member->regions);
    for (uint64_t i = 0; i < regions; i++)
        if (read_region(&member->region[i], region) && range->bytes <= region->bytes &&
            range->first - region->base <= region->bytes - range->bytes)
            return true;
    return false;
}

enum MPIDI_UCX_way MPIDI_UCX_direct_find(const struct MPIDI_UCX_access *a,
                                         const heddle_buffer *near, struct MPIDI_UCX_target *target,
                                         int *mpi_errno)
{
    struct range range;
    uint64_t at;
    find_range(a, &range);
    if (!find_region(a, &range, &target->region)) {
        if (a->win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
            return MPIDI_UCX_WAY_MESSAGES;
        *mpi_errno = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                          MPI_ERR_RMA_RANGE, "**rmarange", 0);
        return MPIDI_UCX_WAY_FAILS;
    }
    target->import = NULL;
    if (a->rank == a->win->comm_ptr->rank) {
        at = target->region.base;
    } else if (MPIDI_UCX_member_has_ended(a->win->comm_ptr, a->rank)) {
        *mpi_errno = MPIDI_UCX_member_error(a->rank);
        return MPIDI_UCX_WAY_FAILS;
    } else if (heddle_import_open(&target->region.exported, near, &target->import) ==
               HEDDLE_SUCCESS) {
        at = (uintptr_t)heddle_import_address(target->import);
    } else {
        return MPIDI_UCX_WAY_MESSAGES;
    }
    target->buf = (void *)(uintptr_t)(at + (range.address - target->region.base));
    return MPIDI_UCX_WAY_DIRECT;
}
