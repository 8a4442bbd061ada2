// SPDX-License-Identifier: BSD-3-Clause
/* sendwin: the window's edge, order of what leaves, repetition, timer, withdrawn memory. */
#include "pmcore/channel/peer.h"
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

/* Bytes that the network may still read do not change: the repetition is another packet. */
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

/* Queues @n messages that fill more than half of a packet each, as while the rails take nothing. */
static void queue(struct rig *rig, uint32_t n)
{
	uint32_t i;

	rig->full = 0xff;
	for (i = 0; i < n; i++)
		is_int(rig_send(rig, 300 + i, (uint8_t)i), 0);
	rig->full = 0;
	is_int(rig->n_sent, 0);
}

/*
 * Posted packets @from..@to are messages @from..@to, by rail 0, and only the last of them asks for
 * an ack, if @is_asking.
 */
static void check_run(const struct rig *rig, uint32_t from, uint32_t to, bool is_asking)
{
	uint32_t i;

	for (i = from; i <= to; i++) {
		const struct wire_header *header = &rig->sent[i].header;
		bool asks = header->flags & WIRE_F_ACK_NOW;

		is_int(header->type, WIRE_DATA);
		ok(header->key == RIG_KEY);
		is_int(header->seq, i);
		is_int(header->rail_seq, i);
		is_int(header->length, 308 + i);
		is_int(header->ack, rig->peer->rx_next);
		is_int(header->credit, (uint16_t)rig->peer->rx_credit);
		is_int(asks, is_asking && i == to);
		is_int(rig_view(&rig->sent[i], 0).msg.op, i);
		is_int(rig_view(&rig->sent[i], 0).payload[299], i);
	}
}

TAP_TEST(sendwin_transmit_run__numbers_go_on)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	rig->peer->limit = 16;
	rig_datagram(rig, 0, 0);
	queue(rig, 6);
	is_int(rig_poll(rig, 0), 6);
	check_run(rig, 0, 5, false);
	is_int(rig->rails[0].tx_packets, 6);
	is_int(rig->rails[0].tx_bytes, 6 * 356 + 15);
	is_int(rig->peer->flow->in_flight, 6);
	is_int(rig->peer->flow->rail[0].bytes, 6 * 356 + 15);
	is_int(rig->peer->flow->msgs_in_flight, 6);
	is_int(rig->peer->flow->unacked, 0); /* the run has told it */
	/* the slots are in order: a gap shows the first two as lost */
	rig->from.credit = 100;
	rig_ack(rig, 0, 2, (uint32_t[WIRE_RAILS]){3});
	is_int(rig_poll(rig, 0), 2);
	for (i = 0; i < 2; i++)
		is_int(rig->sent[6 + i].header.seq, i);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__rail_takes_a_part)
{
	struct rig *rig = rig_new(1);

	rig->peer->limit = 16;
	queue(rig, 7);
	rig->rails[0].full = 0;
	rig->room = 3;
	is_int(rig_poll(rig, 0), 3);
	is_int(rig->rails[0].tx_packets, 3);
	is_int(rig->rails[0].tx_bytes, 3 * 356 + 3);
	is_int(rig->rails[0].full, 1);
	is_int(rig->peer->flow->msgs.count, 4);
	is_int(rig->peer->rail_tx[0], 3);
	is_int(rig_poll(rig, 0), 0);
	rig->room = UINT32_MAX;
	is_int(rig_poll(rig, 0), 4);
	check_run(rig, 0, 6, false);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__window_ends)
{
	struct rig *rig = rig_new(1);

	rig->peer->limit = 5;
	queue(rig, 11);
	is_int(rig_poll(rig, 0), 5);
	check_run(rig, 0, 4, true);
	is_int(rig_poll(rig, 0), 0);
	rig_ack(rig, 3, 0, (uint32_t[WIRE_RAILS]){3});
	is_int(rig_poll(rig, 0), 3 + (int)(rig->peer->limit - 5));
	check_run(rig, 5, rig->n_sent - 1, true);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__credit_ends)
{
	struct rig *rig = rig_init();

	rig->config.credit = 5;
	rig_open(rig);
	rig->from.credit = 5;
	rig_from(rig, WIRE_PROBE, NULL, 0);
	rig->peer->limit = 16;
	queue(rig, 8);
	is_int(rig_poll(rig, 0), 5);
	check_run(rig, 0, 4, true);
	ok(rig->peer->flow->timer_ns > 0);
	rig->from.credit = 7;
	rig_from(rig, WIRE_PROBE, NULL, 0);
	is_int(rig_poll(rig, 0), 2);
	check_run(rig, 5, 6, true);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__each_rail_has_its_numbers)
{
	struct rig *rig = rig_new(2);
	uint32_t i, next[2] = {0};

	rig->peer->limit = 16;
	queue(rig, 8);
	is_int(rig_poll(rig, 0), 8);
	for (i = 0; i < 8; i++) {
		is_int(rig->sent[i].header.seq, i);
		is_int(rig->sent[i].header.rail_seq, next[rig->sent[i].rail]++);
	}
	is_int(next[0], 4);
	is_int(next[1], 4);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__tells_of_both_rails)
{
	struct rig *rig = rig_new(2);
	uint32_t i, echo[3];

	rig->peer->limit = 16;
	rig_datagram(rig, 0, 0);
	rig->from.rail = 1;
	rig->from.rail_seq = 0;
	rig_datagram(rig, 1, 1);
	queue(rig, 6);
	rig->peer->rails = 1;
	is_int(rig_poll(rig, 0), 6);
	check_run(rig, 0, 5, false);
	for (i = 0; i < 3; i++)
		echo[i] = (rig->sent[i].header.flags & WIRE_F_ECHO_MASK) >> WIRE_F_ECHO_SHIFT;
	is_int(echo[0] + echo[1], 1);
	is_int(echo[2], echo[1]); /* told: the last one again */
	is_int(rig->sent[2].header.rail_ack, 1);
	is_int(rig_take(rig), 0);
	is_int(rig_take(rig), 1);
	rig_close(rig);
}

TAP_TEST(sendwin_transmit_run__sealed)
{
	struct rig *rig = rig_init();
	struct wire_header header;
	uint32_t i;

	rig->config.crc = true;
	rig_open(rig);
	rig->peer->limit = 16;
	queue(rig, 6);
	is_int(rig_poll(rig, 0), 6);
	for (i = 0; i < 6; i++)
		is_int(wire_decode(rig->sent[i].bytes, rig->sent[i].len, 1, &header), DROP_NONE);
	rig_close(rig);
}
