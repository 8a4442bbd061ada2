/* SPDX-License-Identifier: BSD-3-Clause */
/* peer - the record of one node: contact, death, parting. */
#ifndef PM_VERBS_PEER_H
#define PM_VERBS_PEER_H

#include "pm-verbs/device.h"

int pmv_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer);
void pmv_peer_del(struct pm_link *base, struct pm_link_peer *peer);
/* The peer's record, made of the address that the composite knows; NULL: it knows none. */
struct pm_link_peer *pmv_peer_meet(struct pmv_link *link, uint32_t node);
void pmv_peer_kill(struct pmv_link *link, struct pm_link_peer *peer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* It says that it closes its context; it leaves when all that it sent before has been taken. */
void pmv_peer_goodbye(struct pmv_link *link, struct pm_link_peer *peer);
/* It is there as a newer record of us, which says nothing of the old one's end. */
void pmv_peer_replaced(struct pmv_link *link, struct pm_link_peer *peer, uint64_t life);
/*
 * When all has been taken that came before them: those that said goodbye have left, nothing is sent to them any more, and
 * those that are there anew begin anew. How many.
 */
int pmv_peers_leave(struct pmv_link *link);
/* -EPIPE, and why in the link's sentence: it is dead or has left. */
int pmv_peer_refuse(struct pmv_link *link, const struct pm_link_peer *peer);
/* 0, or -EPIPE, -ENETUNREACH or -ETIMEDOUT and a node of which receive() has not told yet that it is dead, lost or silent. */
int pmv_peer_report(struct pmv_link *link, uint32_t *ret_node);
/* No other device takes over the lost peer. */
void pmv_peer_forsake(struct pm_link *base, struct pm_link_peer *peer);
/* Frees a deleted peer when nothing of it is lent. */
void pmv_peer_release(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_peer_free(struct pmv_link *link, struct pm_link_peer *peer);

#endif
