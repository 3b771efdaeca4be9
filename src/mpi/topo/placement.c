/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 of the communicator knows the whole graph, or collects it, and places its vertices
 * (heddle_placement.h). So all processes have one answer, whatever they run on.
 *
 * A vertex is a rank of the new communicator. What a process says of its own rank in the old one
 * concerns that vertex. If another process gets this rank, it must have the vertex's neighbours.
 */
#include "mpiimpl.h"

#include "heddle_placement.h"
#include "placement.h"

#include <stdlib.h>

/* What a process needs to know of the answer. */
typedef struct {
    int heir; /* the process that takes the rank which is this one's in the old communicator */
    int rank; /* this process's in the new one, or MPI_UNDEFINED */
} seat_t;

enum { KEEP_ALL, MOVE, NO_MEMORY, FAILED };

static int64_t limit_of(MPIR_Info *info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int flag = 0;
    if (info != NULL)
        MPIR_Info_get_impl(info, "heddle_placement", MPI_MAX_INFO_VAL, value, &flag);
    if (flag) {
        char *end;
        const long limit = strtol(value, &end, 10);
        if (end != value && *end == '\0' && limit >= 0)
            return limit;
    }
    return heddle_placement_limit();
}

/* The node of each process. False where somebody's is not known. */
static bool find_nodes(MPIR_Comm *comm, int *node)
{
    for (int i = 0; i < comm->local_size; i++)
        if (MPID_Get_node_id(comm, i, &node[i]) != MPI_SUCCESS || node[i] < 0)
            return false;
    return true;
}

static int compare_nodes(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

bool MPIR_Placement_is_wanted(MPIR_Comm *comm, MPIR_Info *info, int reorder)
{
    if (!reorder || comm->local_size < 3 || limit_of(info) == 0)
        return false;
    int *const node = MPL_malloc(comm->local_size * sizeof(int), MPL_MEM_COMM);
    bool is_wanted = false;
    if (node != NULL && find_nodes(comm, node)) {
        qsort(node, comm->local_size, sizeof(int), compare_nodes);
        int nodes = 1;
        for (int i = 1; i < comm->local_size; i++)
            nodes += node[i] != node[i - 1];
        is_wanted = nodes < comm->local_size;
    }
    MPL_free(node);
    return is_wanted;
}

/* ---- rates within nodes ------------------------------------------------------------------------
 */

static int32_t number_of(MPIR_hwtopo_type_e type)
{
    const MPIR_hwtopo_gid_t gid = MPIR_hwtopo_get_obj_by_type(type);
    return gid == MPIR_HWTOPO_GID_ROOT ? -1 : MPIR_hwtopo_get_lid(gid);
}

/* Where each process's row lies among those of all nodes, in the order of the nodes' first ranks.
 * counts: how long each is, then where it begins. */
static void lay_out_rows(MPIR_Comm *comm, const int *node, MPI_Aint *counts)
{
    MPI_Aint *const displs = counts + comm->local_size, next = 0;
    for (int i = 0; i < comm->local_size; i++)
        counts[i] = 0;
    for (int first = 0; first < comm->local_size; first++) {
        MPI_Aint members = 0;
        if (counts[first] > 0)
            continue;
        for (int i = first; i < comm->local_size; i++)
            members += node[i] == node[first];
        for (int i = first; i < comm->local_size; i++)
            if (node[i] == node[first]) {
                counts[i] = members;
                displs[i] = next;
                next += members;
            }
    }
}

/* 0 stands for a process itself. */
static bool are_alike(const double *rates, MPI_Aint n)
{
    double first = 0;
    for (MPI_Aint i = 0; i < n; i++) {
        if (rates[i] > 0 && first > 0 && rates[i] != first)
            return false;
        if (rates[i] > 0)
            first = rates[i];
    }
    return true;
}

/* At rank 0 *rates has all rows, unless all processes of a node reach each other alike. */
static int gather_rows(MPIR_Comm *comm, const int *node, const double *row, int near,
                       MPI_Aint *counts, double **rates)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    double *all = NULL;
    MPI_Aint sum = 0;
    if (comm->rank == 0) {
        lay_out_rows(comm, node, counts);
        for (int i = 0; i < comm->local_size; i++)
            sum += counts[i];
        all = MPL_malloc(sum * sizeof(double), MPL_MEM_COMM);
        MPIR_ERR_CHKANDJUMP(!all, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    }
    mpi_errno = MPIR_Gatherv(row, near, MPI_DOUBLE, all, counts, counts + comm->local_size,
                             MPI_DOUBLE, 0, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0 && !are_alike(all, sum)) {
        *rates = all;
        all = NULL;
    }
fn_exit:
    MPL_free(all);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* Collective: at rank 0 *rates is what heddle_placement_problem wants, or NULL where all processes
 * of a node reach each other alike. */
static int find_rates(MPIR_Comm *comm, double **rates)
{
    int mpi_errno = MPI_SUCCESS, near = 0;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int size = comm->local_size;
    heddle_location here = {.bytes = sizeof here,
                            .socket = number_of(MPIR_HWTOPO_TYPE__PACKAGE),
                            .memory = number_of(MPIR_HWTOPO_TYPE__DDR)};
    heddle_location *locations = NULL;
    double *row = NULL;
    int *node = NULL;
    MPI_Aint *counts = NULL;
    MPIR_CHKLMEM_DECL(4);
    *rates = NULL;
    heddle_location_device(&here);
    MPIR_CHKLMEM_MALLOC(locations, heddle_location *, size * sizeof here, mpi_errno, "locations",
                        MPL_MEM_COMM);
    MPIR_CHKLMEM_MALLOC(row, double *, size * sizeof(double), mpi_errno, "row", MPL_MEM_COMM);
    MPIR_CHKLMEM_MALLOC(node, int *, size * sizeof(int), mpi_errno, "node", MPL_MEM_COMM);
    MPIR_CHKLMEM_MALLOC(counts, MPI_Aint *, 2 * size * sizeof(MPI_Aint), mpi_errno, "counts",
                        MPL_MEM_COMM);
    mpi_errno = MPIR_Allgather(&here, sizeof here, MPI_BYTE, locations, sizeof here, MPI_BYTE, comm,
                               &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    find_nodes(comm, node); /* they are known: placement is wanted */
    for (int i = 0; i < size; i++)
        if (node[i] == node[comm->rank])
            row[near++] = i == comm->rank ? 0 : heddle_location_rate(&here, &locations[i]);
    mpi_errno = gather_rows(comm, node, row, near, counts, rates);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* At rank 0: fills `seats`, of each process. */
static int solve(MPIR_Comm *comm, heddle_placement_problem *problem, seat_t *seats)
{
    const int size = comm->local_size;
    heddle_placement result = {.bytes = sizeof result};
    int *const node = MPL_malloc(size * sizeof(int), MPL_MEM_COMM);
    int32_t *const slot = MPL_malloc(size * sizeof(int32_t), MPL_MEM_COMM);
    int error = HEDDLE_ERR_NO_MEMORY;
    if (node != NULL && slot != NULL && find_nodes(comm, node)) {
        problem->bytes = sizeof *problem;
        problem->slots = size;
        problem->node = node;
        error = heddle_place(problem, slot, &result);
    }
    for (int i = 0; i < size; i++)
        seats[i] = (seat_t){MPI_UNDEFINED, MPI_UNDEFINED};
    for (int v = 0; error == HEDDLE_SUCCESS && v < problem->vertices; v++) {
        seats[v].heir = slot[v];
        seats[slot[v]].rank = v;
    }
    MPL_free(node);
    MPL_free(slot);
    if (error != HEDDLE_SUCCESS)
        return error == HEDDLE_ERR_NO_MEMORY ? NO_MEMORY : FAILED;
    return result.moved > 0 ? MOVE : KEEP_ALL;
}

/* Collective; `problem` counts at rank 0. *moves: whether somebody moves, and *seat was written. */
static int agree(MPIR_Comm *comm, heddle_placement_problem *problem, seat_t *seat, bool *moves)
{
    int mpi_errno = MPI_SUCCESS, status = NO_MEMORY;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    seat_t *seats = NULL;
    double *rates = NULL;
    mpi_errno = find_rates(comm, &rates);
    MPIR_ERR_CHECK(mpi_errno);
    problem->rates = rates;
    if (comm->rank == 0) {
        seats = MPL_malloc(comm->local_size * sizeof(seat_t), MPL_MEM_COMM);
        if (seats != NULL)
            status = solve(comm, problem, seats);
    }
    mpi_errno = MPIR_Bcast(&status, 1, MPI_INT, 0, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(status == NO_MEMORY, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIR_ERR_CHKANDJUMP(status == FAILED, mpi_errno, MPI_ERR_ARG, "**arg");
    *moves = status == MOVE;
    if (*moves)
        mpi_errno = MPIR_Scatter(seats, 2, MPI_INT, seat, 2, MPI_INT, 0, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    MPL_free(rates);
    MPL_free(seats);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* ---- whole graphs that every process knows ----------------------------------------------------
 */

static void next_neighbour(heddle_placement_problem *problem, int32_t from, int32_t to)
{
    ((int32_t *)problem->from)[problem->edges] = from;
    ((int32_t *)problem->to)[problem->edges++] = to;
}

static int make_room(heddle_placement_problem *problem, int64_t edges)
{
    int mpi_errno = MPI_SUCCESS;
    problem->from = MPL_malloc((edges + 1) * sizeof(int32_t), MPL_MEM_COMM);
    problem->to = MPL_malloc((edges + 1) * sizeof(int32_t), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!problem->from || !problem->to, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
fn_fail:
    return mpi_errno;
}

static void give_back(heddle_placement_problem *problem)
{
    MPL_free((void *)problem->from);
    MPL_free((void *)problem->to);
    MPL_free((void *)problem->weight);
}

/* Agrees on a problem whose edges all processes have. Rank 0 alone uses them. */
static int agree_on_rank(MPIR_Comm *comm, heddle_placement_problem *problem, int *rank)
{
    seat_t seat;
    bool moves = false;
    problem->milliseconds = -1;
    const int mpi_errno = agree(comm, problem, &seat, &moves);
    if (mpi_errno == MPI_SUCCESS && moves)
        *rank = seat.rank;
    return mpi_errno;
}

int MPIR_Placement_cart(MPIR_Comm *comm, int ndims, const int dims[], const int periods[],
                        int *rank)
{
    int mpi_errno = MPI_SUCCESS;
    heddle_placement_problem problem = {.vertices = 1};
    if (!MPIR_Placement_is_wanted(comm, NULL, 1))
        return MPI_SUCCESS;
    for (int d = 0; d < ndims; d++)
        problem.vertices *= dims[d];
    if (comm->rank == 0) {
        mpi_errno = make_room(&problem, (int64_t)problem.vertices * ndims);
        MPIR_ERR_CHECK(mpi_errno);
        int stride = problem.vertices;
        for (int d = 0; d < ndims; d++) {
            const int row = stride; /* of this dimension */
            stride /= dims[d];
            for (int v = 0; v < problem.vertices; v++) {
                const bool is_last = v / stride % dims[d] == dims[d] - 1;
                if (!is_last || periods[d])
                    next_neighbour(&problem, v, is_last ? v + stride - row : v + stride);
            }
        }
    }
    mpi_errno = agree_on_rank(comm, &problem, rank);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    give_back(&problem);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Placement_graph(MPIR_Comm *comm, int nnodes, const int indx[], const int edges[],
                         int *rank)
{
    int mpi_errno = MPI_SUCCESS;
    heddle_placement_problem problem = {.vertices = nnodes};
    if (nnodes < 1 || !MPIR_Placement_is_wanted(comm, NULL, 1))
        return MPI_SUCCESS;
    if (comm->rank == 0) {
        mpi_errno = make_room(&problem, indx[nnodes - 1]);
        MPIR_ERR_CHECK(mpi_errno);
        for (int v = 0; v < nnodes; v++)
            for (int i = v > 0 ? indx[v - 1] : 0; i < indx[v]; i++)
                next_neighbour(&problem, v, edges[i]);
    }
    mpi_errno = agree_on_rank(comm, &problem, rank);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    give_back(&problem);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* ---- graphs of which each process knows a part ------------------------------------------------
 */

enum { EDGE = 3 }; /* integers: from, to, weight */

/* Into the problem, out of all processes' edges. */
static int unpack(heddle_placement_problem *problem, const int *edges, MPI_Aint count)
{
    int mpi_errno = make_room(problem, count);
    MPIR_ERR_CHECK(mpi_errno);
    int64_t *const weight = MPL_malloc((count + 1) * sizeof(int64_t), MPL_MEM_COMM);
    problem->weight = weight;
    MPIR_ERR_CHKANDJUMP(!weight, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (MPI_Aint i = 0; i < count; i++) {
        next_neighbour(problem, edges[EDGE * i], edges[EDGE * i + 1]);
        weight[i] = edges[EDGE * i + 2];
    }
fn_fail:
    return mpi_errno;
}

/* Collects the `count` edges of each process at rank 0. */
static int collect(MPIR_Comm *comm, const int *edges, MPI_Aint count,
                   heddle_placement_problem *problem)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const MPI_Aint mine = EDGE * count;
    MPI_Aint *counts = NULL, *displs = NULL, all = 0;
    int *everything = NULL;
    MPIR_CHKLMEM_DECL(3);
    if (comm->rank == 0) {
        MPIR_CHKLMEM_MALLOC(counts, MPI_Aint *, comm->local_size * sizeof(MPI_Aint), mpi_errno,
                            "counts", MPL_MEM_COMM);
        MPIR_CHKLMEM_MALLOC(displs, MPI_Aint *, comm->local_size * sizeof(MPI_Aint), mpi_errno,
                            "displs", MPL_MEM_COMM);
    }
    mpi_errno = MPIR_Gather(&mine, 1, MPI_AINT, counts, 1, MPI_AINT, 0, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0) {
        for (int i = 0; i < comm->local_size; i++) {
            displs[i] = all;
            all += counts[i];
        }
        MPIR_CHKLMEM_MALLOC(everything, int *, (all + 1) * sizeof(int), mpi_errno, "everything",
                            MPL_MEM_COMM);
    }
    mpi_errno =
        MPIR_Gatherv(edges, mine, MPI_INT, everything, counts, displs, MPI_INT, 0, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0)
        mpi_errno = unpack(problem, everything, all / EDGE);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* Places the graph of all processes' edges. If somebody moves, *permuted is made, in which every
 * process has its new rank. */
static int permute(MPIR_Comm *comm, const MPIR_Placement_edges *edges, MPIR_Info *info,
                   seat_t *seat, MPIR_Comm **permuted)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint count = 0, next = 0;
    int *mine = NULL;
    bool moves = false;
    heddle_placement_problem problem = {.vertices = comm->local_size};
    problem.milliseconds = limit_of(info);
    for (int i = 0; i < edges->n; i++)
        count += edges->degrees[i];
    mine = MPL_malloc((EDGE * count + 1) * sizeof(int), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!mine, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    for (int i = 0; i < edges->n; i++)
        for (int j = 0; j < edges->degrees[i]; j++, next++) {
            mine[EDGE * next] = edges->sources[i];
            mine[EDGE * next + 1] = edges->destinations[next];
            mine[EDGE * next + 2] = edges->weights == MPI_UNWEIGHTED ? 1 : edges->weights[next];
        }
    *permuted = NULL;
    mpi_errno = collect(comm, mine, count, &problem);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = agree(comm, &problem, seat, &moves);
    MPIR_ERR_CHECK(mpi_errno);
    if (moves)
        mpi_errno = MPIR_Comm_split_impl(comm, 0, seat->rank, permuted);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    MPL_free(mine);
    give_back(&problem);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIR_Placement_dist_graph(MPIR_Comm *comm, const MPIR_Placement_edges *edges, MPIR_Info *info,
                              MPIR_Comm **comm_dist_graph)
{
    seat_t seat;
    MPIR_Comm *permuted = NULL;
    int mpi_errno = permute(comm, edges, info, &seat, &permuted);
    MPIR_ERR_CHECK(mpi_errno);
    /* Its edges name ranks of the new communicator, whoever says them. */
    mpi_errno = MPIR_Dist_graph_create_impl(permuted ? permuted : comm, edges->n, edges->sources,
                                            edges->degrees, edges->destinations, edges->weights,
                                            info, 0, comm_dist_graph);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    if (permuted)
        MPIR_Comm_free_impl(permuted);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* ---- MPI_Dist_graph_create_adjacent: neighbours go to the rank's new process ------------------
 */

/* A list of another process, in memory of its own. */
typedef struct {
    MPIR_Placement_list list;
    int *memory; /* ranks, then weights, if there are any */
} taken_t;

/* Sends this process's list to its rank's new process, and receives that of its own new rank. */
static int hand_over(MPIR_Comm *comm, const seat_t *seat, const MPIR_Placement_list *list,
                     taken_t *taken)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int tag = MPIR_TOPO_A_TAG;
    const int is_weighted = list->weights != MPI_UNWEIGHTED;
    const int head[] = {list->degree, is_weighted};
    int their_head[2];
    mpi_errno = MPIC_Sendrecv(head, 2, MPI_INT, seat->heir, tag, their_head, 2, MPI_INT, seat->rank,
                              tag, comm, MPI_STATUS_IGNORE, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    const int degree = their_head[0];
    taken->memory = MPL_malloc((2 * (MPI_Aint)degree + 1) * sizeof(int), MPL_MEM_COMM);
    MPIR_ERR_CHKANDJUMP(!taken->memory, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = MPIC_Sendrecv(list->ranks, list->degree, MPI_INT, seat->heir, tag, taken->memory,
                              degree, MPI_INT, seat->rank, tag, comm, MPI_STATUS_IGNORE, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        MPIC_Sendrecv(is_weighted ? list->weights : NULL, is_weighted ? list->degree : 0, MPI_INT,
                      seat->heir, tag, taken->memory + degree, their_head[1] ? degree : 0, MPI_INT,
                      seat->rank, tag, comm, MPI_STATUS_IGNORE, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    taken->list.degree = degree;
    taken->list.ranks = taken->memory;
    taken->list.weights = !their_head[1] ? MPI_UNWEIGHTED
                          : degree == 0  ? MPI_WEIGHTS_EMPTY
                                         : taken->memory + degree;
fn_fail:
    return mpi_errno;
}

int MPIR_Placement_adjacent(MPIR_Comm *comm, const MPIR_Placement_list *in,
                            const MPIR_Placement_list *out, MPIR_Info *info,
                            MPIR_Comm **comm_dist_graph)
{
    seat_t seat;
    MPIR_Comm *permuted = NULL;
    taken_t taken_in = {.list = *in}, taken_out = {.list = *out};
    /* Each edge is said at both its ends: here it is taken from its source. */
    const MPIR_Placement_edges edges = {out->degree > 0, &comm->rank, &out->degree, out->ranks,
                                        out->weights};
    int mpi_errno = permute(comm, &edges, info, &seat, &permuted);
    MPIR_ERR_CHECK(mpi_errno);
    if (permuted) {
        mpi_errno = hand_over(comm, &seat, in, &taken_in);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = hand_over(comm, &seat, out, &taken_out);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Dist_graph_create_adjacent_impl(
        permuted ? permuted : comm, taken_in.list.degree, taken_in.list.ranks,
        taken_in.list.weights, taken_out.list.degree, taken_out.list.ranks, taken_out.list.weights,
        info, 0, comm_dist_graph);
    MPIR_ERR_CHECK(mpi_errno);
fn_exit:
    if (permuted)
        MPIR_Comm_free_impl(permuted);
    MPL_free(taken_in.memory);
    MPL_free(taken_out.memory);
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
