/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of the job that have ended before their time (heddle_ended.c), and how the others end
 * (heddle_leaving.c).
 */
#ifndef HEDDLE_LEAVING_H_INCLUDED
#define HEDDLE_LEAVING_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

#if MPICH_DATATYPE_ENGINE == MPICH_DATATYPE_ENGINE_HEDDLE

/* ---- heddle_ended.c */

/* In MPI_Init, before anything collective: room for what is known of each rank. */
int MPIDI_UCX_ended_init(void);
/* Collective over MPI_COMM_WORLD: who is on which node. `watches`: the first look is now. */
int MPIDI_UCX_ended_post_init(bool watches);
void MPIDI_UCX_ended_finalize(void);
/* Whether a rank of the job is known to have ended, and whether any is. */
bool MPIDI_UCX_has_ended(int rank);
bool MPIDI_UCX_anyone_ended(void);
/* Another process, or the transport, said so. */
void MPIDI_UCX_note_ended(int rank);
/* A poll of a VNI. Ten times a second it looks who of this node has ended: what waits for those
 * ends with an error. */
void MPIDI_UCX_look(int vni);
/* UCX says of a message to that endpoint how it ended. */
struct ucp_ep;
void MPIDI_UCX_note_status(int vni, struct ucp_ep *ep, int status);

/* ---- heddle_leaving.c */

/* A message of another process about its end. */
void MPIDI_UCX_leaving_arrived(const void *header, size_t header_bytes);
void MPIDI_UCX_leaving_init(void);
/* Once the connections are closed. */
int MPIDI_UCX_last_barrier(void);

/* ---- heddle_port.c */

/* Sends one. False where that fails at once. */
bool MPIDI_UCX_leaving_send(struct ucp_ep *ep, const void *header, size_t header_bytes);

/* Tells a sender that its envelope was matched, and why it could not be read. */
int MPIDI_UCX_port_refused(int vni, struct ucp_ep *ep, uint64_t key, int error);

/* ---- heddle_oneshot.c */

/* Receives that only that rank can match end with an error. */
void MPIDI_UCX_receives_lost(int vni, int world_rank);

/* ---- ch4_init.c */

/* Somebody is gone, and is waited for no more. */
extern int MPIDI_left_somebody;

#else

#define MPIDI_UCX_has_ended(rank) false
#define MPIDI_UCX_last_barrier() MPIR_pmi_barrier()
#define MPIDI_UCX_look(vni)

#endif

#endif /* HEDDLE_LEAVING_H_INCLUDED */
