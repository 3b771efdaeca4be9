/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the rest of MPICH must know of the datatype engine before anything else: the type of a
 * datatype's engine handle and of an engine request. Included nearly everywhere, so it names the
 * engine's types without including the engine's header.
 */
#ifndef TYPEREP_PRE_H_INCLUDED
#define TYPEREP_PRE_H_INCLUDED

/* The values of MPICH_DATATYPE_ENGINE, which configure sets. */
#define MPICH_DATATYPE_ENGINE_YAKSA 1
#define MPICH_DATATYPE_ENGINE_DATALOOP 2
#define MPICH_DATATYPE_ENGINE_HEDDLE 3

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
#define MPIR_TYPEREP_HANDLE_TYPE struct heddle_type *
#elif MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_DATALOOP
#define MPIR_TYPEREP_HANDLE_TYPE struct MPII_Dataloop *
#else
#error "configure with --with-datatype-engine=heddle (or dataloop): Heddle's tree has no other engine"
#endif
#define MPIR_TYPEREP_HANDLE_NULL NULL

/* No engine here moves data behind the caller's back yet: every request is complete when made. */
typedef int MPIR_Typerep_req;
#define MPIR_TYPEREP_REQ_NULL 0

#endif
