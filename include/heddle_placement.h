/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heddle: which process gets which part of a problem, so that little data go from node to node.
 * No part of the stable API: it may change with every release before 1.0. It needs no device.
 */
#ifndef HEDDLE_PLACEMENT_H
#define HEDDLE_PLACEMENT_H

#include "heddle.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Vertices (ranks, subdomains) that exchange data, and slots (processes) that take one each. */
typedef struct heddle_placement_problem {
    HEDDLE_STRUCT_BYTES(heddle_placement_problem);
    int32_t vertices;
    int32_t slots;       /* at least as many */
    const int32_t *node; /* of each slot: any numbers, equal for the slots of one node */
    /* For each node in the order of its first slot, a matrix of the rates between its slots, row by
     * row, in units of the rate between nodes. Each is above 0. The diagonals count for nothing.
     * Null: all slots of a node are alike. */
    const double *rates;
    /* Edges in any order, and as often as one likes: what is said of one pair is added, in both
     * directions. Loops count for nothing. */
    int64_t edges;
    const int32_t *from;
    const int32_t *to;
    const int64_t *weight; /* not negative; null: 1 each */
    int64_t milliseconds;  /* the time limit; -1: HEDDLE_PLACEMENT */
} heddle_placement_problem;

typedef struct heddle_placement {
    HEDDLE_STRUCT_BYTES(heddle_placement);
    int64_t total;          /* weight of all edges but loops */
    int64_t between;        /* of those between nodes */
    int64_t between_before; /* the same where vertex v is at slot v */
    int32_t moved;          /* vertices that are not at the slot of their own number */
    const char *way;        /* how the answer was found; static */
} heddle_placement;

/* Writes the slot of each vertex to `slot`: all different, and no worse than 0, 1, 2, ... by the
 * time that all data take one after the other. The time limit counts as steps of work, so the
 * answer depends on the problem alone. `result` may be null. Errors: ARG, OVERFLOW: the weights'
 * sum; NO_MEMORY. */
HEDDLE_API int heddle_place(const heddle_placement_problem *problem, int32_t *slot,
                            heddle_placement *result);

/* Where a process runs within its node, as it tells others there. */
typedef struct heddle_location {
    HEDDLE_STRUCT_BYTES(heddle_location);
    int32_t socket; /* its number in the node; -1: not known, or not one alone */
    int32_t memory; /* the same of the memory near it (NUMA) */
    int32_t has_device;
    unsigned char device[16]; /* the same in all processes */
} heddle_location;

/* Fills in on which device the calling thread works, if an open plug-in knows one. Opens none. */
HEDDLE_API int heddle_location_device(heddle_location *location);

/* How fast data go from this process to another one of its node, in units of the rate between
 * nodes: by what joins their devices, if both have one, otherwise by where their cores are. An
 * estimate, for `rates` above. 0: an argument makes no sense. */
HEDDLE_API double heddle_location_rate(const heddle_location *from, const heddle_location *to);

/* HEDDLE_PLACEMENT, in milliseconds; 0: nobody is to be moved. */
HEDDLE_API int64_t heddle_placement_limit(void);

#if defined(__cplusplus)
}
#endif

#endif
