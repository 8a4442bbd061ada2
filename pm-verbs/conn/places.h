/* SPDX-License-Identifier: BSD-3-Clause */
/* places - who has a connection, and who waits for one. */
#ifndef PM_VERBS_CONN_PLACES_H
#define PM_VERBS_CONN_PLACES_H

#include "pm-verbs/conn/record.h"

/* The limits that decide how many connections a link may have. */
struct pmv_places_limits {
	uint32_t asked;      /* by option, 0 = none */
	uint32_t max_qp;     /* queue pairs of a device, the least of all rails */
	uint32_t max_cqe;    /* completions of a queue, the same */
	uint32_t cqe;        /* completions of a connection */
	uint64_t bytes;      /* registered for a connection, 0 = receives are shared */
	uint64_t lock_limit; /* UINT64_MAX = none */
	uint32_t processes;  /* of the job on this host, 0 = unknown */
};

uint32_t pmv_places_most(const struct pmv_places_limits *limits);
/* When the rails are open. */
void pmv_places_init(struct pmv_link *link);
/* There is no memory for more than @n connections; false: so few are not enough. */
bool pmv_places_lower(struct pmv_link *link, uint32_t n);
/* Whether the peer may have a queue pair now. */
bool pmv_places_has_place(const struct pmv_link *link, const struct pm_link_peer *peer);
/* The same behind all who wait: false, it waits with them. */
bool pmv_places_enter(struct pmv_link *link, struct pm_link_peer *peer);
/* The peer has greeted for the next connection. */
static inline void pmv_places_call(struct pm_link_peer *peer)
{
	peer->is_called = true;
}
/* Something goes to the peer, or has come from it. */
static inline void pmv_places_use(const struct pmv_link *link, struct pm_link_peer *peer)
{
	peer->used = link->turn;
}
/* The peer needs no place any more. */
void pmv_places_leave(struct pmv_link *link, struct pm_link_peer *peer);
/* Its queue pair is there. */
void pmv_places_began(struct pmv_link *link, struct pm_link_peer *peer);
/* Both sides are connected. */
void pmv_places_ready(struct pmv_link *link, struct pm_link_peer *peer);
/* The peer has a queue pair for ours, or ours is given up. */
void pmv_places_heard(struct pmv_link *link, struct pm_link_peer *peer);
/* The first peer that waits and may have a place now; it waits no more. NULL: there is none. */
struct pm_link_peer *pmv_places_next(struct pmv_link *link);
/* Places that those who wait could take now. */
uint32_t pmv_places_wanted(const struct pmv_link *link);
/* A peer that we would call waits until another call is answered. */
bool pmv_places_is_call_waiting(const struct pmv_link *link);

#endif
