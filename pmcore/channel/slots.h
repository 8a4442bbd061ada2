/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slots - the entries of the send window by sequence number, and lists of them.
 */
#ifndef PM_CHANNEL_SLOTS_H
#define PM_CHANNEL_SLOTS_H

#include "pmcore/channel/chan_private.h"

/* The entry of @seq. */
static inline struct tx_slot *slot_at(const struct chan *chan, struct chan_flow *flow, uint32_t seq)
{
	return &flow->slots[seq & chan->mask];
}
/* The sequence number of an entry that holds a packet. */
static inline uint32_t slot_seq(const struct chan *chan, const struct chan_peer *peer,
				const struct tx_slot *slot)
{
	uint32_t index = (uint32_t)(slot - peer->flow->slots);

	return peer->tx_una + ((index - peer->tx_una) & chan->mask);
}
void slot_list_add(struct chan_flow *flow, struct slot_list *list, struct tx_slot *slot);
void slot_list_del(struct chan_flow *flow, struct slot_list *list, struct tx_slot *slot);

#endif
