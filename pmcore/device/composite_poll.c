// SPDX-License-Identifier: BSD-3-Clause
/*
 * composite_poll - one round over the links of a composite: which of them is asked, how often, and
 * what becomes of an answer that is no datagram.
 */
#include <errno.h>

#include "pmcore/device/composite.h"
#include "pmcore/device/takeover.h"

/*
 * Other links give back a datagram each; a stream that had to wait until they have none would never
 * be asked in a flood.
 */
#define STREAM_EVERY 32u
/* Handles the results of a poll that are no datagram for the program: 0, 2 or -EPIPE. */
static __attribute__((cold, noinline)) int look_closer(struct composite *c, unsigned int i, int got,
						       struct pm_inbound *in)
{
	if (got != -EPIPE)
		got = takeover_event(c, i, got, in);
	else if (!takeover_believes(c, i, in->src))
		got = 0;
	if (got == -EPIPE)
		takeover_mark_dead(c, in->src);
	return got;
}

static inline int poll_slot(struct composite *c, unsigned int i, struct composite_inbound *ret)
{
	struct composite_slot *slot = &c->slots[i];
	int got = slot->link->is_empty ? 0 : slot->ops.receive(slot->link, &ret->in);

	if (__builtin_expect(!got, 1))
		return 0;
	ret->slot = (uint8_t)i;
	if (__builtin_expect(got != 1, 0))
		got = look_closer(c, i, got, &ret->in);
	return got;
}

/* The expensive links; each of those that bring something keeps them all in every second round. */
static int poll_expensive(struct composite *c, struct composite_inbound *ret)
{
	for (unsigned int i = 0; i < c->n_slots; i++) {
		int got = c->slots[i].link->is_expensive ? poll_slot(c, i, ret) : 0;

		if (got) {
			if (__builtin_expect(c->expensive_rest > 0, 0))
				composite_pace(c, true);
			c->expensive_every = c->expensive_every ? 1 : 0;
			c->expensive_in = c->expensive_every;
			return got;
		}
	}
	c->expensive_in = c->expensive_every + c->expensive_rest;
	return 0;
}

/* The cheap links, but for the one that was asked already. */
static int poll_cheap(struct composite *c, struct composite_inbound *ret)
{
	unsigned int hot = c->hot;
	int got = 0;

	for (unsigned int i = 0; !got && i < c->n_slots; i++) {
		if (i == hot || c->slots[i].link->is_expensive)
			continue;
		got = poll_slot(c, i, ret);
		if (got)
			c->hot = i;
	}
	*c->looks += !got;
	return got;
}

/* It never gives a datagram. */
static __attribute__((noinline)) void poll_stream(struct composite *c, struct pm_inbound *in)
{
	c->stream_in = STREAM_EVERY;
	if (c->stream)
		(void)c->stream->ops.receive(c->stream->link, in);
}

int composite_poll(struct composite *c, struct composite_inbound *ret)
{
	int got;

	if (__builtin_expect(c->stream_in-- == 0, 0))
		poll_stream(c, &ret->in);

	/* an expensive link that is due goes first, so that busy cheap ones can't starve it */
	if (__builtin_expect(c->expensive_in-- == 0, 0)) {
		got = poll_expensive(c, ret);
		if (got)
			return got;
	}
	got = poll_slot(c, c->hot, ret);
	if (!got)
		got = poll_cheap(c, ret);
	if (got && c->expensive_every < c->expensive_every_max)
		c->expensive_every += 1 + c->expensive_every / 8;
	return got;
}
