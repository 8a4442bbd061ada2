// SPDX-License-Identifier: BSD-3-Clause
/*
 * rtt - the retransmission timer of a peer: round-trip estimate (RFC 6298), first a cheap tail
 * probe (after the idea of RFC 8985), then timeouts that back off. Decides when; sendwin decides
 * what.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/rtt.h"

void rtt_sample(struct chan_peer *peer, uint64_t rtt_ns)
{
	uint32_t rtt = rtt_ns < 4000000000u ? (uint32_t)rtt_ns : 4000000000u;
	uint32_t error;

	if (!rtt)
		rtt = 1;
	if (!peer->srtt_ns) {
		peer->srtt_ns = rtt;
		peer->rttvar_ns = rtt / 2;
		return;
	}
	error = rtt > peer->srtt_ns ? rtt - peer->srtt_ns : peer->srtt_ns - rtt;
	peer->rttvar_ns = peer->rttvar_ns - peer->rttvar_ns / 4 + error / 4;
	peer->srtt_ns = peer->srtt_ns - peer->srtt_ns / 8 + rtt / 8;
	if (!peer->srtt_ns)
		peer->srtt_ns = 1;
}

uint64_t rtt_timeout(const struct chan *chan, const struct chan_peer *peer)
{
	/*
	 * Before the first sample: four times the least, so that a slow first contact is not taken
	 * for loss.
	 */
	uint64_t rto = peer->srtt_ns ? peer->srtt_ns + 4ull * peer->rttvar_ns
				     : 4 * chan->config.rto_min_ns;

	if (rto < chan->config.rto_min_ns)
		return chan->config.rto_min_ns;
	return min_u64(rto, chan->config.rto_max_ns);
}

/*
 * Nothing is known yet. Up to 2 ms more, different for each node: those that lost all shall not ask
 * at once.
 */
static uint64_t first_wait(const struct chan *chan)
{
	return chan->config.rto_min_ns + (chan->config.self * 2654435769u >> 11);
}

/* How long to wait for an answer before asking for one. */
static uint64_t probe_timeout(const struct chan *chan, const struct chan_peer *peer)
{
	uint64_t rto = rtt_timeout(chan, peer);

	if (!peer->srtt_ns)
		return first_wait(chan);
	return min_u64(rto, 2ull * peer->srtt_ns + 2 * chan->config.ack_delay_ns);
}

void rtt_arm(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	if (flow->timer_ns)
		return;
	flow->heard_ns = chan->now;
	flow->timer_ns = chan->now + probe_timeout(chan, peer);
	chan_wake_at(chan, flow->timer_ns);
}

void rtt_progress(struct chan *chan, struct chan_peer *peer, bool is_waiting)
{
	struct chan_flow *flow = peer->flow;

	flow->backoff = 0;
	if (!is_waiting) {
		flow->timer_ns = 0;
		return;
	}
	flow->timer_ns = chan->now + probe_timeout(chan, peer);
	chan_wake_at(chan, flow->timer_ns);
}

/* Doubles every second time: on a crowded link who has lost everything must not starve. */
void rtt_backoff(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint64_t rto = rtt_timeout(chan, peer);
	uint32_t shift = flow->backoff < 32 ? flow->backoff / 2 : 16;

	flow->backoff++;
	flow->timer_ns = chan->now + min_u64(rto << shift, chan->config.rto_max_ns);
	chan_wake_at(chan, flow->timer_ns);
}
