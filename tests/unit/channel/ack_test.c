// SPDX-License-Identifier: BSD-3-Clause
/* ack: what is owed, and when bare acks leave. */
#include "tests/unit/channel/rig.h"

TAP_TEST(ack_arrival__gap_is_counted_and_told_once)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 0, 0);
	rig->from.rail_seq += 2;
	rig_datagram(rig, 3, 3);
	is_int(rig->rails[0].losses, 2);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	is_int(rig_last(rig)->header.ack, 1);
	is_int(rig_last(rig)->header.sack, 2);
	rig_datagram(rig, 4, 4);
	is_int(rig_poll(rig, 0), 0);
	rig_close(rig);
}

TAP_TEST(ack_arrival__absurd_rail_number)
{
	struct rig *rig = rig_new(1);

	rig->from.rail_seq = 1u << 30;
	rig_datagram(rig, 0, 0);
	is_int(rig->rails[0].drops[DROP_WINDOW], 1);
	is_int(rig->peer->rail_rx[0], 0);
	is_int(rig->peer->rx_next, 0);
	rig_close(rig);
}

TAP_TEST(ack_is_due__every_so_many_or_after_the_delay)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.ack_every = 4;
	rig_open(rig);
	for (i = 0; i < 3; i++) {
		rig_datagram(rig, i, i);
		is_int(rig_poll(rig, 0), 0);
	}
	rig_datagram(rig, 3, 3);
	/* more may be there to be read */
	is_int(rig_poll(rig, 0), 0);
	is_int(chan_deadline(rig->chan), rig->now + 1);
	is_int(rig_poll(rig, 1), 1);
	is_int(rig_last(rig)->header.ack, 4);
	rig_datagram(rig, 4, 4);
	is_int(chan_deadline(rig->chan), rig->now + 200 * US);
	is_int(rig_poll(rig, 199 * US), 0);
	is_int(rig_poll(rig, US), 1);
	is_int(rig_last(rig)->header.ack, 5);
	is_int(rig->stats.acks_tx, 2);
	while (rig_take(rig) >= 0)
		;
	rig_close(rig);
}

TAP_TEST(ack_is_due__not_while_packets_come_but_for_many)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.ack_every = 4;
	rig->config.credit = 64;
	rig->config.window = 64;
	rig_open(rig);
	for (i = 0; i < 15; i++) {
		rig_datagram(rig, i, i);
		is_int(rig_poll(rig, 1), 0);
	}
	rig_datagram(rig, i, i);
	is_int(rig_poll(rig, 1), 1);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	is_int(rig_last(rig)->header.ack, 16);
	while (rig_take(rig) >= 0)
		;
	rig_close(rig);
}

TAP_TEST(ack_is_due__data_of_ours_carries_it)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.ack_every = 4;
	rig_open(rig);
	for (i = 0; i < 4; i++)
		rig_datagram(rig, i, i);
	is_int(rig_poll(rig, 0), 0);
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_last(rig)->header.ack, 4);
	is_int(rig_poll(rig, 1), 0);
	is_int(rig_poll(rig, MS), 0);
	while (rig_take(rig) >= 0)
		;
	rig_close(rig);
}

TAP_TEST(ack_soon__waits_for_data_of_ours_on_a_slow_path)
{
	struct rig *rig = rig_new(1);
	uint32_t seq = 0;

	rig->peer->srtt_ns = 8 * MS;
	/* nothing of ours is on its way: nothing to wait for */
	rig_datagram(rig, seq, seq);
	is_int(rig->peer->flow->ack_ns, rig->now + 200 * US);
	rig_poll(rig, MS);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	is_int(rig_send(rig, 8, 1), 0);
	seq++;
	rig_datagram(rig, seq, seq);
	is_int(rig->peer->flow->ack_ns, rig->now + MS);
	rig_poll(rig, MS);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	/* and never for long */
	rig->peer->srtt_ns = SEC;
	seq++;
	rig_datagram(rig, seq, seq);
	is_int(rig->peer->flow->ack_ns, rig->now + 2 * MS);
	rig_ack(rig, 1, 0, NULL);
	while (rig_take(rig) >= 0)
		;
	rig_close(rig);
}

TAP_TEST(ack_is_due__rides_on_data)
{
	struct rig *rig = rig_new(1);

	rig_datagram(rig, 0, 0);
	rig_datagram(rig, 2, 2);
	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_last(rig)->header.ack, 1);
	is_int(rig_last(rig)->header.sack, 1);
	is_int(rig_last(rig)->header.rail_ack, 2);
	is_int(rig_poll(rig, MS), 0);
	ok(!rig->peer->flow->ack_ns);
	rig_close(rig);
}

TAP_TEST(ack_is_due__when_asked)
{
	struct rig *rig = rig_new(1);

	rig->from.flags = WIRE_F_ACK_NOW;
	rig_from(rig, WIRE_PROBE, NULL, 0);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	ok(!(rig_last(rig)->header.flags & WIRE_F_ACK_NOW));
	rig_close(rig);
}

TAP_TEST(ack_is_due__waits_for_a_rail_with_room)
{
	struct rig *rig = rig_new(1);

	rig->full = 1;
	rig->from.flags = WIRE_F_ACK_NOW;
	rig_datagram(rig, 0, 0);
	is_int(rig_poll(rig, 0), 0);
	ok(chan_deadline(rig->chan) > rig->now); /* no spinning: the device wakes us */
	rig->full = 0;
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(ack_told__rails_take_turns)
{
	struct rig *rig = rig_new(3);
	uint32_t rail, seen = 0;

	for (rail = 0; rail < 3; rail++) {
		rig->from.rail = (uint8_t)rail;
		rig->from.rail_seq = 0;
		rig_datagram(rig, rail, rail);
	}
	is_int(rig->peer->flow->news, 7);
	for (rail = 0; rail < 3; rail++) {
		is_int(rig_send(rig, 8, 1), 0);
		seen |= 1u << ((rig_last(rig)->header.flags & WIRE_F_ECHO_MASK) >>
			       WIRE_F_ECHO_SHIFT);
	}
	is_int(seen, 7);
	is_int(rig->peer->flow->news, 0);
	rig_close(rig);
}
