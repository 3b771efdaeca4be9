/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that MPI may reorder: who gets which rank of a communicator with a topology, so that little
 * data go from node to node (placement.c).
 */
#ifndef PLACEMENT_H_INCLUDED
#define PLACEMENT_H_INCLUDED

/* The neighbours of a rank on one side. */
typedef struct MPIR_Placement_list {
    int degree;
    const int *ranks;
    const int *weights; /* or MPI_UNWEIGHTED, or MPI_WEIGHTS_EMPTY */
} MPIR_Placement_list;

/* Edges that a process names, as MPI_Dist_graph_create has them. */
typedef struct MPIR_Placement_edges {
    int n;
    const int *sources, *degrees, *destinations, *weights;
} MPIR_Placement_edges;

/* Whether to look for an order: the same on all processes. Not where each process has a node of its
 * own, or HEDDLE_PLACEMENT or the info key heddle_placement is 0. `info` may be null. */
bool MPIR_Placement_is_wanted(MPIR_Comm *comm, MPIR_Info *info, int reorder);

/* Change this process's rank in the new communicator, which may be MPI_UNDEFINED. */
int MPIR_Placement_cart(MPIR_Comm *comm, int ndims, const int dims[], const int periods[],
                        int *rank);
int MPIR_Placement_graph(MPIR_Comm *comm, int nnodes, const int indx[], const int edges[],
                         int *rank);

/* Make the communicator itself. */
int MPIR_Placement_dist_graph(MPIR_Comm *comm, const MPIR_Placement_edges *edges, MPIR_Info *info,
                              MPIR_Comm **comm_dist_graph);
int MPIR_Placement_adjacent(MPIR_Comm *comm, const MPIR_Placement_list *in,
                            const MPIR_Placement_list *out, MPIR_Info *info,
                            MPIR_Comm **comm_dist_graph);

#endif
