/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPICH's own accumulates of long types come to their target in two messages: the type, and the
 * data. All that come to a VCI are combined in the order of their first messages. So one whose
 * origin ends between the two would keep all others waiting (heddle_win_target.c).
 */
#ifndef MPIDIG_HALVES_H_INCLUDED
#define MPIDIG_HALVES_H_INCLUDED

#if defined(HAVE_CH4_NETMOD_UCX) && MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE
/* The type has come. */
void MPIDI_UCX_half_came(MPIR_Request *rreq);
/* So have the data. */
void MPIDI_UCX_rest_came(const MPIR_Request *rreq);
#else
#define MPIDI_UCX_half_came(rreq)
#define MPIDI_UCX_rest_came(rreq)
#endif

#endif /* MPIDIG_HALVES_H_INCLUDED */
