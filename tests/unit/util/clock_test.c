// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of clock. A gap is made by setting the last reading back, not by waiting; what the machine
 * adds between two lines is bounded by reading the clock around them.
 */
#include "pmcore/util/clock.h"

#include "tests/harness/tap.h"

#define SECOND 1000000000ull

/*
 * Job time that a gap of @gap ns brings, @asleep of it granted; *ret_more: what the reading itself
 * may add.
 */
static uint64_t step(uint64_t gap, uint64_t asleep, uint64_t *ret_more)
{
	uint64_t begin = clock_monotonic_ns(), before, after;
	struct job_clock clock;

	job_clock_init(&clock);
	before = clock.now;
	clock.last -= gap;
	after = job_clock_read(&clock, asleep);
	*ret_more = clock_monotonic_ns() - begin;
	return after - before;
}

TAP_TEST(job_clock_init__never_zero)
{
	struct job_clock clock;

	job_clock_init(&clock);
	is_int(clock.now, SECOND);
	ok(clock.last && clock.last <= clock_monotonic_ns());
}

TAP_TEST(job_clock_read__short_gap_counts_in_full)
{
	uint64_t more, got = step(3000000, 0, &more);

	ok(got >= 3000000);
	okf(got <= 3000000 + more, "%llu", (unsigned long long)got);
}

TAP_TEST(job_clock_read__unseen_gap_counts_10_ms)
{
	uint64_t more;

	is_int(step(5 * SECOND, 0, &more), CLOCK_JOB_STEP_NS);
	is_int(CLOCK_JOB_STEP_NS, 10000000);
}

TAP_TEST(job_clock_read__own_sleep_counts_in_full)
{
	uint64_t more, got = step(5 * SECOND, 5 * SECOND, &more);

	ok(got >= 5 * SECOND);
	ok(got <= 5 * SECOND + more);
	/* frozen while asleep: the granted time and one step */
	is_int(step(60 * SECOND, 5 * SECOND, &more), 5 * SECOND + CLOCK_JOB_STEP_NS);
	/* woken early: what has really passed */
	got = step(SECOND, 5 * SECOND, &more);
	ok(got >= SECOND && got <= SECOND + more);
}

TAP_TEST(job_clock_read__steps_add_up)
{
	struct job_clock clock;

	job_clock_init(&clock);
	for (int i = 1; i <= 10; i++) {
		clock.last -= SECOND;
		is_int(job_clock_read(&clock, 0), SECOND + (uint64_t)i * CLOCK_JOB_STEP_NS);
	}
}
