// SPDX-License-Identifier: BSD-3-Clause
/* channel: creation, signs of life, quiescence. */
#include "tests/unit/channel/rig.h"

TAP_TEST(chan_create__bad_settings)
{
	struct rig *rig = rig_init();
	const struct chan_config good = rig->config;
	struct chan *chan = NULL;
	uint32_t i;

	for (i = 0; i < 9; i++) {
		struct chan_config bad = good;

		bad.window = i == 0 ? 4 : i == 1 ? 8192 : i == 2 ? 24 : good.window;
		bad.n_rails = i == 3 ? 0 : i == 4 ? 9 : 1;
		bad.credit = i == 5 ? 0 : i == 6 ? 17 : good.credit;
		bad.rx_buffers = i == 7 ? 1 : 64;
		bad.regions = i == 8 ? NULL : good.regions;
		is_int(chan_create(&bad, &rig_ops, rig, &chan), -EINVAL);
	}
	ok(!chan);
	rig_open(rig);
	rig_close(rig);
}

TAP_TEST(chan_destroy__of_nothing)
{
	chan_destroy(NULL);
	ok(true);
}

TAP_TEST(chan_probe__asks_for_nothing)
{
	struct rig *rig = rig_new(1);

	is_int(chan_probe(rig->chan, rig->peer, rig->now), 0);
	is_int(rig->n_sent, 1);
	is_int(rig_last(rig)->header.type, WIRE_PROBE);
	is_int(rig_last(rig)->header.flags & WIRE_F_ACK_NOW, 0);
	ok(chan_is_acked(rig->chan, rig->peer));
	ok(chan_is_quiet(rig->chan));
	while (chan_deadline(rig->chan) != UINT64_MAX) {
		rig->now = chan_deadline(rig->chan);
		rig_poll(rig, 0);
	}
	is_int(rig->n_sent, 1);
	ok(!rig->peer->flow);
	rig_close(rig);
}

/* Otherwise each rail would be probed every few ms for as long as the peer computes. */
TAP_TEST(chan_probe__silence_takes_no_rail_out)
{
	struct rig *rig = rig_init();
	uint64_t end;

	rig->config.n_rails = 2;
	rig->config.peer_timeout_ns = SEC;
	rig_open(rig);
	for (end = rig->now + 60 * SEC; rig->now < end; rig->now += SEC / 2) {
		is_int(chan_probe(rig->chan, rig->peer, rig->now), 0);
		rig_poll(rig, 5 * MS);
	}
	ok(rig->n_sent <= 2 * 120);
	is_int(rig->peer->out_rails, 0);
	is_int(rig->n_dead, 0);
	rig_close(rig);
}

TAP_TEST(chan_probe__not_now_or_never)
{
	struct rig *rig = rig_new(2);

	rig->full = 3;
	is_int(chan_probe(rig->chan, rig->peer, rig->now), -EAGAIN);
	rig->full = 0;
	chan_quiesce(rig->chan, true);
	is_int(chan_probe(rig->chan, rig->peer, rig->now), -EAGAIN);
	chan_quiesce(rig->chan, false);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 0);
	chan_rail(rig->chan, 0, false, rig->now);
	chan_rail(rig->chan, 1, false, rig->now);
	is_int(chan_probe(rig->chan, rig->peer, rig->now), -EAGAIN);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(chan_probe(rig->chan, rig->peer, rig->now), -EPIPE);
	rig_close(rig);
}

/* An answer is asked for, and nothing waits for it. */
TAP_TEST(chan_ask__process_that_computes)
{
	struct rig *rig = rig_init();
	uint64_t end;

	rig->config.n_rails = 2;
	rig->config.peer_timeout_ns = SEC;
	rig_open(rig);
	for (end = rig->now + 60 * SEC; rig->now < end; rig->now += SEC / 2) {
		is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
		is_int(rig_last(rig)->header.type, WIRE_PROBE);
		ok(rig_last(rig)->header.flags & WIRE_F_ACK_NOW);
		ok(chan_is_acked(rig->chan, rig->peer));
		ok(chan_is_quiet(rig->chan));
		rig_poll(rig, 5 * MS);
	}
	ok(rig->n_sent <= 2 * 120);
	is_int(rig->peer->out_rails, 0);
	is_int(rig->n_dead, 0);
	rig_close(rig);
}

/* Whatever comes of it is a sign of life, of which one is told once. */
TAP_TEST(chan_ask__sign_of_life)
{
	struct rig *rig = rig_new(1);

	rig_ack(rig, 0, 0, NULL);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
	rig_ack(rig, 0, 0, NULL);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), 0);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
	rig->full = 1;
	rig_ack(rig, 0, 0, NULL);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), 0);
	/* it could not be asked */
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
	rig_ack(rig, 0, 0, NULL);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EAGAIN);
	chan_peer_dead(rig->chan, rig->peer, EPIPE);
	is_int(chan_ask(rig->chan, rig->peer, rig->now), -EPIPE);
	rig_close(rig);
}

TAP_TEST(chan_quiesce__holds_new_data_only)
{
	struct rig *rig = rig_new(1);
	uint8_t memory[10];
	uint32_t op;

	is_int(rig_send(rig, 8, 1), 0);
	is_int(rig_send(rig, 8, 2), 0);
	chan_quiesce(rig->chan, true);
	is_int(rig_send(rig, 8, 3), 0);
	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 10, rig->now, &op), -EAGAIN);
	rig_poll(rig, 0);
	is_int(rig->n_sent, 2);
	ok(!chan_is_quiet(rig->chan));
	rig_ack(rig, 0, 1, NULL); /* the first one is lost */
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_last(rig)->header.seq, 0);
	rig_ack(rig, 2, 0, NULL);
	ok(chan_is_quiet(rig->chan));
	ok(!chan_is_acked(rig->chan, rig->peer));
	rig_datagram(rig, 0, 0);
	ok(!chan_is_quiet(rig->chan));
	is_int(rig_poll(rig, 0), 1); /* the ack does not wait */
	ok(chan_is_quiet(rig->chan));
	chan_quiesce(rig->chan, false);
	is_int(rig_poll(rig, 0), 1);
	is_int(rig_view(rig_last(rig), 0).payload[0], 3);
	is_int(rig_take(rig), 0);
	rig_close(rig);
}

TAP_TEST(chan_quiesce__one_sided_transfers_come_to_their_end)
{
	struct rig *rig = rig_new(1);
	uint8_t memory[10] = {0}, body[18] = {0};
	uint32_t op;

	is_int(chan_read(rig->chan, rig->peer, 1, 0, memory, 10, rig->now, &op), 0);
	chan_quiesce(rig->chan, true);
	rig_ack(rig, 1, 0, NULL);
	rig_poll(rig, 0);
	ok(!chan_is_quiet(rig->chan));
	rig_message(rig, 0, WIRE_PLACE, op, body, 18);
	rig_poll(rig, 0);
	ok(chan_is_quiet(rig->chan));
	is_int(chan_op_done(rig->chan, op), 0);
	rig_close(rig);
}
