// SPDX-License-Identifier: BSD-3-Clause
/* arrivals: the bitmap of early packets, for each size of the window and wherever it begins. */
#include "pmcore/channel/arrivals.h"
#include "pmcore/channel/peer.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(arrivals_bits__every_window_and_offset)
{
	uint32_t window, base, i;

	for (window = 8; window <= 256; window *= 2) {
		for (base = 0; base < 2 * window; base += 3) {
			struct rig *rig = rig_init();
			uint64_t bits;

			rig->config.window = window;
			rig->config.credit = 8;
			rig->config.rx_buffers = 600;
			rig_open(rig);
			chan_test_set_seq(rig->chan, rig->peer, 0, base);
			rig->from.rail_seq = base;
			/* every third one is there */
			for (i = 3; i < window; i += 3) {
				rig->from.seq = base + i;
				rig_from(rig, WIRE_DATA, NULL, 0);
			}
			bits = arrivals_bits(rig->chan, rig->peer->flow, base + 1);
			for (i = 1; i < window && i < 65; i++)
				is_int(bits >> (i - 1) & 1, i % 3 == 0);
			rig_close(rig);
		}
	}
}

TAP_TEST(arrivals_add__closes_gaps_across_the_wrap)
{
	struct rig *rig = rig_new(1);
	struct chan_flow *flow = peer_attach(rig->chan, rig->peer);

	rig->peer->rx_next = UINT32_MAX - 1;
	arrivals_add(rig->chan, rig->peer, 0);
	arrivals_add(rig->chan, rig->peer, UINT32_MAX);
	is_int(flow->early, 2);
	ok(arrivals_has(rig->chan, flow, 0));
	ok(!arrivals_has(rig->chan, flow, 1));
	arrivals_add(rig->chan, rig->peer, UINT32_MAX - 1);
	is_int(rig->peer->rx_next, 1);
	is_int(flow->early, 0);
	ok(!arrivals_has(rig->chan, flow, 0));
	rig_close(rig);
}

TAP_TEST(arrivals_clear__forgets_what_came_early)
{
	struct rig *rig = rig_new(1);
	struct chan_flow *flow = peer_attach(rig->chan, rig->peer);

	arrivals_add(rig->chan, rig->peer, 3);
	arrivals_clear(rig->chan, flow);
	is_int(flow->early, 0);
	is_int(arrivals_bits(rig->chan, flow, 0), 0);
	rig_close(rig);
}
