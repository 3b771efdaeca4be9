/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an adapter to another engine exports: a shared library, compiled out of this tree against
 * that engine's own headers (rivals/), loaded by `bench/gpu/run --rival NAME=FILE`.
 */
#ifndef HEDDLE_BENCH_RIVAL_H
#define HEDDLE_BENCH_RIVAL_H

#include <heddle.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rival_maker {
    RIVAL_PREDEFINED,
    RIVAL_CONTIGUOUS,
    RIVAL_HVECTOR,
    RIVAL_INDEXED,
    RIVAL_HINDEXED,
    RIVAL_HINDEXED_BLOCK,
    RIVAL_STRUCT,
    RIVAL_RESIZED,
    RIVAL_SUBARRAY /* order C */
};

/* A type as its constructor was called; each maker uses its own fields, as MPI names them. */
struct rival_type {
    enum rival_maker maker;
    heddle_predefined predefined;
    int64_t count;                /* blocks; dimensions */
    int64_t blocklength, hstride; /* hvector; hindexed_block: blocklength */
    int64_t lb, extent;
    const int64_t *lengths, *displs; /* [count] */
    const int64_t *sizes, *subsizes, *starts;
    const struct rival_type *const *old; /* one; a struct: [count] */
};

/* Something that moves `count` instances of a type, or null where the engine cannot. `layout` is
 * heddle_type_describe's text of it (empty where that is too long), `extent` its extent. Nothing
 * that was passed lives longer than the call. */
void *rival_make(const struct rival_type *type, int64_t count, const char *layout, int64_t extent);
/* Puts the move on a stream (a cudaStream_t), or has done it when it returns.
 * 0, or what went wrong. */
int rival_move(void *made, void *user, void *packed, int64_t bytes, int pack, void *stream);
/* The same, by a call that returns when all is moved. An engine may lack it, and its stream is
 * waited for then. One that has it is measured with the host's memory at every size. */
int rival_wait(void *made, void *user, void *packed, int64_t bytes, int pack);
void rival_free(void *made);

#ifdef __cplusplus
}
#endif

#endif
