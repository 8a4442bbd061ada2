/* SPDX-License-Identifier: BSD-3-Clause */
/* life - the death, the loss and the parting of peers. */
#ifndef PM_VERBS_CONN_LIFE_H
#define PM_VERBS_CONN_LIFE_H

#include "pm-verbs/conn/record.h"

/* Messages may be sent to it. */
static inline bool pmv_peer_is_open(const struct pm_link_peer *peer)
{
	return peer->state <= PMV_PEER_RENEWING;
}
static inline bool pmv_peer_is_lost(const struct pm_link_peer *peer)
{
	return peer->state == PMV_PEER_LOST || peer->state == PMV_PEER_LOST_TOLD;
}
static inline bool pmv_peer_is_dead(const struct pm_link_peer *peer)
{
	return peer->state == PMV_PEER_DEAD || peer->state == PMV_PEER_DEAD_TOLD;
}

void pmv_peer_kill(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* It says that it closes its context; it leaves when all that it sent before has been taken. */
void pmv_peer_goodbye(struct pmv_link *link, struct pm_link_peer *peer);
/* It is there as a newer record of us, which says nothing of the old one's end. */
void pmv_peer_replaced(struct pmv_link *link, struct pm_link_peer *peer, uint64_t life);
/*
 * When all has been taken that came before them: those that said goodbye have left, nothing is sent
 * to them any more, and those that are there anew begin anew. How many.
 */
int pmv_peers_leave(struct pmv_link *link);
/* -EPIPE, and why in the link's sentence: it is dead or has left. */
int pmv_peer_refuse(struct pmv_link *link, const struct pm_link_peer *peer);
/*
 * 0, or -EPIPE, -ENETUNREACH or -ETIMEDOUT and a node of which receive() has not told yet that it
 * is dead, lost or silent.
 */
int pmv_peer_report(struct pmv_link *link, uint32_t *ret_node);
/*
 * No connection to the peer can be had any more. Where no other device could take it over it is
 * dead.
 */
void pmv_peer_lose(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * The composite says that the other side has lost its way to us; whether the peer can be taken
 * over.
 */
bool pmv_peer_follow(struct pmv_link *link, struct pm_link_peer *peer);
/* No other device takes over the lost peer. */
void pmv_peer_forsake(struct pm_link *base, struct pm_link_peer *peer);
/* The composite deletes it: nothing is sent to it or awaited of it any more. */
void pmv_peer_remove(struct pmv_link *link, struct pm_link_peer *peer);
/* Nobody needs to be told of it any more. */
void pmv_peer_mute(struct pmv_link *link, struct pm_link_peer *peer);

#endif
