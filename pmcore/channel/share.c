// SPDX-License-Identifier: BSD-3-Clause
/*
 * share - what each active peer may have on the way to us. Knows how much there is to divide, and
 * not who decided that.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/share.h"

/* Fewer would make each message wait for the release of the one before. */
#define SHARE_MIN 2

static uint32_t share_of(const struct chan *chan, uint64_t packets)
{
	uint32_t share = (uint32_t)packets / (chan->n_flows ? chan->n_flows : 1);

	if (share > chan->config.window)
		share = chan->config.window;
	return share < SHARE_MIN ? SHARE_MIN : share;
}

/*
 * Divides what may be on the way among the active peers, called when their number or the budget
 * changes: the receive buffers, and the budget of one-sided data counted in packets of a usual
 * size. So senders that converge are slowed down by the receiver before switches lose their
 * packets.
 */
void share_out(struct chan *chan)
{
	chan->share = share_of(chan, min_u64(chan->config.rx_buffers,
					     chan->config.pull_bytes / SHARE_PACKET_BYTES));
	chan->on_way = share_of(chan, chan->grant.budget / SHARE_PACKET_BYTES);
}
