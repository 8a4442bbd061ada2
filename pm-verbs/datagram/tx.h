/* SPDX-License-Identifier: BSD-3-Clause */
/* tx - packets out: the pool, and each rail's ring. */
#ifndef PM_VERBS_DATAGRAM_TX_H
#define PM_VERBS_DATAGRAM_TX_H

#include "pm-verbs/datagram/device.h"

int pmvd_tx_init(struct pmvd_dev *d, uint32_t n_packets);
void pmvd_tx_fini(struct pmvd_dev *d);
struct pm_packet *pmvd_tx_alloc(struct pm_dev *dev);
void pmvd_tx_free(struct pm_dev *dev, struct pm_packet *packet);
int pmvd_tx_post(struct pm_dev *dev, uint32_t rail, struct pm_dev_peer *peer,
		 struct pm_packet *packet);
void pmvd_tx_kick(struct pm_dev *dev);
/* Takes what the device says it has sent. */
void pmvd_tx_reap(struct pmvd_dev *d, struct pmvd_rail *rail);
/* All packets of the rail are over: its queue pair is no more, or starts anew. */
void pmvd_tx_drop(struct pmvd_dev *d, struct pmvd_rail *rail);

static inline bool pmvd_tx_is_full(const struct pmvd_tx *tx)
{
	return tx->tail - tx->head == tx->depth;
}

#endif
