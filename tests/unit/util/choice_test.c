// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of choice.c in virtual time: which way is taken, how often the other one is tried, and what
 * does not fool it.
 */
#include "pmcore/util/choice.h"

#include <string.h>

#include "tests/harness/tap.h"

#define LEN (1u << 20)

/* A node whose reads take so many ns by each way. */
struct node {
	struct choice choice;
	uint64_t now, takes[CHOICE_WAYS];
	uint32_t used[CHOICE_WAYS], len;
	bool has_stream;
};

static void read_once(struct node *n)
{
	uint32_t spell;
	enum choice_way way = choice_begin(&n->choice, n->now, &spell);

	if (way == CHOICE_FIRST && !n->has_stream) {
		spell = choice_refused(&n->choice);
		way = CHOICE_OTHER;
	}
	n->used[way]++;
	n->now += n->takes[way];
	choice_end(&n->choice, spell, n->len, true, n->now);
	n->now += 1000000; /* the program computes, which is nobody's fault */
}

static void read_many(struct node *n, uint32_t reads)
{
	memset(n->used, 0, sizeof(n->used));
	for (uint32_t i = 0; i < reads; i++)
		read_once(n);
}

static struct node node_of(uint64_t device, uint64_t stream)
{
	return (struct node){
		.now = 1000, .takes = {device, stream}, .len = LEN, .has_stream = true};
}

TAP_TEST(choice__takes_the_faster_way)
{
	struct node n = node_of(400000, 200000), m = node_of(200000, 400000);

	read_many(&n, 2000);
	okf(n.used[CHOICE_FIRST] > 1900, "%u of 2000 by the stream", n.used[CHOICE_FIRST]);
	read_many(&m, 2000);
	okf(m.used[CHOICE_OTHER] > 1800, "%u of 2000 by the device", m.used[CHOICE_OTHER]);
	read_many(&m, 100000);
	okf(m.used[CHOICE_FIRST] < 1000, "%u of 100000 by the slower way", m.used[CHOICE_FIRST]);
	ok(m.used[CHOICE_FIRST] > 0);
}

/*
 * A node whose peer made its own trial at the same time, so that the first rate of the stream says
 * nothing.
 */
TAP_TEST(choice__a_stream_that_was_slow_once)
{
	struct node n = node_of(400000, 2000000);
	uint32_t i = 0;

	for (; i < 1000 && !n.used[CHOICE_FIRST]; i++)
		read_once(&n);
	for (; i < 1000 && n.choice.way == CHOICE_FIRST; i++)
		read_once(&n);
	n.takes[CHOICE_FIRST] = 200000;
	read_many(&n, 200);
	okf(n.used[CHOICE_FIRST] > 150, "%u of 200 by the stream", n.used[CHOICE_FIRST]);
}

TAP_TEST(choice__says_when_the_stream_is_slower)
{
	struct node n = node_of(400000, 200000), m = node_of(200000, 400000);

	ok(!choice_is_first_slower(&n.choice));
	read_many(&n, 2000);
	ok(!choice_is_first_slower(&n.choice));
	read_many(&m, 2000);
	ok(choice_is_first_slower(&m.choice));
}

/* Twice the time is no matter of chance. */
TAP_TEST(choice__what_is_clearly_slower_is_tried_rarely)
{
	struct node n = node_of(400000, 200000), m = node_of(210000, 200000);

	read_many(&n, 3000);
	okf(n.used[CHOICE_OTHER] <= 20, "%u of 3000 by the device", n.used[CHOICE_OTHER]);
	read_many(&m, 3000);
	ok(m.used[CHOICE_OTHER] > n.used[CHOICE_OTHER]);
}

/* Of long ones few are enough to know. */
TAP_TEST(choice__trials_with_long_reads_are_short)
{
	struct node n = node_of(3000000, 600000);

	n.len = 4 * LEN;
	read_many(&n, 100);
	okf(n.used[CHOICE_OTHER] <= 8, "%u of 100 by the device", n.used[CHOICE_OTHER]);
	ok(n.used[CHOICE_OTHER] > 0);
}

TAP_TEST(choice__follows_a_change)
{
	struct node n = node_of(400000, 200000);

	read_many(&n, 1000);
	n.takes[CHOICE_FIRST] = 900000;
	read_many(&n, 2000);
	okf(n.used[CHOICE_OTHER] > 1600, "%u of 2000 by the device", n.used[CHOICE_OTHER]);
}

TAP_TEST(choice__without_a_stream_and_when_it_comes)
{
	struct node n = node_of(400000, 200000);

	n.has_stream = false;
	read_many(&n, 1000);
	is_int(n.used[CHOICE_FIRST], 0);
	n.has_stream = true;
	read_many(&n, 1000);
	okf(n.used[CHOICE_FIRST] > 900, "%u of 1000 by the stream", n.used[CHOICE_FIRST]);
}

/* Many under way at once, which share the time: what one of them takes says nothing. */
TAP_TEST(choice__many_under_way)
{
	struct node n = node_of(400000, 200000);
	uint32_t spells[64];
	enum choice_way ways[64];

	for (int i = 0; i < 64; i++)
		ways[i] = choice_begin(&n.choice, n.now, &spells[i]);
	for (int i = 0; i < 20000; i++) {
		int k = i % 64;

		n.now += n.takes[ways[k]];
		choice_end(&n.choice, spells[k], LEN, true, n.now);
		ways[k] = choice_begin(&n.choice, n.now, &spells[k]);
		n.used[ways[k]] += i >= 10000;
	}
	okf(n.used[CHOICE_FIRST] > 8500, "%u of 10000 by the stream", n.used[CHOICE_FIRST]);
}

/*
 * Reads that are always so many under way and share the time evenly, for instance 4 MiB each: what
 * a trial brings first has come for the most part before the trial was alone.
 */
static double part_by_device(uint64_t device, uint64_t stream, uint32_t open, int reads)
{
	struct node n = node_of(device, stream);
	uint64_t left[64];
	uint32_t spells[64];
	enum choice_way ways[64];
	int ended = 0;

	for (uint32_t i = 0; i < open; i++) {
		ways[i] = choice_begin(&n.choice, n.now, &spells[i]);
		/* not all of them end at once */
		left[i] = n.takes[ways[i]] * (i + 1) / open;
	}
	while (ended < reads)
		for (uint32_t i = 0; i < open; i++) {
			uint64_t share = n.takes[ways[i]] / 16;

			n.now += share;
			if (left[i] > share) {
				left[i] -= share;
				continue;
			}
			choice_end(&n.choice, spells[i], 4 * LEN, true, n.now);
			n.used[ways[i]]++;
			ended++;
			ways[i] = choice_begin(&n.choice, n.now, &spells[i]);
			left[i] = n.takes[ways[i]];
		}
	return (double)n.used[CHOICE_OTHER] / ended;
}

TAP_TEST(choice__many_long_ones_under_way)
{
	double part;

	for (uint32_t open = 1; open <= 64; open *= 4) {
		part = part_by_device(1000000, 600000, open, 4000);
		okf(part < 0.1, "%u open: %.3f by the slower device", open, part);
		part = part_by_device(600000, 1000000, open, 4000);
		/* the stream is given three trials, of as many reads as are open */
		okf(part > 0.85, "%u open: %.3f by the faster device", open, part);
		part = part_by_device(600000, 660000, open, 8000);
		okf(part > 0.6, "%u open: %.3f by the device, a bit faster", open, part);
	}
}

/* The owner computes for a while, after a long time in which no trial was needed. */
TAP_TEST(choice__comes_back_to_the_faster_way)
{
	struct node n = node_of(400000, 200000);

	read_many(&n, 200000);
	n.takes[CHOICE_FIRST] = 5000000;
	read_many(&n, 64);
	n.takes[CHOICE_FIRST] = 200000;
	read_many(&n, 1000);
	okf(n.used[CHOICE_FIRST] > 700, "%u of 1000 by the stream", n.used[CHOICE_FIRST]);
}

TAP_TEST(choice__failed_reads_tell_nothing)
{
	struct node n = node_of(400000, 200000);
	uint32_t spell;

	read_many(&n, 500);
	for (int i = 0; i < 100; i++) {
		choice_begin(&n.choice, n.now, &spell);
		n.now += 50000000;
		choice_end(&n.choice, spell, 0, false, n.now);
	}
	read_many(&n, 500);
	okf(n.used[CHOICE_FIRST] > 400, "%u of 500 by the stream", n.used[CHOICE_FIRST]);
	is_int(n.choice.under_way, 0);
}

/*
 * Between reads that count others come that do not: the rates are of those that do, and trials end.
 */
TAP_TEST(choice__disturbed_reads_do_not_keep_it_from_knowing)
{
	struct node n = node_of(200000, 400000);
	uint32_t spell;

	n.len = LEN / 8;
	for (int i = 0; i < 1000; i++) {
		read_once(&n);
		choice_begin(&n.choice, n.now, &spell);
		n.now += 50000000;
		choice_end(&n.choice, spell, LEN / 8, false, n.now);
	}
	read_many(&n, 200);
	okf(n.used[CHOICE_OTHER] > 150, "%u of 200 by the faster way", n.used[CHOICE_OTHER]);
	ok(n.choice.rate[CHOICE_FIRST] > LEN / 8 / 500000.0);
}

/* One that is under way with a disturbed one was disturbed as well, whatever their spells are. */
TAP_TEST(choice__what_was_disturbed_together)
{
	struct node n = node_of(400000, 200000);
	uint32_t disturbed, other;

	choice_begin(&n.choice, n.now, &disturbed);
	choice_begin(&n.choice, n.now, &other);
	choice_end(&n.choice, disturbed, LEN, false, n.now + 1);
	choice_begin(&n.choice, n.now, &disturbed);
	choice_end(&n.choice, other, 100 * LEN, true, n.now + 2);
	is_int(n.choice.ended, 0);
	choice_end(&n.choice, disturbed, LEN, false, n.now + 3);
	is_int(n.choice.under_way, 0);
	ok(n.choice.rate[CHOICE_FIRST] <= 0);
}
