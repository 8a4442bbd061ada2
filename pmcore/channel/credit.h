/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * credit - how many message packets a peer may have on the way to their release, and we to it;
 * credit.c says how.
 */
#ifndef PM_CHANNEL_CREDIT_H
#define PM_CHANNEL_CREDIT_H

#include "pmcore/channel/chan_private.h"

void credit_init(struct chan *chan, struct chan_peer *peer);
/* No more than is good for the way to us. */
uint32_t credit_bound(const struct chan *chan, const struct chan_peer *peer, uint32_t limit);
/* Lets the peer have its share; what it was allowed before stays. */
static inline void credit_raise(const struct chan *chan, struct chan_peer *peer)
{
	uint32_t limit = peer->rx_done + chan->share;

	if (unlikely(chan->grant.is_tight))
		limit = credit_bound(chan, peer, limit);
	if (seq_diff(limit, peer->rx_credit) > 0)
		peer->rx_credit = limit;
}
/* A message packet was released. */
void credit_release(struct chan *chan, struct chan_peer *peer, uint32_t n);
/* The peer allows as much as the low bits @credit say; true: more than before. */
bool credit_input(struct chan_peer *peer, uint16_t credit);
/* Message packets that the peer allows beyond those sent. */
static inline uint32_t credit_room(const struct chan_peer *peer)
{
	int32_t room = seq_diff(peer->tx_credit, peer->tx_mseq);

	return room > 0 ? (uint32_t)room : 0;
}
static inline bool credit_is_open(const struct chan_peer *peer)
{
	return credit_room(peer) > 0;
}

#endif
