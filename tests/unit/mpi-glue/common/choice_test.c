// SPDX-License-Identifier: BSD-3-Clause
/* choice: both ways at first, then the cheaper one, and the other one now and then. */
#include "mpi-glue/common/choice.h"
#include "tests/harness/tap.h"

#define BYTES 1000

/* So many picks, each at the cost of its way in ns; how many took the second way. */
static uint32_t run(struct choice *c, uint32_t n, uint64_t first, uint64_t second)
{
	uint32_t taken = 0;

	for (; n; n--) {
		unsigned way = choice_pick(c);

		choice_note(c, way, way ? second : first, BYTES);
		taken += way;
	}
	return taken;
}

TAP_TEST(choice_pick__both_ways_at_first)
{
	struct choice c = {0};

	is_int(run(&c, CHOICE_RUN, 500, 900), 0);
	is_int(run(&c, CHOICE_RUN, 500, 900), CHOICE_RUN);
}

TAP_TEST(choice_pick__the_cheaper_one)
{
	struct choice c = {0}, other = {0};

	run(&c, 100, 500, 900);
	okf(run(&c, 10000, 500, 900) <= 10 * CHOICE_RUN, "the dearer way is taken seldom");
	run(&other, 100, 900, 500);
	okf(run(&other, 10000, 900, 500) >= 10000 - 10 * CHOICE_RUN,
	    "the second may be the cheaper one");
}

TAP_TEST(choice_pick__follows_a_change)
{
	struct choice c = {0};

	run(&c, 20000, 500, 900);
	/*
	 * the way in use gets slower: its window has to pass, and there may be a trial to wait for
	 */
	run(&c, CHOICE_EVERY_MAX + 4 * CHOICE_WINDOW, 1900, 900);
	okf(run(&c, 1000, 1900, 900) > 900, "the other one is taken now");
	/* the other one gets faster than it was: the next trial sees it */
	run(&c, 2 * CHOICE_EVERY_MAX, 100, 900);
	okf(run(&c, 1000, 100, 900) < 100, "and the first one again");
}

/* Some wait for a peer that computes, by either way. */
TAP_TEST(choice_note__the_least_counts)
{
	struct choice c = {0};
	uint32_t taken = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		unsigned way = choice_pick(&c);
		uint64_t late = i % 3 ? 50000 : 0;

		choice_note(&c, way, (way ? 700 : 500) + late, BYTES);
		taken += way;
	}
	okf(taken < 1000, "%u", taken);
}

/* The first of a run pays for what the other way left in the caches. */
TAP_TEST(choice_pick__trials_are_runs)
{
	struct choice c = {0};
	uint32_t taken = 0, row = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		unsigned way = choice_pick(&c);

		row = way ? row + 1 : 0;
		choice_note(&c, way, way ? (row > 4 ? 400 : 900) : 500, BYTES);
		taken += way;
	}
	okf(taken > 19000, "%u", taken);
}

TAP_TEST(choice_note__only_one_way_is_ever_told)
{
	struct choice c = {0};

	for (int i = 0; i < 1000; i++)
		if (choice_pick(&c) == 1)
			choice_note(&c, 1, 5, BYTES);
	is_int(choice_pick(&c), 1);
	/* times that no clock can tell apart, and such that no number holds */
	choice_note(&c, 0, 0, 1);
	choice_note(&c, 1, UINT64_MAX / 1000, 1);
	is_int(choice_pick(&c), 0);
}
