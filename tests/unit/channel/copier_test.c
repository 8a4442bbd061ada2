// SPDX-License-Identifier: BSD-3-Clause
/*
 * copier: which way is chosen, when the other one is tried, and what the measured times make of it.
 */
#include "pmcore/channel/copier.h"
#include "pmcore/channel/emit.h"
#include "tests/unit/channel/rig.h"

#define BUFFERS 256u
#define LONG (1u << 20)
#define RUN_BYTES 16384u

/* The time of a run by either way, ns. */
struct machine {
	uint64_t ordinary, past;
};

/* @n full runs of messages of @len bytes; how many of them were filled past the caches. */
static uint32_t fill(struct copier *c, const struct machine *m, uint64_t len, uint32_t n)
{
	uint32_t n_past = 0;

	for (; n; n--) {
		bool is_timed;
		enum copy_way way = copier_choose(c, len, true, &is_timed);
		bool is_past = way == COPY_PAST_CACHES;

		n_past += is_past;
		if (is_timed)
			copier_note(c, is_past ? m->past : m->ordinary, RUN_BYTES);
	}
	return n_past;
}

/* 200 ns per KiB and 60. */
static const struct machine far = {.ordinary = 3200, .past = 960};
/* 80 and 60. */
static const struct machine near = {.ordinary = 1280, .past = 960};

static struct copier fresh(void)
{
	struct copier c;

	copier_init(&c, BUFFERS, CHAN_RUN);
	c.has_strings = true;
	return c;
}

TAP_TEST(copier__short_messages_are_copied_as_ever)
{
	struct copier c = fresh();

	is_int(fill(&c, &far, 16384, 20000), 0);
	is_int(c.samples[0].n, 0);
}

TAP_TEST(copier__near_long_messages_by_the_string_instruction)
{
	struct copier c = fresh();
	bool is_timed;

	ok(copier_choose(&c, LONG, true, &is_timed) == COPY_STRING);
	ok(copier_choose(&c, 65536, true, &is_timed) == COPY_ORDINARY);
	c.has_strings = false;
	ok(copier_choose(&c, LONG, true, &is_timed) == COPY_ORDINARY);
}

TAP_TEST(copier__far_is_found_by_the_first_trial)
{
	struct copier c = fresh();

	(void)fill(&c, &far, LONG, 2000);
	ok(c.has_judged && c.is_far);
	ok(fill(&c, &far, LONG, 20000) > 19000);
}

TAP_TEST(copier__near_stays_near_and_trials_cost_little)
{
	struct copier c = fresh();

	(void)fill(&c, &near, LONG, 20000);
	ok(c.has_judged && !c.is_far);
	ok(fill(&c, &near, LONG, 100000) < 1000);
}

TAP_TEST(copier__the_machine_changes_its_state)
{
	struct copier c = fresh();

	(void)fill(&c, &near, LONG, 100000);
	(void)fill(&c, &far, LONG, 25000);
	ok(c.is_far);
	(void)fill(&c, &near, LONG, 25000);
	ok(!c.is_far);
}

/* A single trial is disturbed, and says the opposite. */
TAP_TEST(copier__one_trial_against_the_verdict_is_not_enough)
{
	struct copier c = fresh();

	(void)fill(&c, &near, LONG, 3000);
	ok(c.has_judged && !c.is_far);
	while (!c.is_trial)
		(void)fill(&c, &near, LONG, 1);
	while (c.is_trial)
		(void)fill(&c, &(struct machine){.ordinary = 1280, .past = 10}, LONG, 1);
	ok(c.is_doubted && !c.is_far);
	(void)fill(&c, &near, LONG, 3000);
	ok(!c.is_doubted && !c.is_far);
}

/* Preempted in three runs of seven. */
TAP_TEST(copier__single_slow_runs_do_not_count)
{
	struct copier c = fresh();

	for (uint32_t i = 0; i < 20000; i++) {
		struct machine m = near;

		if (i % 7 < 3)
			m.ordinary = 1000000;
		(void)fill(&c, &m, LONG, 1);
	}
	ok(c.has_judged && !c.is_far);
}

/* Nobody could time a full run: there is nothing to judge by. */
TAP_TEST(copier__without_samples_the_verdict_stays)
{
	struct copier c = fresh();
	bool is_timed;

	for (uint32_t i = 0; i < 20000; i++) {
		(void)copier_choose(&c, LONG, false, &is_timed);
		ok(!is_timed);
	}
	ok(!c.has_judged && !c.is_far);
}

TAP_TEST(copier__times_out_of_range_are_no_harm)
{
	struct copier c = fresh();

	(void)fill(&c, &(struct machine){.ordinary = UINT64_MAX / 2048, .past = 0}, LONG, 20000);
	ok(c.is_far);
}
