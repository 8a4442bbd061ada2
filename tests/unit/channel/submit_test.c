// SPDX-License-Identifier: BSD-3-Clause
/* submit: at once when the way is free, coalescing when not, limits of lending. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_submit__leaves_within_the_call)
{
	struct rig *rig = rig_new(1);

	is_int(rig_send(rig, 10, 7), 0);
	is_int(rig->n_sent, 1);
	is_int(rig->sent[0].len, WIRE_OVERHEAD + 10);
	is_int(rig_view(&rig->sent[0], 0).msg.kind, WIRE_DATAGRAM);
	is_int(rig_view(&rig->sent[0], 0).payload[9], 7);
	is_int(rig->stats.tx_messages, 1);
	is_int(rig->stats.tx_bytes, 10);
	rig_close(rig);
}

TAP_TEST(chan_submit__shorter_than_reserved)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	void *payload;

	is_int(chan_reserve(rig->chan, rig->peer, 100, &packet, &payload), 0);
	chan_submit(rig->chan, rig->peer, packet, 1, rig->now);
	is_int(rig->sent[0].len, WIRE_OVERHEAD + 1);
	rig_close(rig);
}

/* Everything that fits goes into one frame, 8-aligned, in order, nothing left uninitialised. */
TAP_TEST(chan_submit__coalesces_behind_a_closed_window)
{
	struct rig *rig = rig_new(1);
	struct wire_msg_view view;
	uint32_t i, n = 0;

	rig->full = 1;
	for (i = 1; i <= 40; i++)
		is_int(rig_send(rig, i % 13 + 1, (uint8_t)i), 0);
	ok(rig->peer->flow->msgs.count < 4);
	rig->full = 0;
	rig_poll(rig, 0);
	for (i = 0; i < rig->n_sent; i++) {
		uint32_t k;

		ok(rig->sent[i].len <= RIG_MTU);
		for (k = 0; (view = rig_view(&rig->sent[i], k)).msg.kind; k++) {
			n++;
			is_int(view.msg.length, n % 13 + 1);
			is_int(view.payload[0], n);
			is_int((uintptr_t)(view.payload - rig->sent[i].bytes) % 8, 0);
		}
	}
	is_int(n, 40);
	is_int(rig->n_lent, rig->n_sent);
	rig_close(rig);
}

TAP_TEST(chan_submit__coalesces_up_to_the_last_byte)
{
	struct rig *rig = rig_new(1);
	const uint32_t rest = RIG_MTU - WIRE_OVERHEAD - 96 - sizeof(struct wire_msg);

	rig->full = 1;
	is_int(rig_send(rig, 96, 1), 0);
	is_int(rig_send(rig, rest + 1, 2), 0);
	is_int(rig->peer->flow->msgs.count, 2);
	is_int(rig_send(rig, 8, 3), 0);
	is_int(rig->peer->flow->msgs.count, 2);
	rig->full = 0;
	rig_poll(rig, 0);
	rig->full = 1;
	is_int(rig_send(rig, 96, 1), 0);
	is_int(rig_send(rig, rest, 2), 0);
	is_int(rig->peer->flow->msgs.count, 1);
	rig->full = 0;
	rig_poll(rig, 0);
	is_int(rig_last(rig)->len, RIG_MTU);
	rig_close(rig);
}

/* The first ones of a burst leave at once, the rest waits for the poll and shares frames. */
TAP_TEST(chan_cork__holds_a_burst)
{
	struct rig *rig = rig_new(1);
	uint32_t i, first, n = 0;

	chan_cork(rig->chan, true);
	for (i = 0; i < 20; i++)
		is_int(rig_send(rig, 8, (uint8_t)i), 0);
	first = rig->n_sent;
	ok(first >= 1 && first < 8);
	is_int(chan_deadline(rig->chan), 0);
	ok(!chan_is_out(rig->peer));
	rig_poll(rig, 0);
	ok(chan_is_out(rig->peer));
	ok(rig->n_sent > first && rig->n_sent < 12);
	for (i = 0; i < rig->n_sent; i++)
		for (uint32_t k = 0; rig_view(&rig->sent[i], k).msg.kind; k++)
			is_int(rig_view(&rig->sent[i], k).payload[0], n++);
	is_int(n, 20);
	rig_close(rig);
}

TAP_TEST(chan_cork__many_held_packets_leave_by_themselves)
{
	struct rig *rig = rig_init();
	uint32_t i, first;

	rig->config.window = 64;
	rig->config.credit = 64;
	rig_open(rig);
	chan_cork(rig->chan, true);
	for (i = 0; i < 19; i++) /* too long to share a frame */
		is_int(rig_send(rig, RIG_MTU - WIRE_OVERHEAD, (uint8_t)i), 0);
	first = rig->n_sent;
	is_int(first, 4);
	for (; i < 21; i++)
		is_int(rig_send(rig, RIG_MTU - WIRE_OVERHEAD, (uint8_t)i), 0);
	ok(rig->n_sent > first);
	rig_close(rig);
}

TAP_TEST(chan_cork__off_again)
{
	struct rig *rig = rig_new(1);
	uint32_t i;

	chan_cork(rig->chan, true);
	for (i = 0; i < 8; i++)
		is_int(rig_send(rig, 8, (uint8_t)i), 0);
	ok(rig->n_sent < 8);
	chan_cork(rig->chan, false);
	rig_poll(rig, 0);
	i = rig->n_sent;
	is_int(rig_send(rig, 8, 9), 0);
	is_int(rig->n_sent, i + 1);
	rig_close(rig);
}

TAP_TEST(chan_reserve__bad_lengths)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	void *payload;

	is_int(chan_peer_mtu(rig->peer), RIG_MTU - WIRE_OVERHEAD);
	is_int(chan_reserve(rig->chan, rig->peer, 0, &packet, &payload), -EINVAL);
	is_int(chan_reserve(rig->chan, rig->peer, RIG_MTU - WIRE_OVERHEAD + 1, &packet, &payload),
	       -EINVAL);
	is_int(rig_send(rig, RIG_MTU - WIRE_OVERHEAD, 1), 0);
	is_int(rig_last(rig)->len, RIG_MTU);
	rig_close(rig);
}

TAP_TEST(chan_reserve__no_buffer)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	void *payload;

	rig->alloc_limit = 1;
	is_int(chan_reserve(rig->chan, rig->peer, 1, &packet, &payload), 0);
	is_int(rig_send(rig, 1, 1), -EAGAIN);
	is_int(rig->stats.no_buffer, 1);
	chan_discard(rig->chan, rig->peer, packet);
	is_int(rig_send(rig, 1, 1), 0);
	rig_close(rig);
}

TAP_TEST(chan_reserve__queue_is_bounded)
{
	struct rig *rig = rig_new(1);
	uint32_t n = 0;

	rig->full = 1;
	while (n < 100 && !rig_send(rig, 400, 1))
		n++;
	is_int(n, 16);
	rig->full = 0;
	rig_close(rig);
}

TAP_TEST(chan_reserve__leaves_buffers_to_the_engine)
{
	struct rig *rig = rig_init();
	uint32_t n = 0;

	rig->config.tx_buffers = 32;
	rig->config.window = 64;
	rig_open(rig);
	rig->full = 1;
	while (n < 100 && !rig_send(rig, 400, 1))
		n++;
	is_int(n, 32 - 32 / 8 - CHAN_SPARES);
	rig->full = 0;
	rig_close(rig);
}

TAP_TEST(chan_submit__to_a_dead_peer_is_discarded)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	void *payload;

	is_int(chan_reserve(rig->chan, rig->peer, 8, &packet, &payload), 0);
	chan_peer_dead(rig->chan, rig->peer, ECONNREFUSED);
	is_int(rig->n_dead, 1);
	is_int(rig->dead_error, ECONNREFUSED);
	chan_submit(rig->chan, rig->peer, packet, 8, rig->now);
	is_int(rig->n_lent, 0);
	is_int(rig_send(rig, 8, 1), -EPIPE);
	ok(chan_is_acked(rig->chan, rig->peer));
	rig_close(rig);
}

/* Carried and the user's share frames, each with its mark. */
TAP_TEST(chan_submit_carried__is_marked)
{
	struct rig *rig = rig_new(1);
	struct pm_packet *packet;
	void *payload;

	for (uint32_t i = 0; i < 6; i++) {
		rig->full = i > 1;
		is_int(chan_reserve(rig->chan, rig->peer, 8, &packet, &payload), 0);
		memset(payload, (int)i, 8);
		if (i % 2)
			chan_submit_carried(rig->chan, rig->peer, packet, 8, rig->now);
		else
			chan_submit(rig->chan, rig->peer, packet, 8, rig->now);
	}
	rig->full = 0;
	rig_poll(rig, 0);
	is_int(rig->n_sent, 3);
	is_int(rig_view(&rig->sent[0], 0).msg.flags, 0);
	is_int(rig_view(&rig->sent[1], 0).msg.flags, WIRE_M_CARRIED);
	for (uint32_t i = 0; i < 4; i++) {
		is_int(rig_view(&rig->sent[2], i).msg.kind, WIRE_DATAGRAM);
		is_int(rig_view(&rig->sent[2], i).msg.flags, i % 2 ? WIRE_M_CARRIED : 0);
		is_int(rig_view(&rig->sent[2], i).payload[0], i + 2);
	}
	rig_close(rig);
}

TAP_TEST(chan_post__as_reserve_and_submit)
{
	struct rig *rig = rig_new(1), *other = rig_new(1);
	uint8_t bytes[300];
	uint32_t i;

	for (i = 0; i < 24; i++) {
		uint32_t len = 1 + i * 37 % sizeof(bytes);

		rig->full = other->full = i > 6;
		memset(bytes, (int)i, len);
		is_int(chan_post(rig->chan, rig->peer, bytes, len, rig->now), 0);
		is_int(rig_send(other, len, (uint8_t)i), 0);
		is_int(rig->n_lent, other->n_lent);
	}
	rig->full = other->full = 0;
	rig_poll(rig, 0);
	rig_poll(other, 0);
	is_int(rig->n_sent, other->n_sent);
	for (i = 0; i < rig->n_sent; i++) {
		is_int(rig->sent[i].len, other->sent[i].len);
		is_mem(rig->sent[i].bytes, other->sent[i].bytes, rig->sent[i].len);
	}
	is_int(rig->stats.tx_messages, 24);
	ok(rig->stats.tx_bytes == other->stats.tx_bytes);
	rig_close(other);
	rig_close(rig);
}

TAP_TEST(chan_post__refused)
{
	struct rig *rig = rig_new(1);
	uint8_t bytes[RIG_MTU] = {0};

	is_int(chan_post(rig->chan, rig->peer, bytes, 0, rig->now), -EINVAL);
	is_int(chan_post(rig->chan, rig->peer, bytes, RIG_MTU - WIRE_OVERHEAD + 1, rig->now),
	       -EINVAL);
	is_int(rig->stats.no_buffer, 0);
	rig->is_dry = true;
	is_int(chan_post(rig->chan, rig->peer, bytes, 8, rig->now), -EAGAIN);
	is_int(rig->stats.no_buffer, 1);
	rig->is_dry = false;
	is_int(rig->n_sent, 0);
	ok(chan_is_acked(rig->chan, NULL));
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(chan_post(rig->chan, rig->peer, bytes, 8, rig->now), -EPIPE);
	is_int(rig->n_lent, 0);
	rig_close(rig);
}

TAP_TEST(chan_will_hold__until_many_wait)
{
	struct rig *rig = rig_init();
	uint32_t i;

	rig->config.n_rails = 2;
	rig->config.bulk_rails = 2;
	rig->config.window = 64;
	rig->config.credit = 64;
	rig_open(rig);
	ok(!chan_will_hold(rig->chan, rig->peer));
	is_int(rig_send(rig, 400, 0), 0);
	ok(!chan_will_hold(rig->chan, rig->peer));
	rig->n_sent = 0;
	chan_cork(rig->chan, true);
	for (i = 0; chan_will_hold(rig->chan, rig->peer); i++)
		is_int(rig_send(rig, 400, (uint8_t)i), 0);
	is_int(i, 15);
	is_int(rig->n_sent, 0);
	is_int(rig_send(rig, 400, 0), 0);
	ok(rig->n_sent > 0);
	rig_close(rig);
}
