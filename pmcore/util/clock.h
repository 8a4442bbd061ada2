/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock - monotonic time, and job time: the clock that protocol timers run in. Job time advances by
 * at most a small step between two readings. So a process that was frozen (gang switch, checkpoint)
 * or that computed for long without calling us finds its timers where it left them. They have not
 * all expired.
 */
#ifndef PM_UTIL_CLOCK_H
#define PM_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "pmcore/util/ticks.h"

#define CLOCK_JOB_STEP_NS 10000000ull /* most that passes unseen: 10 ms */

static inline uint64_t clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/*
 * The same in seconds, for limits: the loop's own ev_now() jumps when somebody sets the wall clock.
 */
static inline double clock_monotonic_s(void)
{
	return (double)clock_monotonic_ns() / 1e9;
}

/* The time of the wall clock, ns since 1970; jumps when somebody sets it. */
static inline uint64_t clock_realtime_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* The same in seconds, for dates. */
static inline time_t clock_realtime_s(void)
{
	return (time_t)(clock_realtime_ns() / 1000000000u);
}

struct job_clock {
	uint64_t last; /* monotonic time of the last reading, ns */
	uint64_t now;  /* job time then, ns */
	struct ticks ticks;
};

/*
 * Reads job time. @asleep_ns: time up to which the caller knows itself asleep by own will since the
 * last reading (a poll timeout), which counts in full.
 */
static inline uint64_t job_clock_read(struct job_clock *clock, uint64_t asleep_ns)
{
	uint64_t mono = ticks_ns(&clock->ticks), step;

	if (mono < clock->last)
		mono = clock->last;
	step = mono - clock->last;
	if (step > asleep_ns + CLOCK_JOB_STEP_NS)
		step = asleep_ns + CLOCK_JOB_STEP_NS;
	clock->last = mono;
	clock->now += step;
	return clock->now;
}

static inline void job_clock_init(struct job_clock *clock)
{
	ticks_init(&clock->ticks);
	clock->last = clock_monotonic_ns();
	clock->now = 1000000000ull; /* not 0, so that "now - interval" never wraps */
}

#endif
