// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/ticks.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "pmcore/util/clock.h"

#define ANCHOR_NS 1000000ull         /* an anchor is good for that long */
#define MEASURE_NS 10000000ull       /* the rate is measured over that time ... */
#define MEASURE_MAX_NS 1000000000ull /* ... and not over more: the product must fit */
/*
 * Ticks between the two looks at the counter around one at the clock: more, and we were
 * interrupted.
 */
#define TOGETHER 2000u

static bool is_even(void)
{
#ifdef __x86_64__
	unsigned int a, b, c, d;

	/* "invariant TSC" */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
#else
	return false;
#endif
}

void ticks_init(struct ticks *t)
{
	*t = (struct ticks){.is_even = is_even()};
}

static void measure(struct ticks *t, uint64_t at, uint64_t ns)
{
	uint64_t past = ns - t->base_ns;

	if (t->base_ns && past < MEASURE_NS)
		return;
	if (t->base_ns && past <= MEASURE_MAX_NS && at > t->base)
		t->mult = (past << TICKS_SHIFT) / (at - t->base);
	t->base = at;
	t->base_ns = ns;
}

uint64_t ticks_anchor(struct ticks *t)
{
	uint64_t before = ticks_count(), ns = clock_monotonic_ns(), after;

	t->good = 0;
	if (!t->is_even)
		return ns;
	after = ticks_count();
	if (after - before > TOGETHER)
		return ns;
	measure(t, after, ns);
	t->at = after;
	t->at_ns = ns;
	if (t->mult)
		t->good = (ANCHOR_NS << TICKS_SHIFT) / t->mult;
	return ns;
}
