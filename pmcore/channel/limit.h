/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limit - how many packets may be in flight to a peer; limit.c says how that is found.
 */
#ifndef PM_CHANNEL_LIMIT_H
#define PM_CHANNEL_LIMIT_H

#include "pmcore/channel/chan_private.h"

void limit_init(struct chan *chan, struct chan_peer *peer);
/* How many more packets may be sent, leaving @spare of the window to others? */
static inline uint32_t limit_room(const struct chan_peer *peer, uint32_t spare)
{
	const struct chan_flow *flow = peer->flow;
	uint32_t used = flow->in_flight + spare, range = peer->tx_next - peer->tx_una + spare;
	uint32_t limit = peer->limit;

	/*
	 * While packets get lost, half of the window is kept for what follows a hole: the
	 * repetition queues behind all that is in flight, and the rails shall not run dry
	 * meanwhile.
	 */
	if (flow->caution && limit >= CHAN_CAUTION_MIN && limit > flow->range / 2)
		limit = flow->range / 2;
	if (used >= limit || range >= flow->range)
		return 0;
	return limit - used < flow->range - range ? limit - used : flow->range - range;
}
static inline bool limit_is_open(const struct chan_peer *peer, uint32_t spare)
{
	return limit_room(peer, spare) > 0;
}
/* May a lost packet go again? */
bool limit_may_repeat(const struct chan_peer *peer);
/* Packets were acked, shown as lost, or the timer fired. */
void limit_acked(struct chan_peer *peer, uint32_t n);
void limit_lost(struct chan_peer *peer);
void limit_timeout(struct chan_peer *peer);
/*
 * An answer came; @is_spurious: it shows that nothing was lost, whatever the timeouts before it
 * meant.
 */
void limit_progress(struct chan_peer *peer, bool is_spurious);

#endif
