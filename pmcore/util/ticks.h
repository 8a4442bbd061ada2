/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ticks - monotonic time by the processor's cycle counter, at a third of the price of
 * clock_gettime. Owns the rate and an anchor, a moment read from both; the anchor is renewed every
 * millisecond, so an error of the rate can't grow. Where the counter does not run evenly it is
 * clock_gettime and nothing else.
 */
#ifndef PM_UTIL_TICKS_H
#define PM_UTIL_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#define TICKS_SHIFT 24

struct ticks {
	uint64_t at, at_ns; /* the anchor: counter and monotonic time */
	uint64_t good;      /* ticks behind the anchor up to which it is good, 0 = there is none */
	uint64_t mult;      /* ns per tick << TICKS_SHIFT, 0 = not known yet */
	uint64_t base, base_ns; /* an earlier moment, to measure the rate from; base_ns 0 = none */
	bool is_even;           /* the counter runs at one rate, whatever the processor does */
};

/* No anchor, no rate: the first readings are clock_gettime, for 10 ms. */
void ticks_init(struct ticks *t);
/*
 * Reads both clocks, renews the anchor if nothing came between, and returns monotonic time in ns.
 */
uint64_t ticks_anchor(struct ticks *t);

static inline uint64_t ticks_count(void)
{
#ifdef __x86_64__
	return __rdtsc();
#else
	return 0;
#endif
}

/* Monotonic time in ns. May go back by some ns when the anchor is renewed. */
static inline uint64_t ticks_ns(struct ticks *t)
{
	uint64_t past = ticks_count() - t->at;

	/* a counter that lags behind the anchor (another core's) has come a very long way */
	if (__builtin_expect(past < t->good, 1))
		return t->at_ns + (past * t->mult >> TICKS_SHIFT);
	return ticks_anchor(t);
}

#endif
