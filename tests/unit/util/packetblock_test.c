// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of packetblock: order within blocks, single buffers when no block is whole, nothing lost or
 * given twice.
 */
#include "pmcore/util/packetblock.h"

#include <string.h>

#include "tests/harness/tap.h"

#define BLOCKS 3
#define EACH 4
#define ALL (BLOCKS * EACH)

static struct pm_packet packets[ALL];

static struct packetblocks fresh_with_rest(uint32_t n_rest)
{
	struct packetblocks all;

	memset(packets, 0, sizeof(packets));
	is_int(packetblocks_init(&all, packets, BLOCKS, EACH, n_rest), 0);
	return all;
}

static struct packetblocks fresh(void)
{
	return fresh_with_rest(BLOCKS);
}

static long take(struct packetblocks *all)
{
	struct pm_packet *p = packetblocks_take(all);

	return p ? p - packets : -1;
}

TAP_TEST(packetblocks_take__in_a_row_until_all_are_out)
{
	struct packetblocks all = fresh();

	for (long i = 0; i < ALL; i++)
		is_int(take(&all), i);
	is_int(take(&all), -1);
	is_int(all.n_free, 0);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_take__what_was_in_it_is_gone)
{
	struct packetblocks all = fresh();

	packets[0] = (struct pm_packet){.room = 64, .len = 8, .next = &packets[1]};
	is_int(take(&all), 0);
	ok(!packets[0].len && !packets[0].next && packets[0].room == 64);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__a_whole_block_begins_again)
{
	struct packetblocks all = fresh();

	for (int i = 0; i < 3; i++) {
		is_int(take(&all), 0);
		is_int(take(&all), 1);
		packetblocks_put(&all, &packets[1]);
		packetblocks_put(&all, &packets[0]);
	}
	packetblocks_fini(&all);
}

/* A row is not continued with single buffers while there is a whole block. */
TAP_TEST(packetblocks_take__whole_blocks_first)
{
	struct packetblocks all = fresh();

	for (long i = 0; i < EACH + 1; i++)
		take(&all);
	packetblocks_put(&all, &packets[0]);
	packetblocks_put(&all, &packets[2]);
	for (long i = EACH + 1; i < ALL; i++)
		is_int(take(&all), i);
	/* now those that came back */
	is_int(take(&all), 0);
	is_int(take(&all), 2);
	is_int(take(&all), -1);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__behind_the_cursor_waits)
{
	struct packetblocks all = fresh();

	for (long i = 0; i < 3; i++)
		is_int(take(&all), i);
	packetblocks_put(&all, &packets[0]);
	is_int(take(&all), 3);
	is_int(take(&all), EACH);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_give__busy_ones_come_back_when_let_go)
{
	struct packetblocks all = fresh();

	take(&all);
	packets[0].busy = 2;
	packetblocks_give(&all, &packets[0]);
	packetblocks_let_go(&all, &packets[0]);
	is_int(all.n_free, ALL - 1);
	packetblocks_let_go(&all, &packets[0]);
	is_int(all.n_free, ALL);
	ok(!packets[0].is_freed);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_init__64_in_a_block)
{
	static struct pm_packet many[2 * PACKETBLOCK_MAX];
	struct packetblocks all;

	is_int(packetblocks_init(&all, many, 2, PACKETBLOCK_MAX, 1), 0);
	for (uint32_t i = 0; i < 2 * PACKETBLOCK_MAX; i++)
		ok(packetblocks_take(&all) == &many[i]);
	ok(!packetblocks_take(&all));
	packetblocks_fini(&all);
}

/* Blocks that were made new; -1 if that fails from now on. */
static int n_renewed;

static bool renew(struct packetblocks *all, uint32_t block)
{
	ok(block < all->n_blocks);
	if (n_renewed < 0)
		return false;
	n_renewed++;
	return true;
}

static struct packetblocks renewable(void)
{
	struct packetblocks all = fresh();

	all.renew = renew;
	n_renewed = 0;
	return all;
}

/* The network may still read it. */
static void put_unacked(struct packetblocks *all, long i)
{
	packets[i].is_shown = packets[i].is_kept = true;
	packetblocks_put(all, &packets[i]);
}

/* It left uncopied, and has been acked. */
static void put_shown(struct packetblocks *all, long i)
{
	packets[i].is_shown = true;
	packetblocks_put(all, &packets[i]);
}

TAP_TEST(packetblocks_take__the_block_that_is_whole_for_longest)
{
	struct packetblocks all = fresh();

	for (long i = 0; i < ALL; i++)
		take(&all);
	for (long i = 0; i < ALL; i++)
		put_shown(&all, (i + EACH) % ALL);
	/* the current block, then the others in the order in which they came back */
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), 2 * EACH + i);
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), EACH + i);
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), i);
	packetblocks_fini(&all);
}

static void take_all(struct packetblocks *all)
{
	for (long i = 0; i < ALL; i++)
		take(all);
}

static void put_block(struct packetblocks *all, long b)
{
	for (long i = 0; i < EACH; i++)
		packetblocks_put(all, &packets[b * EACH + i]);
}

static void put_shown_block(struct packetblocks *all, long b)
{
	for (long i = 0; i < EACH; i++)
		put_shown(all, b * EACH + i);
}

/* Copied packets need no rest: messages of more than one block use the same two for ever. */
TAP_TEST(packetblocks_take__the_block_that_is_warm)
{
	struct packetblocks all = fresh_with_rest(2);
	long taken[EACH + 1];

	for (long round = 0; round < 5; round++) {
		for (long i = 0; i <= EACH; i++) {
			taken[i] = take(&all);
			ok(taken[i] >= 0 && taken[i] < 2 * EACH);
		}
		for (long i = 0; i <= EACH; i++)
			packetblocks_put(&all, &packets[taken[i]]);
	}
	packetblocks_fini(&all);
}

/* The last one first; those that were shown wait until no other is left. */
TAP_TEST(packetblocks_take__shown_blocks_rest_behind_warm_ones)
{
	struct packetblocks all = fresh();

	take_all(&all);
	put_shown_block(&all, 0);
	put_block(&all, 1);
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), EACH + i);
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), i);
	is_int(take(&all), -1);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_take__the_next_block_in_memory)
{
	struct packetblocks all = fresh();

	take_all(&all);
	put_shown_block(&all, 0);
	is_int(take(&all), 0);
	put_shown_block(&all, 2);
	put_shown_block(&all, 1);
	/* behind block 0 lies block 1, although block 2 has been whole for longer */
	for (long i = 1; i < 3 * EACH; i++)
		is_int(take(&all), i);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_take__no_new_block_while_enough_others_rest)
{
	for (uint32_t n_rest = 0; n_rest <= 2; n_rest++) {
		struct packetblocks all = fresh_with_rest(n_rest);

		for (long i = 0; i <= EACH; i++)
			is_int(take(&all), i);
		put_shown_block(&all, 0);
		for (long i = EACH + 1; i < 2 * EACH; i++)
			is_int(take(&all), i);
		is_int(take(&all), n_rest <= 1 ? 0 : 2 * EACH);
		/* and when there is no new one, those that rest */
		for (long i = 1; i < ALL - EACH; i++)
			ok(take(&all) >= 0);
		is_int(take(&all), -1);
		packetblocks_fini(&all);
	}
}

TAP_TEST(packetblocks_put__unacked_ones_are_held_until_the_block_is_renewed)
{
	struct packetblocks all = renewable();

	for (long i = 0; i < ALL; i++)
		take(&all);
	put_unacked(&all, EACH);
	put_unacked(&all, EACH + 2);
	is_int(all.n_held, 2);
	is_int(take(&all), -1);
	packetblocks_put(&all, &packets[EACH + 1]);
	is_int(take(&all), EACH + 1);
	packetblocks_put(&all, &packets[EACH + 3]);
	is_int(n_renewed, 0);
	packetblocks_put(&all, &packets[EACH + 1]);
	is_int(n_renewed, 1);
	is_int(all.n_held, 0);
	is_int(all.n_free, EACH);
	for (long i = 0; i < EACH; i++)
		is_int(take(&all), EACH + i);
	ok(!packets[EACH].is_shown && !packets[EACH].is_kept);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__all_of_a_block_unacked)
{
	struct packetblocks all = renewable();

	for (long i = 0; i < EACH; i++)
		take(&all);
	for (long i = 0; i < EACH; i++)
		put_unacked(&all, i);
	is_int(n_renewed, 1);
	is_int(all.n_free, ALL);
	is_int(take(&all), 0);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__a_block_that_can_not_be_renewed)
{
	struct packetblocks all = renewable();

	n_renewed = -1;
	for (long i = 0; i < ALL; i++)
		take(&all);
	put_unacked(&all, 1);
	for (long i = 0; i < ALL; i++)
		if (i != 1)
			packetblocks_put(&all, &packets[i]);
	for (long i = 0; i < ALL - 1; i++)
		ok(take(&all) != 1);
	is_int(take(&all), -1);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__acked_or_copied_ones_are_free)
{
	struct packetblocks all = renewable();

	take(&all);
	take(&all);
	packets[0].is_shown = true;
	packets[1].is_kept = true;
	packetblocks_put(&all, &packets[0]);
	packetblocks_put(&all, &packets[1]);
	is_int(all.n_held, 0);
	is_int(all.n_free, ALL);
	packetblocks_fini(&all);
}

/*
 * A long random course: no buffer is out twice, and as many are found as are free; some come back
 * unacked.
 */
TAP_TEST(packetblocks__random_course)
{
	uint64_t random = tap_seed();
	struct packetblocks all = renewable();
	bool is_out[ALL] = {false};
	uint32_t out = 0;

	for (int i = 0; i < 200000 && !tap_has_failed(); i++) {
		long at = (long)(tap_rand(&random) % ALL);

		if (is_out[at]) {
			packets[at].is_shown = packets[at].is_kept = !(tap_rand(&random) % 8);
			packetblocks_put(&all, &packets[at]);
			is_out[at] = false;
			out--;
		} else {
			long got = take(&all);

			if (got < 0 && ALL - out == all.n_held)
				continue;
			if (!ok(got >= 0 && !is_out[got]))
				break;
			is_out[got] = true;
			out++;
		}
		if (out == ALL)
			is_int(take(&all), -1);
		if (all.n_free + all.n_held != ALL - out)
			is_int(all.n_free + all.n_held, ALL - out);
	}
	ok(n_renewed > 100);
	packetblocks_fini(&all);
}

TAP_TEST(packetblocks_put__each_buffer_to_its_block)
{
	static struct pm_packet many[100 * PACKETBLOCK_MAX];
	struct packetblocks all;

	for (uint32_t each = 1; each <= PACKETBLOCK_MAX; each++) {
		memset(many, 0, sizeof(many));
		is_int(packetblocks_init(&all, many, 100, each, 10), 0);
		while (packetblocks_take(&all))
			continue;
		for (uint32_t i = 0; i < 100 * each; i++) {
			/*
			 * 67 is prime and divides no number of buffers here, so each comes back
			 * once
			 */
			packetblocks_put(&all, &many[i * 67 % (100 * each)]);
		}
		is_int(all.n_free, 100 * each);
		for (uint32_t b = 0; b < 100; b++)
			ok(all.blocks[b].free == all.whole);
		packetblocks_fini(&all);
	}
}

/* Two pools that go through the same, one packet by packet and the other by runs. */
#define TWIN_BLOCKS 5
#define TWIN_EACH 7
#define TWIN_ALL (TWIN_BLOCKS * TWIN_EACH)

struct twins {
	struct pm_packet packets[2][TWIN_ALL];
	struct packetblocks all[2];
	long out[TWIN_ALL]; /* packets that are taken */
	uint32_t n_out;
	uint32_t seed;
};

static uint32_t draw(struct twins *t, uint32_t below)
{
	t->seed = t->seed * 1664525u + 1013904223u;
	return (t->seed >> 16) % below;
}

static void twins_take(struct twins *t)
{
	struct pm_packet *run[TWIN_ALL], *single = NULL;
	uint32_t n = draw(t, TWIN_ALL) + 1, got, i;

	got = packetblocks_take_run(&t->all[1], n, run);
	ok(got == n || !t->all[1].n_free);
	for (i = 0; i < got; i++) {
		single = packetblocks_take(&t->all[0]);
		ok(single - t->packets[0] == run[i] - t->packets[1]);
		ok(!run[i]->len && !run[i]->next);
		t->out[t->n_out++] = run[i] - t->packets[1];
	}
	if (got < n)
		ok(!packetblocks_take(&t->all[0]));
}

/*
 * Some of those that are out, in a row of the order in which they were taken; few are busy, shown,
 * or unacked.
 */
static void twins_give(struct twins *t)
{
	struct pm_packet *run[TWIN_ALL];
	uint32_t n = t->n_out ? draw(t, t->n_out) + 1 : 0, from = n ? draw(t, t->n_out - n + 1) : 0,
		 i;

	for (i = 0; i < n; i++) {
		struct pm_packet *a = &t->packets[0][t->out[from + i]];

		run[i] = &t->packets[1][t->out[from + i]];
		run[i]->len = 5;
		a->busy = run[i]->busy = draw(t, 8) == 0;
		a->is_shown = run[i]->is_shown = draw(t, 3) == 0;
		a->is_kept = run[i]->is_kept = draw(t, 6) == 0;
		packetblocks_give(&t->all[0], a);
	}
	packetblocks_give_run(&t->all[1], run, n);
	for (i = 0; i < n; i++)
		if (run[i]->busy) {
			packetblocks_let_go(&t->all[0], &t->packets[0][t->out[from + i]]);
			packetblocks_let_go(&t->all[1], run[i]);
		}
	memmove(&t->out[from], &t->out[from + n], (t->n_out - from - n) * sizeof(t->out[0]));
	t->n_out -= n;
}

TAP_TEST(packetblocks_give_run__as_one_by_one)
{
	for (uint32_t seed = 1; seed <= 50; seed++) {
		struct twins t = {.seed = seed};
		uint32_t b, k;

		for (k = 0; k < 2; k++) {
			is_int(packetblocks_init(&t.all[k], t.packets[k], TWIN_BLOCKS, TWIN_EACH,
						 seed % 4),
			       0);
			t.all[k].renew = renew;
		}
		n_renewed = 0;
		for (k = 0; k < 200; k++) {
			draw(&t, 2) ? twins_take(&t) : twins_give(&t);
			ok(t.all[0].n_free == t.all[1].n_free &&
			   t.all[0].n_held == t.all[1].n_held &&
			   t.all[0].current == t.all[1].current);
			for (b = 0; b < TWIN_BLOCKS; b++)
				ok(t.all[0].blocks[b].free == t.all[1].blocks[b].free &&
				   t.all[0].blocks[b].was_shown == t.all[1].blocks[b].was_shown);
		}
		packetblocks_fini(&t.all[0]);
		packetblocks_fini(&t.all[1]);
	}
}
