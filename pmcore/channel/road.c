// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/emit.h"
#include "pmcore/channel/road.h"
#include "pmcore/channel/stripe.h"

#define TURN 64     /* packets of a trial between two turns, if nothing is in flight then */
#define SETTLE 1024 /* packets after which a turn no longer waits for those of the other kind */
#define SAMPLES 8   /* of either kind that are needed for a vote */
#define VOTES 3     /* in a row for the other kind: it is taken */
#define BETTER 8    /* by more than this part, which is noise */
#define UNSURE 4    /* by so many times where the peer may be what limits both */
/* ps per byte: no processor that does nothing else is that slow, but 2 Gbit/s are */
#define WIRE_BOUND 4000
#define PRESSED 128       /* packets in flight that a fast wire has seldom while the peer listens */
#define WIRE_CHEAP 25     /* percent of the packets, at most, cost less on such a wire */
#define WIRE_NOISE 2      /* times as much or as little is noise there */
#define PERIOD_MIN 4096   /* packets between two trials; the memory of the first ones is cold */
#define PERIOD_MAX 262144 /* ... when one after the other has changed nothing */
#define CLEARER 8         /* times rarer when the other kind cost twice as much; else two times */
#define AVERAGE 128       /* packets that its cost is an average of, nearly */
#define AVERAGE_MOST 2    /* times as much, at most, counts one of them */
#define LOSS 4            /* a lost packet weighs as much as so many that cost twice as much */
#define COST_MAX (1u << 30)

void road_init(struct chan *chan, struct chan_peer *peer)
{
	struct road *road = &peer->flow->road;
	uint32_t i;

	*road = (struct road){.left = PERIOD_MIN, .period = PERIOD_MIN};
	for (i = 0; i < chan->config.n_rails; i++)
		if (peer->rail_acked[i])
			road->proven |= (uint8_t)(1u << i);
}

/*
 * The peer shall tell of what comes by @rails. Nothing waits for the answer, so there may be none
 * for ever.
 */
static void ask(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	struct road *road = &peer->flow->road;

	if (chan->now < road->ask_ns)
		return;
	road->ask_ns = chan->now + chan->config.probe_ns;
	for (; rails; rails &= (uint8_t)(rails - 1))
		emit_question(chan, peer, rails & (uint8_t)-rails);
}

static bool takes_bulk(const struct chan *chan, const struct chan_peer *peer)
{
	return chan->config.is_bulk_forced || peer->prefers_single == peer->flow->road.is_trying;
}

static uint32_t cost_in_use(const struct road *road)
{
	return (uint32_t)(road->average / AVERAGE);
}

/*
 * A lost packet has no time until its ack. Each counts as if all packets of the kind were dearer by
 * some percent.
 */
static uint32_t cost_of(const struct road_turn *turn)
{
	uint64_t cost = costs_quantile(&turn->costs, 50);

	return (uint32_t)min_u64(cost + cost * LOSS * turn->n_lost / turn->costs.n, COST_MAX);
}

static void clear(struct road_turn *turn)
{
	costs_clear(&turn->costs);
	turn->n_lost = 0;
}

static void forget(struct road *road)
{
	clear(&road->used);
	clear(&road->other);
	road->is_pressed = false;
}

static void go_on(struct road *road, bool is_trying, uint32_t packets)
{
	road->is_trying = is_trying;
	road->left = packets;
	road->overdue = 0;
}

static struct road_turn *turn_of(struct road *road)
{
	return road->is_trying ? &road->other : &road->used;
}

/* Are packets of the kind that this turn does not use in flight? */
static bool is_other_in_flight(const struct chan *chan, const struct chan_peer *peer)
{
	uint8_t bulk = chan->config.bulk_rails;
	uint8_t rails = peer->prefers_single == peer->flow->road.is_trying ? (uint8_t)~bulk : bulk;
	uint32_t i;

	for (i = 0; i < chan->config.n_rails; i++)
		if (rails >> i & 1 && peer->flow->rail[i].bytes)
			return true;
	return false;
}

/* In a stream the acks of what is sent from now on come after as much as is in flight. */
static void settle(const struct chan *chan, struct chan_peer *peer, struct road *road)
{
	road->is_settling = false;
	road->left = TURN + (road->is_trying ? 0 : peer->flow->in_flight);
	turn_of(road)->from_ns = chan->now;
}

/*
 * Packets sent while those of the other kind are still in flight depend on these, and tell nothing.
 */
static void turn_to(const struct chan *chan, struct chan_peer *peer, struct road *road,
		    bool is_trying)
{
	turn_of(road)->until_ns = chan->now;
	go_on(road, is_trying, SETTLE);
	turn_of(road)->from_ns = UINT64_MAX;
	turn_of(road)->until_ns = UINT64_MAX;
	road->is_settling = is_other_in_flight(chan, peer);
	if (!road->is_settling)
		settle(chan, peer, road);
}

static void end_trial(struct road *road)
{
	road->is_trial = false;
	road->base = cost_in_use(road);
	go_on(road, false, road->period);
}

static void try_more_rarely(struct road *road, uint32_t times)
{
	road->period = (uint32_t)min_u64((uint64_t)road->period * times, PERIOD_MAX);
}

static void stay(struct road *road, bool is_clear)
{
	try_more_rarely(road, is_clear ? CLEARER : 2);
	road->votes = 0;
	forget(road);
	end_trial(road);
}

static void change(struct chan_peer *peer, struct road *road)
{
	peer->prefers_single = !peer->prefers_single;
	road->average = (uint64_t)cost_of(&road->other) * AVERAGE;
	road->period = PERIOD_MIN;
	road->votes = 0;
	forget(road);
	end_trial(road);
}

/*
 * A peer that computes lets packets wait as long, but seldom so many, and it takes some of a stream
 * at once.
 */
static bool is_wire_bound(const struct road *road)
{
	return road->is_pressed && costs_quantile(&road->used.costs, WIRE_CHEAP) >= WIRE_BOUND;
}

/*
 * Does the other kind cost so much less that it is to be taken? Where the wire limits both kinds
 * they cost the same, and frames have the shorter heads. A turn is too short to fill such a wire,
 * so the kind that it tries looks dearer there. A peer that computes acks between its computations:
 * what either kind costs is an accident then.
 */
static bool is_better(const struct chan_peer *peer, uint32_t used, uint32_t other, bool is_bound)
{
	if (is_bound)
		return other < (peer->prefers_single ? used / WIRE_NOISE : used * WIRE_NOISE);
	return other < (other < WIRE_BOUND ? used - used / BETTER : used / UNSURE);
}

/*
 * Both kinds had their turn. Among short messages too few packets may tell a cost: theirs count at
 * the next trial.
 */
static void vote(const struct chan *chan, struct chan_peer *peer, struct road *road)
{
	uint32_t used, other;
	bool is_bound;

	if (road->used.costs.n < SAMPLES || road->other.costs.n < SAMPLES) {
		try_more_rarely(road, 2);
		end_trial(road);
		return;
	}
	used = cost_of(&road->used);
	other = cost_of(&road->other);
	is_bound = is_wire_bound(road);
	if (!is_better(peer, used, other, is_bound)) {
		stay(road, other / 2 >= used || is_bound);
	} else if (++road->votes == VOTES) {
		change(peer, road);
	} else {
		forget(road);
		turn_to(chan, peer, road, true);
	}
}

/* There are two ways, and what the one in use costs is known. */
static bool can_try(const struct chan *chan, const struct chan_peer *peer)
{
	const struct road *road = &peer->flow->road;
	uint8_t rails = stripe_rails(chan, peer), bulk = chan->config.bulk_rails;

	return !chan->config.is_bulk_forced && (rails & bulk & road->proven) &&
	       (rails & (uint8_t)~bulk) && road->average;
}

static void turn(const struct chan *chan, struct chan_peer *peer, struct road *road)
{
	if (road->is_trying) {
		turn_to(chan, peer, road, false);
	} else if (road->is_trial) {
		vote(chan, peer, road);
	} else if (can_try(chan, peer)) {
		road->is_trial = true;
		turn_to(chan, peer, road, true);
	} else {
		go_on(road, false, road->period);
	}
}

/*
 * Packets in flight would be judged together with those that follow them. In a stream some always
 * are.
 */
static void turn_if_due(const struct chan *chan, struct chan_peer *peer)
{
	struct road *road = &peer->flow->road;

	if (unlikely(!road->left) && (!peer->flow->in_flight || road->overdue >= ROAD_OVERDUE))
		turn(chan, peer, road);
}

bool road_is_bulk(struct chan *chan, struct chan_peer *peer)
{
	uint8_t rails = stripe_rails(chan, peer), bulk = rails & chan->config.bulk_rails;

	turn_if_due(chan, peer);
	return (bulk & peer->flow->road.proven) && (bulk == rails || takes_bulk(chan, peer));
}

void road_prove(struct chan_flow *flow, uint32_t rail)
{
	flow->road.proven |= (uint8_t)(1u << rail);
}

uint8_t road_bulk(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	uint8_t bulk = rails & chan->config.bulk_rails;
	uint8_t proven = bulk & peer->flow->road.proven;

	turn_if_due(chan, peer);
	if (bulk != proven)
		ask(chan, peer, bulk & (uint8_t)~proven);
	if (!proven || (bulk != rails && !takes_bulk(chan, peer)))
		return stripe_single(chan, rails);
	return proven;
}

/*
 * The kind in use costs twice what it did at the last verdict: the other one may be better now.
 * Where costs vary that much by themselves, the trial changes nothing, and they do not come more
 * often for it.
 */
static void look(struct road *road)
{
	if (!road->is_trial && cost_in_use(road) / 2 > road->base)
		road->left = 0;
}

void road_sent(struct chan *chan, struct chan_peer *peer, uint32_t n)
{
	struct road *road = &peer->flow->road;

	road->n_sent += n;
	if (unlikely(road->is_trial) && !road->is_trying)
		road->is_pressed |= peer->flow->in_flight >= PRESSED;
	if (unlikely(road->is_settling) && (road->left <= n || !is_other_in_flight(chan, peer)))
		settle(chan, peer, road);
	if (likely(road->left >= n)) {
		road->left -= n;
	} else {
		road->overdue = (uint32_t)min_u64(road->overdue + n - road->left, ROAD_OVERDUE);
		road->left = 0;
	}
	if (unlikely(road->n_sent % ROAD_LOOK == 0) && road->base)
		look(road);
}

static bool is_in_use(const struct chan *chan, const struct chan_peer *peer, uint32_t rail)
{
	return (chan->config.bulk_rails >> rail & 1) == !peer->prefers_single;
}

static void count(struct road_turn *turn, uint64_t sent_ns, uint32_t cost)
{
	if (sent_ns >= turn->from_ns && sent_ns <= turn->until_ns)
		costs_add(&turn->costs, cost);
}

/* Packets that waited while the peer computed weigh no more than twice the others. */
static void average(struct road *road, uint32_t cost)
{
	uint64_t most = road->average / AVERAGE * AVERAGE_MOST + AVERAGE_MOST;

	if (road->average)
		road->average += min_u64(cost, most) - road->average / AVERAGE;
	else
		road->average = (uint64_t)cost * AVERAGE;
}

void road_acked(const struct chan *chan, struct chan_peer *peer, uint32_t rail, uint64_t sent_ns,
		uint32_t load)
{
	struct road *road = &peer->flow->road;
	bool is_used = is_in_use(chan, peer, rail);
	uint32_t cost = (uint32_t)min_u64((chan->now - sent_ns) * 1000 / load, COST_MAX);

	if (is_used)
		average(road, cost);
	if (road->is_trial)
		count(is_used ? &road->used : &road->other, sent_ns, cost);
}

void road_lost(const struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	struct road *road = &peer->flow->road;

	if (!is_in_use(chan, peer, rail) || cost_in_use(road) >= COST_MAX)
		return;
	road->average += LOSS * (road->average / AVERAGE);
	/* a trial compares what both kinds have lost while it was on */
	if (road->is_trial)
		road->used.n_lost++;
}
