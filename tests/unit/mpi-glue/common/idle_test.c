// SPDX-License-Identifier: BSD-3-Clause
/* idle: when a polling process spins and when it yields, in time that is a variable. */
#include "mpi-glue/common/idle.h"
#include "tests/harness/tap.h"

enum { POLL_NS = 20, SHORT_NS = 450, LONG_NS = 2500 };

/*
 * Polls without work for @ns of made-up time, every yield taking @yield_ns; the number of yields.
 */
static int run(struct idle *i, uint64_t *now, uint64_t ns, uint64_t yield_ns)
{
	uint64_t end = *now + ns;
	int yields = 0;

	while (*now < end) {
		*now += POLL_NS;
		if (!idle_wants_clock(i) || !idle_wants_yield(i, *now))
			continue;
		*now += yield_ns;
		idle_yielded(i, yield_ns, true);
		yields++;
	}
	return yields;
}

TAP_TEST(idle_wants_yield__alone_spins_first)
{
	struct idle i;
	uint64_t now = 1000;

	idle_init(&i, false);
	is_int(run(&i, &now, IDLE_SPIN_NS - 1000, SHORT_NS), 0);
	ok(run(&i, &now, 10 * IDLE_SPIN_NS, SHORT_NS) > 0);
	ok(!i.is_shared);
}

TAP_TEST(idle_busy__starts_the_spin_anew)
{
	struct idle i;
	uint64_t now = 1000;

	idle_init(&i, false);
	for (int round = 0; round < 10; round++) {
		is_int(run(&i, &now, IDLE_SPIN_NS - 1000, SHORT_NS), 0);
		idle_busy(&i);
	}
}

TAP_TEST(idle_wants_yield__shared_yields_at_once)
{
	struct idle i;
	uint64_t now = 1000;

	idle_init(&i, true);
	ok(idle_wants_clock(&i));
	ok(idle_wants_yield(&i, now));
	idle_yielded(&i, LONG_NS, true);
	idle_busy(&i);
	ok(idle_wants_clock(&i) && idle_wants_yield(&i, now));
}

TAP_TEST(idle_yielded__one_long_yield_means_shared)
{
	struct idle i;
	uint64_t now = 1000;

	idle_init(&i, false);
	run(&i, &now, IDLE_SPIN_NS - 1000, SHORT_NS);
	while (!i.is_shared)
		is_int(run(&i, &now, 1000, LONG_NS) <= 1, 1);
	ok(idle_wants_clock(&i) && idle_wants_yield(&i, now));
}

TAP_TEST(idle_yielded__an_interrupt_is_nobody)
{
	struct idle i;

	idle_init(&i, false);
	idle_yielded(&i, LONG_NS, false);
	ok(!i.is_shared);
	idle_yielded(&i, LONG_NS, true);
	ok(i.is_shared);
	for (int n = 0; n < IDLE_CALM_YIELDS; n++)
		idle_yielded(&i, LONG_NS, false);
	ok(!i.is_shared);
}

TAP_TEST(idle_yielded__calm_means_alone_again)
{
	struct idle i;

	idle_init(&i, true);
	for (int n = 0; n < IDLE_CALM_YIELDS - 1; n++)
		idle_yielded(&i, SHORT_NS, true);
	ok(i.is_shared);
	idle_yielded(&i, LONG_NS, true);
	for (int n = 0; n < IDLE_CALM_YIELDS - 1; n++)
		idle_yielded(&i, SHORT_NS, true);
	ok(i.is_shared);
	idle_yielded(&i, SHORT_NS, true);
	ok(!i.is_shared);
}

TAP_TEST(idle_yielded__a_hog_changes_nothing)
{
	struct idle i;

	idle_init(&i, false);
	idle_yielded(&i, IDLE_HOG_YIELD_NS, true);
	ok(!i.is_shared);
	idle_yielded(&i, LONG_NS, true);
	idle_yielded(&i, IDLE_HOG_YIELD_NS, true);
	ok(i.is_shared);
}
