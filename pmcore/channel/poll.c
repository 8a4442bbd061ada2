// SPDX-License-Identifier: BSD-3-Clause
/*
 * poll - the round over all peers that have something to send, and the timers. The modules it calls
 * decide what is sent and when a timer fires.
 */
#include "pmcore/channel/ack.h"
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/outage.h"
#include "pmcore/channel/peer.h"
#include "pmcore/channel/pull.h"
#include "pmcore/channel/sendwin.h"
#include "pmcore/channel/serve.h"
#include "pmcore/channel/stripe.h"

/* The bare ack that is due, if one is. */
static int output_ack(struct chan *chan, struct chan_peer *peer, int *posted)
{
	int rc;

	if (!ack_is_due(chan, peer->flow))
		return 0;
	rc = emit_ack(chan, peer);
	if (!rc)
		(*posted)++;
	return rc;
}

/* 0, -EAGAIN: rails or buffers are exhausted, 1: more could go at once. */
static int peer_output(struct chan *chan, struct chan_peer *peer, int *posted)
{
	struct chan_flow *flow = peer->flow;
	int rc, more;

	if (!flow || peer->is_dead)
		return 0;
	flow->used_ns = chan->now;
	rc = flow->is_ack_now ? output_ack(chan, peer, posted) : 0;
	rc |= sendwin_output(chan, peer, posted);
	more = rc ? 0 : serve_output(chan, peer, posted);
	if (more < 0)
		rc = more;
	rc |= output_ack(chan, peer, posted);
	return rc ? -EAGAIN : more;
}

/* A flow that rests goes back to the pool; returns when to look again. */
static uint64_t rest(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	if (flow->reserved || !peer_is_quiet(peer))
		return chan->now + CHAN_IDLE_NS;
	if (chan->now < flow->used_ns + CHAN_IDLE_NS && chan->n_flows <= CHAN_IDLE_FLOWS)
		return flow->used_ns + CHAN_IDLE_NS;
	peer_detach(chan, peer);
	return CHAN_NEVER;
}

/*
 * Silence while we wait for something: the peer is dead after peer_timeout. Waiting for one-sided
 * data, or for an answer, leaves nothing unacked, so the peer has to be asked.
 */
static uint64_t check_life(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint64_t timeout = chan->config.peer_timeout_ns;
	uint64_t ask_at = flow->heard_ns + timeout / 4;

	if (!timeout || (!flow->timer_ns && !flow->ops && !peer->is_awaited))
		return CHAN_NEVER;
	if (chan->now >= flow->heard_ns + timeout) {
		peer_kill(chan, peer, ETIMEDOUT);
		return CHAN_NEVER;
	}
	if (flow->timer_ns)
		return flow->heard_ns + timeout;
	if (chan->now < ask_at)
		return ask_at;
	emit_probe(chan, peer, stripe_single(chan, stripe_rails(chan, peer)));
	return chan->now + timeout / 4;
}

static uint64_t check_repeat(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	if (flow->timer_ns && chan->now >= flow->timer_ns)
		sendwin_timeout(chan, peer);
	if (flow->lost.head != CHAN_NIL) {
		if (chan->now < flow->pause_ns)
			return min_u64(flow->pause_ns, flow->timer_ns);
		chan_ready(chan, peer);
	}
	return flow->timer_ns ? flow->timer_ns : CHAN_NEVER;
}

/* false: a peer died, the list of flows may be another one. */
static bool flow_timers(struct chan *chan, struct chan_peer *peer)
{
	chan_wake_at(chan, check_life(chan, peer));
	if (peer->is_dead)
		return false;
	chan_wake_at(chan, check_repeat(chan, peer));
	chan_wake_at(chan, ack_timers(chan, peer));
	chan_wake_at(chan, outage_timers(chan, peer));
	chan_wake_at(chan, rest(chan, peer));
	return true;
}

static void run_timers(struct chan *chan)
{
	struct dlist *link, *next;
	struct chan_flow *flow;

	chan->deadline = CHAN_NEVER;
again:
	for (link = chan->flows.next; link != &chan->flows; link = next) {
		next = link->next;
		flow = dlist_entry(link, struct chan_flow, link);
		if (!flow->peer->is_dead && !flow_timers(chan, flow->peer))
			goto again;
	}
}

int chan_poll(struct chan *chan, uint64_t now)
{
	struct chan_peer *peer;
	int posted = 0;
	int rc;

	chan->now = now;
	chan->full = 0;
	dlist_splice_tail(&chan->ready, &chan->stalled);
	if (unlikely(now >= chan->deadline))
		run_timers(chan);
	if (!dlist_is_empty(&chan->pulling))
		pull_output(chan, chan->has_heard_all);
	while (!dlist_is_empty(&chan->ready) && posted < CHAN_POLL_POSTS) {
		peer = dlist_entry(chan->ready.next, struct chan_peer, ready);
		dlist_del(&peer->ready);
		rc = peer_output(chan, peer, &posted);
		/* Whatever became ready meanwhile is tried again only when there is a chance. */
		dlist_del(&peer->ready);
		if (rc < 0)
			dlist_add_tail(&chan->stalled, &peer->ready);
		else if (rc > 0)
			dlist_add_tail(&chan->ready, &peer->ready);
	}
	chan->is_fed = false;
	chan->has_heard_all = false;
	return posted;
}

uint64_t chan_deadline(const struct chan *chan)
{
	return dlist_is_empty(&chan->ready) ? chan->deadline : 0;
}
