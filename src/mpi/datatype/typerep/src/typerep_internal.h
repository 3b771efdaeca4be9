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
                             void *target_buf, MPI_Aint target_count, MPI_Datatype target_dtp, MPI_Op op,
                             bool source_is_packed);

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

#include "heddle.h"

/* A type without data: what MPICH's own zero-length types, which carry no engine handle, stand for. */
extern heddle_type *MPII_heddle_empty;

/* Give the builtin types their engine types, and take them away. */
void MPII_heddle_types_init(void);
void MPII_heddle_types_finalize(void);

/* The engine's element type of a predefined MPI type, by which the engine can reduce it;
 * HEDDLE_MIXED where it must not. */
heddle_predefined MPII_heddle_element(MPI_Datatype predefined);

/* The engine's name of a builtin operator; HEDDLE_OP_COUNT where it has none. */
heddle_op MPII_heddle_op(MPI_Op op);

/* An MPI error code, with the engine's text, for an engine error. */
int MPII_heddle_error(int error, const char *function, int line);

/* What a function of the glue returns after the engine answered `rc`. */
#define MPII_HEDDLE_RESULT(rc)                                                                               \
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

/* The engine moves data between host buffers. Without an open device plug-in the test is one load. */
static inline bool MPII_heddle_on_device(const void *one, const void *other)
{
    return ENABLE_GPU && (MPIR_GPU_query_pointer_is_dev(one) || MPIR_GPU_query_pointer_is_dev(other));
}

int MPII_heddle_device_error(const char *function, int line);

/* Calls the engine on `type`. Parts of MPICH move data by types that they make for themselves and
 * never commit; such a type is committed when it is first met. */
#define MPII_HEDDLE_CALL(rc, type, call)                                                                     \
    do {                                                                                                     \
        rc = (call);                                                                                         \
        if (unlikely(rc == HEDDLE_ERR_NOT_COMMITTED)) {                                                      \
            rc = heddle_type_commit(type);                                                                   \
            if (rc == HEDDLE_SUCCESS)                                                                        \
                rc = (call);                                                                                 \
        }                                                                                                    \
    } while (0)

#elif MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_DATALOOP

int MPII_Typerep_convert_subarray(int ndims, MPI_Aint *sizes, MPI_Aint *subsizes, MPI_Aint *starts, int order,
                                  MPI_Datatype oldtype, MPI_Datatype *newtype);
int MPII_Typerep_convert_darray(int size, int rank, int ndims, const MPI_Aint *gsizes, const int *distribs,
                                const int *dargs, const int *psizes, int order, MPI_Datatype oldtype,
                                MPI_Datatype *newtype);

#endif

#endif
