/* SPDX-License-Identifier: BSD-3-Clause */
/* peer - nodes, and the ways to them. */
#ifndef PM_VERBS_DATAGRAM_PEER_H
#define PM_VERBS_DATAGRAM_PEER_H

#include "pm-verbs/datagram/device.h"

int pmvd_peer_address(struct pm_dev *dev, void *buf, size_t room);
int pmvd_peer_add(struct pm_dev *dev, uint32_t node, const void *addr, size_t len,
		  struct pm_dev_peer **ret_peer, uint32_t *ret_rails);
void pmvd_peer_del(struct pm_dev *dev, struct pm_dev_peer *peer);
uint32_t pmvd_peer_mtu(struct pm_dev *dev, struct pm_dev_peer *peer);
/* The address handle of a rail, made at its first use; NULL: it can't be made now. */
struct ibv_ah *pmvd_peer_ah(struct pmvd_dev *d, struct pmvd_peer *peer, uint32_t rail);
/* A packet to it is over. */
void pmvd_peer_sent(struct pmvd_dev *d, struct pmvd_peer *peer);
/* Without the address handles of a rail. */
void pmvd_peers_leave(struct pmvd_dev *d, const struct pmvd_rail *rail);
void pmvd_peers_fini(struct pmvd_dev *d);

#endif
