// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-udp/sleep.c: what wakes a sleeper, and that a program that polls does not pay for it.
 */
#include "pm-udp/device.h"

#include "tests/unit/pm-udp/pair.h"

/* More receive calls than sockets stay in the epoll set for. */
#define MANY_CALLS 1000

static void send_one(struct side *s)
{
	is_int(post(s, 0, 3, 64), 0);
	s->dev->ops->tx_kick(s->dev);
}

static void take_one(struct side *s)
{
	struct pm_rx rx[1];

	if (is_int(burst(s, rx, 1, 1000), 1))
		s->dev->ops->rx_return(s->dev, rx[0].token);
}

/* Sleeps, and is woken by a packet, which it leaves. */
static void is_woken(struct side *sender, struct side *sleeper)
{
	is_int(sleeper->dev->ops->arm(sleeper->dev), 0);
	ok(!is_readable(sleeper, 0));
	send_one(sender);
	ok(is_readable(sleeper, 1000));
	sleeper->dev->ops->disarm(sleeper->dev);
}

static void is_woken_and_takes(struct side *sender, struct side *sleeper)
{
	is_woken(sender, sleeper);
	take_one(sleeper);
}

static void poll_for_long(struct side *s)
{
	struct pm_rx rx[1];

	for (int i = 0; i < MANY_CALLS; i++)
		is_int(s->dev->ops->rx_burst(s->dev, rx, 1), 0);
}

TAP_TEST(arm__arrival_wakes)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];

	if (pair_open_loopback(&p, "")) {
		is_woken(a, b);
		/* work is waiting: no sleep */
		is_int(b->dev->ops->arm(b->dev), 1);
		take_one(b);
		is_int(b->dev->ops->arm(b->dev), 0);
		b->dev->ops->disarm(b->dev);
	}
	pair_close(&p);
}

TAP_TEST(arm__rest_of_a_merged_run_is_work)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];
	struct pm_rx rx[10];

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	for (uint32_t i = 0; i < 10; i++)
		is_int(post(a, 0, 3 * i, 64), 0);
	a->dev->ops->tx_kick(a->dev);
	is_int(burst(b, rx, 1, 1000), 1);
	is_int(b->dev->ops->arm(b->dev), 1);
	pair_close(&p);
}

TAP_TEST(disarm__a_program_that_polls_is_not_watched)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];

	if (pair_open_loopback(&p, "")) {
		ok(!pmu_of(b->dev)->is_watched);
		is_woken_and_takes(a, b);
		ok(pmu_of(b->dev)->is_watched);
		poll_for_long(b);
		ok(!pmu_of(b->dev)->is_watched);
		/* nothing tells the descriptor, until the next sleep looks */
		send_one(a);
		ok(!is_readable(b, 20));
		is_int(b->dev->ops->arm(b->dev), 1);
		take_one(b);
		is_woken_and_takes(a, b);
	}
	pair_close(&p);
}

TAP_TEST(arm__no_free_buffer_is_not_woken_by_arrivals)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];

	if (pair_open_loopback(&p, "")) {
		struct pmu_rx *rx = &pmu_of(b->dev)->rx;
		uint32_t n_free = rx->n_free_slots;

		rx->n_free_slots = 0;
		is_int(b->dev->ops->arm(b->dev), 0);
		send_one(a);
		ok(!is_readable(b, 20));
		b->dev->ops->disarm(b->dev);
		ok(is_readable(b, 1000));
		rx->n_free_slots = n_free;
		take_one(b);
	}
	pair_close(&p);
}

TAP_TEST(arm__suspended_and_after)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];

	if (pair_open_loopback(&p, "")) {
		is_woken_and_takes(a, b);
		is_int(b->dev->ops->suspend(b->dev), 0);
		ok(!pmu_of(b->dev)->is_watched);
		is_int(b->dev->ops->arm(b->dev), 0);
		b->dev->ops->disarm(b->dev);
		is_int(b->dev->ops->resume(b->dev), 0);
		is_woken_and_takes(a, b);
	}
	pair_close(&p);
}
