// SPDX-License-Identifier: BSD-3-Clause
/*
 * outage - which rails are out, by silence or without carrier. A rail is out when it stays silent
 * while others answer; what was in flight on it leaves by the others. While the peer owes something
 * the rail is probed, and it comes back when it answers (stripe.c).
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/outage.h"
#include "pmcore/channel/rtt.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/stripe.h"

/* The packets in flight on the rail go out again over the others. */
static void rail_abandon(struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	struct chan_flow *flow = peer->flow;
	uint16_t index;

	while ((index = flow->rail[rail].sent.head) != CHAN_NIL)
		sendwin_lost(chan, peer, &flow->slots[index]);
	stripe_expect_nothing(flow, rail);
	chan_ready(chan, peer);
}

static uint64_t silence_limit(const struct chan *chan, const struct chan_peer *peer)
{
	uint64_t limit = 2 * rtt_timeout(chan, peer);

	if (chan->config.rail_silence_ns)
		return chan->config.rail_silence_ns;
	return limit < STRIPE_SILENCE_MIN_NS ? STRIPE_SILENCE_MIN_NS : limit;
}

/* Has any other rail answered since @rail was asked in vain? */
static bool others_answer(const struct chan *chan, const struct chan_peer *peer, uint32_t rail)
{
	const struct chan_flow *flow = peer->flow;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++)
		if (i != rail && (peer->rails >> i & 1) &&
		    flow->rail[i].answer_ns > flow->rail[rail].asked_ns)
			return true;
	return false;
}

/*
 * A process that owes nothing may have ended. To ask would be answered that nobody is there, as by
 * one that died.
 */
static bool owes(const struct chan_peer *peer)
{
	return peer->flow->ops || sendwin_is_waiting(peer);
}

/* Adds to *ask the rails by which to ask whether the peer is there. */
static uint64_t check_silence(struct chan *chan, struct chan_peer *peer, uint32_t rail,
			      uint8_t *ask)
{
	struct rail_state *state = &peer->flow->rail[rail];
	uint64_t limit = silence_limit(chan, peer);
	uint8_t others = stripe_rails(chan, peer) & (uint8_t) ~(1u << rail);

	if (!state->asked_ns || !others)
		return CHAN_NEVER;
	if (chan->now < state->asked_ns + limit)
		return state->asked_ns + limit;
	if (!others_answer(chan, peer, rail)) {
		if (!owes(peer))
			return CHAN_NEVER;
		/*
		 * The peer may just be busy. Each of the others tells: one alone may be dead too.
		 */
		*ask |= others;
		return chan->now + limit;
	}
	stripe_take_out(chan, peer, rail);
	state->probe_ns = chan->now + chan->config.probe_ns;
	rail_abandon(chan, peer, rail);
	return state->probe_ns;
}

static uint64_t probe_rail(struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	struct rail_state *state = &peer->flow->rail[rail];

	if (!owes(peer))
		return CHAN_NEVER;
	if (chan->now < state->probe_ns)
		return state->probe_ns;
	if (chan->up >> rail & 1)
		emit_probe(chan, peer, (uint8_t)(1u << rail));
	state->probe_ns = chan->now + chan->config.probe_ns;
	return state->probe_ns;
}

uint64_t outage_timers(struct chan *chan, struct chan_peer *peer)
{
	uint64_t next = CHAN_NEVER;
	uint32_t rail;
	uint8_t left, ask = 0;

	if (!(peer->rails & (peer->rails - 1)))
		return CHAN_NEVER;
	for (left = peer->rails; left; left &= (uint8_t)(left - 1)) {
		rail = (uint32_t)__builtin_ctz(left);
		if (peer->out_rails >> rail & 1)
			next = min_u64(next, probe_rail(chan, peer, rail));
		else if (chan->up >> rail & 1)
			next = min_u64(next, check_silence(chan, peer, rail, &ask));
	}
	/* once for all that are silent */
	emit_probes(chan, peer, ask & stripe_rails(chan, peer));
	return next;
}

void outage_carrier(struct chan *chan, uint32_t rail, bool is_up)
{
	uint8_t bit = (uint8_t)(1u << rail);
	struct chan_peer *peer;
	struct dlist *link;

	if (is_up == !!(chan->up & bit))
		return;
	chan->up ^= bit;
	chan->full &= (uint8_t)~bit;
	if (is_up)
		chan->rails[rail].returns++;
	else
		chan->rails[rail].deaths++;
	for (link = chan->flows.next; link != &chan->flows; link = link->next) {
		peer = dlist_entry(link, struct chan_flow, link)->peer;
		if (!(peer->rails & bit) || peer->is_dead)
			continue;
		if (is_up)
			peer->flow->rail[rail].probe_ns = chan->now;
		else
			rail_abandon(chan, peer, rail);
		chan_ready(chan, peer);
	}
	chan_wake_at(chan, chan->now);
}
