// SPDX-License-Identifier: BSD-3-Clause
/* composite_pace - how often the links are polled that are expensive to poll. */
#include "pmcore/device/composite.h"

/*
 * Expensive links that bring nothing while cheap ones are busy are polled once in so many rounds,
 * of about 10 ns each. They are polled more seldom still when no node is reached by them, where
 * only a first contact could come. Such ones are passed over for some rounds also when nothing is
 * busy, as the program may ask between two steps of its work.
 */
#define EXPENSIVE_EVERY_MAX 256
#define EXPENSIVE_EVERY_UNUSED 2048
#define EXPENSIVE_REST_UNUSED 15

void composite_pace(struct composite *c, bool is_used)
{
	c->expensive_every_max = is_used ? EXPENSIVE_EVERY_MAX : EXPENSIVE_EVERY_UNUSED;
	c->expensive_rest = is_used ? 0 : EXPENSIVE_REST_UNUSED;
}

void composite_look_everywhere(struct composite *c)
{
	c->expensive_every = 0;
	c->expensive_in = 0;
}

void composite_reached(struct composite *c, const struct composite_slot *slot)
{
	if (!slot->link->is_expensive)
		return;
	composite_pace(c, true);
	composite_look_everywhere(c);
}
