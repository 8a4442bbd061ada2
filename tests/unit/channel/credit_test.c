// SPDX-License-Identifier: BSD-3-Clause
/* credit: absolute counts on the wire, stalls in both directions. */
#include "pmcore/channel/credit.h"
#include "tests/unit/channel/rig.h"

TAP_TEST(credit_input__only_forward)
{
	struct chan_peer peer = {.tx_credit = 100};

	ok(!credit_input(&peer, 100));
	ok(!credit_input(&peer, 99));
	ok(credit_input(&peer, 103));
	is_int(peer.tx_credit, 103);
}

TAP_TEST(credit_input__across_the_sixteen_bit_wrap)
{
	struct chan_peer peer = {.tx_credit = 0xfffffff0u};

	ok(credit_input(&peer, 5));
	is_int(peer.tx_credit, 5);
	peer.tx_credit = 0x1fffe;
	ok(credit_input(&peer, 1));
	is_int(peer.tx_credit, 0x20001);
	ok(!credit_input(&peer, 0xffff));
}

TAP_TEST(credit__closed_queues_and_opens)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.credit = 3;
	rig_open(rig);
	for (i = 0; i < 5; i++)
		is_int(rig_send(rig, 400, 1), 0);
	is_int(rig->n_sent, 3);
	ok(rig_last(rig)->header.flags & WIRE_F_ACK_NOW);
	is_int(rig->peer->flow->msgs.count, 2);
	rig->from.credit = 4;
	rig_ack(rig, 3, 0, NULL);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig->n_sent, 4);
	rig->from.credit = 3; /* old news */
	rig_ack(rig, 4, 0, NULL);
	is_int(rig_poll(rig, 0), 0);
	rig->from.credit = 60;
	rig_ack(rig, 4, 0, NULL);
	is_int(rig_poll(rig, 0), 1);
	rig_close(rig);
}

TAP_TEST(credit__asked_for_by_timer_when_the_update_is_lost)
{
	struct rig *rig = rig_init();

	rig->config.credit = 1;
	rig_open(rig);
	is_int(rig_send(rig, 400, 1), 0);
	is_int(rig_send(rig, 400, 1), 0);
	rig->from.credit = 1;
	rig_ack(rig, 1, 0, NULL);
	is_int(rig_poll(rig, 0), 0);
	ok(rig->peer->flow->timer_ns != 0);
	rig_poll(rig, 10 * MS);
	is_int(rig_last(rig)->header.type, WIRE_PROBE);
	rig->from.credit = 2;
	rig_ack(rig, 1, 0, NULL);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.type, WIRE_DATA);
	rig_close(rig);
}

TAP_TEST(credit_release__tells_a_stalled_sender_at_once)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.credit = 4;
	rig->config.rx_buffers = 4;
	rig->config.window = 8;
	rig_open(rig);
	for (i = 0; i < 4; i++)
		rig_datagram(rig, i, i);
	rig_poll(rig, MS);
	is_int(rig_last(rig)->header.credit, 4);
	is_int(rig_take(rig), 0);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	is_int(rig_last(rig)->header.credit, 5);
	while (rig_take(rig) >= 0)
		;
	is_int(rig_poll(rig, MS), 1);
	is_int(rig_last(rig)->header.credit, 8);
	rig_close(rig);
}

TAP_TEST(credit__overdrawn_is_dropped)
{
	struct rig *rig = rig_init();

	rig->config.credit = 2;
	rig->config.rx_buffers = 2;
	rig_open(rig);
	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 1, 1);
	rig_datagram(rig, 2, 2);
	is_int(rig->rails[0].drops[DROP_NO_BUFFER], 1);
	is_int(rig->peer->rx_next, 2);
	rig_close(rig);
}

TAP_TEST(credit_input__nothing_from_a_refused_header)
{
	struct rig *rig = rig_new(1);

	is_int(rig->peer->tx_credit, 16);
	rig->from.credit = 20;
	rig_ack(rig, 1, 0, NULL); /* nothing was sent */
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	is_int(rig->peer->tx_credit, 16);
	rig_ack(rig, 0, 0, NULL);
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	is_int(rig->peer->tx_credit, 20);
	rig_close(rig);
}
