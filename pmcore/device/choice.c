/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmcore/device/choice.h"

/* Reads of a spell, fewer while a way has not been measured at all; and bytes, as long reads by the worse way are dear. */
#define SPELL_READS 16u
#define SPELL_FIRST 4u
#define SPELL_BYTES (8u << 20)
/*
 * Spells between two trials: so many at first, and more after each trial that does not win: twice as many, or more by far if the
 * way is clearly the worse one. With many reads open a trial is as many long, as all that begin until its first ones end
 * are of it.
 */
#define PATIENCE 16u
#define PATIENCE_MOST 512u
#define LONGER 2u
#define LONGER_BY_FAR 8u
/* Part of a worse rate that counts: an owner that computes makes a spell slow, and nothing makes it too fast. */
#define WORSE_PART 8

static enum choice_way other(enum choice_way way)
{
	return way == CHOICE_DEVICE ? CHOICE_STREAM : CHOICE_DEVICE;
}

static void begin_spell(struct choice *c, enum choice_way way)
{
	c->way = way;
	c->spell++;
	c->older = c->under_way;
	c->ended = 0;
	c->bytes = 0;
	c->busy_ns = 0;
}

static void note_rate(struct choice *c)
{
	double *rate = &c->rate[c->way], seen = (double)c->bytes / (double)(c->busy_ns + 1);

	if (seen > *rate)
		*rate = seen;
	else
		*rate -= (*rate - seen) / WORSE_PART;
}

static void be_patient(struct choice *c, uint32_t patience)
{
	c->patience = patience < PATIENCE_MOST ? patience : PATIENCE_MOST;
	c->rest = c->patience;
}

/* Has the other way less than three quarters of the rate? */
static bool is_clear(const struct choice *c)
{
	return 4 * c->rate[other(c->best)] < 3 * c->rate[c->best];
}

/* The spell has been measured: what comes next. */
static enum choice_way next_way(struct choice *c)
{
	bool is_trial = c->way != c->best;
	bool is_beaten = c->rate[other(c->best)] > c->rate[c->best];

	if (is_beaten)
		c->best = other(c->best);
	if (is_beaten || !c->patience)
		be_patient(c, PATIENCE);
	else if (is_trial)
		be_patient(c, c->patience * (is_clear(c) ? LONGER_BY_FAR : LONGER));
	if (c->rate[other(c->best)] > 0 && (is_trial || is_beaten || c->rest-- > 0))
		return c->best;
	return other(c->best);
}

enum choice_way choice_begin(struct choice *c, uint64_t now, uint32_t *ret_spell)
{
	if (!c->is_begun) {
		c->is_begun = true;
		c->best = c->way = CHOICE_STREAM;
	}
	if (!c->under_way++)
		c->since_ns = now;
	*ret_spell = c->spell;
	return c->way;
}

uint32_t choice_refused(struct choice *c)
{
	c->best = CHOICE_STREAM;
	begin_spell(c, CHOICE_DEVICE);
	/* this one is of the new spell */
	c->older--;
	return c->spell;
}

static bool is_measured(struct choice *c, uint32_t spell, uint64_t now)
{
	if (spell != c->spell) {
		/* the last one of before: from here on it counts */
		if (c->older && !--c->older)
			c->since_ns = now;
		return false;
	}
	return !c->older;
}

void choice_end(struct choice *c, uint32_t spell, uint64_t len, uint64_t now)
{
	bool is_first = !c->rate[CHOICE_DEVICE] || !c->rate[CHOICE_STREAM], is_counted;

	/* of a node that was removed and has been added anew since */
	if (!c->under_way)
		return;
	is_counted = is_measured(c, spell, now) && len;
	c->under_way--;
	if (!is_counted)
		return;
	c->bytes += len;
	c->busy_ns += now - c->since_ns;
	c->since_ns = now;
	if (++c->ended < (is_first ? SPELL_FIRST : SPELL_READS) && c->bytes < SPELL_BYTES)
		return;
	note_rate(c);
	begin_spell(c, next_way(c));
}
