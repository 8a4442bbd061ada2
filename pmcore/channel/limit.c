// SPDX-License-Identifier: BSD-3-Clause
/*
 * limit - how many packets may be in flight to a peer. Isolated loss is repaired and changes
 * nothing: on such links it says nothing about load. Only when a good part of what is sent gets
 * lost, or timeouts repeat, too many send at once, and the limit is halved; it grows back as
 * packets are acked.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/limit.h"
#include "pmcore/util/conf.h"

#define ROUND_MIN 32 /* packets judged together: fewer give no ratio */
#define LOSS_SHIFT 2 /* more than 1/4 lost is congestion */
#define GROW_SHIFT 3 /* up to 1/8 lost does not slow growth down */
#define LOST_MANY 4  /* that many lost and more than half: no need to wait for the round's end */
#define INITIAL 8    /* before anything is known */

static uint32_t most(const struct chan *chan, const struct chan_peer *peer)
{
	/* No more than one ack can tell of. */
	uint32_t room = (peer->mtu - sizeof(struct wire_header) - sizeof(struct wire_ack)) / 8;
	uint32_t window = conf_window(chan->config.window, chan->n_links);

	return window < 64 * room ? window : 64 * room;
}

void limit_init(struct chan *chan, struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	flow->range = most(chan, peer);
	if (!peer->limit)
		peer->limit = (uint16_t)(flow->range < INITIAL ? flow->range : INITIAL);
	flow->calm = flow->range;
	flow->limit_before = 0;
	flow->round_acked = 0;
	flow->round_lost = 0;
	flow->caution = 0;
}

bool limit_may_repeat(const struct chan_peer *peer)
{
	const struct chan_flow *flow = peer->flow;

	return flow->in_flight - flow->n_lost < peer->limit;
}

static void halve(struct chan_peer *peer)
{
	peer->limit = peer->limit > 1 ? peer->limit / 2 : 1;
	peer->flow->calm = peer->limit;
}

static void grow(struct chan_peer *peer, uint32_t n)
{
	uint32_t limit = peer->limit + n;

	peer->limit = (uint16_t)(limit < peer->flow->range ? limit : peer->flow->range);
}

static void end_round(struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint32_t total = flow->round_acked + flow->round_lost;

	bool is_heavy = flow->round_lost >= LOST_MANY && flow->round_lost > total / 2;

	if (!is_heavy && (total < ROUND_MIN || total < peer->limit))
		return;
	if (is_heavy || flow->round_lost > total >> LOSS_SHIFT)
		halve(peer);
	else
		grow(peer, 1 + (flow->round_lost > total >> GROW_SHIFT ? 0 : peer->limit / 4));
	flow->round_acked = 0;
	flow->round_lost = 0;
}

void limit_acked(struct chan_peer *peer, uint32_t n)
{
	struct chan_flow *flow = peer->flow;

	flow->caution -= flow->caution < n ? flow->caution : n;
	if (likely(peer->limit == flow->range && !flow->round_lost))
		return;
	flow->round_acked += n;
	if (peer->limit < flow->calm && !flow->round_lost)
		grow(peer, n);
	end_round(peer);
}

void limit_lost(struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;

	flow->caution = 8 * flow->range;
	flow->limit_before = 0;
	flow->round_lost++;
	end_round(peer);
}

/*
 * Timeouts in a row are one event: how far the limit may grow back fast is halved once, by the
 * first of them, and not below where everybody starts (RFC 5681, section 3.1). A peer that was not
 * given its core for a while would else be left with a limit of 1 or 2, from which it is far on a
 * slow link.
 */
void limit_timeout(struct chan_peer *peer)
{
	struct chan_flow *flow = peer->flow;
	uint32_t calm = flow->calm;

	if (flow->backoff < 2)
		return;
	if (flow->backoff == 2) {
		flow->limit_before = peer->limit;
		flow->calm_before = flow->calm;
	}
	halve(peer);
	if (flow->backoff == 2)
		calm = peer->limit;
	flow->calm = calm > INITIAL ? calm : INITIAL;
}

/* RFC 4015: timeouts that were only too short say nothing about how much the path carries. */
void limit_progress(struct chan_peer *peer, bool is_spurious)
{
	struct chan_flow *flow = peer->flow;

	if (is_spurious && flow->limit_before > peer->limit) {
		peer->limit = (uint16_t)flow->limit_before;
		flow->calm = flow->calm_before;
	}
	flow->limit_before = 0;
}
