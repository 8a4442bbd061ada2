/* SPDX-License-Identifier: BSD-3-Clause */
/* connection - the life of a connection. */
#ifndef PM_VERBS_CONN_CONNECTION_H
#define PM_VERBS_CONN_CONNECTION_H

#include "pm-verbs/conn/record.h"

#define PMV_FAILURES_MAX 16 /* connections lost in a row with nothing done between */

/* The remedy where messages are forged or lost on the way from or to the peer. */
const char *pmv_remedy(const struct pm_link_peer *peer);
/* Makes a connection if there is none, as soon as there is a place for it. */
void pmv_connect(struct pmv_link *link, struct pm_link_peer *peer);
/* The same for who has been given a place. */
void pmv_connection_begin(struct pmv_link *link, struct pm_link_peer *peer);
/* Takes the other side's end; 0 when connected. */
int pmv_connect_to(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_greeting *greeting);
void pmv_connection_ready(struct pmv_link *link, struct pm_link_peer *peer);
/*
 * Something sent over it was acknowledged, or something arrived: the failures before it count no
 * more.
 */
static inline void pmv_connection_works(struct pm_link_peer *peer)
{
	peer->failures = 0;
}
/*
 * The connection is over; @lost_ns: how long it may take to come back, UINT64_MAX = as a first
 * contact. @why: NULL = nothing is wrong.
 */
void pmv_connection_lost(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns,
			 const char *why);
/* Both sides have ended it. */
void pmv_connection_part(struct pmv_link *link, struct pm_link_peer *peer);
/*
 * One that is greeted for ends for the sake of others. The time it took counts when it is tried
 * again.
 */
void pmv_connection_yield(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/* The peer needs none any more. */
void pmv_connection_end(struct pmv_link *link, struct pm_link_peer *peer);
/* Nothing of @qp can come any more: it is destroyed, and the next connection may begin. */
void pmv_connection_qp_ended(struct pmv_link *link, struct pmv_qp *qp);
/* The connection of @qp is over, as pmv_connection_lost() of a first contact. */
void pmv_connection_qp_lost(struct pmv_link *link, struct pmv_qp *qp, const char *why);

#endif
