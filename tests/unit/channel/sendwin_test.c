/* SPDX-License-Identifier: BSD-3-Clause */
/* sendwin: the window's edge, order of what leaves, repetition, timer, withdrawn memory. */
#include "tests/unit/channel/rig.h"

TAP_TEST(sendwin__closed_window_queues)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.window = 8;
	rig->config.credit = 8;
	rig_open(rig);
	for (i = 0; i < 12; i++)
		is_int(rig_send(rig, 400, (uint8_t)i), 0);
	is_int(rig->n_sent, 8);
	ok(rig_last(rig)->header.flags & WIRE_F_ACK_NOW);
	is_int(rig->peer->flow->msgs.count, 4);
	rig->from.credit = 100;
	rig_ack(rig, 1, 0, (uint32_t[WIRE_RAILS]){1});
	is_int(rig_poll(rig, 0), 1);
	rig_ack(rig, 9, 0, NULL);
	is_int(rig_poll(rig, 0), 3);
	for (i = 0; i < 12; i++) {
		is_int(rig->sent[i].header.seq, i);
		is_int(rig_view(&rig->sent[i], 0).msg.op, i);
		is_int(rig_view(&rig->sent[i], 0).payload[0], i);
	}
	rig_close(rig);
}

TAP_TEST(sendwin__sequence_numbers_wrap)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	chan_test_set_seq(rig->chan, rig->peer, UINT32_MAX - 20, 3);
	rig->from.rail_seq = 3;
	for (i = 0; i < 60; i++) {
		is_int(rig_send(rig, 100, (uint8_t)i), 0);
		is_int(rig_last(rig)->header.seq, UINT32_MAX - 20 + i);
		rig->from.credit = (uint16_t)(rig->peer->tx_mseq + 4);
		if (i % 3 == 2)
			rig_ack(rig, rig->peer->tx_next, 0, NULL);
		rig_poll(rig, 10);
	}
	is_int(rig->n_lent, 0);
	rig_close(rig);
}

TAP_TEST(sendwin__lost_go_before_new)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.window = 8;
	rig->config.credit = 8;
	rig_open(rig);
	for (i = 0; i < 10; i++)
		is_int(rig_send(rig, 400, (uint8_t)i), 0);
	rig->n_sent = 0;
	rig->from.credit = 100;
	rig_ack(rig, 1, 2, (uint32_t[WIRE_RAILS]){5}); /* 0 and 3 are there */
	rig_poll(rig, 0);
	is_int(rig->sent[0].header.seq, 1);
	is_int(rig->sent[1].header.seq, 2);
	is_int(rig->sent[2].header.seq, 4);
	is_int(rig->sent[3].header.seq, 8);
	is_int(rig->n_sent, 4);
	/* the repetition takes a new number of its rail and the same content */
	is_int(rig->sent[0].header.rail_seq, 8);
	is_int(rig_view(&rig->sent[0], 0).payload[0], 1);
	rig_close(rig);
}

/* What the network may still read is not changed: the repetition is another packet. */
TAP_TEST(sendwin__shown_packet_is_repeated_from_a_copy)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *shown;
	uint8_t before[RIG_MTU];

	is_int(rig_send(rig, 300, 7), 0);
	is_int(rig_send(rig, 300, 8), 0);
	shown = rig->sent[0].packet;
	ok(shown->is_kept);
	shown->is_shown = true;
	memcpy(before, shown->data, shown->len);
	rig_ack(rig, 0, 1, NULL);
	is_int(rig_poll(rig, 0), 1);
	ok(rig_last(rig)->packet != shown);
	is_int(rig_last(rig)->header.seq, 0);
	is_int(rig_last(rig)->header.rail_seq, 2);
	is_mem(rig_view(rig_last(rig), 0).payload, before + WIRE_OVERHEAD, 300);
	is_mem(shown->data, before, shown->len);
	/* it was freed unacked, and its place was taken by the copy */
	ok(shown->is_kept);
	ok(rig_last(rig)->packet->is_kept);
	rig_ack(rig, 2, 0, NULL);
	ok(!rig_last(rig)->packet->is_kept);
	is_int(rig->n_lent, 0);
	rig_close(rig);
}

TAP_TEST(sendwin_clear__packets_of_a_dead_peer_stay_kept)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;

	is_int(rig_send(rig, 300, 7), 0);
	packet = rig_last(rig)->packet;
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(rig->n_lent, 0);
	ok(packet->is_kept);
	rig_close(rig);
}

TAP_TEST(emit_ack__is_not_kept)
{
	struct rig *rig = rig_new(1);

	rig->from.flags = WIRE_F_ACK_NOW;
	rig_datagram(rig, 0, 0);
	rig_poll(rig, 0);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	ok(!rig_last(rig)->packet->is_kept);
	rig_close(rig);
}

TAP_TEST(sendwin_timeout__first_asks_then_repeats_the_oldest)
{
	struct rig *rig = rig_new(2);
	uint8_t first;

	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_send(rig, 8, 2), 0);
	first = (uint8_t)rig->sent[0].rail;
	rig->n_sent = 0;
	rig_poll(rig, 8 * MS);
	is_int(rig->n_sent, 2);
	is_int(rig->sent[0].header.type, WIRE_PROBE);
	is_int(rig->sent[1].header.type, WIRE_PROBE);
	ok(rig->sent[0].rail != rig->sent[1].rail);
	is_int(rig->stats.timeouts, 0);
	rig->n_sent = 0;
	rig_poll(rig, 8 * MS);
	is_int(rig->stats.timeouts, 1);
	is_int(rig_last(rig)->header.type, WIRE_DATA);
	is_int(rig_last(rig)->header.seq, 0);
	ok(rig_last(rig)->header.flags & WIRE_F_ACK_NOW);
	ok(rig_last(rig)->rail != first);
	rig_close(rig);
}

TAP_TEST(sendwin_timeout__busy_packet_is_not_repeated)
{
	struct rig *rig = rig_new(1);
	int i;

	rig->is_slow = true;
	is_int(rig_send(rig, 8, 1), 0);
	for (i = 0; i < 5; i++)
		rig_poll(rig, SEC);
	is_int(rig->rails[0].retransmits, 0);
	rig_complete(rig);
	rig_poll(rig, SEC);
	is_int(rig->rails[0].retransmits, 1);
	rig_complete(rig);
	rig_close(rig);
}

TAP_TEST(sendwin_dropped__often_waits)
{
	struct rig *rig = rig_new(1);
	uint64_t start;
	uint32_t i;

	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_send(rig, 8, 1), 0);
	rig_ack(rig, 0, 1, NULL);
	for (i = 1; i < CHAN_TRIES; i++) {
		is_int(rig_poll(rig, 10 * US), 1);
		rig_ack(rig, 0, 1, NULL);
	}
	start = rig->now;
	do {
		rig->now = chan_deadline(rig->chan) > rig->now ? chan_deadline(rig->chan)
							       : rig->now + US;
		rig_poll(rig, 0);
	} while (rig->rails[0].retransmits < CHAN_TRIES && rig->now < start + SEC);
	is_int(rig_last(rig)->header.seq, 0);
	ok(rig->now >= start + 2 * MS && rig->now < start + 10 * MS);
	rig_close(rig);
}
