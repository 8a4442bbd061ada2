/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmcore/channel/road.h"

#include "pmcore/channel/chan_private.h"

#define TRIAL 64         /* packets that try the other kind */
#define SAMPLES 32       /* of them that are needed for a verdict */
#define BETTER 8         /* by more than this part, which is noise */
#define PERIOD_MIN 512   /* packets between two trials */
#define PERIOD_MAX 65536 /* ... when one after the other has changed nothing */
#define AVERAGE 128      /* packets that its cost is an average of, nearly */
#define LOSS 4           /* a lost packet weighs as much as so many that cost twice as much */
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

uint8_t road_single(const struct chan *chan, uint8_t rails)
{
	uint8_t single = rails & (uint8_t)~chan->config.bulk_rails;

	return single ? single : rails;
}

/* The peer shall tell of what comes by @rails. Nothing waits for the answer, so there may be none for ever. */
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

bool road_is_bulk(const struct chan *chan, const struct chan_peer *peer)
{
	uint8_t rails = stripe_rails(chan, peer), bulk = rails & chan->config.bulk_rails;

	return (bulk & peer->flow->road.proven) && (bulk == rails || takes_bulk(chan, peer));
}

uint8_t road_bulk(struct chan *chan, struct chan_peer *peer, uint8_t rails)
{
	uint8_t bulk = rails & chan->config.bulk_rails;
	uint8_t proven = bulk & peer->flow->road.proven;

	if (bulk != proven)
		ask(chan, peer, bulk & (uint8_t)~proven);
	if (!proven || (bulk != rails && !takes_bulk(chan, peer)))
		return road_single(chan, rails);
	return proven;
}

static uint32_t cost_in_use(const struct road *road)
{
	return (uint32_t)(road->average / AVERAGE);
}

static void try_more_rarely(struct road *road)
{
	if (road->period < PERIOD_MAX)
		road->period *= 2;
}

/* The last trial may have had too few packets while much was in flight: its samples count on. */
static void begin_trial(struct road *road)
{
	if (road->is_judging) {
		try_more_rarely(road);
	} else {
		road->n_samples = 0;
		road->sum = 0;
	}
	road->is_trying = true;
	road->is_judging = true;
	road->left = TRIAL;
}

/* Its packets have left; what comes of them is judged when they are acked. */
static void end_trial(struct road *road)
{
	road->is_trying = false;
	road->left = road->period;
}

/* There are two ways, and what the one in use costs is known. */
static bool can_try(const struct chan *chan, const struct chan_peer *peer)
{
	const struct road *road = &peer->flow->road;
	uint8_t rails = stripe_rails(chan, peer), bulk = chan->config.bulk_rails;

	return !chan->config.is_bulk_forced && (rails & bulk & road->proven) &&
	       (rails & (uint8_t)~bulk) && road->average;
}

/* The kind in use costs twice what it did at the last verdict: the other one may be better now. */
static void look(struct road *road)
{
	if (road->is_trying || cost_in_use(road) / 2 <= road->base)
		return;
	road->period = PERIOD_MIN;
	road->left = 1;
}

void road_sent(struct chan *chan, struct chan_peer *peer)
{
	struct road *road = &peer->flow->road;

	if (++road->n_sent % ROAD_LOOK == 0 && road->base)
		look(road);
	if (--road->left)
		return;
	if (!road->is_trying && can_try(chan, peer))
		begin_trial(road);
	else
		end_trial(road);
}

static void judge(struct chan_peer *peer, struct road *road)
{
	uint32_t tried = (uint32_t)(road->sum / road->n_samples), used = cost_in_use(road);

	road->is_judging = false;
	if (tried < used - used / BETTER) {
		peer->prefers_single = !peer->prefers_single;
		road->is_trying = false;
		road->average = (uint64_t)tried * AVERAGE;
		road->left = road->period = PERIOD_MIN;
	} else {
		try_more_rarely(road);
	}
	road->base = cost_in_use(road);
}

static bool is_in_use(const struct chan *chan, const struct chan_peer *peer, uint32_t rail)
{
	return (chan->config.bulk_rails >> rail & 1) == !peer->prefers_single;
}

void road_acked(const struct chan *chan, struct chan_peer *peer, uint32_t rail, uint32_t cost)
{
	struct road *road = &peer->flow->road;

	if (is_in_use(chan, peer, rail)) {
		road->average = road->average ? road->average - road->average / AVERAGE + cost
					      : (uint64_t)cost * AVERAGE;
	} else if (road->is_judging) {
		road->sum += cost;
		if (++road->n_samples == SAMPLES)
			judge(peer, road);
	}
}

/* What is lost has no time until its ack. Each lost packet counts as if the kind had got slower by some percent. */
void road_lost(const struct chan *chan, struct chan_peer *peer, uint32_t rail)
{
	struct road *road = &peer->flow->road;

	if (is_in_use(chan, peer, rail) && cost_in_use(road) < COST_MAX)
		road->average += LOSS * (road->average / AVERAGE);
}
