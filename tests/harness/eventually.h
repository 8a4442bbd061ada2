/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * eventually - waiting for what other processes do, and nothing tells of. Bounded; on a machine
 * that is not busy it takes a millisecond or two.
 */
#ifndef TESTS_HARNESS_EVENTUALLY_H
#define TESTS_HARNESS_EVENTUALLY_H

#include <time.h>

#define EVENTUALLY_TRIES 5000

static inline void eventually_nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Whether the condition holds within 5 s; it is looked at each millisecond. */
#define EVENTUALLY(condition)                                                                      \
	({                                                                                         \
		int _left = EVENTUALLY_TRIES;                                                      \
		while (!(condition) && --_left)                                                    \
			eventually_nap();                                                          \
		_left > 0;                                                                         \
	})

#endif
