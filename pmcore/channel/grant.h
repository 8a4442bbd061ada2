/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * grant - how many bytes all senders together may have on the way to us; grant.c says how that is
 * found.
 */
#ifndef PM_CHANNEL_GRANT_H
#define PM_CHANNEL_GRANT_H

#include "pmcore/channel/chan_private.h"

void grant_init(struct chan *chan);
/* Time to see whether the budget suits the network. */
void grant_look(struct chan *chan);
/* So much of what was asked for has come. */
static inline void grant_arrived(struct chan *chan, uint64_t bytes)
{
	chan->grant.bytes += bytes;
	if (unlikely(chan->grant.bytes >= chan->grant.look_at))
		grant_look(chan);
}

#endif
