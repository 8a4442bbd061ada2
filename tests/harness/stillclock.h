/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stillclock - the clocks of a test program stand still until it moves them. For one file of a
 * program: it defines the C library's clock_gettime().
 */
#ifndef TESTS_HARNESS_STILLCLOCK_H
#define TESTS_HARNESS_STILLCLOCK_H

#include <stdint.h>
#include <time.h>

static uint64_t stillclock_ns = 1000000000u; /* on all clocks */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	(void)clock;
	ts->tv_sec = (time_t)(stillclock_ns / 1000000000u);
	ts->tv_nsec = (long)(stillclock_ns % 1000000000u);
	return 0;
}

#endif
