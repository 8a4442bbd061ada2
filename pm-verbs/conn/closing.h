/* SPDX-License-Identifier: BSD-3-Clause */
/* closing - the end of a connection in agreement. */
#ifndef PM_VERBS_CONN_CLOSING_H
#define PM_VERBS_CONN_CLOSING_H

#include "pm-verbs/conn/record.h"

#define PMV_AGREE_NS 100000000ull /* the other side's CLOSE is waited for 100 ms */

/* The next connection begins: nobody has closed it. */
static inline void pmv_close_reset(struct pm_link_peer *peer)
{
	peer->is_closed = peer->is_close_posted = false;
}
/* The peer has begun a newer connection, so it sends nothing more over the one that is closing. */
static inline void pmv_close_replaced(struct pm_link_peer *peer)
{
	peer->is_closed |= peer->stage == PMV_CLOSING;
}

/* Sends nothing more over the peer's connection, and asks it to do the same. */
void pmv_close(struct pmv_link *link, struct pm_link_peer *peer, uint64_t now);
/* It says that it sends nothing more. */
void pmv_close_arrived(struct pmv_link *link, struct pm_link_peer *peer);
/* Something sent to a peer in CLOSING has been acknowledged. */
void pmv_close_acknowledged(struct pmv_link *link, struct pm_link_peer *peer);
/* Whether the other side may still answer in time. */
bool pmv_close_is_young(const struct pm_link_peer *peer, uint64_t now);
/* Ends those that the other side does not answer. */
void pmv_close_timers(struct pmv_link *link, uint64_t now);

#endif
