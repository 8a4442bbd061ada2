// SPDX-License-Identifier: BSD-3-Clause
/* Tests of pm-udp/link.c: carrier and interface changes are seen soon, and wake a sleeper. */
#include "pm-udp/device.h"

#include "tests/unit/pm-udp/pair.h"

static bool is_state_within(struct side *s, uint32_t rail, enum pm_rail_state state, int ms)
{
	for (int i = 0; i < ms; i++) {
		if (s->dev->ops->rail_state(s->dev, rail) == state)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

static void down_and_up(struct pair *p)
{
	struct side *a = &p->side[0], *b = &p->side[1];

	ok(is_state_within(a, 0, PM_RAIL_UP, 10) && is_state_within(a, 1, PM_RAIL_UP, 10));
	enter(&p->net, 0);
	is_int(sh("ip link set t1 down"), 0);
	ok(is_state_within(a, 1, PM_RAIL_DOWN, 60));
	is_int(a->dev->ops->rail_state(a->dev, 0), PM_RAIL_UP);
	/* the other end loses its carrier, which the kernel tells within a second */
	ok(is_state_within(b, 1, PM_RAIL_DOWN, 2000));
	is_int(sh("ip link set t1 up"), 0);
	ok(is_state_within(a, 1, PM_RAIL_UP, 2000));
	is_int(sh("ip link del t1"), 0);
	ok(is_state_within(a, 1, PM_RAIL_DOWN, 60));
	enter(&p->net, -1);
}

TAP_TEST(link_state__interface_down_up_and_gone)
{
	struct pair p;

	if (!pair_open_veth(&p, 2, 1500, ""))
		return;
	down_and_up(&p);
	pair_close(&p);
}

TAP_TEST(link_state__without_netlink)
{
	struct pair p;

	if (!pair_open_veth(&p, 2, 1500, ""))
		return;
	for (int i = 0; i < 2; i++)
		pmu_link_close(pmu_of(p.side[i].dev));
	down_and_up(&p);
	pair_close(&p);
}

TAP_TEST(link_state__costs_no_system_call_each_time)
{
	struct pair p;
	/* a recv alone is above 150 ns; sanitizers slow the rest */
	const uint64_t bound = 100 * 1000;
	uint64_t start, best = UINT64_MAX;

	if (!pair_open_loopback(&p, "")) {
		pair_close(&p);
		return;
	}
	for (int round = 0; round < 2000 && best >= bound; round++) {
		start = clock_monotonic_ns();
		for (int i = 0; i < 1000; i++)
			p.side[0].dev->ops->rail_state(p.side[0].dev, 0);
		start = clock_monotonic_ns() - start;
		best = start < best ? start : best;
	}
	okf(best < bound, "%llu ns per 1000 calls", (unsigned long long)best);
	pair_close(&p);
}

TAP_TEST(arm__interface_change_wakes)
{
	struct pair p;
	struct side *a = &p.side[0];

	if (!pair_open_veth(&p, 2, 1500, ""))
		return;
	for (int i = 0; i < 100 && a->dev->ops->arm(a->dev); i++)
		; /* news of the set-up */
	ok(!is_readable(a, 0));
	enter(&p.net, 0);
	is_int(sh("ip link set t1 down"), 0);
	enter(&p.net, -1);
	ok(is_readable(a, 1000));
	a->dev->ops->disarm(a->dev);
	is_int(a->dev->ops->arm(a->dev), 1);
	is_int(a->dev->ops->rail_state(a->dev, 1), PM_RAIL_DOWN);
	pair_close(&p);
}
