/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of Fortran's array sections (heddle_sections.h). A datatype of a section says where its
 * elements lie, but not where the n-th block begins; and no operator applies to it.
 */
#include "mpiimpl.h"

#include "heddle_sections.h"

#include <pthread.h>

/* ---- which blocks a call reads or writes ----------------------------------------------------- */

static MPIR_Comm *valid_comm(MPI_Comm comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm_ptr = NULL;
    if (HANDLE_GET_MPI_KIND(comm) != MPIR_COMM || HANDLE_GET_KIND(comm) == HANDLE_KIND_INVALID)
        return NULL;
    MPIR_Comm_get_ptr(comm, comm_ptr);
    MPIR_Comm_valid_ptr(comm_ptr, mpi_errno, FALSE);
    return mpi_errno == MPI_SUCCESS ? comm_ptr : NULL;
}

static bool is_between_groups(const MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;
}

static int count_others(const MPIR_Comm *comm)
{
    return is_between_groups(comm) ? comm->remote_size : comm->local_size;
}

void MPIR_Blocks_others(MPI_Comm comm, int *number)
{
    const MPIR_Comm *const comm_ptr = valid_comm(comm);
    *number = comm_ptr == NULL ? 0 : count_others(comm_ptr);
}

/* None, where there is no topology: the call will say so. */
static void count_neighbours(MPIR_Comm *comm, int *sources, int *targets)
{
    int weighted;
    if (comm == NULL || MPIR_Topology_get(comm) == NULL ||
        MPIR_Topo_canon_nhb_count(comm, sources, targets, &weighted) != MPI_SUCCESS)
        *sources = *targets = 0;
}

void MPIR_Blocks_neighbours(MPI_Comm comm, int *sources, int *targets)
{
    count_neighbours(valid_comm(comm), sources, targets);
}

static int number_of_blocks(enum MPIR_Blocks_of whose, MPIR_Comm *comm, int root)
{
    const bool is_root = root == (is_between_groups(comm) ? MPI_ROOT : comm->rank);
    int sources, targets;
    switch (whose) {
    case MPIR_BLOCKS_ONE:
        return 1;
    case MPIR_BLOCKS_ROOT_ONE:
        return is_root ? 1 : 0;
    case MPIR_BLOCKS_OTHER_ONE:
        return is_between_groups(comm) && root < 0 ? 0 : 1;
    case MPIR_BLOCKS_ALL:
        return count_others(comm);
    case MPIR_BLOCKS_ROOT_ALL:
        return is_root ? count_others(comm) : 0;
    case MPIR_BLOCKS_GROUP:
        return comm->local_size;
    case MPIR_BLOCKS_OWN:
        return comm->rank + 1;
    case MPIR_BLOCKS_SOURCES:
    case MPIR_BLOCKS_TARGETS:
        count_neighbours(comm, &sources, &targets);
        return whose == MPIR_BLOCKS_SOURCES ? sources : targets;
    }
    return 0;
}

struct MPIR_Blocks MPIR_Blocks_begin(enum MPIR_Blocks_of whose, MPI_Comm comm, int root)
{
    struct MPIR_Blocks blocks = {.mpi_errno = MPI_SUCCESS};
    MPIR_Comm *const comm_ptr = valid_comm(comm);
    if (comm_ptr == NULL)
        return blocks; /* as the call will say */
    blocks.end = number_of_blocks(whose, comm_ptr, root);
    if (whose == MPIR_BLOCKS_OWN)
        blocks.first = comm_ptr->rank;
    const size_t n = MPL_MAX(blocks.end - blocks.first, 1);
    blocks.counts = MPL_malloc(n * sizeof(*blocks.counts), MPL_MEM_BUFFER);
    blocks.displs = MPL_malloc(n * sizeof(*blocks.displs), MPL_MEM_BUFFER);
    blocks.types = MPL_malloc(n * sizeof(*blocks.types), MPL_MEM_BUFFER);
    if (blocks.counts == NULL || blocks.displs == NULL || blocks.types == NULL) {
        blocks.end = blocks.first;
        blocks.mpi_errno = MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__,
                                                __LINE__, MPI_ERR_NO_MEM, "**nomem", 0);
    }
    return blocks;
}

static void free_blocks(struct MPIR_Blocks *blocks)
{
    MPL_free(blocks->counts);
    MPL_free(blocks->displs);
    MPL_free(blocks->types);
}

static bool is_datatype(MPI_Datatype datatype)
{
    return HANDLE_GET_MPI_KIND(datatype) == MPIR_DATATYPE &&
           HANDLE_GET_KIND(datatype) != HANDLE_KIND_INVALID && datatype != MPI_DATATYPE_NULL;
}

static MPI_Aint extent_of(MPI_Datatype datatype)
{
    MPI_Aint extent = 0;
    if (is_datatype(datatype))
        MPIR_Datatype_get_extent_macro(datatype, extent);
    return extent;
}

void MPIR_Blocks_add_at_byte(struct MPIR_Blocks *blocks, MPI_Aint displ, MPI_Aint count,
                             MPI_Datatype datatype)
{
    if (count == 0)
        return;
    blocks->wrong = blocks->wrong || count < 0 || !is_datatype(datatype);
    blocks->counts[blocks->n] = count;
    blocks->displs[blocks->n] = displ;
    blocks->types[blocks->n++] = datatype;
    blocks->instances += count;
}

void MPIR_Blocks_add_at(struct MPIR_Blocks *blocks, MPI_Aint displ, MPI_Aint count,
                        MPI_Datatype datatype)
{
    MPIR_Blocks_add_at_byte(blocks, displ * extent_of(datatype), count, datatype);
}

void MPIR_Blocks_add(struct MPIR_Blocks *blocks, MPI_Aint count, MPI_Datatype datatype)
{
    MPIR_Blocks_add_at(blocks, blocks->instances, count, datatype);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* One instance of `scattered` at `base` has the data of one of `dense` at `copy`. */
struct copy {
    void *base, *memory, *copy;
    MPI_Datatype scattered, dense;
    bool is_result;
};

enum { MOST_COPIES = 2 }; /* of a call */

struct MPIR_Sections {
    struct copy copies[MOST_COPIES];
    int n;
    bool has_results; /* that are still to be copied back */
    MPIR_Request *request;
    struct MPIR_Sections *next; /* of those that have a request */
};

static void free_sections(struct MPIR_Sections *sections)
{
    for (int i = 0; sections != NULL && i < sections->n; i++) {
        struct copy *const copy = &sections->copies[i];
        if (copy->scattered != MPI_DATATYPE_NULL)
            MPIR_Type_free_impl(&copy->scattered);
        if (copy->dense != MPI_DATATYPE_NULL)
            MPIR_Type_free_impl(&copy->dense);
        MPL_free(copy->memory);
    }
    MPL_free(sections);
}

static int copy_there(const struct copy *copy)
{
    return MPIR_Localcopy(copy->base, 1, copy->scattered, copy->copy, 1, copy->dense);
}

static int copy_results(struct MPIR_Sections *sections)
{
    int mpi_errno = MPI_SUCCESS;
    for (int i = 0; sections->has_results && i < sections->n && mpi_errno == MPI_SUCCESS; i++) {
        const struct copy *const copy = &sections->copies[i];
        if (copy->is_result)
            mpi_errno = MPIR_Localcopy(copy->copy, 1, copy->dense, copy->base, 1, copy->scattered);
    }
    sections->has_results = false;
    return mpi_errno;
}

/* Results are copied there, too: a call may leave parts of them as they were. */
static int make_copy(struct copy *copy, const struct MPIR_Section *section,
                     const struct MPIR_Blocks *blocks)
{
    int mpi_errno = MPIR_Type_create_struct_large_impl(blocks->n, blocks->counts, blocks->displs,
                                                       blocks->types, &copy->dense);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Type_commit_impl(&copy->dense);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Typerep_section(section->rank, section->extents, section->strides,
                                     section->element, 1, copy->dense, &copy->scattered);
    MPIR_ERR_CHECK(mpi_errno);
    MPI_Aint first, bytes;
    MPIR_Type_get_true_extent_impl(copy->dense, &first, &bytes);
    copy->memory = MPL_malloc(MPL_MAX(bytes, 1), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(copy->memory == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    copy->copy = (char *)copy->memory - first;
    mpi_errno = copy_there(copy);
fn_fail:
    return mpi_errno;
}

int MPIR_Sections_add(struct MPIR_Sections **sections, const struct MPIR_Section *section,
                      struct MPIR_Blocks *blocks, bool is_result, void **buf)
{
    int mpi_errno = blocks->mpi_errno;
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_ERR_CHECK(mpi_errno);
    if (blocks->n == 0 || blocks->wrong)
        goto fn_exit;
    if (*sections == NULL)
        *sections = MPL_calloc(1, sizeof(**sections), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(*sections == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIR_Assert((*sections)->n < MOST_COPIES);
    struct copy *const copy = &(*sections)->copies[(*sections)->n++];
    *copy = (struct copy){.base = section->base,
                          .scattered = MPI_DATATYPE_NULL,
                          .dense = MPI_DATATYPE_NULL,
                          .is_result = is_result};
    mpi_errno = make_copy(copy, section, blocks);
    MPIR_ERR_CHECK(mpi_errno);
    (*sections)->has_results = (*sections)->has_results || is_result;
    *buf = copy->copy;
fn_exit:
    free_blocks(blocks);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Sections_refuse(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_BUFFER, "**arg", "**arg %s",
                                "buffer (an array section that is not contiguous)");
}

/* ---- requests that have copies --------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards `kept` */
static struct MPIR_Sections *kept;
static MPL_atomic_int_t number_kept; /* so that who has none need not look */

/* Where the pointer to a request's copies is, or the null one at the end. */
static struct MPIR_Sections **find(const MPIR_Request *request)
{
    struct MPIR_Sections **at = &kept;
    while (*at != NULL && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

static struct MPIR_Sections *sections_of(const MPIR_Request *request)
{
    if (likely(MPL_atomic_load_int(&number_kept) == 0))
        return NULL;
    pthread_mutex_lock(&mutex);
    struct MPIR_Sections *const sections = *find(request);
    pthread_mutex_unlock(&mutex);
    return sections;
}

static void keep(struct MPIR_Sections *sections, MPIR_Request *request)
{
    sections->request = request;
    pthread_mutex_lock(&mutex);
    sections->next = kept;
    kept = sections;
    MPL_atomic_fetch_add_int(&number_kept, 1);
    pthread_mutex_unlock(&mutex);
}

int MPIR_Sections_start(MPIR_Request *request)
{
    struct MPIR_Sections *const sections = sections_of(request);
    int mpi_errno = MPI_SUCCESS;
    for (int i = 0; sections != NULL && i < sections->n && mpi_errno == MPI_SUCCESS; i++) {
        mpi_errno = copy_there(&sections->copies[i]);
        sections->has_results = sections->has_results || sections->copies[i].is_result;
    }
    return mpi_errno;
}

int MPIR_Sections_results(MPIR_Request *request)
{
    struct MPIR_Sections *const sections = sections_of(request);
    return sections == NULL ? MPI_SUCCESS : copy_results(sections);
}

void MPIR_Sections_forget(MPIR_Request *request)
{
    if (sections_of(request) == NULL)
        return;
    pthread_mutex_lock(&mutex);
    struct MPIR_Sections **const at = find(request), *const sections = *at;
    *at = sections->next;
    MPL_atomic_fetch_sub_int(&number_kept, 1);
    pthread_mutex_unlock(&mutex);
    free_sections(sections);
}

/* Whether the request took the copies over; one that was over at once has no memory. */
static bool is_kept(struct MPIR_Sections *sections, MPI_Request request)
{
    MPIR_Request *request_ptr;
    if (HANDLE_IS_BUILTIN(request))
        return false;
    MPIR_Request_get_ptr(request, request_ptr);
    keep(sections, request_ptr);
    return true;
}

int MPIR_Sections_end(struct MPIR_Sections *sections, int refused, int mpi_errno, MPI_Comm comm,
                      const char *name, MPI_Request *request)
{
    int error = refused;
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (sections != NULL && refused == MPI_SUCCESS && mpi_errno == MPI_SUCCESS) {
        if (request != NULL && is_kept(sections, *request))
            sections = NULL;
        else
            error = copy_results(sections);
    }
    free_sections(sections);
    if (error != MPI_SUCCESS)
        mpi_errno = MPIR_Err_return_comm(valid_comm(comm), name, error);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}
