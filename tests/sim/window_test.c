// SPDX-License-Identifier: BSD-3-Clause
/* Edges of windows, sequence numbers and credits. */
#include "pmcore/channel/chan_private.h"
#include "pmcore/channel/peer.h"
#include "tests/sim/sim.h"

TAP_TEST(window__every_size_with_loss)
{
	uint32_t window;

	for (window = 8; window <= WIRE_WINDOW_MAX && !tap_has_failed(); window *= 2) {
		struct sim_config config = sim_defaults(2, 2, window);
		struct sim *sim;

		config.chan.window = window;
		config.chan.credit = window;
		config.net.tx_buffers = window + window / 2 + 64;
		config.net.rx_buffers = 2 * window + 64;
		config.net.rail[0].loss = config.net.rail[1].loss = 0.02;
		sim = sim_create(&config);
		sim->check_at = 1 + window / 16;
		sim_send(sim, 0, 1, 3 * window + 1, 1, 1400);
		sim_send(sim, 1, 0, window - 1, 1, 1400);
		sim_finish(sim, 60 * SEC);
		sim_settle(sim, 60 * SEC);
		sim_destroy(sim);
		if (tap_has_failed())
			tap_diag("window %u", window);
	}
}

/* One packet is lost again and again while all others arrive: the window fills behind it. */
struct unlucky {
	uint32_t seq;  /* of the packet */
	uint32_t left; /* times it still vanishes */
};

static void lose_seq(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct unlucky *unlucky = arg;
	struct wire_header header;

	if (transit->src != 0 || wire_decode(transit->data, transit->len, 0, &header) != DROP_NONE)
		return;
	if (header.type == WIRE_DATA && header.seq == unlucky->seq && unlucky->left) {
		unlucky->left--;
		fate->is_lost = true;
	}
}

TAP_TEST(window__full_behind_one_unlucky_packet)
{
	uint32_t seq;

	for (seq = 0; seq < 20; seq++) {
		struct sim_config config = sim_defaults(2, 2, seq);
		struct unlucky unlucky = {.seq = seq, .left = 5};
		struct sim *sim;

		config.chan.window = 8;
		config.chan.credit = 8;
		config.transit = lose_seq;
		config.transit_arg = &unlucky;
		sim = sim_create(&config);
		sim_send(sim, 0, 1, 100, 1, 1400);
		sim_finish(sim, 60 * SEC);
		is_int(unlucky.left, 0);
		sim_destroy(sim);
	}
}

TAP_TEST(window__sequence_numbers_wrap)
{
	static const uint32_t starts[] = {0xffffffff, 0xfffffffe, 0xfffffff8, 0xffffffc0,
					  0xffffff00, 0x7fffffff, 0x7fffffc0, 0x80000000};
	uint32_t i, j;

	for (i = 0; i < 8; i++) {
		for (j = 0; j < 8 && !tap_has_failed(); j++) {
			struct sim_config config = sim_defaults(2, 2, i);
			struct sim *sim;

			config.net.rail[0].loss = config.net.rail[1].loss = 0.05;
			sim = sim_create(&config);
			chan_test_set_seq(sim->nodes[0].chan, sim_peer(sim, 0, 1), starts[i],
					  starts[j]);
			chan_test_set_seq(sim->nodes[1].chan, sim_peer(sim, 1, 0), starts[j],
					  starts[i]);
			sim_send(sim, 0, 1, 400, 1, 1400);
			sim_send(sim, 1, 0, 400, 1, 100);
			sim_read(sim, 0, sim_export(sim, 1, 50000), 0, 50000);
			sim_finish(sim, 60 * SEC);
			sim_settle(sim, 60 * SEC);
			sim_destroy(sim);
		}
	}
}

/* The receiver takes nothing: the sender stops by credit, no buffer is overrun, nothing is lost. */
TAP_TEST(credit__stalled_receiver_stops_the_sender)
{
	struct sim_config config = sim_defaults(2, 1, 8);
	struct sim_flow *flow;
	struct sim *sim;
	uint32_t stuck_at;

	config.net.rx_buffers = 128;
	config.chan.credit = 16;
	sim = sim_create(&config);
	flow = sim_send(sim, 0, 1, 3000, 1000, 1400);
	sim->nodes[1].is_stalled = true;
	sim_run(sim, sim_now(sim) + 5 * SEC);
	stuck_at = flow->sent;
	okf(stuck_at < 1500, "%u of 3000 messages taken by the engine", stuck_at);
	is_int(flow->received, 0);
	ok(simnet_rx_lent(sim->net, 1) <= 128);
	is_int(simnet_count(sim->net, 0)->no_buffer, 0);
	okf(simnet_count(sim->net, 0)->posted < 1000, "%llu packets for nothing",
	    (unsigned long long)simnet_count(sim->net, 0)->posted);
	sim->nodes[1].is_stalled = false;
	sim_finish(sim, 5 * SEC);
	is_int(simnet_count(sim->net, 0)->no_buffer, 0);
	sim_destroy(sim);
}

/* The first packets that node 1 sends after the stall vanish: the credit is told again. */
struct silence {
	bool is_on;
	uint32_t left; /* packets to lose */
};

static void lose_updates(void *arg, const struct simnet_transit *transit, struct simnet_fate *fate)
{
	struct silence *silence = arg;

	if (silence->is_on && transit->src == 1 && silence->left) {
		silence->left--;
		fate->is_lost = true;
	}
}

TAP_TEST(credit__reopened_while_the_updates_are_lost)
{
	uint32_t lost;

	for (lost = 0; lost < 12 && !tap_has_failed(); lost++) {
		struct sim_config config = sim_defaults(2, 1, lost);
		struct silence silence = {.left = lost};
		struct sim_flow *flow;
		struct sim *sim;

		config.chan.credit = 4;
		config.net.rx_buffers = 64;
		config.transit = lose_updates;
		config.transit_arg = &silence;
		sim = sim_create(&config);
		flow = sim_send(sim, 0, 1, 500, 1000, 1000);
		sim->nodes[1].is_stalled = true;
		sim_run(sim, sim_now(sim) + SEC);
		is_int(flow->received, 0);
		silence.is_on = true;
		sim->nodes[1].is_stalled = false;
		sim_finish(sim, 30 * SEC);
		is_int(silence.left, 0);
		sim_destroy(sim);
		if (tap_has_failed())
			tap_diag("%u updates lost", lost);
	}
}

TAP_TEST(credit__of_one)
{
	struct sim_config config = sim_defaults(2, 2, 9);
	struct sim *sim;

	config.chan.credit = 1;
	config.net.rail[0].loss = 0.1;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 300, 1, 1400);
	sim_send(sim, 1, 0, 300, 1, 1400);
	sim_finish(sim, 60 * SEC);
	sim_destroy(sim);
}

/* An application that keeps messages for long and gives them back in any order. */
TAP_TEST(credit__held_messages_released_in_any_order)
{
	uint32_t hold;

	for (hold = 1; hold <= 64 && !tap_has_failed(); hold *= 4) {
		struct sim_config config = sim_defaults(3, 1, hold);
		struct sim *sim;

		config.net.rx_buffers = 128;
		config.net.rail[0].loss = 0.01;
		sim = sim_create(&config);
		sim->nodes[1].hold = hold;
		sim_send(sim, 0, 1, 1000, 1, 1400);
		sim_send(sim, 2, 1, 1000, 1, 100);
		sim_finish(sim, 60 * SEC);
		is_int(simnet_count(sim->net, 0)->no_buffer, 0);
		sim_destroy(sim);
	}
}

/* A device whose NIC and pool are nearly always full. */
TAP_TEST(window__scarce_transmit_buffers_and_short_nic_queues)
{
	struct sim_config config = sim_defaults(2, 2, 10);
	struct sim *sim;

	config.net.tx_buffers = 24;
	config.net.rail[0].nic_packets = 1;
	config.net.rail[1].nic_packets = 2;
	config.net.rail[0].loss = 0.02;
	sim = sim_create(&config);
	sim_send(sim, 0, 1, 1000, 1, 1400);
	sim_send(sim, 1, 0, 1000, 1, 1400);
	sim_read(sim, 0, sim_export(sim, 1, 300000), 5, 299990);
	sim_write(sim, 1, sim_export(sim, 0, 300000), 5, 299990);
	sim_finish(sim, 60 * SEC);
	sim_settle(sim, 60 * SEC);
	sim_destroy(sim);
}
