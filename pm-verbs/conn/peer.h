/* SPDX-License-Identifier: BSD-3-Clause */
/* peer - the record of one node. */
#ifndef PM_VERBS_CONN_PEER_H
#define PM_VERBS_CONN_PEER_H

#include "pm-verbs/conn/record.h"

int pmv_peer_add(struct pm_link *base, uint32_t node, const void *addr, size_t len,
		 struct pm_link_peer **ret_peer);
void pmv_peer_del(struct pm_link *base, struct pm_link_peer *peer);
/* The peer's record, made of the address that the composite knows; NULL: it knows none. */
struct pm_link_peer *pmv_peer_meet(struct pmv_link *link, uint32_t node);
/* Frees a deleted peer when nothing of it is lent. */
void pmv_peer_release(struct pmv_link *link, struct pm_link_peer *peer);
void pmv_peer_free(struct pmv_link *link, struct pm_link_peer *peer);

#endif
