// SPDX-License-Identifier: BSD-3-Clause
/*
 * copier - an ordinary copy first fetches each line of the buffer from the cache of the core that
 * read it last. Where that core is far away, this takes longer than the whole rest of the copy.
 * Stores past the caches fetch nothing, but then the receiver has to read from memory. So they pay
 * when they save the sender more time than they cost the receiver.
 *
 * The sender can measure its own part only, in trials. A reader loses much the same by memory
 * everywhere, so the verdict is "far" when the ordinary copy costs the sender FAR_NS_PER_KIB more.
 * Either way leaves the lines in another state, which the next copy pays for. So the other way is
 * used until each buffer has had its turn, and measured then.
 */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/copier.h"
#include "pmcore/channel/emit.h"

#include <stdlib.h>

/* Shorter messages are copied by the kernel, on this core: pm-udp/show.c. */
#define LEN_MIN (24u << 10)
/*
 * From here on the copy of the processor's own string instruction is faster than that of the C
 * library.
 */
#define STRING_MIN (192u << 10)
/*
 * Measured, ns per KiB more for the sender: between near cores up to 45. Messages of 32 and 64 KiB,
 * which take as long by either way there, had 75. Between far cores it was nearly always more than
 * 60, up to 480.
 */
#define FAR_NS_PER_KIB 55
/* Runs between two trials: at first, and while the verdict stays the same. */
#define INTERVAL_MIN 1024u
#define INTERVAL_MAX 16384u
/* The last runs by a way, whose time is taken. */
#define TIMED_RUNS 32u

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t median(struct copier_samples *samples)
{
	qsort(samples->ns_per_kib, COPIER_SAMPLES, sizeof(*samples->ns_per_kib), by_value);
	return samples->ns_per_kib[COPIER_SAMPLES / 2];
}

/* One trial against the verdict may be chance: it holds until the next trial, which comes soon. */
static void judge(struct copier *c)
{
	struct copier_samples *ordinary = &c->samples[0], *past = &c->samples[1];
	bool is_far, is_same;

	if (ordinary->n < COPIER_SAMPLES || past->n < COPIER_SAMPLES)
		return;
	is_far = median(ordinary) > median(past) + FAR_NS_PER_KIB;
	is_same = is_far == c->is_far;
	if (!is_same && (c->is_doubted || !c->has_judged))
		c->is_far = is_far;
	c->is_doubted = is_far != c->is_far;
	c->interval = is_same ? (uint32_t)min_u64(4 * c->interval, INTERVAL_MAX) : INTERVAL_MIN;
	c->has_judged = true;
}

/* The other way begins, or its trial is over. */
static void turn(struct copier *c)
{
	if (c->is_trial)
		judge(c);
	c->is_trial = !c->is_trial;
	c->rest = c->is_trial ? c->trial_runs : c->interval;
	c->samples[c->is_far ^ c->is_trial].n = 0;
}

void copier_init(struct copier *c, uint32_t buffers, uint32_t run)
{
	*c = (struct copier){.has_strings = copy_has_strings(),
			     .trial_runs = buffers / run + TIMED_RUNS,
			     .interval = INTERVAL_MIN,
			     .rest = INTERVAL_MIN};
}

enum copy_way copier_choose(struct copier *c, uint64_t len, bool is_full, bool *ret_is_timed)
{
	*ret_is_timed = false;
	if (len < LEN_MIN)
		return COPY_ORDINARY;
	if (!c->rest--)
		turn(c);
	*ret_is_timed = is_full && c->rest < TIMED_RUNS;
	if (c->is_far != c->is_trial)
		return COPY_PAST_CACHES;
	return len >= STRING_MIN && c->has_strings ? COPY_STRING : COPY_ORDINARY;
}

void copier_note(struct copier *c, uint64_t ns, uint64_t bytes)
{
	struct copier_samples *samples = &c->samples[c->is_far ^ c->is_trial];
	uint64_t ns_per_kib = min_u64(ns * 1024 / bytes, UINT32_MAX / 2);

	samples->ns_per_kib[samples->n++ % COPIER_SAMPLES] = (uint32_t)ns_per_kib;
}

void copier_begin(struct chan *chan, bool is_bulk, uint64_t len, uint64_t most,
		  struct copier_run *ret)
{
	bool is_full = most >= chan->fill_most;

	*ret = (struct copier_run){.way = COPY_ORDINARY};
	if (!emit_is_read_elsewhere(chan, is_bulk))
		return;
	ret->way = copier_choose(&chan->copier, len, chan->ops.clock_ns && is_full, &ret->is_timed);
	if (ret->is_timed)
		ret->begin_ns = chan->ops.clock_ns(chan->arg);
}

void copier_end(struct chan *chan, const struct copier_run *run, uint32_t n, uint64_t bytes)
{
	if (run->way == COPY_PAST_CACHES)
		copy_end();
	if (run->is_timed && n == chan->fill_most)
		copier_note(&chan->copier, chan->ops.clock_ns(chan->arg) - run->begin_ns, bytes);
}
