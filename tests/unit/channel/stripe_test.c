// SPDX-License-Identifier: BSD-3-Clause
/* stripe: which rail a packet takes. */
#include "pmcore/channel/stripe.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(stripe_pick__fewest_bytes_in_flight)
{
	struct chan_flow flow = {0};

	flow.rail[0].bytes = 1000;
	flow.rail[1].bytes = 900;
	flow.rail[2].bytes = 950;
	is_int(stripe_pick(&flow, 7, 100), 1);
	is_int(stripe_pick(&flow, 5, 100), 2);
	is_int(stripe_pick(&flow, 1, 100), 0);
}

TAP_TEST(stripe_pick__slow_rail_gets_its_share)
{
	struct chan_flow flow = {0};
	uint32_t n[2] = {0};
	int i;

	flow.rail[0].cost = 100;
	flow.rail[1].cost = 1000;
	for (i = 0; i < 1100; i++) {
		uint32_t rail = stripe_pick(&flow, 3, 1000);

		flow.rail[rail].bytes += 1000;
		n[rail]++;
	}
	ok(n[1] >= 99 && n[1] <= 101);
}

TAP_TEST(stripe_pick__unknown_counts_as_the_best)
{
	struct chan_flow flow = {0};

	flow.rail[0].cost = 100;
	flow.rail[0].bytes = 10;
	is_int(stripe_pick(&flow, 3, 1000), 1);
}

TAP_TEST(stripe__short_packets_do_not_unbalance)
{
	struct rig *rig = rig_new(2);
	uint32_t bytes[2] = {0};
	uint32_t i;

	for (i = 0; i < 8; i++)
		is_int(rig_send(rig, i % 2 ? 400 : 8, 1), 0);
	for (i = 0; i < rig->n_sent; i++)
		bytes[rig->sent[i].rail] += rig->sent[i].len;
	ok(bytes[0] + 456 >= bytes[1] && bytes[1] + 456 >= bytes[0]);
	rig_close(rig);
}

TAP_TEST(stripe__full_rail_is_passed_over)
{
	struct rig *rig = rig_new(3);
	uint32_t i;

	rig->full = 2;
	for (i = 0; i < 6; i++)
		is_int(rig_send(rig, 100, 1), 0);
	is_int(rig->n_sent, 6);
	for (i = 0; i < 6; i++)
		ok(rig->sent[i].rail != 1);
	is_int(rig->rails[1].full, 1); /* not tried again before the next poll */
	rig_poll(rig, 0);
	rig->full = 0;
	is_int(rig_send(rig, 100, 1), 0);
	is_int(rig_last(rig)->rail, 1);
	rig_close(rig);
}

TAP_TEST(stripe_rails__of_the_peer_only)
{
	struct rig *rig = rig_new(3);
	struct chan_peer *peer;
	struct pm_packet *packet;
	void *payload;

	is_int(chan_peer_add(rig->chan, 9, NULL, 4, RIG_MTU, &peer), 0);
	is_int(chan_reserve(rig->chan, peer, 8, &packet, &payload), 0);
	memset(payload, 0, 8);
	chan_submit(rig->chan, peer, packet, 8, rig->now);
	is_int(rig_last(rig)->rail, 2);
	is_int(chan_peer_add(rig->chan, 10, NULL, 8, RIG_MTU, &peer), -EINVAL);
	rig_close(rig);
}
