/* SPDX-License-Identifier: BSD-3-Clause */
/* connection - the life of a queue pair. */
#ifndef PM_VERBS_CONNECTION_H
#define PM_VERBS_CONNECTION_H

#include "pm-verbs/device.h"

/* Makes a connection if there is none, as soon as there is a place for it. */
void pmv_connect(struct pmv_link *link, struct pm_link_peer *peer);
/* The same for who has been given a place. */
void pmv_connection_begin(struct pmv_link *link, struct pm_link_peer *peer);
/* Takes the other side's end; 0 when connected. */
int pmv_connect_to(struct pmv_link *link, struct pm_link_peer *peer,
		   const struct pmv_greeting *greeting);
void pmv_connection_ready(struct pmv_link *link, struct pm_link_peer *peer);
/*
 * The connection is over; @lost_ns: how long it may take to come back, UINT64_MAX = as a first contact.
 * @why: NULL = nothing is wrong.
 */
void pmv_connection_lost(struct pmv_link *link, struct pm_link_peer *peer, uint64_t lost_ns,
			 const char *why);
/* Both sides have ended it. */
void pmv_connection_part(struct pmv_link *link, struct pm_link_peer *peer);
/* One that is greeted for ends for the sake of others. The time it took counts when it is tried again. */
void pmv_connection_yield(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/* The peer needs none any more. */
void pmv_connection_end(struct pmv_link *link, struct pm_link_peer *peer);
/* Which of its pairs of rails the connection takes. */
uint32_t pmv_connection_pair(const struct pmv_link *link, const struct pm_link_peer *peer);

/* One side's end of a queue pair, as it tells the other side. */
struct pmv_qp_start {
	uint32_t number, psn;
};

/* A queue pair with rail, peer, lane, completions and kind of receives of @want; it counts as a place. 0 or -errno. */
int pmv_qp_make(struct pmv_link *link, const struct pmv_qp *want, struct pmv_qp **ret_qp);
int pmv_qp_to_init(struct pmv_link *link, struct pmv_qp *qp);
/* Connects it by a pair of rails: it may send from then on. */
int pmv_qp_connect(struct pmv_link *link, struct pmv_qp *qp, uint32_t pair, uint32_t psn,
		   const struct pmv_qp_start *theirs);
/* Puts the queue pair into error, so that all that was posted to it comes back. */
int pmv_qp_fail(struct pmv_link *link, struct pmv_qp *qp);
/* Something posted to @qp has come back. */
void pmv_qp_returned(struct pmv_link *link, struct pmv_qp *qp);
/* Nothing of it can come any more: the next connection begins. */
void pmv_qp_ended(struct pmv_link *link, struct pmv_qp *qp);
void pmv_qp_destroy(struct pmv_link *link, struct pmv_qp *qp);
uint32_t pmv_qp_depth(const struct pmv_link *link);
/* Completions of one that may come at once. */
uint32_t pmv_connection_completions(const struct pmv_link *link, bool is_shared);
uint64_t pmv_random(struct pmv_link *link);

#endif
