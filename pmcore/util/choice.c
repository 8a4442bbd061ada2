// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/choice.h"

/*
 * Reads of a spell, and bytes, as long reads by the worse way are dear. Of fewer the first ones of
 * a new connection, which is still slow, would be the rate of a way, and the worse one would be
 * taken for long.
 */
#define SPELL_READS 16u
#define SPELL_BYTES (8u << 20)
/*
 * Bytes between two trials, as a multiple of what the last one took: with many reads open all that
 * begin until the first ones end are of it. So much at first, and more after each trial that does
 * not win: twice as much, or more by far if the way is clearly the worse one.
 */
#define PATIENCE 16u
#define PATIENCE_MOST 512u
#define LONGER 2u
#define LONGER_BY_FAR 8u
/*
 * The first way has lost when it lost so many trials in a row, which follow each other soon: the
 * peer may have tried the other one at the same time, which makes both slow.
 */
#define DEFEATS 3u
#define PATIENCE_BEFORE 1u
/*
 * Part of a worse rate that counts: an owner that computes makes a spell slow, and nothing makes it
 * too fast.
 */
#define WORSE_PART 8

static enum choice_way other(enum choice_way way)
{
	return way == CHOICE_OTHER ? CHOICE_FIRST : CHOICE_OTHER;
}

static void count_again(struct choice *c)
{
	c->ended = 0;
	c->bytes = 0;
	c->busy_ns = 0;
}

/* Reads that are under way now will not count, as part of them has come already. */
static void begin_spell(struct choice *c)
{
	c->spell++;
	c->older = c->under_way;
	count_again(c);
}

static void change_to(struct choice *c, enum choice_way way)
{
	c->way = way;
	c->spent = 0;
	begin_spell(c);
	c->is_warm = !c->older;
}

static void note_rate(struct choice *c)
{
	double *rate = &c->rate[c->way], seen = (double)c->bytes / (double)(c->busy_ns + 1);

	if (seen > *rate)
		*rate = seen;
	else
		*rate -= (*rate - seen) / WORSE_PART;
}

/*
 * Without a trial, as when the best way became slow, the bytes of its spell stand for those of one.
 */
static void be_patient(struct choice *c, uint32_t patience, bool is_trial)
{
	c->patience = patience < PATIENCE_MOST ? patience : PATIENCE_MOST;
	c->rest = c->patience * (is_trial ? c->spent : c->bytes);
}

/* Has the other way less than three quarters of the rate? */
static bool is_clear(const struct choice *c)
{
	return 4 * c->rate[other(c->best)] < 3 * c->rate[c->best];
}

/* After a trial, and when the best way was beaten. */
static uint32_t next_patience(const struct choice *c, bool is_beaten)
{
	if (c->best == CHOICE_OTHER && c->defeats < DEFEATS)
		return PATIENCE_BEFORE;
	if (is_beaten || c->patience < PATIENCE)
		return PATIENCE;
	return c->patience * (is_clear(c) ? LONGER_BY_FAR : LONGER);
}

/* The spell has been measured: what comes next. */
static enum choice_way next_way(struct choice *c)
{
	bool is_trial = c->way != c->best;
	bool is_beaten = c->rate[other(c->best)] > c->rate[c->best];

	if (is_beaten)
		c->best = other(c->best);
	if (is_trial || is_beaten)
		c->defeats = c->best == CHOICE_OTHER ? c->defeats + 1 : 0;
	if (is_trial || is_beaten || !c->patience)
		be_patient(c, next_patience(c, is_beaten), is_trial);
	if (c->rate[other(c->best)] > 0 && (is_trial || is_beaten || c->rest))
		return c->best;
	return other(c->best);
}

enum choice_way choice_begin(struct choice *c, uint64_t now, uint32_t *ret_spell)
{
	if (!c->is_begun) {
		c->is_begun = true;
		c->best = c->way = CHOICE_FIRST;
	}
	if (!c->under_way++)
		c->since_ns = now;
	*ret_spell = c->spell;
	return c->way;
}

bool choice_is_first_slower(const struct choice *c)
{
	return c->rate[CHOICE_FIRST] > 0 && c->rate[CHOICE_OTHER] > c->rate[CHOICE_FIRST];
}

uint32_t choice_refused(struct choice *c)
{
	c->best = CHOICE_FIRST;
	change_to(c, CHOICE_OTHER);
	/* this one is of the new spell */
	c->older--;
	c->is_warm = !c->older;
	return c->spell;
}

/* The last of the older reads is over. */
static void none_is_older(struct choice *c, uint64_t now)
{
	c->since_ns = now;
	if (c->is_warm)
		return;
	/* those that began meanwhile shared the way with them */
	c->is_warm = true;
	begin_spell(c);
}

/*
 * A read of that spell is over, and not counted as under way any more. Does it tell how fast this
 * way is?
 */
static bool is_measured(struct choice *c, uint32_t spell, uint64_t now)
{
	if (spell == c->spell)
		return !c->older;
	if (c->older && !--c->older)
		none_is_older(c, now);
	return false;
}

/* Reads that are under way now will not count. The reads that were measured before them do. */
static void spoil(struct choice *c)
{
	c->spell++;
	c->older = c->under_way;
	c->is_warm |= !c->older;
}

void choice_end(struct choice *c, uint32_t spell, uint64_t len, bool tells, uint64_t now)
{
	enum choice_way next;

	/* of a node that was removed and has been added anew since */
	if (!c->under_way)
		return;
	c->under_way--;
	c->spent += len;
	if (c->way == c->best)
		c->rest -= len < c->rest ? len : c->rest;
	if (!tells) {
		spoil(c);
		return;
	}
	if (!is_measured(c, spell, now))
		return;
	c->bytes += len;
	c->busy_ns += now - c->since_ns;
	c->since_ns = now;
	if (++c->ended < SPELL_READS && c->bytes < SPELL_BYTES)
		return;
	note_rate(c);
	next = next_way(c);
	if (next == c->way)
		count_again(c);
	else
		change_to(c, next);
}
