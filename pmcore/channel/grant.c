// SPDX-License-Identifier: BSD-3-Clause
/*
 * grant - how many bytes all senders together may have on the way to us. The switch port before us
 * has a queue of unknown length: the budget grows by half from round to round until packets get
 * lost, gives way then, and comes near again slowly. Only loss that has to do with the budget
 * counts: a bad link loses as much with the least budget, and that is expected from then on. Knows
 * numbers only: what is asked for with the budget is up to pull.c, and what is let out for messages
 * to credit.c.
 *
 * After these sources: BBRv3 (draft-cardwell-iccrg-bbr-congestion-control-02) for data in flight
 * bounded by loss beyond a threshold and probed slowly. Kelly, Scalable TCP, CCR 2003, for
 * multiplicative steps. Dong et al., PCC, NSDI 2015, for loss that does not follow the load: it is
 * no congestion. Montazeri et al., Homa, SIGCOMM 2018, for the receiver that decides because it
 * alone sees all senders.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/grant.h"
#include "pmcore/channel/share.h"

#define LEAST (16 * 1024)      /* for each rail: the budget of a port that loses whatever we do */
#define FIRST (64 * 1024)      /* for each rail: before anything is known */
#define LOOK_BYTES (16 * 1024) /* between two looks at the loss */
#define WINDOW 512   /* packets judged together: with less a loss here and there would count */
#define LOST_MANY 16 /* as good a sample as a whole window */
#define SPARE_MAX 8  /* lost packets beyond twice the number expected */
#define EXPECTED_MAX (1 << 13) /* 1/8: more is congestion, though perhaps by others */
#define CALM 12                /* windows without loss, then growth doubles, and again */
#define SHIFT_SLOW 5           /* a window of growth: 1/32 */
#define SHIFT_FAST 1           /* a round at the start: 1/2 */

static uint64_t at_most(const struct chan *chan, uint64_t bytes)
{
	return min_u64(bytes, chan->config.pull_bytes);
}

static uint64_t least(const struct chan *chan)
{
	return at_most(chan, (uint64_t)LEAST * chan->n_links);
}

/* The packets that arrived and were lost so far, over all rails. */
static void count(const struct chan *chan, uint64_t *ret_arrived, uint64_t *ret_lost)
{
	uint32_t i;

	*ret_arrived = 0;
	*ret_lost = 0;
	for (i = 0; i < chan->config.n_rails; i++) {
		*ret_arrived += chan->rails[i].rx_packets;
		*ret_lost += chan->rails[i].losses;
	}
}

static void start_window(struct chan *chan)
{
	struct chan_grant *grant = &chan->grant;

	grant->bytes = 0;
	grant->look_at = LOOK_BYTES;
	count(chan, &grant->arrived, &grant->lost);
	grant->is_used_up = false;
}

void grant_init(struct chan *chan)
{
	chan->grant = (struct chan_grant){.budget = at_most(chan, (uint64_t)FIRST * chan->n_links),
					  .is_starting = true};
	start_window(chan);
}

static void set_budget(struct chan *chan, uint64_t budget)
{
	struct chan_grant *grant = &chan->grant;

	grant->is_tight = grant->is_tight && budget < chan->config.pull_bytes;
	grant->budget = at_most(chan, budget);
	share_out(chan);
}

/* More than the links are known to lose by themselves. */
static bool is_too_much(const struct chan_grant *grant, uint64_t total, uint64_t lost)
{
	uint64_t expected = 2 * total * grant->expected >> 16;
	uint64_t spare = 2ull * WINDOW * grant->expected >> 16;

	return lost > 1 + expected + min_u64(spare, SPARE_MAX);
}

static void shrink(struct chan *chan, uint64_t total, uint64_t lost)
{
	struct chan_grant *grant = &chan->grant;
	bool is_far_off = grant->is_starting || !grant->calm || lost > total / 4;
	uint64_t before = grant->budget;
	uint64_t budget = before - before / (is_far_off ? 2 : 4);

	grant->is_tight = true;
	set_budget(chan, budget < least(chan) ? least(chan) : budget);
	grant->calm = 0;
	grant->is_starting = false;
	start_window(chan);
	/* The first to come was asked for before. */
	grant->is_settling = true;
	grant->look_at = before;
}

/* So little above the least that what gets lost has nothing to do with the difference. */
static bool is_least(const struct chan *chan)
{
	uint64_t budget = chan->grant.budget;

	return budget - budget / 4 <= least(chan);
}

/* From here on it is seen whether the link still loses as much as expected. */
static void start_trial(struct chan *chan)
{
	count(chan, &chan->grant.trial_arrived, &chan->grant.trial_lost);
}

/* There is nothing left to give up, so this loss is not our doing. */
static void learn(struct chan *chan, uint64_t total, uint64_t lost)
{
	struct chan_grant *grant = &chan->grant;
	uint64_t ratio = (lost << 16) / total;

	grant->calm = 0;
	set_budget(chan, least(chan));
	if (lost < LOST_MANY && total < WINDOW)
		return;
	/* Samples of a link near the most scatter beyond it. */
	grant->is_starting = ratio <= 2 * EXPECTED_MAX;
	grant->expected = (uint32_t)min_u64(ratio, EXPECTED_MAX);
	start_trial(chan);
	start_window(chan);
}

/*
 * Not half of what is expected: the link got better. Of so many packets that chance hardly does
 * that: most windows of a good link are without loss, and so are the short ones of a bad link.
 */
static void forget(struct chan *chan)
{
	struct chan_grant *grant = &chan->grant;
	uint64_t arrived, lost, expected;

	if (!grant->expected)
		return;
	count(chan, &arrived, &lost);
	lost -= grant->trial_lost;
	expected = (arrived - grant->trial_arrived + lost) * grant->expected >> 16;
	if (expected < LOST_MANY)
		return;
	if (2 * lost < expected)
		grant->expected -= grant->expected / 4;
	start_trial(chan);
}

static void grow(struct chan *chan)
{
	struct chan_grant *grant = &chan->grant;
	uint32_t haste = grant->calm++ / CALM;
	uint32_t shift = SHIFT_SLOW - haste;

	if (grant->is_starting || haste > SHIFT_SLOW - SHIFT_FAST)
		shift = SHIFT_FAST;
	set_budget(chan, grant->budget + (grant->budget >> shift));
}

static void end_window(struct chan *chan)
{
	forget(chan);
	if (chan->grant.is_used_up)
		grow(chan);
	start_window(chan);
}

void grant_look(struct chan *chan)
{
	struct chan_grant *grant = &chan->grant;
	uint64_t arrived, lost, total;

	count(chan, &arrived, &lost);
	lost -= grant->lost;
	total = arrived - grant->arrived + lost;
	grant->look_at = grant->bytes + LOOK_BYTES;
	if (grant->is_settling) {
		grant->is_settling = false;
		start_window(chan);
	} else if (is_too_much(grant, total, lost)) {
		if (is_least(chan))
			learn(chan, total, lost);
		else
			shrink(chan, total, lost);
	} else if (grant->bytes >= grant->budget && (grant->is_starting || total >= WINDOW)) {
		end_window(chan);
	}
}
