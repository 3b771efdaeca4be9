/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the datatype engine's glue share.
 */
#ifndef TYPEREP_INTERNAL_H_INCLUDED
#define TYPEREP_INTERNAL_H_INCLUDED

#include "mpiimpl.h"
#include "typerep_pre.h"

/* MPICH's own accumulation, by its table of operator functions (typerep_op.c). */
int MPII_Typerep_op_fallback(void *source_buf, MPI_Aint source_count, MPI_Datatype source_dtp,
                             void *target_buf, MPI_Aint target_count, MPI_Datatype target_dtp,
                             MPI_Op op, bool source_is_packed);

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

#include "heddle.h"

/* A type without data. It stands for MPICH's own zero-length types, which have no engine handle. */
extern heddle_type *MPII_heddle_empty;

/* Give the builtin types their engine types, and take them away. */
void MPII_heddle_types_init(void);
void MPII_heddle_types_finalize(void);

/* The engine's element type of a predefined MPI type, by which the engine can reduce it;
 * HEDDLE_MIXED where it must not. */
heddle_predefined MPII_heddle_element(MPI_Datatype predefined);

/* The engine's name of a builtin operator on a predefined type; HEDDLE_OP_COUNT where it has none.
 * MPICH has some more than the standard, such as MPI_SUM on MPI_CHAR, and Fortran's logicals need
 * not be as usual. */
heddle_op MPII_heddle_op(MPI_Op op, MPI_Datatype predefined);

/* An MPI error code, with the engine's text, for an engine error. */
int MPII_heddle_error(int error, const char *function, int line);

/* What a function of the glue returns after the engine answered `rc`. */
#define MPII_HEDDLE_RESULT(rc)                                                                     \
    (likely((rc) == HEDDLE_SUCCESS) ? MPI_SUCCESS : MPII_heddle_error(rc, __func__, __LINE__))

static inline heddle_type *MPII_heddle_handle(const MPIR_Datatype *dtp)
{
    return likely(dtp->typerep.handle != NULL) ? dtp->typerep.handle : MPII_heddle_empty;
}

/* The engine's type for any MPI datatype; null for none, which the engine answers with an error. */
static inline heddle_type *MPII_heddle_type(MPI_Datatype datatype)
{
    MPIR_Datatype *dtp;
    MPIR_Datatype_get_ptr(datatype, dtp);
    return likely(dtp != NULL) ? MPII_heddle_handle(dtp) : NULL;
}

/* Whether heddle_transfer has devices to move data of. Without an open device plug-in the test is
 * one load. */
#define MPII_HEDDLE_HAS_DEVICES                                                                    \
    (ENABLE_GPU || (!MPIR_TYPEREP_TAKES_DEVICES && MPIR_Typerep_device_is_near))

/* Whether a buffer's data is in device or managed memory, so that heddle_transfer moves it. */
static inline bool MPII_heddle_on_device(const void *buf, MPI_Datatype datatype)
{
    return MPII_HEDDLE_HAS_DEVICES && MPIR_Typerep_is_on_device(buf, datatype);
}

/* Takes what the engine warns of, for MPIR_Typerep_post_init to print. */
void MPII_heddle_status_init(void);
/* Tells the engine what control variables say. */
void MPII_heddle_settings_init(void);
/* Tells MPL's backend of the engine. */
void MPII_heddle_device_init(void);
/* Tells MPI_T of the engine's counters. */
void MPII_heddle_counters_init(void);
/* From the one to the other, programs may ask for the key of the attribute that says where a
 * datatype's buffers lie (heddle_mpi.h). */
void MPII_heddle_memory_init(void);
void MPII_heddle_memory_finalize(void);

heddle_side MPII_heddle_side(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                             MPI_Aint offset);
heddle_side MPII_heddle_packed(const void *buf, MPI_Aint bytes);
int MPII_heddle_transfer(const heddle_side *from, const heddle_side *to, MPI_Aint bytes,
                         heddle_op op);

/* A buffer as the host can see it: itself, or a copy in host memory where it is a device's. */
struct MPII_heddle_shadow {
    void *buf;    /* to be used in its place */
    void *memory; /* null: there is no copy */
};
int MPII_heddle_shadow(const void *buf, MPI_Aint count, MPI_Datatype datatype, bool copy,
                       struct MPII_heddle_shadow *shadow);
void MPII_heddle_shadow_drop(struct MPII_heddle_shadow *shadow);
/* Copies it back, where it is a copy, and drops it. */
int MPII_heddle_shadow_store(struct MPII_heddle_shadow *shadow, void *buf, MPI_Aint count,
                             MPI_Datatype datatype);

/* Calls the engine on `type`. Parts of MPICH move data by types that they make for themselves and
 * never commit; such a type is committed when it is first met. */
#define MPII_HEDDLE_CALL(rc, type, call)                                                           \
    do {                                                                                           \
        rc = (call);                                                                               \
        if (unlikely(rc == HEDDLE_ERR_NOT_COMMITTED)) {                                            \
            rc = heddle_type_commit(type);                                                         \
            if (rc == HEDDLE_SUCCESS)                                                              \
                rc = (call);                                                                       \
        }                                                                                          \
    } while (0)

#elif MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_DATALOOP

int MPII_Typerep_convert_subarray(int ndims, MPI_Aint *sizes, MPI_Aint *subsizes, MPI_Aint *starts,
                                  int order, MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPII_Typerep_convert_darray(int size, int rank, int ndims, const MPI_Aint *gsizes,
                                const int *distribs, const int *dargs, const int *psizes, int order,
                                MPI_Datatype oldtype, MPI_Datatype *newtype);

#endif

#endif
