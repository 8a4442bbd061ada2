/* SPDX-License-Identifier: BSD-3-Clause */
/* rx - messages that arrived. */
#ifndef PM_VERBS_DATA_RX_H
#define PM_VERBS_DATA_RX_H

#include "pm-verbs/conn/record.h"

void pmv_arrived(struct pmv_link *link, struct pm_link_peer *peer, struct pmv_slot *slot,
		 uint32_t len);
/*
 * Nobody needs what is in it: the place in the shared receives that it came from is its own again.
 */
void pmv_receive_again(struct pmv_link *link, struct pmv_slot *slot);
/* Hands out the next message: 1, or 2 what was carried, or 0: there is none. */
int pmv_rx_take(struct pmv_link *link, struct pm_inbound *ret);
/* Whether messages of the peer wait to be handed out. */
bool pmv_has_arrived(const struct pmv_link *link, const struct pm_link_peer *peer);
void pmv_release(struct pm_link *base, uint64_t cookie);
void pmv_rx_drop(struct pmv_link *link, struct pm_link_peer *peer);

#endif
