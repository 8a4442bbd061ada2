// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of ticks. Readings are held against clock_gettime before and after them; the rate is
 * measured in the time that it takes, by reading on.
 */
#include "pmcore/util/ticks.h"

#include "pmcore/util/clock.h"
#include "tests/harness/tap.h"

#define MS 1000000ull
/* An anchor is off by at most the two looks at the counter, and a rate by as much in its 10 ms. */
#define ERROR_NS 2000

/* Reads for @ms; false when a reading was outside of what clock_gettime said around it. */
static bool agrees(struct ticks *t, uint64_t ms)
{
	uint64_t start = clock_monotonic_ns(), before, got, after;

	do {
		before = clock_monotonic_ns();
		got = ticks_ns(t);
		after = clock_monotonic_ns();
		if (got + ERROR_NS < before || got > after + ERROR_NS)
			return false;
	} while (after - start < ms * MS);
	return true;
}

/* Reads until the rate is known: on a busy machine most of the time is not ours. */
static bool agrees_with_rate(struct ticks *t, uint64_t ms)
{
	bool is_right = agrees(t, ms);

	for (int i = 0; i < 100 && is_right && t->is_even && !t->mult; i++)
		is_right = agrees(t, ms);
	return is_right;
}

TAP_TEST(ticks_ns__before_the_rate_is_known)
{
	struct ticks t;
	uint64_t start;

	/* Again if we were away so long that it could be measured. */
	do {
		start = clock_monotonic_ns();
		ticks_init(&t);
		ok(agrees(&t, 1));
	} while (clock_monotonic_ns() - start >= 10 * MS);
	is_int(t.mult, 0);
	is_int(t.good, 0);
}

TAP_TEST(ticks_ns__rate_known)
{
	struct ticks t;

	ticks_init(&t);
	ok(agrees_with_rate(&t, 30));
	is_int(!!t.mult, t.is_even);
}

TAP_TEST(ticks_ns__uneven_counter)
{
	struct ticks t;

	ticks_init(&t);
	t.is_even = false;
	ok(agrees(&t, 15));
	is_int(t.mult, 0);
	is_int(t.good, 0);
}

TAP_TEST(ticks_ns__counter_behind_the_anchor)
{
	struct ticks t;
	uint64_t before;

	ticks_init(&t);
	agrees_with_rate(&t, 15);
	t.at = ticks_count() + 1000000000;
	before = clock_monotonic_ns();
	ok(ticks_ns(&t) >= before);
}

TAP_TEST(ticks_ns__old_anchor_is_not_used)
{
	struct ticks t;
	uint64_t before;

	ticks_init(&t);
	agrees_with_rate(&t, 15);
	/* as after a long time away, with a rate that has become wrong */
	t.at -= t.good;
	t.at_ns -= 5 * MS;
	before = clock_monotonic_ns();
	ok(ticks_ns(&t) >= before);
}

TAP_TEST(ticks_anchor__rate_is_not_measured_over_hours)
{
	struct ticks t;
	uint64_t mult;

	ticks_init(&t);
	agrees_with_rate(&t, 15);
	mult = t.mult;
	t.base_ns -= 3600000 * MS;
	ticks_anchor(&t);
	is_int(t.mult, mult);
}
