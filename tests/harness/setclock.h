/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setclock - the clocks of a test program, libev's too, which it moves by itself. For one file of a
 * program: it defines the C library's clock_gettime() and time().
 */
#ifndef TESTS_HARNESS_SETCLOCK_H
#define TESTS_HARNESS_SETCLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t setclock_passed_s; /* has gone by, on all clocks */
static time_t setclock_by_s;     /* the clock of the day was set by so much */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (syscall(SYS_clock_gettime, clock, ts))
		return -1;
	ts->tv_sec += setclock_passed_s + (clock == CLOCK_REALTIME ? setclock_by_s : 0);
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

#endif
