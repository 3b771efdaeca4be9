/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transport algorithms (MPIR_TSP_*) that move data see bytes alone. MPICH's keep blocks in
 * temporary memory as if any type could be laid out there, end to end. That was wrong for types
 * with gaps, a lower bound or a small extent, and for types that differ at the two sides. So their
 * schedule begins by packing what is read, and ends by unpacking what was written.
 */
#include "mpiimpl.h"

/* One instance behind the other is a row of bytes, and begins where it says. */
static bool is_dense(MPI_Datatype datatype)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    MPIR_Type_get_extent_impl(datatype, &lb, &extent);
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    const MPI_Aint size = MPIR_Coll_size(datatype);
    int is_contig;
    MPIR_Datatype_is_contig(datatype, &is_contig);
    return is_contig && lb == 0 && true_lb == 0 && extent == size && true_extent == size;
}

static MPI_Aint extent_of(MPI_Datatype datatype)
{
    MPI_Aint lb, extent;
    MPIR_Type_get_extent_impl(datatype, &lb, &extent);
    return extent;
}

/* What is to be done before all that is added to the schedule later. */
static int copy_first(MPIR_TSP_sched_t sched, const void *from, MPI_Aint count, MPI_Datatype type,
                      void *to, MPI_Aint to_count, MPI_Datatype to_type)
{
    int id;
    int mpi_errno =
        MPIR_TSP_sched_localcopy(from, count, type, to, to_count, to_type, sched, 0, NULL, &id);
    return mpi_errno != MPI_SUCCESS ? mpi_errno : MPIR_TSP_sched_fence(sched);
}

/* Reads `blocks` times `count` instances. From then on the block is bytes. */
static int read_bytes(MPIR_TSP_sched_t sched, const void **buf, MPI_Aint *count, MPI_Datatype *type,
                      int blocks)
{
    int mpi_errno = MPI_SUCCESS;
    const MPI_Aint bytes = *count * MPIR_Coll_size(*type);
    if (bytes > 0 && !is_dense(*type)) {
        void *const packed = MPIR_TSP_sched_malloc(blocks * bytes, sched);
        MPIR_ERR_CHKANDJUMP(packed == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        mpi_errno =
            copy_first(sched, *buf, blocks * *count, *type, packed, blocks * bytes, MPI_BYTE);
        MPIR_ERR_CHECK(mpi_errno);
        *buf = packed;
    }
    *count = bytes;
    *type = MPI_BYTE;
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* Writes, at the end, `blocks` times `count` instances;
 * where they hold data already, reads them first. */
static int write_bytes(MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end, bool holds, void **buf,
                       MPI_Aint *count, MPI_Datatype *type, int blocks)
{
    const struct MPIR_Coll_bytes user = {
        *buf, NULL, *type, blocks, *count, *count * extent_of(*type), NULL, NULL};
    const void *from = *buf;
    int mpi_errno = MPI_SUCCESS;
    if (holds) {
        mpi_errno = read_bytes(sched, &from, count, type, blocks);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        *count *= MPIR_Coll_size(*type);
        *type = MPI_BYTE;
        if (*count > 0 && !is_dense(user.type)) {
            from = MPIR_TSP_sched_malloc(blocks * *count, sched);
            MPIR_ERR_CHKANDJUMP(from == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
        }
    }
    if (from != *buf) {
        *end = user;
        *buf = end->packed = (void *)from;
    }
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Coll_bytes_bcast(void **buffer, MPI_Aint *count, MPI_Datatype *datatype, int *root,
                          MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    const void *from = *buffer;
    if (comm->rank != *root)
        return write_bytes(sched, end, false, buffer, count, datatype, 1);
    int mpi_errno = read_bytes(sched, &from, count, datatype, 1);
    *buffer = (void *)from;
    return mpi_errno;
}

int MPIR_Coll_bytes_gather(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                           void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype, int *root,
                           MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    const bool is_root = comm->rank == *root, in_place = is_root && *sendbuf == MPI_IN_PLACE;
    int mpi_errno = in_place ? MPI_SUCCESS : read_bytes(sched, sendbuf, sendcount, sendtype, 1);
    if (mpi_errno == MPI_SUCCESS && is_root)
        mpi_errno =
            write_bytes(sched, end, in_place, recvbuf, recvcount, recvtype, comm->local_size);
    return mpi_errno;
}

int MPIR_Coll_bytes_scatter(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                            void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype, int *root,
                            MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    const bool is_root = comm->rank == *root, in_place = is_root && *recvbuf == MPI_IN_PLACE;
    int mpi_errno =
        is_root ? read_bytes(sched, sendbuf, sendcount, sendtype, comm->local_size) : MPI_SUCCESS;
    if (mpi_errno == MPI_SUCCESS && !in_place)
        mpi_errno = write_bytes(sched, end, false, recvbuf, recvcount, recvtype, 1);
    return mpi_errno;
}

static int exchange(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                    void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype, int sent,
                    MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    const bool in_place = *sendbuf == MPI_IN_PLACE;
    int mpi_errno = in_place ? MPI_SUCCESS : read_bytes(sched, sendbuf, sendcount, sendtype, sent);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno =
            write_bytes(sched, end, in_place, recvbuf, recvcount, recvtype, comm->local_size);
    return mpi_errno;
}

int MPIR_Coll_bytes_allgather(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                              void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype,
                              MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    return exchange(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, 1, comm, sched,
                    end);
}

int MPIR_Coll_bytes_alltoall(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                             void **recvbuf, MPI_Aint *recvcount, MPI_Datatype *recvtype,
                             MPIR_Comm *comm, MPIR_TSP_sched_t sched, struct MPIR_Coll_bytes *end)
{
    return exchange(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm->local_size,
                    comm, sched, end);
}

/* The blocks, one behind the other. */
int MPIR_Coll_bytes_allgatherv(const void **sendbuf, MPI_Aint *sendcount, MPI_Datatype *sendtype,
                               void **recvbuf, const MPI_Aint **recvcounts, const MPI_Aint **displs,
                               MPI_Datatype *recvtype, MPIR_Comm *comm, MPIR_TSP_sched_t sched,
                               struct MPIR_Coll_bytes *end)
{
    const int n = comm->local_size;
    const MPI_Aint size = MPIR_Coll_size(*recvtype), extent = extent_of(*recvtype);
    const bool in_place = *sendbuf == MPI_IN_PLACE;
    int id, mpi_errno = in_place ? MPI_SUCCESS : read_bytes(sched, sendbuf, sendcount, sendtype, 1);
    MPIR_ERR_CHECK(mpi_errno);
    MPI_Aint *const lists = MPIR_TSP_sched_malloc((4 * n + 1) * sizeof(MPI_Aint), sched);
    MPIR_ERR_CHKANDJUMP(lists == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPI_Aint *const bytes = lists, *const at = lists + n, *const count = at + n + 1,
                    *const user_at = count + n;
    at[0] = 0;
    for (int i = 0; i < n; i++) {
        count[i] = (*recvcounts)[i];
        user_at[i] = (*displs)[i] * extent;
        bytes[i] = count[i] * size;
        at[i + 1] = at[i] + bytes[i];
    }
    char *const packed = MPIR_TSP_sched_malloc(at[n] + 1, sched);
    MPIR_ERR_CHKANDJUMP(packed == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *end = (struct MPIR_Coll_bytes){*recvbuf, packed, *recvtype, n, 0, 0, count, user_at};
    const int me = comm->rank;
    if (in_place && bytes[me] > 0) {
        mpi_errno =
            MPIR_TSP_sched_localcopy((char *)*recvbuf + user_at[me], count[me], *recvtype,
                                     packed + at[me], bytes[me], MPI_BYTE, sched, 0, NULL, &id);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_TSP_sched_fence(sched);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *recvbuf = packed;
    *recvcounts = bytes;
    *displs = at;
    *recvtype = MPI_BYTE;
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Coll_bytes_end(const struct MPIR_Coll_bytes *end, MPIR_TSP_sched_t sched)
{
    int id, mpi_errno = MPI_SUCCESS;
    if (end->packed == NULL)
        goto fn_exit;
    mpi_errno = MPIR_TSP_sched_fence(sched);
    MPIR_ERR_CHECK(mpi_errno);
    const MPI_Aint size = MPIR_Coll_size(end->type);
    const char *from = end->packed;
    for (int i = 0; i < end->blocks; i++) {
        const MPI_Aint count = end->counts != NULL ? end->counts[i] : end->count;
        const MPI_Aint at = end->at != NULL ? end->at[i] : i * end->stride;
        if (count * size == 0)
            continue;
        mpi_errno = MPIR_TSP_sched_localcopy(from, count * size, MPI_BYTE, (char *)end->user + at,
                                             count, end->type, sched, 0, NULL, &id);
        MPIR_ERR_CHECK(mpi_errno);
        from += count * size;
    }
fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

void *MPIR_Coll_rows(MPI_Aint count, MPI_Datatype datatype, MPIR_TSP_sched_t sched)
{
    MPI_Aint true_lb, true_extent;
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    const MPI_Aint stride = extent_of(datatype),
                   before = stride < 0 && count > 1 ? -stride * (count - 1) : 0;
    const MPI_Aint length =
        (count > 1 ? (stride < 0 ? before : stride * (count - 1)) : 0) + true_extent;
    char *const memory = MPIR_TSP_sched_malloc(length > 0 ? length : 1, sched);
    return memory != NULL ? memory + before - true_lb : NULL;
}
