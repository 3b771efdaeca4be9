/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking operations. The steps of a collective one are collective operations themselves. So
 * the operations of one file take place one after the other, and meet in the same order on all
 * processes. A buffer that host code cannot read goes through one block of staging memory, in as
 * many rounds as the process with the most needs. Whoever waits, for anything, takes all of them
 * on. Independent operations are ROMIO's, which end by themselves.
 *
 * Each is a generalized request around the requests of ROMIO: it tells by the file's error handler.
 */
#include "pieces.h"

#include "adio_extern.h"
#include "heddle_files.h"
#include "mpiu_greq.h"

#include <sched.h>
#include <stdatomic.h>

/* MPICH also provides these (src/util/mpir_progress_hook.c). */
int MPIR_Progress_hook_register(int (*hook)(int *made_progress), int *id);
int MPIR_Progress_hook_deregister(int id);
int MPIR_Progress_hook_activate(int id);
int MPIR_Progress_hook_deactivate(int id);

enum stage { QUEUED, COUNTING, MOVING, AGREEING, OVER };

struct pending {
    struct pending *next; /* began later, of any file */
    enum stage stage;
    MPI_Request request; /* the caller's, if there is a caller */
    int is_dropped;      /* the caller waits no more */
    MPI_Request step;    /* under way, or null */
    MPI_Datatype step_type;
    struct pieces p; /* the buffer is held, and lies in one piece where it is not staged */
    int is_read, is_staged, is_collective;
    MPI_Count own_rounds, round;
    MPI_Count in_file, moved; /* bytes that there are to read; that were moved */
    int error;                /* of this process */
    int class, worst;         /* of a read: ROMIO's error in this process, and in all */
};

static MPIX_Grequest_class pending_class = 0;

/* All that are not over. `is_busy` protects them: who finds them busy leaves them alone, for
 * progress may come from within a step. */
static struct pending *first_pending;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static int hook = -1;

static void note(struct pending *op, int error)
{
    if (op->error == MPI_SUCCESS)
        op->error = error;
}

/* What fails in ROMIO may have been another process's data. */
static void note_of_all(struct pending *op, int error)
{
    if (error != MPI_SUCCESS)
        op->class = MPI_ERR_IO;
    ADIOI_Unlock_failed(op->p.fd, error);
    note(op, error);
}

/* ---- one step */

/* The block for this round, packed if it is written. What fails has no data from here on. */
static void *stage_round(struct pending *op, MPI_Count at, MPI_Count bytes)
{
    struct MPIR_Staging *const block = &op->p.block[0];
    if (block->memory == NULL)
        note(op, MPIR_Staging_alloc(block, bytes, &op->p.buffer));
    if (op->error == MPI_SUCCESS && !op->is_read) {
        note(op, MPIR_Staging_pack(block, &op->p.buffer, at, bytes));
        note(op, MPIR_Staging_wait(block));
    }
    return block->memory;
}

static void begin_round(struct pending *op)
{
    struct pieces *const p = &op->p;
    const MPI_Count at = op->round * p->piece;
    MPI_Count bytes = op->is_staged ? ADIOI_Pieces_length(p, at) : 0;
    void *memory = bytes > 0 && op->error == MPI_SUCCESS ? stage_round(op, at, bytes) : NULL;
    MPI_Datatype type;
    int count, error = MPI_SUCCESS;

    ADIOI_Bytes_type(op->error == MPI_SUCCESS ? bytes : 0, &op->step_type, &count);
    type = op->step_type;
    if (!op->is_staged && op->round == 0) {
        memory = p->buffer.buf;
        type = p->buffer.datatype;
        count = (int)p->buffer.count;
    }
    if (op->is_read)
        ADIO_IreadStridedColl(p->fd, memory, count, type, ADIO_EXPLICIT_OFFSET,
                              ADIOI_Pieces_offset(p, at), &op->step, &error);
    else
        ADIO_IwriteStridedColl(p->fd, memory, count, type, ADIO_EXPLICIT_OFFSET,
                               ADIOI_Pieces_offset(p, at), &op->step, &error);
    note_of_all(op, error);
}

static void end_round(struct pending *op, const MPI_Status *status)
{
    struct MPIR_Staging *const block = &op->p.block[0];
    const MPI_Count at = op->round * op->p.piece;
    MPI_Count bytes = ADIOI_Status_bytes(status);
    ADIOI_Bytes_type_free(&op->step_type);
    op->round++;
    if (!op->is_staged || op->error != MPI_SUCCESS) {
        op->moved += bytes;
        return;
    }
    if (op->is_read) /* what follows a short round does not count */
        bytes = op->moved == at ? MPL_MIN(bytes, op->in_file - at) : 0;
    if (op->is_read && bytes > 0) {
        note(op, MPIR_Staging_unpack(block, &op->p.buffer, at, bytes));
        note(op, MPIR_Staging_wait(block));
    }
    op->moved += MPL_MAX(bytes, 0);
}

/* In atomic mode the accesses of several rounds would mix (collective.c). */
static void move_alone(struct pending *op)
{
    struct pieces *const p = &op->p;
    ADIO_Status status;
    int error = MPI_SUCCESS;
    memset(&status, 0, sizeof status);
    if (op->is_read)
        ADIOI_Read_alone(p->fd, p->buffer.buf, (int)p->buffer.count, p->buffer.datatype,
                         ADIO_EXPLICIT_OFFSET, p->offset, &status, &error);
    else
        ADIOI_Write_alone(p->fd, p->buffer.buf, (int)p->buffer.count, p->buffer.datatype,
                          ADIO_EXPLICIT_OFFSET, p->offset, &status, &error);
    note(op, error);
    op->moved = ADIOI_Status_bytes(&status);
    op->round = p->rounds;
}

/* ---- from step to step */

static void start(struct pending *op)
{
    struct pieces *const p = &op->p;
    op->stage = COUNTING;
    op->in_file = op->is_read && op->is_staged ? ADIOI_Pieces_in_file(p) : p->bytes;
    op->own_rounds = p->rounds = op->is_staged ? ADIOI_Pieces_rounds(p) : 1;
    if (p->fd->any_device)
        note(op, PMPI_Iallreduce(&op->own_rounds, &p->rounds, 1, MPI_COUNT, MPI_MAX, p->fd->comm,
                                 &op->step));
}

/* Data that a read got from others are right only if all of them had them. */
static void agree(struct pending *op)
{
    op->stage = AGREEING;
    if (op->is_read)
        note(op, PMPI_Iallreduce(&op->class, &op->worst, 1, MPI_INT, MPI_MAX, op->p.fd->comm,
                                 &op->step));
}

/* The last step has ended: the next one. */
static void step(struct pending *op, const MPI_Status *status)
{
    switch (op->stage) {
    case QUEUED:
        start(op);
        return;
    case COUNTING:
        op->stage = MOVING;
        break;
    case MOVING:
        end_round(op, status);
        break;
    default:
        note(op, op->worst);
        op->stage = OVER;
        return;
    }
    if (op->is_collective && op->p.fd->atomicity && op->p.rounds > 1)
        move_alone(op);
    if (op->round < op->p.rounds)
        begin_round(op);
    else if (op->is_collective)
        agree(op);
    else
        op->stage = OVER;
}

/* Advances it as far as it goes without waiting. */
static void advance(struct pending *op)
{
    const ADIO_Offset pointer = op->p.fd->fp_ind; /* ROMIO sets it back to where it was */
    while (op->stage != OVER) {
        MPI_Status status;
        memset(&status, 0, sizeof status);
        if (op->step != MPI_REQUEST_NULL) {
            int flag = 0;
            const int error = PMPI_Test(&op->step, &flag, &status);
            if (error == MPI_SUCCESS && !flag)
                break;
            note_of_all(op, error);
            op->step = MPI_REQUEST_NULL;
        }
        step(op, &status);
    }
    op->p.fd->fp_ind = pointer;
}

/* ---- all of them */

static void finish(struct pending *op)
{
    MPIR_Staging_free(&op->p.block[0]);
    MPIR_Typerep_let_go(op->p.buffer.datatype);
    const int is_dropped = op->is_dropped;
    if (op->request != MPI_REQUEST_NULL)
        PMPI_Grequest_complete(op->request);
    if (is_dropped)
        ADIOI_Free(op);
}

static int is_first_of_its_file(const struct pending *op)
{
    const struct pending *earlier = first_pending;
    while (earlier != op && !(earlier->is_collective && earlier->p.fd == op->p.fd))
        earlier = earlier->next;
    return earlier == op;
}

/* True where something has ended. */
static int advance_all(void)
{
    int ended = 0;
    if (atomic_flag_test_and_set(&is_busy))
        return 0;
    MPIR_Files_quiet(1);
    for (struct pending **link = &first_pending; *link != NULL;) {
        struct pending *const op = *link;
        if (!op->is_collective || is_first_of_its_file(op))
            advance(op);
        if (op->stage != OVER) {
            link = &op->next;
            continue;
        }
        *link = op->next;
        finish(op);
        ended = 1;
    }
    if (first_pending == NULL && hook >= 0)
        MPIR_Progress_hook_deactivate(hook);
    MPIR_Files_quiet(-1);
    atomic_flag_clear(&is_busy);
    return ended;
}

static int progress(int *made_progress)
{
    *made_progress = advance_all();
    return MPI_SUCCESS;
}

static void enqueue(struct pending *op)
{
    while (atomic_flag_test_and_set(&is_busy)) /* another thread's steps do not wait */
        sched_yield();
    struct pending **link = &first_pending;
    while (*link != NULL)
        link = &(*link)->next;
    *link = op;
    if (hook < 0 && MPIR_Progress_hook_register(progress, &hook) != MPI_SUCCESS)
        hook = -1; /* there are too many: those who wait for a file go on with it */
    if (hook >= 0)
        MPIR_Progress_hook_activate(hook);
    atomic_flag_clear(&is_busy);
}

/* ---- the caller's request */

static int poll_pending(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    advance_all();
    return MPI_SUCCESS;
}

static int wait_pending(int count, void **states, double timeout, MPI_Status *status)
{
    const double start_time = PMPI_Wtime();
    (void)status;
    for (int i = 0; i < count; i++) {
        struct pending *const op = states[i];
        while (op->stage != OVER) {
            advance_all();
            if (timeout > 0 && PMPI_Wtime() - start_time > timeout)
                return MPI_SUCCESS;
        }
    }
    return MPI_SUCCESS;
}

static int query_pending(void *state, MPI_Status *status)
{
    const struct pending *const op = state;
    PMPI_Status_set_elements_x(status, MPI_BYTE, op->error == MPI_SUCCESS ? op->moved : 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return ADIO_Any_tell(op->p.fd, op->error);
}

static int free_pending(void *state)
{
    struct pending *const op = state;
    if (op->stage == OVER)
        ADIOI_Free(op);
    else
        op->is_dropped = 1;
    return MPI_SUCCESS;
}

static void request_of(struct pending *op, ADIO_Request *request)
{
    if (pending_class == 0)
        PMPIX_Grequest_class_create(query_pending, free_pending, MPIU_Greq_cancel_fn, poll_pending,
                                    wait_pending, &pending_class);
    PMPIX_Grequest_class_allocate(pending_class, op, &op->request);
    *request = op->request;
}

/* ---- how they begin */

static struct pending *new_pending(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype)
{
    struct pending *const op = ADIOI_Calloc(1, sizeof *op);
    op->request = op->step = MPI_REQUEST_NULL;
    op->step_type = MPI_BYTE;
    op->is_staged = ADIOI_Buffer_is_staged(buf, count, datatype);
    ADIOI_Pieces_init(&op->p, fd, buf, count, datatype, ADIO_EXPLICIT_OFFSET, 0, fd->etype_size,
                      fd->hints->cb_buffer_size);
    MPIR_Typerep_hold(datatype);
    return op;
}

/* The file's own pointer says where, and goes on at once. */
static ADIO_Offset take_pointer(ADIO_File fd, MPI_Count bytes)
{
    if (bytes == 0)
        return 0;
    const ADIO_Offset at = ADIOI_View_bytes_before(fd, fd->fp_ind) / fd->etype_size;
    int error;
    ADIO_SeekIndividual(fd, at + bytes / fd->etype_size, ADIO_SEEK_SET, &error);
    return at;
}

static void begin(struct pending *op, int is_read, int file_ptr_type, ADIO_Offset offset)
{
    op->is_collective = 1;
    op->is_read = is_read;
    op->p.offset = file_ptr_type == ADIO_INDIVIDUAL ? take_pointer(op->p.fd, op->p.bytes) : offset;
    op->p.fd->joined |= ADIO_ANY_DATA;
    enqueue(op);
    advance_all();
}

void ADIO_Any_IreadStridedColl(ADIO_File fd, void *buf, int count, MPI_Datatype datatype,
                               int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                               int *error_code)
{
    struct pending *const op = new_pending(fd, buf, count, datatype);
    request_of(op, request);
    begin(op, 1, file_ptr_type, offset);
    *error_code = MPI_SUCCESS;
}

void ADIO_Any_IwriteStridedColl(ADIO_File fd, const void *buf, int count, MPI_Datatype datatype,
                                int file_ptr_type, ADIO_Offset offset, ADIO_Request *request,
                                int *error_code)
{
    struct pending *const op = new_pending(fd, buf, count, datatype);
    request_of(op, request);
    begin(op, 0, file_ptr_type, offset);
    *error_code = MPI_SUCCESS;
}

void ADIOI_Join(ADIO_File fd, int is_read)
{
    struct pending *const op = new_pending(fd, NULL, 0, MPI_BYTE);
    op->is_dropped = 1;
    begin(op, is_read, ADIO_EXPLICIT_OFFSET, 0);
}

void ADIOI_Follow(ADIO_File fd, ADIO_Request *request, int error_code)
{
    if (error_code != MPI_SUCCESS || *request == MPI_REQUEST_NULL)
        return;
    struct pending *const op = new_pending(fd, NULL, 0, MPI_BYTE);
    op->stage = MOVING;
    op->p.rounds = 1;
    op->step = *request;
    request_of(op, request);
    enqueue(op);
}

void ADIO_Any_drain(ADIO_File fd)
{
    for (int is_pending = 1; is_pending;) {
        advance_all();
        is_pending = 0;
        while (atomic_flag_test_and_set(&is_busy))
            sched_yield();
        for (const struct pending *op = first_pending; op != NULL; op = op->next)
            is_pending |= op->is_collective && op->p.fd == fd;
        atomic_flag_clear(&is_busy);
    }
}

void ADIO_Any_finalize(void)
{
    if (hook >= 0)
        MPIR_Progress_hook_deregister(hook);
    hook = -1;
}
