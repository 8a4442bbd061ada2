// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/error.c: a process that is gone is told from a route that is troubled. */
#include "pm-udp/device.h"

#include "tests/unit/pm-udp/pair.h"

/* Sends to the peer every 2 ms until an event comes, at most @ms; the node or 0. */
static uint32_t event_within(struct side *s, int ms)
{
	uint64_t until = clock_monotonic_ns() + (uint64_t)ms * 1000000;
	uint32_t node = 0;

	while (clock_monotonic_ns() < until) {
		/* a refused send only reports; what was posted goes out by the try after it */
		ok(post(s, 0, 0, 64) == 0);
		s->dev->ops->tx_kick(s->dev);
		if (s->dev->ops->peer_event(s->dev, &node) == 1)
			return node;
		poll(NULL, 0, 2);
	}
	return 0;
}

static void gone_process(struct pair *p)
{
	struct side *a = &p->side[0];
	uint32_t node;

	is_int(event_within(a, 20), 0);
	p->side[1].dev->ops->close(p->side[1].dev);
	p->side[1].dev = NULL;
	is_int(event_within(a, 5000), 2);
	ok(strstr(a->why, "node 2: its process is gone"));
	/* once per peer */
	is_int(event_within(a, 30), 0);
	is_int(a->dev->ops->peer_event(a->dev, &node), 0);
	is_int(pmu_of(a->dev)->rails[0].lost, 0);
}

TAP_TEST(error_event__process_gone_on_loopback)
{
	struct pair p;

	if (pair_open_loopback(&p, ""))
		gone_process(&p);
	pair_close(&p);
}

TAP_TEST(error_event__process_gone_over_veth)
{
	struct pair p;

	if (!pair_open_veth(&p, 2, 1500, ""))
		return;
	gone_process(&p);
	pair_close(&p);
}

TAP_TEST(error_event__peer_that_comes_back_at_once)
{
	struct pair p;
	struct side *a = &p.side[0], *b = &p.side[1];
	struct pm_rx rx[8];

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	is_int(b->dev->ops->suspend(b->dev), 0);
	for (uint32_t i = 0; i < 5; i++) {
		is_int(post(a, 0, 0, 64), 0);
		a->dev->ops->tx_kick(a->dev);
	}
	is_int(b->dev->ops->resume(b->dev), 0);
	is_int(event_within(a, 50), 0);
	ok(burst(b, rx, 8, 1000) > 0);
	pair_close(&p);
}

TAP_TEST(error_drain__unreachable_host_is_no_death)
{
	struct pair p;
	struct side *a = &p.side[0];
	char text[2000];

	if (!pair_open_veth(&p, 1, 1500, ""))
		return;
	enter(&p.net, 0);
	is_int(sh("ip neigh flush dev t0; ip route add unreachable 10.9.0.2/32"), 0);
	enter(&p.net, -1);
	is_int(event_within(a, 50), 0);
	ok(pmu_of(a->dev)->rails[0].lost > 0);
	a->dev->ops->dump(a->dev, text, sizeof(text));
	ok(strstr(text, "last trouble") && strstr(text, "10.9.0.2"));
	/* and it heals */
	enter(&p.net, 0);
	is_int(sh("ip route del unreachable 10.9.0.2/32"), 0);
	enter(&p.net, -1);
	if (is_int(post(a, 0, 0, 64), 0)) {
		struct pm_rx rx[8];

		a->dev->ops->tx_kick(a->dev);
		ok(burst(&p.side[1], rx, 8, 2000) > 0);
	}
	pair_close(&p);
}

TAP_TEST(error_drain__sleeper_is_not_woken_forever)
{
	struct pair p;
	struct side *a = &p.side[0];
	int woken = 0;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	p.side[1].dev->ops->close(p.side[1].dev);
	p.side[1].dev = NULL;
	is_int(post(a, 0, 0, 64), 0);
	a->dev->ops->tx_kick(a->dev);
	for (int i = 0; i < 100; i++) {
		if (a->dev->ops->arm(a->dev)) {
			woken++;
			continue;
		}
		woken += is_readable(a, 0);
		a->dev->ops->disarm(a->dev);
	}
	okf(woken < 3, "woken %d times of 100 by one report", woken);
	is_int(pmu_of(a->dev)->rails[0].errors, 1);
	pair_close(&p);
}

TAP_TEST(error_drain__path_with_a_smaller_mtu)
{
	struct pair p;
	struct side *a = &p.side[0];
	char text[2000];

	if (!pair_open_veth(&p, 1, 1500, "udp.gso=0"))
		return;
	enter(&p.net, 0);
	is_int(sh("ip link set t0 mtu 1000"), 0);
	enter(&p.net, -1);
	is_int(post(a, 0, 0, 1400), 0);
	is_int(post(a, 0, 3, 64), 0);
	a->dev->ops->tx_kick(a->dev);
	a->dev->ops->dump(a->dev, text, sizeof(text));
	ok(strstr(text, "lost 1,") && strstr(text, "Message too long"));
	pair_close(&p);
}
