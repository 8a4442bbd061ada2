// SPDX-License-Identifier: BSD-3-Clause
/*
 * credit - how many message packets a peer may have on the way to their release. The count on the
 * wire is absolute, so a lost or old one does no harm; a raised limit is never taken back.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/credit.h"
#include "pmcore/channel/grant.h"
#include "pmcore/channel/share.h"

void credit_init(struct chan *chan, struct chan_peer *peer)
{
	peer->tx_credit = chan->config.credit;
	peer->rx_credit = chan->config.credit;
}

/* Packets that the user holds do not count: the bound is for packets that have not come yet. */
uint32_t credit_bound(const struct chan *chan, const struct chan_peer *peer, uint32_t limit)
{
	uint32_t come = peer->rx_mseq + (peer->flow ? peer->flow->held : 0);
	uint32_t bound = come + chan->on_way;

	return seq_diff(bound, limit) < 0 ? bound : limit;
}

/* The acks that release packets of a small share can't wait to be many. */
static bool is_urgent(const struct chan *chan, uint32_t left, uint32_t gained)
{
	return chan->grant.is_tight && left <= chan->on_way / 2 && 4 * gained >= chan->on_way;
}

/*
 * @n message packets are released. A sender that has used up all it was told is waiting: it hears
 * at once, unless more releases are likely to follow. One that has less than half of its share left
 * hears with the next ack.
 */
void credit_release(struct chan *chan, struct chan_peer *peer, uint32_t n)
{
	struct chan_flow *flow = peer->is_dead ? NULL : peer->flow;
	uint32_t told, left, gained;

	peer->rx_done += (uint32_t)min_u64(n, peer->rx_mseq - peer->rx_done);
	grant_arrived(chan, (uint64_t)n * SHARE_PACKET_BYTES);
	credit_raise(chan, peer);
	if (!flow)
		return;
	gained = (uint16_t)(peer->rx_credit - flow->credit_told);
	if (!gained)
		return;
	told = peer->rx_credit - gained;
	left = told - (peer->rx_mseq + flow->held);
	if (left <= chan->on_way / 2)
		chan->grant.is_used_up = true;
	if ((!left && (gained >= chan->share / 4 || !chan->rx_used)) ||
	    is_urgent(chan, left, gained))
		ack_now(chan, peer);
	else if (left <= chan->share / 2)
		ack_soon(chan, peer);
}

bool credit_input(struct chan_peer *peer, uint16_t credit)
{
	int16_t more = (int16_t)(credit - (uint16_t)peer->tx_credit);

	if (more <= 0)
		return false;
	peer->tx_credit += (uint16_t)more;
	return true;
}
