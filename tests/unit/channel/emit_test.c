// SPDX-License-Identifier: BSD-3-Clause
/* emit: headers, the buffers kept for acks, the shape of a full ack. */
#include "tests/unit/channel/rig.h"

TAP_TEST(emit_packet__header_is_complete)
{
	struct rig *rig = rig_new(1);
	const struct wire_header *header;

	rig_datagram(rig, 0, 0);
	is_int(rig_send(rig, 10, 1), 0);
	header = &rig->sent[0].header;
	is_int(header->version, WIRE_VERSION);
	is_int(header->type, WIRE_DATA);
	is_int(header->length, 18);
	ok(header->key == RIG_KEY);
	is_int(header->src, RIG_SELF);
	is_int(header->dst, RIG_PEER);
	is_int(header->ack, 1);
	is_int(header->credit, rig->peer->rx_credit);
	is_int(rig->rails[0].tx_packets, 1);
	is_int(rig->rails[0].tx_bytes, 66);
	rig_close(rig);
}

TAP_TEST(emit_ack__leaves_although_messages_hold_every_buffer)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	rig->from.flags = WIRE_F_ACK_NOW;
	rig->alloc_limit = 4;
	for (i = 0; i < 4; i++)
		is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_send(rig, 8, 1), -EAGAIN);
	for (i = 0; i < 2 * CHAN_SPARES; i++) {
		rig_from(rig, WIRE_PROBE, NULL, 0);
		rig->n_sent = 0;
		rig_poll(rig, 0);
	}
	is_int(rig_last(rig)->header.type, WIRE_ACK);
	rig_close(rig);
}

TAP_TEST(emit_ack__bitmap_of_all_that_came_early)
{
	struct rig *rig = rig_init();
	uint64_t bitmap[WIRE_WINDOW_MAX / 64];
	struct wire_ack body;
	uint32_t i;

	rig->config.window = 256;
	rig_open(rig);
	for (i = 1; i < 256; i += 3) {
		rig->from.seq = i;
		rig_from(rig, WIRE_DATA, NULL, 0);
	}
	rig_poll(rig, MS);
	wire_get_ack(rig_last(rig)->bytes, &rig_last(rig)->header, &body, bitmap);
	is_int(rig_last(rig)->header.ack, 0);
	is_int(body.n_words, 4);
	is_int(body.rail_next[0], 85);
	for (i = 1; i < 256; i++)
		is_int(bitmap[(i - 1) / 64] >> ((i - 1) % 64) & 1, i % 3 == 1);
	rig_close(rig);
}

TAP_TEST(emit_ack__spreads_over_the_rails_and_asks_at_times)
{
	struct rig *rig = rig_new(3);
	uint32_t count[3] = {0}, asking = 0;
	uint32_t i;

	rig->from.flags = WIRE_F_ACK_NOW;
	for (i = 0; i < 96; i++) {
		rig_from(rig, WIRE_PROBE, NULL, 0);
		rig_poll(rig, 0);
	}
	for (i = 0; i < rig->n_sent; i++) {
		count[rig->sent[i].rail]++;
		asking += !!(rig->sent[i].header.flags & WIRE_F_ACK_NOW);
	}
	for (i = 0; i < 3; i++)
		ok(count[i] > 10);
	ok(asking >= 1);
	rig_close(rig);
}
