// SPDX-License-Identifier: BSD-3-Clause
/*
 * A futex, whose time limit is a moment of CLOCK_REALTIME: when somebody sets that clock the kernel
 * sees to it.
 */
#include "scheduler/scnoded/nap.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pmcore/util/clock.h"

uint64_t nap_clock_ns(void)
{
	return clock_realtime_ns();
}

uint64_t nap_steady_ns(void)
{
	return clock_monotonic_ns();
}

void nap_until(atomic_uint *word, unsigned int seen, uint64_t until_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(until_ns / 1000000000ull),
			      .tv_nsec = (long)(until_ns % 1000000000ull)};

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, seen,
		until_ns == NAP_FOREVER ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

void nap_end(atomic_uint *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
